"""Forgetting policies: what expires and why, what is kept, and the guard against too much (our decision)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.acceptance.cli_kit import Cli

from memanto import Draft, Memanto, MemoryType
from memanto.errors import InvalidInputError
from memanto.hygiene.policy import DEFAULT_PRESET, PRESETS, Policy, TypePolicy, policy_of, policy_value, with_type
from memanto.models import Status
from memanto.testing import FixedClock

LASTING = (MemoryType.ERROR, MemoryType.FACT, MemoryType.INSTRUCTION)


@pytest.mark.parametrize("policy", PRESETS.values(), ids=PRESETS)
def test_facts_rules_and_failures_expire_in_no_preset(policy: Policy) -> None:
    for kind in LASTING:
        assert (policy.of(kind).time_to_live, policy.of(kind).confidence_floor) == (None, None)


@pytest.mark.parametrize("name", PRESETS)
def test_nothing_lasting_expires_however_old_and_doubtful_it_is(name: str, memory: Memanto, clock: FixedClock) -> None:
    memory.remember_many([Draft(content=f"Old {kind.value}", type=kind, confidence=0.01) for kind in LASTING])
    clock.advance(timedelta(days=20 * 365))
    memory.set_policy(name)
    assert memory.apply_policy(yes=True).expired == ()


def test_episodic_detail_expires_with_a_reason_and_comes_back(on_each_engine: Memanto, clock: FixedClock) -> None:
    memory = on_each_engine
    memory.set_policy("balanced", reason="as the team agreed")
    event = memory.remember("Deployed the gateway", type="event").id
    fact = memory.remember("The gateway is written in Go", type="fact").id
    clock.advance(timedelta(days=181))
    would = memory.apply_policy(dry_run=True)
    assert [(one.memory.id, one.reason) for one in would.expiring] == [
        (event, "policy balanced: event older than 180 days")
    ]
    assert memory.show(event).status is Status.ACTIVE
    assert memory.apply_policy().expired == (event,)
    expired = memory.show(event)
    assert (expired.status, expired.content) == (Status.EXPIRED, "Deployed the gateway")
    assert expired.decision is not None
    assert expired.decision.reason == "policy balanced: event older than 180 days"
    assert memory.show(fact).status is Status.ACTIVE
    memory.restore(event)
    assert memory.apply_policy().expired == ()  # its age counts from when it was brought back


def test_a_low_confidence_expires_unless_a_person_stood_up_for_it(memory: Memanto, clock: FixedClock) -> None:
    memory.set_policy("balanced")
    low = memory.remember("Perhaps a pattern", type="observation", confidence=0.1).id
    spared = memory.remember("Perhaps another pattern", type="observation", confidence=0.1).id
    clock.advance(60)
    memory.expire(spared)
    memory.restore(spared)
    assert memory.apply_policy().expired == (low,)


def test_what_is_pinned_handed_over_or_used_is_kept_and_counted(memory: Memanto, clock: FixedClock) -> None:
    memory.set_policy(replace(PRESETS["aggressive"], keep_delivered=2))
    ids = {
        name: memory.remember(f"Situation of {name}", type="context").id for name in ("pin", "used", "shown", "none")
    }
    memory.pin(ids["pin"])
    memory.remember("SESSION HANDOFF | Goal: ship", type="context")
    for _ in range(2):
        with memory.run("work") as run:
            run.delivered(ids["shown"], ids["used"])
            run.used(ids["used"])
            run.step("did it")
    clock.advance(timedelta(days=400))
    done = memory.apply_policy()
    assert done.expired == (ids["none"],)
    assert done.kept == {
        "pinned": 1, "handoff": 1, "used by a run": 1, "delivered in 2 runs or more": 1, "run of the ledger": 2,
    }  # fmt: skip


def test_a_run_of_upkeep_cannot_empty_the_store_unasked(memory: Memanto, clock: FixedClock) -> None:
    memory.set_policy(with_type(PRESETS["balanced"], MemoryType.EVENT, time_to_live=timedelta(days=1)))
    memory.remember_many([Draft(content=f"Event number {n}", type=MemoryType.EVENT) for n in range(11)])
    clock.advance(timedelta(days=2))
    with pytest.raises(InvalidInputError, match="11 of 11 live memories would expire, more than the 10"):
        memory.apply_policy()
    assert len(memory.recall(limit=100)) == 11
    assert len(memory.apply_policy(yes=True).expired) == 11


def test_the_default_is_used_until_one_is_chosen_and_the_choice_is_in_history(memory: Memanto) -> None:
    assert memory.policy() == PRESETS[DEFAULT_PRESET]
    memory.set_policy("aggressive")
    chosen = with_type(memory.policy(), MemoryType.GOAL, time_to_live=timedelta(days=7))
    memory.set_policy(chosen)
    assert memory.policy() == chosen


def test_the_half_lives_rank_from_then_on_and_earlier_answers_keep_theirs(
    on_each_engine: Memanto, clock: FixedClock
) -> None:
    memory = on_each_engine
    memory.remember("The ledger was pulled at noon", type="fact")
    clock.advance(timedelta(days=30))
    before = clock()
    clock.advance(60)

    def recency(**options: object) -> float:
        return memory.recall("ledger", **options)[0].why.recency  # type: ignore[arg-type]

    assert (recency(), recency(as_of=before)) == (1.0, 1.0)
    memory.set_policy(with_type(memory.policy(), MemoryType.FACT, half_life=timedelta(days=30)))
    assert recency() == pytest.approx(0.75, abs=0.001)
    assert recency(as_of=before) == 1.0


@pytest.mark.parametrize("policy", PRESETS.values(), ids=PRESETS)
def test_a_policy_is_stored_and_read_without_loss(policy: Policy) -> None:
    assert policy_of(policy_value(policy)) == policy


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: with_type(PRESETS["balanced"], MemoryType.FACT, time_to_live=timedelta(0)), "positive span"),
        (lambda: with_type(PRESETS["balanced"], MemoryType.FACT, confidence_floor=1.5), "from 0 to 1"),
    ],
)
def test_values_out_of_range_are_refused(change: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        change()  # type: ignore[operator]


def test_a_policy_with_a_share_out_of_range_is_refused(memory: Memanto) -> None:
    with pytest.raises(InvalidInputError, match="max_share 2"):
        memory.set_policy(replace(PRESETS["balanced"], max_share=2))
    with pytest.raises(InvalidInputError, match="unknown preset 'mild'"):
        memory.set_policy("mild")
    assert TypePolicy() == memory.policy().of(MemoryType.GOAL)


# -- command line -----------------------------------------------------------------------------------
@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    monkeypatch.chdir(tmp_path)
    cli = Cli(tmp_path / "home", monkeypatch)
    cli.done("agent", "create", "tester")
    yield cli


def test_the_policy_is_shown_chosen_changed_and_applied(cli: Cli) -> None:
    assert cli.done("policy", "show", "--json").json["preset"] == DEFAULT_PRESET
    assert list(cli.done("policy", "presets", "--json").json["presets"]) == list(PRESETS)
    cli.done("policy", "apply-preset", "balanced")
    changed = cli.done("policy", "set", "goal", "--ttl", "2w", "--floor", "0.3", "--json").json
    assert changed["types"]["goal"]["time_to_live"] == 14 * 86_400
    assert cli.done("policy", "set", "--max-share", "0.5", "--json").json["max_share"] == 0.5
    assert "never" in cli.done("policy", "set", "goal", "--ttl", "never").out
    low = cli.remember("Ship it", "--type", "goal", "--confidence", "0.1")
    dry = cli.done("policy", "apply", "--dry-run", "--json").json
    assert [one["id"] for one in dry["expiring"]] == [low]
    assert low in cli.done("policy", "apply").out
    assert cli.recalled() == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["set"],
        ["set", "goal"],
        ["set", "--ttl", "3d"],
        ["set", "goal", "--ttl", "soon"],
        ["set", "goal", "--floor", "x"],
    ],
)
def test_settings_that_do_not_fit_are_refused(arguments: list[str], cli: Cli) -> None:
    assert cli("policy", *arguments).status == 2
