"""Guess the type of a memory from its text, when the writer gave none.

Two kinds of evidence are added up as log-odds per type: what the text says in words (`typing_features`), and where
its vector lies, when it comes from the embedder the directions were learned for. The weights are learned from
`typing_examples.jsonl` by `scripts/train_typing.py`; `docs/explanation/typing.md` says how well that works.

A guess is always shown as one, and its confidence is lowered by `GUESS_FACTOR`.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memanto.embedding.port import EmbedderIdentity
from memanto.memory.batons import is_baton
from memanto.memory.typing_features import features
from memanto.models import MemoryType

GUESS_FACTOR: Final = 0.9
"""Factor on the confidence of a memory whose type was guessed. Our choice: it keeps the default of 0.8 above 0.7."""

TYPES: Final = tuple(MemoryType)

UNSURE: Final = 0.2
"""Below this share the likeliest type is no better than `fact`, the default. Chosen on the development sentences."""

_MODEL: Final = "typing_model.json"
_SCALE: Final = 100
"""The model's numbers are hundredths."""


@dataclass(frozen=True, slots=True)
class Guess:
    """A guessed type.

    Attributes:
        type: The likeliest one; `fact` where nothing in the text says anything.
        confidence: Its share of the likelihood, 0..1. On short texts it is too modest rather than too bold.
        runner_up: The next likeliest.
    """

    type: MemoryType
    confidence: float
    runner_up: MemoryType


@dataclass(frozen=True, slots=True)
class Prototypes:
    """Directions of the types in the vector space of one embedder.

    Attributes:
        embedder: Whose vectors they fit.
        bias: Per type, in hundredths.
        directions: Per type, one weight per dimension, in hundredths.
    """

    embedder: EmbedderIdentity
    bias: Sequence[int]
    directions: Sequence[Sequence[int]]

    def evidence(self, vector: Sequence[float]) -> list[float]:
        """Return the log-odds per type of an L2-normalised vector of this embedder."""
        return [
            (bias + sum(weight * value for weight, value in zip(direction, vector, strict=True))) / _SCALE
            for bias, direction in zip(self.bias, self.directions, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class _Model:
    bias: Sequence[int]
    weights: Mapping[str, Sequence[int]]
    prototypes: Prototypes


def classify(text: str, vector: Sequence[float] | None = None) -> Guess:
    """Return the likeliest type of a text, from its first `HEAD` characters. Pure, in time linear in them.

    Args:
        text: In any language; words count in those of `typing_cues.json`.
        vector: Of this text, from the embedder of `prototypes()`; `None` to go by the words alone.
    """
    if is_baton(text):
        return Guess(MemoryType.CONTEXT, 1.0, MemoryType.GOAL)
    model = _model()
    scores, known = _lexical(model, text)
    if vector is not None:
        scores = [a + b for a, b in zip(scores, model.prototypes.evidence(vector), strict=True)]
    best, second = sorted(range(len(TYPES)), key=lambda index: -scores[index])[:2]
    share = 1 / sum(math.exp(score - scores[best]) for score in scores)
    if (vector is None and not known) or share < UNSURE:
        other = next(TYPES[index] for index in (best, second) if TYPES[index] is not MemoryType.FACT)
        return Guess(MemoryType.FACT, min(share, UNSURE), other)
    return Guess(TYPES[best], share, TYPES[second])


def prototypes() -> Prototypes:
    """Return the directions that come with the package; they fit the default embedder."""
    return _model().prototypes


def is_cue(feature: str) -> bool:
    """Return whether a feature counts fully; words and characters share their weight with each other."""
    return feature[0] in "@^#"


def _lexical(model: _Model, text: str) -> tuple[list[float], bool]:
    """Return the log-odds per type from the words, and whether any of them was known."""
    known = [feature for feature in features(text) if feature in model.weights]
    words = [model.weights[feature] for feature in known if not is_cue(feature)]
    cues = [model.weights[feature] for feature in known if is_cue(feature)]
    share = 1 / math.sqrt(len(words)) if words else 0.0
    scores = [
        (bias + sum(row[index] for row in cues) + share * sum(row[index] for row in words)) / _SCALE
        for index, bias in enumerate(model.bias)
    ]
    return scores, any(is_cue(feature) or feature[2:].isalnum() for feature in known)


@functools.cache
def _model() -> _Model:
    raw = json.loads(Path(__file__).with_name(_MODEL).read_text("utf-8"))
    if raw["types"] != [kind.value for kind in TYPES]:
        raise AssertionError("the typing model was trained for other types")
    learned = raw["prototypes"]
    return _Model(
        raw["bias"],
        raw["weights"],
        Prototypes(EmbedderIdentity(**learned["embedder"]), learned["bias"], learned["directions"]),
    )
