"""Confidence that learns from runs, verdicts and conflicts by a stated rule (our decision)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memanto import Memanto
from memanto.loop.feedback import posterior
from memanto.testing import FixedClock


def work(memory: Memanto, memory_id: str, *, success: bool) -> None:
    run = memory.start_run("work")
    run.delivered(memory_id)
    run.used(memory_id)
    run.step("did it")
    run.end(outcome="over", success=success)


def test_runs_that_used_a_memory_move_its_confidence_by_the_rule(memory: Memanto, clock: FixedClock) -> None:
    used = memory.remember("Wait five minutes before pulling", type="learning", confidence=0.8).id
    for success in (True, True, False):
        clock.advance(60)
        work(memory, used, success=success)
    assert memory.show(used).confidence == posterior(0.8, 1, 0)  # of the first run, when it ended
    clock.advance(timedelta(days=1))
    [learned] = memory.learn()
    assert learned.after == posterior(0.8, 2, 0.5) == pytest.approx((0.8 * 4 + 2) / 6.5, abs=1e-6)
    assert memory.show(used).confidence == learned.after
    last = memory.history(used)[-1]
    assert last.decision is not None
    assert last.decision.reason == "learned: 2 successful runs that used it; 1 failed run that used it"


def test_many_runs_in_a_week_leave_one_version_a_day(memory: Memanto, clock: FixedClock) -> None:
    used = memory.remember("Wait five minutes before pulling", type="learning").id
    for number in range(28):
        clock.advance(timedelta(hours=6))
        work(memory, used, success=number % 3 > 0)
        memory.learn()
    clock.advance(timedelta(days=1))
    memory.learn()
    days = [version.recorded_at.date() for version in memory.history(used)[1:]]
    assert len(days) == len(set(days))
    assert memory.show(used).confidence == posterior(0.8, 18, 5)


def test_what_a_run_credited_and_what_upkeep_counts_are_one_tally(memory: Memanto, clock: FixedClock) -> None:
    used = memory.remember("Wait five minutes before pulling", type="learning").id
    clock.advance(60)
    work(memory, used, success=True)
    clock.advance(timedelta(days=1))
    assert memory.learn() == []
    assert memory.show(used).version == 2


def test_learning_is_at_most_one_version_a_day_and_counts_nothing_twice(memory: Memanto, clock: FixedClock) -> None:
    used = memory.remember("Wait five minutes before pulling", type="learning").id
    clock.advance(60)
    work(memory, used, success=False)
    assert len(memory.learn()) == 1
    work(memory, used, success=False)
    assert memory.learn() == []
    clock.advance(timedelta(days=1))
    [second] = memory.learn()
    assert second.after == posterior(0.8, 0, 1)
    clock.advance(timedelta(days=1))
    assert memory.learn() == []
    assert memory.show(used).version == 3


def test_evidence_counts_from_when_confidence_was_set_by_hand(memory: Memanto, clock: FixedClock) -> None:
    used = memory.remember("Wait five minutes before pulling", type="learning").id
    for _ in range(3):
        work(memory, used, success=False)
    clock.advance(60)
    memory.verify(used)
    clock.advance(60)
    work(memory, used, success=False)
    [learned] = memory.learn()
    assert learned.after == posterior(0.9, 0, 0.5)


def test_a_verdict_after_learning_goes_on_from_there(memory: Memanto, clock: FixedClock) -> None:
    used = memory.remember("Wait five minutes before pulling", type="learning").id
    clock.advance(60)
    work(memory, used, success=False)
    memory.learn()
    memory.feedback(used, "wrong")
    assert memory.show(used).confidence == posterior(0.8, 0, 1.5)
    clock.advance(timedelta(days=1))
    assert memory.learn() == []


def test_an_open_contradiction_lowers_both_and_settling_it_gives_it_back(memory: Memanto, clock: FixedClock) -> None:
    one = memory.remember("Retries are enabled in the worker", type="fact").id
    clock.advance(60)
    other = memory.remember("Retries are disabled in the worker", type="fact")
    assert {learned.after for learned in memory.learn()} == {posterior(0.8, 0, 0.5)}
    memory.resolve_conflict(other.conflicts[0].id, "keep-both")
    clock.advance(timedelta(days=1))
    assert len(memory.learn()) == 2
    assert {memory.show(i).confidence for i in (one, other.id)} == {0.8}


def test_what_was_shown_and_not_used_says_nothing(memory: Memanto) -> None:
    shown = memory.remember("Wait five minutes before pulling", type="learning").id
    run = memory.start_run("work")
    run.delivered(shown)
    run.end(outcome="over", success=True)
    assert memory.learn() == []


def test_calibration_compares_confidence_with_what_became_of_it(memory: Memanto, clock: FixedClock) -> None:
    assert memory.calibration().uses == 0
    sure = memory.remember("A sure thing", type="fact", confidence=0.9).id
    doubtful = memory.remember("A doubtful thing", type="fact", confidence=0.3).id
    clock.advance(60)
    for memory_id, success in ((sure, True), (sure, True), (doubtful, False)):
        work(memory, memory_id, success=success)
    memory.feedback(doubtful, "helped")
    found = memory.calibration()
    shown = {(one.low, one.uses, one.right) for one in found.bins if one.uses}
    assert shown == {(0.8, 2, 1.0), (0.2, 2, 0.5)}
    assert found.error == pytest.approx((2 * 0.1 + 2 * 0.2) / 4)
