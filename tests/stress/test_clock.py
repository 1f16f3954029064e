"""A machine's clock that goes back, jumps by years, or stands still: what is stored stays right, and is found."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.stress.stress_kit import handle, versions

from memanto import Memanto
from memanto.testing import FixedClock
from memanto.times import utc_now

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
JUMPS = {
    "back two hours": timedelta(hours=-2),
    "back ten years": timedelta(days=-3650),
    "ahead ten years": timedelta(days=3650),
    "ahead ten years and back": timedelta(0),
    "nowhere": timedelta(0),
}

pytestmark = pytest.mark.slow


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


def jumped(memory: Memanto, clock: FixedClock, jump: str) -> None:
    if jump == "ahead ten years and back":
        clock.advance(timedelta(days=3650))
        memory.remember("written while the clock was wrong", type="fact")
        clock.advance(timedelta(days=-3650))
    clock.advance(JUMPS[jump])


@pytest.mark.parametrize("reopened", [False, True], ids=["at once", "after opening again"])
@pytest.mark.parametrize("jump", JUMPS)
def test_after_a_jump_everything_is_found_times_still_ascend_and_the_past_answers_as_before(
    store: Path, clock: FixedClock, jump: str, reopened: bool
) -> None:
    memory = handle(store, clock=clock).open()
    before = memory.remember("the ledger uses postgres", type="fact", key="ledger")
    old = memory.remember("the queue uses redis", type="fact")
    clock.advance(60)
    asked = clock()
    clock.advance(1)
    then = [(hit.memory, hit.score) for hit in memory.recall("uses", as_of=asked, everything=True)]
    jumped(memory, clock, jump)
    if reopened:
        memory.close()
        memory.open()
    after = memory.remember("the ledger uses kafka", type="fact", key="ledger")
    edited = memory.edit(old.id, content="the queue uses sqs")
    new = memory.remember("the cache uses memory", type="fact")
    assert (after.id, after.version, edited.version) == (before.id, 2, 2)
    found = {hit.memory.id: hit.memory.content for hit in memory.recall("uses")}
    assert found == {
        before.id: "the ledger uses kafka", old.id: "the queue uses sqs", new.id: "the cache uses memory",
    } | {one: text for one, text in found.items() if "clock was wrong" in text}  # fmt: skip
    assert [one.name for one in memory.doctor() if not one.ok] == (["clock"] if "back" in jump else [])
    times = [line["recorded_at"] for these in versions(memory).values() for line in these]
    assert len(set(times)) == len(times)
    for these in versions(memory).values():
        recorded = [line["recorded_at"] for line in these]
        assert recorded == sorted(recorded)
    if not jump.startswith("back"):  # else that moment lies ahead, and stands for now
        assert [(hit.memory, hit.score) for hit in memory.recall("uses", as_of=asked, everything=True)] == then
    memory.close()


def test_a_clock_that_went_back_does_not_hide_what_is_true_until_further_notice(store: Path, clock: FixedClock) -> None:
    with handle(store, clock=clock) as memory:
        ending = memory.remember("the trial ends soon", type="fact", valid_to=NOW + timedelta(days=30))
        clock.advance(timedelta(days=-3650))
        assert [hit.memory.id for hit in memory.recall("trial")] == [ending.id]
        clock.set(NOW + timedelta(days=31))
        assert memory.recall("trial") == []
        clock.set(NOW)
        assert [hit.memory.id for hit in memory.recall("trial")] == [ending.id]


def test_doctor_names_memories_from_the_future_which_a_wrong_clock_wrote(store: Path) -> None:
    ahead = FixedClock(utc_now() + timedelta(days=400))
    with handle(store, clock=ahead) as memory:
        memory.remember("written while the clock was wrong", type="fact")
    with handle(store) as memory:
        [named] = [check for check in memory.doctor() if check.name == "clock"]
        assert not named.ok
        assert "days ahead" in named.detail
        assert "clock" in named.fix
        memory.remember("written with the right clock", type="fact")
        assert len(memory.recall("written", limit=5)) == 2


def test_doctor_says_nothing_of_the_clock_when_it_is_right(store: Path) -> None:
    with handle(store) as memory:
        memory.remember("kept", type="fact")
        assert [check.ok for check in memory.doctor() if check.name == "clock"] == [True]
