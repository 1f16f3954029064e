"""A memory check: each verdict, each stage at which a miss arises, and question files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.cli_kit import Cli
from tests.loop.answer_kit import DATABASE, GOAL, LAG, START, make_memory, seeded

from memanto import Memanto
from memanto.errors import InvalidInputError
from memanto.loop.check import CheckResult
from memanto.loop.check_questions import CheckQuestion, read_questions, standard_questions
from memanto.testing import FixedClock

ASKED = "How far do ledger pulls lag the source?"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def memory(clock: FixedClock) -> Iterator[Memanto]:
    with make_memory(clock) as made:
        made.create_agent()
        yield made


def judged(memory: Memanto, **question: Any) -> CheckResult:
    """Return the result of one question, by default `ASKED`."""
    [result] = memory.check([{"question": ASKED, **question}]).results
    return result


def verdict(result: CheckResult) -> tuple[str, str | None]:
    return result.verdict.value, result.stage and result.stage.value


# -- supported --------------------------------------------------------------------------------------
def test_the_four_questions_are_supported_by_a_memory_that_holds_their_answers() -> None:
    memory, ids = seeded()
    with memory:
        report = memory.check(task_type="nightly-reconciliation")
        other = memory.check(task_type="web-shop-deploy")
    assert report.passed
    assert [set(one.cited) for one in report.results] == [
        {ids["goal"], ids["plan"]}, {ids["event"]}, {ids["error"]}, {ids["lag"], ids["database"]},
    ]  # fmt: skip
    assert [verdict(one) for one in other.results][1:3] == [("absent", "not_stored")] * 2


@pytest.mark.parametrize("expect", ["5 minutes", ["LAG the", "5  minutes"], 5])
def test_an_answer_that_holds_what_was_expected_is_supported(expect: object, memory: Memanto) -> None:
    stored = memory.remember(LAG, type="fact")
    result = judged(memory, expect=expect)
    assert verdict(result) == ("supported", None)
    assert result.cited == (stored.id,)


def test_an_id_a_prefix_of_it_or_a_slot_can_be_expected(memory: Memanto) -> None:
    stored = memory.remember(LAG, type="fact", key="ledger.lag")
    assert verdict(judged(memory, ids=[stored.id])) == ("supported", None)
    assert verdict(judged(memory, ids=stored.id[:23])) == ("supported", None)
    assert verdict(judged(memory, key="ledger.lag")) == ("supported", None)


def test_a_question_can_ask_as_of_a_day(memory: Memanto, clock: FixedClock) -> None:
    memory.remember(LAG, type="fact", key="lag")
    clock.advance(timedelta(days=40))
    memory.remember("Ledger pulls lag the source by about 9 minutes", type="fact", key="lag")
    assert verdict(judged(memory, expect="5 minutes", as_of="2026-05-20")) == ("supported", None)
    assert verdict(judged(memory, expect="9 minutes", as_of="2026-05-20")) == ("absent", "not_stored")


# -- stale ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("how", ["edit", "expire", "supersede"])
def test_what_was_expected_and_is_retired_is_stale(how: str, memory: Memanto, clock: FixedClock) -> None:
    old = memory.remember(LAG, type="fact")
    clock.advance(60)
    if how == "edit":
        memory.edit(old.id, content="Ledger pulls lag the source by about 9 minutes")
    elif how == "expire":
        memory.expire(old.id)
    else:
        memory.supersede(old.id, memory.remember("Ledger pulls lag the source by 9 minutes", type="fact").id)
    result = judged(memory, expect="5 minutes")
    assert verdict(result) == ("stale", "not_usable")
    assert old.id in result.detail


def test_what_was_true_only_until_then_is_stale(memory: Memanto, clock: FixedClock) -> None:
    memory.remember(LAG, type="fact", valid_to=START + timedelta(days=1))
    clock.advance(timedelta(days=2))
    result = judged(memory, expect="5 minutes")
    assert verdict(result) == ("stale", "not_usable")
    assert "2026-05-05" in result.detail


def test_an_answer_older_than_allowed_is_stale(memory: Memanto, clock: FixedClock) -> None:
    memory.remember(LAG, type="fact")
    clock.advance(timedelta(days=31))
    assert verdict(judged(memory, max_age="30 days")) == ("stale", "not_usable")
    assert verdict(judged(memory, max_age="32 days")) == ("supported", None)


def test_an_expired_goal_is_stale_and_not_absent(memory: Memanto) -> None:
    memory.expire(memory.remember(GOAL, type="goal").id)
    assert verdict(judged(memory, question="What is the current goal?")) == ("stale", "not_usable")


# -- conflicting ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LAG, "Ledger pulls lag the source by about 9 minutes"),
        ("Ledger pulls may lag the source", "Ledger pulls may never lag the source"),
    ],
)
def test_two_believed_memories_that_differ_in_a_value_or_a_negation_conflict(
    one: str, other: str, memory: Memanto
) -> None:
    ids = {memory.remember(text, type="fact").id for text in (one, other)}
    result = judged(memory)
    assert verdict(result) == ("conflicting", "not_usable")
    assert all(memory_id in result.detail for memory_id in ids)


@pytest.mark.parametrize("kind", ["event", "observation"])
def test_what_happened_twice_with_other_numbers_does_not_conflict(kind: str, memory: Memanto) -> None:
    memory.remember("Ledger pulls lag the source by about 5 minutes today", type=kind)
    memory.remember("Ledger pulls lag the source by about 9 minutes today", type=kind)
    assert verdict(judged(memory)) == ("supported", None)


def test_a_conflict_that_was_resolved_is_none(memory: Memanto) -> None:
    old = memory.remember("Ledger pulls lag the source by about 9 minutes", type="fact")
    memory.supersede(old.id, memory.remember(LAG, type="fact").id)
    assert verdict(judged(memory)) == ("supported", None)


# -- absent, stage by stage -------------------------------------------------------------------------
def test_what_was_never_stored_is_absent_because_it_is_not_stored(memory: Memanto) -> None:
    memory.remember(LAG, type="fact")
    for expected in ({"expect": "17 hours"}, {"key": "no.such"}, {"ids": ["01890000-0000-7000-8000-000000000000"]}):
        assert verdict(judged(memory, **expected)) == ("absent", "not_stored")


def test_what_was_forgotten_is_not_stored(memory: Memanto) -> None:
    memory.forget(memory.remember(LAG, type="fact").id)
    assert verdict(judged(memory, expect="5 minutes")) == ("absent", "not_stored")


def test_what_is_stored_and_not_among_the_candidates_is_not_retrieved(memory: Memanto) -> None:
    memory.remember(LAG, type="fact")
    stored = memory.remember("Zebras graze", type="learning")
    result = judged(memory, expect="zebras", type="fact")
    assert verdict(result) == ("absent", "not_retrieved")
    assert stored.id in result.detail


def test_what_is_found_and_does_not_fit_is_not_usable(memory: Memanto) -> None:
    memory.remember("Zebras graze", type="fact")
    assert verdict(judged(memory, expect="zebras")) == ("absent", "not_usable")


def test_what_is_quarantined_is_not_usable(memory: Memanto) -> None:
    stored = memory.remember(LAG, type="fact", provenance="inferred")
    result = judged(memory, expect="5 minutes")
    assert verdict(result) == ("absent", "not_usable")
    assert f"{stored.id} (version 1) holds '5 minutes' and is quarantined" in result.detail


def test_a_failure_is_found_by_the_task_type_it_was_recorded_for(memory: Memanto) -> None:
    recorded = memory.record_failure("When converting to euros, wait for the rates", task_type="weekly-report")
    memory.record_failure("When the printer jams, pull the tray", task_type="printing")
    asked = memory.check(task_type="weekly report").results[2]
    assert (verdict(asked), asked.cited) == (("supported", None), (recorded.id,))
    assert verdict(memory.check(task_type="web-shop-deploy").results[2])[0] == "absent"
    planning = memory.answer("How to build the weekly report, and which mistakes should I avoid?")
    assert [one.id for one in planning.citations] == [recorded.id]


def test_a_question_of_which_a_part_is_answered_is_partly_answered_and_still_a_miss(memory: Memanto) -> None:
    asked = "What is the current goal and plan?"
    assert verdict(judged(memory, question=asked)) == ("absent", "not_stored")
    memory.remember(GOAL, type="goal")
    result = judged(memory, question=asked)
    assert verdict(result) == ("partly", "not_stored")
    assert "plan" in result.detail
    assert not memory.check([asked]).passed
    assert verdict(judged(memory, question=asked, expect="no such text")) == ("absent", "not_stored")
    memory.expire(memory.set_plan("Plan: pull, wait, diff").id)
    assert verdict(judged(memory, question=asked)) == ("stale", "not_usable")


# -- question files ---------------------------------------------------------------------------------
YAML = f"""
questions:
  - question: {ASKED}
    expect: 5 minutes
    type: fact
    max_age: 90 days
  - question: Which database holds the ledger?
    expect: [PostgreSQL, 17]
    as_of: 2026-05-20
"""


def test_yaml_and_json_files_and_python_values_read_alike(tmp_path: Path) -> None:
    plain = {ASKED: "5 minutes", "Which database holds the ledger?": ["PostgreSQL", 17]}
    (tmp_path / "q.json").write_text(json.dumps(plain), "utf-8")
    (tmp_path / "q.yaml").write_text(YAML, "utf-8")
    from_yaml, from_json = read_questions(tmp_path / "q.yaml"), read_questions(str(tmp_path / "q.json"))
    assert [one.question for one in from_yaml] == [one.question for one in from_json] == list(plain)
    assert [one.expect for one in from_yaml] == [one.expect for one in from_json]
    assert from_yaml[0].max_age == timedelta(days=90)
    assert from_yaml[1].as_of is not None
    assert from_yaml[1].as_of.date().isoformat() in {"2026-05-20", "2026-05-21"}
    assert read_questions([CheckQuestion(question=ASKED), ASKED])[1].question == ASKED


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([{"question": "x", "expct": "y"}], "question 1: unknown field 'expct'"),
        ([{"expect": "y"}], "question 1: it has no question"),
        ([ASKED, {"question": " "}], "question 2"),
        ([{"question": "x", "expect": {"a": 1}}], "expect is a text or a list"),
        ([{"question": "x", "expect": ""}], "empty text"),
        ([{"question": "x", "max_age": "soon"}], "max_age 'soon'"),
        ([{"question": "x", "as_of": "2026-02-30"}], "question 1"),
        ([{"question": "x", "type": "nonsense"}], "question 1"),
        ([3], "question 1: it is int"),
        ([], "1 to 500 questions, not 0"),
        (3, "no questions: int"),
    ],
)
def test_malformed_questions_are_refused_with_their_number(given: object, told: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        read_questions(given)
    assert told in raised.value.message


@pytest.mark.parametrize(
    ("name", "text"),
    [("q.yaml", "a: [b"), ("q.json", "{"), ("q.yaml", "\0"), ("q.yaml", "!!python/object/apply:os.getcwd []")],
)
def test_a_file_that_is_no_question_file_is_refused_and_runs_nothing(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(InvalidInputError, match="question file"):
        read_questions(tmp_path / name)
    with pytest.raises(InvalidInputError, match="cannot read"):
        read_questions(tmp_path / "missing.yaml")


def test_the_standard_questions_name_the_task() -> None:
    assert [one.question for one in standard_questions("nightly_reconciliation")][1:3] == [
        "What did the last nightly reconciliation run conclude?",
        "What is one failure recorded for nightly reconciliation and its fix?",
    ]
    assert standard_questions()[1].question == "What did the last run conclude?"
    assert standard_questions("nightly run")[1].question == "What did the last nightly run conclude?"


# -- the command ------------------------------------------------------------------------------------
def test_the_command_exits_3_on_a_miss_and_0_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cli = Cli(tmp_path / "home", monkeypatch)
    cli.done("agent", "create", "ledger-bot")
    cli.remember(DATABASE, "--type", "fact")
    (tmp_path / "q.yaml").write_text('"Which database holds the ledger?": PostgreSQL 17\n', "utf-8")
    done = cli.done("check", "q.yaml", "--json", "--no-rerank")
    assert (done.json["passed"], done.json["results"][0]["verdict"]) == (True, "supported")
    (tmp_path / "q.yaml").write_text('"Which database holds the ledger?": MySQL\n', "utf-8")
    missed = cli("check", "q.yaml", "--no-rerank")
    assert missed.status == 3
    assert "absent (not_stored)" in missed.out
    assert "0 of 1 supported" in missed.out
    assert cli("check", "missing.yaml").status == 2


def test_the_answer_command_abstains_with_status_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cli = Cli(tmp_path / "home", monkeypatch)
    cli.done("agent", "create", "ledger-bot")
    memory_id = cli.remember(DATABASE, "--type", "fact", "--confidence", "0.9")
    options = ("--no-llm", "--no-rerank", "--limit", "3", "--budget", "100")
    shown = cli.done("answer", "Which database holds the ledger?", *options).out
    assert f"[1] {memory_id[:18]}" in shown
    assert "confidence 0.9" in shown
    abstained = cli.done("answer", "Who won the football match?", *options, "--json").json
    assert (abstained["abstained"], abstained["citations"]) == (True, [])
    assert "nothing was known" in cli.done("answer", "Which database?", *options, "--as-of", "2020-01-01").err
