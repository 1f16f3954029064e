"""What a recall gives to CrewAI: matches that stand in a prompt as data."""

from __future__ import annotations

from collections.abc import Sequence

from crewai.memory.types import MemoryMatch
from pydantic import PrivateAttr

from crewai_memanto.records import NEUTRAL, is_record, kept_of, record_of
from memanto import Recollection
from memanto.loop.fence import NOTICE, fence_one


class FencedMatch(MemoryMatch):
    """A match whose `format()` shows the memory between marks that its text cannot forge.

    The marks tell id, type, date, confidence, provenance and source, so that a model sees what was only inferred. The
    first match of a recall opens with a sentence on how to read them.
    """

    _fenced: str = PrivateAttr(default="")

    def format(self) -> str:
        """Return the memory as fenced data."""
        return self._fenced


def weighed(hit: Recollection, importance_weight: float) -> float:
    """Return a hit's score, raised or lowered by the importance that its record states."""
    importance = kept_of(hit.memory).importance if is_record(hit.memory) else NEUTRAL
    return hit.score * (1 + importance_weight * (2 * importance - 1))


def matches_of(hits: Sequence[tuple[Recollection, float]]) -> list[MemoryMatch]:
    """Return hits with their scores as CrewAI's matches, in the order given."""
    matches: list[MemoryMatch] = []
    for hit, score in hits:
        match = FencedMatch(record=record_of(hit.memory, own_id=False), score=score, match_reasons=_reasons(hit))
        shown = fence_one(hit.memory)
        match._fenced = shown if matches else f"{NOTICE}\n{shown}"  # noqa: SLF001 - a private attribute of our own
        matches.append(match)
    return matches


def _reasons(hit: Recollection) -> list[str]:
    """Return why a hit is there, in CrewAI's words and ours."""
    why = hit.why
    told = {
        "semantic": why.dense_rank is not None,
        "words": why.lexical_rank is not None,
        "recency": why.recency > 0.5,
        "importance": is_record(hit.memory) and kept_of(hit.memory).importance > NEUTRAL,
    }
    return [*(name for name, holds in told.items() if holds), *why.notes]
