"""What adapters share for claims and for listing (our decisions)."""

from __future__ import annotations

import pytest

from memanto import Memanto, MemoryType
from memanto.adapter import claim_type, newest_first
from memanto.testing import FixedClock


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Customer 4711 is on the enterprise plan", MemoryType.LEARNING),
        ("zxqv", MemoryType.LEARNING),
        ("We decided to pull the ledger again instead of reconciling by hand", MemoryType.DECISION),
        ("Cause 7 is that pool 7 has fewer than 20 slots", MemoryType.LEARNING),  # by its words most likely a goal
        ("Always run the linter before committing", MemoryType.LEARNING),
        ("I promise to send the report by Friday", MemoryType.COMMITMENT),
    ],
)
def test_a_claim_is_typed_by_its_words_and_never_a_fact_a_goal_or_an_instruction(text: str, kind: MemoryType) -> None:
    assert claim_type(text) is kind


@pytest.mark.parametrize("first", [1, 7, None])
def test_all_memories_with_a_tag_come_the_latest_first_each_once(
    memory: Memanto, clock: FixedClock, first: int | None
) -> None:
    assert list(newest_first(memory, ["a"])) == []
    for number in range(120):
        clock.advance(1 if number % 40 else 86_400)
        memory.remember(f"note {number}", type="event", tags=["ab"[number % 2], "c"])
    found = [one.content for one in newest_first(memory, ["a"], first=first)]
    assert found == [f"note {number}" for number in range(118, -1, -2)]
    assert len(list(newest_first(memory, ["c"], first=first))) == 120


def test_only_current_memories_are_listed_unless_everything_is_asked_for(memory: Memanto) -> None:
    kept, gone = (memory.remember(text, type="event", tags=["a"]).id for text in ("kept", "gone"))
    memory.expire(gone)
    assert [one.id for one in newest_first(memory, ["a"])] == [kept]
    assert {one.id for one in newest_first(memory, ["a"], everything=True)} == {kept, gone}
