"""How much of one short text speaks of the same thing as another, by the words they share and how rare those are.

Words are weighed as in BM25's probabilistic IDF (Robertson and Sparck Jones 1976), counted over the texts at hand
plus `BACKGROUND` imagined ones. The imagined ones keep the weights sensible while only a few texts are known.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from memanto.loop.words import is_name, terms

BACKGROUND: Final = 20
"""Imagined texts, of which each word is in `_ORDINARY` and a common one in `_COMMON`. Our choice."""

_ORDINARY: Final = 1.0
_COMMON: Final = 6.0
_COMMON_WORDS: Final = """
    add action agent another app application ask available back bring call case change check code command complete
    continue create current data day deal detail error every exist fail failure file find finish fix follow happen
    information issue job keep kind list long move next number open part people place plan point possible problem
    process project provide question read ready remove request result return second send show simple start state step
    stop store system task tell test text then time tool turn type update user value version wait week work write wrong
"""


@dataclass(frozen=True, slots=True)
class Match:
    """What two texts share.

    Attributes:
        evidence: Sum of the shared terms' weights, at least 0.
        coverage: Share (0..1) of the weight of the slighter text that is shared.
        met: Share (0..1) of the weight of the second text that is shared.
        names: Number of shared terms that name one thing.
        shared: The shared terms, rarest first, ties by the alphabet.
    """

    evidence: float
    coverage: float
    met: float
    names: int
    shared: tuple[str, ...]


@functools.cache
def _common() -> frozenset[str]:
    return terms(_COMMON_WORDS)


class Rarity:
    """Weights of terms, counted over a set of texts."""

    def __init__(self, texts: Iterable[frozenset[str]]) -> None:
        known = list(texts)
        self._size = len(known)
        self._count = Counter(term for text in known for term in text)
        self._weights: dict[str, float] = {}

    def weight(self, term: str) -> float:
        """Return the weight of a term, above 0."""
        weight = self._weights.get(term)
        if weight is None:
            weight = self._weights[term] = self._weighed(term)
        return weight

    def _weighed(self, term: str) -> float:
        prior = 0.0 if is_name(term) else _COMMON if term in _common() else _ORDINARY
        holds = self._count[term] + prior
        return math.log1p((self._size + BACKGROUND - holds + 0.5) / (holds + 0.5))

    def total(self, terms: Iterable[str]) -> float:
        """Return the sum of the weights of these terms."""
        return sum(map(self.weight, terms))

    def match(self, one: frozenset[str], other: frozenset[str]) -> Match:
        """Compare two texts by their terms."""
        shared = sorted(one & other, key=lambda term: (-self.weight(term), term))
        evidence, whole = self.total(shared), self.total(other)
        slighter = min(self.total(one), whole)
        return Match(
            evidence=evidence,
            coverage=evidence / slighter if slighter else 0.0,
            met=evidence / whole if whole else 0.0,
            names=sum(map(is_name, shared)),
            shared=tuple(shared),
        )
