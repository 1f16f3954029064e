"""What `answer` decides on the same questions, and what a floor under one signal would change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.benchmarks.harness import Figures
from tests.benchmarks.metrics import halves

from memanto.loop.answer_evidence import ALL_SIGNALS, NO_JUDGE, best, weigh
from memanto.loop.answer_find import CANDIDATES, PER_PART
from memanto.memory.terms import terms_of
from memanto.models import Recollection

DEPTH: Final = CANDIDATES

_FLOORS: Final[Mapping[str, Callable[[Recollection], bool]]] = {
    "as shipped": lambda hit: True,
    "and cosine >= 0.66": lambda hit: (hit.why.dense_score or 0.0) >= 0.66,
    "and logit >= -8": lambda hit: hit.why.rerank_score is not None and hit.why.rerank_score >= -8.0,
}


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a question was answered, and whether from a text that answers it."""

    answered: bool
    right: bool


def decide(
    question: str,
    plain: Sequence[Recollection],
    judged: Sequence[Recollection] | None,
    right: Collection[str],
) -> dict[str, Decision]:
    """Return what `answer` decides for a question of one part, by rule.

    Args:
        question: The question.
        plain: Its `DEPTH` best results.
        judged: The same ordered by the cross-encoder, or `None`.
        right: Ids of the memories that answer the question.
    """
    found = {}
    for label, hits, rule in (("words and meaning", plain, NO_JUDGE), ("with the cross-encoder", judged, ALL_SIGNALS)):
        if hits is None:
            continue
        evidence = weigh(terms_of(question), hits, rule)
        for floor, passes in _FLOORS.items():
            if "logit" in floor and rule is NO_JUDGE:
                continue
            cited = best([one for one in evidence if passes(one.recollection)], rule)[:PER_PART]
            found[f"{label}, {floor}"] = Decision(
                bool(cited), any(one.recollection.memory.id in right for one in cited)
            )
    return found


def effect(asked: Sequence[tuple[str, bool, Mapping[str, Decision]]]) -> Figures:
    """Return by rule, on the half that nothing was chosen on: answered, answered right, and refused.

    Args:
        asked: Question, whether anything answers it, and the decisions.
    """
    first = halves(question for question, _, _ in asked)
    other = [row for row in asked if not first[row[0]]]
    figures: Figures = {}
    for rule in other[0][2] if other else ():
        able = [decisions[rule] for _, answerable, decisions in other if answerable]
        nothing = [decisions[rule] for _, answerable, decisions in other if not answerable]
        figures[rule] = {
            "n": [len(able), len(nothing)],
            "answered": _share([one.answered for one in able]),
            "right": _share([one.right for one in able]),
            "refused": _share([not one.answered for one in nothing]),
        }
    return figures


def _share(values: Sequence[bool]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
