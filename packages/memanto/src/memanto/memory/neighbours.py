"""What a strong candidate says for those that lie next to it: the step before and after, the turn it replies to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

if TYPE_CHECKING:
    from memanto.memory.ranking import Ranked

LENDERS: Final = 5
"""The best candidates by fusion, which lend. These four numbers were chosen together on half of the questions
(docs/benchmarks/tuning.md); the optimum is flat."""

NEIGHBOURHOOD: Final = 30
"""The best candidates by fusion, among which neighbours are looked for. Each costs a look at its payload."""

REACH: Final = 2
"""Candidates before and after a lender that it lends to."""

SHARE: Final = 0.15
"""Share of its fused score that a lender gives to each of them; it keeps the whole itself."""


def has_lenders(best_first: Sequence[Ranked]) -> bool:
    """Return whether any of the best belongs to a run."""
    return any("run_id" in item.payload for item in best_first[:LENDERS])


def lend(best_first: Sequence[Ranked], home: Callable[[UUID], str]) -> None:
    """Let the best `LENDERS` give `SHARE` of their fused score to the `REACH` next before and after in their run.

    Next to each other are candidates of one run and namespace in the order of `event_at`, then of their ids, which
    grow with time. What lies between them and is no candidate does not count: the query found nothing in it.

    Args:
        best_first: The best `NEIGHBOURHOOD` candidates by fused score, with their payloads.
        home: Returns the namespace of a candidate.
    """
    runs: dict[tuple[str, str], list[Ranked]] = {}
    for place, item in enumerate(best_first):
        run = item.payload.get("run_id")
        if run is None:
            continue
        key = (home(item.candidate.id), run)
        if place < LENDERS:
            runs.setdefault(key, []).append(item)
        elif key in runs:
            runs[key].append(item)
    lenders = {item.candidate.id.int for item in best_first[:LENDERS]}
    for members in runs.values():
        members.sort(key=lambda item: (item.payload["event_at"], item.payload["memory_id"]))
        for place, lender in enumerate(members):
            if lender.candidate.id.int in lenders:
                for other in members[max(0, place - REACH) : place + REACH + 1]:
                    if other is not lender:
                        other.neighbours += SHARE * lender.fused
