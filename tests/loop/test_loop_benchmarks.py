"""The two measured proofs, in small: what they claim holds, and their agents know only what they are shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.benchmarks import compounding_arms, survival
from tests.benchmarks.compounding_arms import Environment
from tests.benchmarks.survival import Outcome, World, decide, newest

from memanto import Draft, Memanto, Server


# -- survival ---------------------------------------------------------------------------------------
@pytest.mark.slow
def test_a_loop_with_memory_survives_its_deaths_and_one_with_a_window_does_not() -> None:
    with_memory = survival.play("memory", 60, 3)
    assert with_memory.kills >= 2
    figures = with_memory.figures()
    assert (figures["units done"], figures["done twice"], figures["contradicted"]) == (60, 0, 0)
    assert figures["prompt tokens"]["largest"] < 250
    assert abs(figures["prompt tokens"]["per 100 steps"][0]) < 10
    forgetful = survival.play("window", 60, 3, window=700).figures()
    assert forgetful["done twice"] > 0
    whole = survival.play("transcript", 60, 3).figures()
    assert (whole["units done"], whole["contradicted"]) == (60, 0)
    assert whole["prompt tokens"]["per 100 steps"][1] > 1_000


def test_the_agent_decides_by_its_window_alone() -> None:
    window = "Goal: the work begins with 5 oak\ndid 5 oak A :: x :: links 7 elm, 9 oak"
    assert decide(window, "any") == decide(window, "other")
    assert (decide(window, "any").unit, decide(window, "any").treatment) == (9, "A")
    unknown = decide("Goal: the work begins with 5 oak\nopen 7 elm", "a whim")
    assert (unknown.unit, unknown.chosen) == (7, True)
    assert {decide("begins with 5 oak", str(whim)).treatment for whim in range(20)} == {"A", "B"}


def test_a_window_holds_the_newest_whole_lines_that_fit() -> None:
    lines = ["a" * 39, "b" * 39, "c" * 39]
    assert newest(lines, 25, 5) == lines[1:]
    assert newest(lines, 4, 0) == []
    assert newest(lines, None, 10**6) == lines


def test_the_world_can_be_crawled_whole_and_remembers_only_for_the_judge(tmp_path: Path) -> None:
    world = World(60, 1, tmp_path / "acts")
    seen, waiting = set(), [world.start[0]]
    while waiting:
        unit = waiting.pop()
        if unit not in seen:
            seen.add(unit)
            waiting += [one for one, _ in world.act(unit, "A").links]
    assert len(seen) == 60
    assert [unit for unit, _ in world.acts()].count(world.start[0]) == 1
    assert world.look(-1) is None


def test_the_judge_counts_what_was_done_twice() -> None:
    outcome = Outcome(acts=[(1, "A"), (2, "A"), (1, "A")], prompts=[10, 10, 10])
    assert outcome.figures()["done twice"] == 1


# -- compounding ------------------------------------------------------------------------------------
def test_every_arm_meets_the_same_situations_and_new_ones_keep_coming() -> None:
    one, other = (
        [list(environment.run(n)) for n in range(4)] for environment in (Environment(5, 4), Environment(5, 4))
    )
    assert one == other
    known: set[int] = set()
    for queue in one:
        fresh = {situation.number for situation, _, _ in queue} - known
        assert len(fresh) >= compounding_arms.NEW
        known |= fresh


def test_what_is_right_drifts_in_some_situations_only() -> None:
    environment = Environment(5, 20)
    right: dict[int, set[str]] = {}
    drifting = set()
    for number in range(20):
        for situation, _, action in environment.run(number):
            right.setdefault(situation.number, set()).add(action)
            drifting |= {situation.number} if situation.drifts else set()
    changed = {number for number, actions in right.items() if len(actions) > 1}
    assert changed
    assert changed <= drifting


def test_the_agent_follows_the_rule_whose_words_fit_and_no_other() -> None:
    with Memanto("tester", store=Server(":memory:"), embedder=None) as memory:
        texts = (
            "When posting refunds in Kestrel while two jobs overlap, use the primary only",
            "When closing the batch in Orchard while two jobs overlap, pause the consumer first",
        )
        rules = [memory.show(one.id) for one in memory.remember_many([Draft(content=text) for text in texts])]
    told = "About to start posting refunds in Kestrel while two jobs overlap. Ticket 4821."
    followed = compounding_arms.best_rule(told, rules)
    assert followed is not None
    assert followed[2] == "use the primary only"
    assert (
        compounding_arms.best_rule("About to start syncing prices in Quill while the sandbox flag is set.", rules)
        is None
    )


@pytest.mark.slow
def test_memory_at_the_action_spares_repeats_and_memory_off_knows_nothing() -> None:
    off = compounding_arms.play("off", 7, 5)
    guarded = compounding_arms.play("at-action", 7, 5)
    assert sum(run.delivered for run in off) == 0
    assert sum(run.repeats for run in guarded[1:]) < sum(run.repeats for run in off[1:]) / 2
    assert all(set(run.credited) or run is guarded[0] for run in guarded)


def test_only_what_an_interval_shows_is_claimed() -> None:
    figures = {name: [-3.0, -4.0, -2.0] for name in ("steps", "tokens", "cost")}
    found = {"against off": {"on": {**figures, "repeat_failures": [-1.0, -2.0, 0.5]}}}
    assert (
        compounding_arms.claims(found) == "- *on*: fewer steps, fewer tokens, lower cost; undecided: repeat failures."
    )
