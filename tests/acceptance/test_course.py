"""The course's commands do what the course says (specification)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.cli_kit import Cli, Outcome
from tests.acceptance.course import (
    ANSWERS,
    BATON,
    FAILURE,
    GOAL,
    LAG,
    LEARNING,
    OLD_BATON,
    REPULL,
    SCHEMA,
    STEPS,
    TEMPLATE,
    UPKEEP,
)

from memanto import Embedded, Memanto
from memanto.cli.timers import Job
from memanto.testing import FixedClock, HashEmbedder


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    folder = tmp_path_factory.mktemp("course")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield Cli(folder / "home", patch)


@pytest.fixture(scope="module")
def course(cli: Cli) -> Mapping[str, Outcome]:
    """What each command of the course did, run in order on one store."""
    return {name: cli(*arguments, "--json") for name, arguments in STEPS.items()}


def memories(outcome: Outcome) -> list[dict[str, Any]]:
    return [one["memory"] for one in outcome.json["results"]]


def texts(outcome: Outcome) -> list[str]:
    return [memory["content"] for memory in memories(outcome)]


@pytest.mark.parametrize("name", STEPS)
def test_every_command_of_the_course_is_done(name: str, course: Mapping[str, Outcome]) -> None:
    assert course[name].status == 0, course[name].err


def test_creating_the_agent_again_activates_it(course: Mapping[str, Outcome]) -> None:
    assert [course[name].json["created"] for name in ("create", "create again")] == [True, False]
    assert course["create again"].json["active"] is True


@pytest.mark.parametrize(
    ("name", "type_", "confidence"),
    [
        ("goal", "goal", 0.8),
        ("fact", "fact", 0.9),
        ("artifact", "artifact", 0.8),
        ("decision", "decision", 0.9),
        ("failure", "error", 0.95),
    ],
)
def test_what_is_remembered_is_stored_as_given(
    name: str, type_: str, confidence: float, course: Mapping[str, Outcome], cli: Cli
) -> None:
    stored = cli.done("show", course[name].json["id"], "--json", "--agent", "nightly-reconciler").json
    assert (stored["content"], stored["type"], stored["confidence"]) == (STEPS[name][1], type_, confidence)


def test_a_pointer_is_found_and_nothing_of_another_type(course: Mapping[str, Outcome]) -> None:
    assert texts(course["find artifact"]) == [SCHEMA]


def test_a_decision_is_found_with_its_reason(course: Mapping[str, Outcome]) -> None:
    assert texts(course["find decision"]) == [REPULL]


@pytest.mark.parametrize(
    "name", ["template", "checklist goal", "checklist fact", "checklist decision", "checklist failure"]
)
def test_an_unfilled_template_is_stored_with_a_warning(name: str, course: Mapping[str, Outcome]) -> None:
    assert [one for one in course[name].json["warnings"] if "template not filled" in one]


def test_a_filled_template_has_no_warning(course: Mapping[str, Outcome]) -> None:
    assert course["learning"].json["warnings"] == []


def test_the_bare_words_of_the_course_are_joined_and_echoed(course: Mapping[str, Outcome], cli: Cli) -> None:
    assert "read --source claude code as 'claude_code'" in course["baton"].err
    assert "read --provenance explicit statement as 'explicit_statement'" in course["failure"].err
    stored = cli.done("show", course["failure"].json["id"], "--json", "--agent", "nightly-reconciler").json
    assert (stored["source"], stored["provenance"]) == ("claude_code", "explicit_statement")


def test_the_newest_baton_comes_first(course: Mapping[str, Outcome]) -> None:
    assert texts(course["find baton"]) == [BATON, OLD_BATON]


def test_recent_shows_what_was_written_last_first(course: Mapping[str, Outcome]) -> None:
    assert texts(course["recent"]) == [FAILURE, BATON, OLD_BATON, TEMPLATE, LEARNING, REPULL, SCHEMA, LAG, GOAL]


def test_no_runs_yet_is_an_empty_result_that_says_so(course: Mapping[str, Outcome]) -> None:
    assert course["prior runs"].json["results"] == []
    assert course["prior runs"].json["note"] == "nothing found"


def test_a_failure_is_found_with_its_trigger_and_fix(course: Mapping[str, Outcome]) -> None:
    assert texts(course["known failures"]) == [FAILURE]


def test_a_store_younger_than_the_moment_asked_for_says_so(course: Mapping[str, Outcome]) -> None:
    assert course["young store"].json["results"] == []
    note = course["young store"].json["note"]
    assert note.startswith("nothing was known then; oldest memory is from ")
    assert note.endswith("; try --valid-at")


def test_the_active_agent_of_the_checklist_sees_only_its_own(course: Mapping[str, Outcome]) -> None:
    assert {memory["namespace"] for memory in memories(course["checklist recent"])} == {"my-loop"}
    assert len(memories(course["checklist recent"])) == 4


def test_the_course_reads_well_without_json(course: Mapping[str, Outcome], cli: Cli) -> None:
    assert course["goal"].status == 0
    shown = cli.done("recall", "latest session handoff", "--type", "context", "--agent", "nightly-reconciler").out
    assert BATON in shown.split("\n\n")[0]
    assert "claude_code" in shown


# -- point-in-time truth ----------------------------------------------------------------------------
def test_as_of_answers_what_was_believed_then_whatever_was_edited_since(cli: Cli) -> None:
    clock = FixedClock(datetime(2026, 5, 4, 9, tzinfo=UTC))
    with Memanto("history", store=Embedded(cli.home), embedder=HashEmbedder(), clock=clock) as memory:
        chosen = memory.remember("The database we use is Postgres 15", type="decision", key="database")
        clock.set(datetime(2026, 6, 15, tzinfo=UTC))
        memory.remember("The database we use is MySQL 8", type="decision", key="database")
        clock.set(datetime(2026, 7, 1, tzinfo=UTC))
        memory.edit(chosen.id, content="The database we use is MySQL 8.4", reason="minor upgrade")
    asked = ["recall", "what database did we use", "--agent", "history", "--json"]
    assert texts(cli.done(*asked, "--as-of", "2026-06-01")) == ["The database we use is Postgres 15"]
    assert texts(cli.done(*asked, "--as-of", "2026-06-20")) == ["The database we use is MySQL 8"]
    assert texts(cli.done(*asked)) == ["The database we use is MySQL 8.4"]
    assert texts(cli.done(*asked, "--as-of", "2026-05-01")) == []


# -- answers ----------------------------------------------------------------------------------------
def asked(name: str, cli: Cli) -> dict[str, Any]:
    """Ask one of the course's questions; the agent is named because the checklist activated another one."""
    return cli.done(*ANSWERS[name], "--agent", "nightly-reconciler", "--json").json


def cited(answer: Mapping[str, Any]) -> list[str]:
    return [one["quote"] for one in answer["citations"]]


@pytest.mark.usefixtures("course")
def test_an_answer_before_planning_cites_the_path_and_the_mistake(cli: Cli) -> None:
    answer = asked("answer before planning", cli)
    path, mistakes = answer["parts"]
    assert (path["kind"], mistakes["kind"]) == ("path", "failure")
    assert path["answered"] and mistakes["answered"]
    assert {REPULL, FAILURE} <= set(cited(answer))
    assert answer["missing"] == [] and not answer["abstained"]


@pytest.mark.usefixtures("course")
def test_an_answer_as_a_memory_check_cites_a_goal_and_an_error_and_names_the_missing_run(cli: Cli) -> None:
    answer = asked("answer as a memory check", cli)
    assert [one["type"] for one in answer["citations"]] == ["goal", "error"]
    assert cited(answer) == [GOAL, FAILURE]
    assert answer["missing"] == ["what did the last reconciliation run conclude"]
    assert "Memory has nothing on: what did the last reconciliation run conclude." in answer["text"]


@pytest.mark.usefixtures("course")
def test_an_answer_as_a_memory_check_cites_the_last_run_once_there_is_one(cli: Cli) -> None:
    agent = ("--agent", "runs")
    cli.done("agent", "create", "runs")
    for text, kind in ((GOAL, "goal"), (FAILURE, "error")):
        cli.remember(text, "--type", kind, *agent)
    cli.remember(
        "Nightly reconciliation run of Monday concluded: 12 deltas, root pull was stale", "--type", "event", *agent
    )
    last = "Nightly reconciliation run of Tuesday concluded: 0 deltas after the re-pull"
    cli.remember(last, "--type", "event", *agent)
    cli.remember("Deploy of the web shop finished", "--type", "event", *agent)
    answer = cli.done(*ANSWERS["answer as a memory check"], *agent, "--json").json
    assert cited(answer) == [GOAL, last, FAILURE]
    assert answer["missing"] == []


@pytest.mark.usefixtures("course")
def test_an_answer_of_the_checklist_says_what_worked_and_what_to_avoid(cli: Cli) -> None:
    answer = asked("answer of the checklist", cli)
    assert [part["answered"] for part in answer["parts"]] == [True, True]
    assert {LEARNING, FAILURE} <= set(cited(answer))
    assert TEMPLATE.strip() not in cited(answer)


@pytest.mark.usefixtures("course")
def test_an_answer_prints_each_cited_memory_with_id_date_and_confidence(cli: Cli) -> None:
    shown = cli.done(*ANSWERS["answer as a memory check"], "--agent", "nightly-reconciler").out
    error = shown.split("[2] ")[-1]
    assert "error" in error and "confidence 0.95" in error
    assert f"{datetime.now(UTC):%Y-%m-%d}" in error


# -- on-prem ----------------------------------------------------------------------------------------
def test_on_prem_every_command_runs_without_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing leaves the machine, and the local socket between processes is done without where it is forbidden."""
    outward: list[object] = []

    def refuse(caller: object = None, *_: object, **__: object) -> None:
        if not (isinstance(caller, socket.socket) and caller.family == socket.AF_UNIX):
            outward.append(caller)
        raise AssertionError("a socket was opened")

    monkeypatch.chdir(tmp_path)
    here = Cli(tmp_path / "home", monkeypatch)
    here.done("config", "backend", "on-prem")
    for name in ("connect", "connect_ex", "sendto", "bind"):
        monkeypatch.setattr(socket.socket, name, refuse, raising=False)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    for arguments in STEPS.values():
        here.done(*arguments)
    memory_id = here.remember("x")
    for arguments in (
        ["show", memory_id], ["history", memory_id], ["edit", memory_id, "--content", "y"], ["verify", memory_id],
        ["quarantine", memory_id], ["restore", memory_id], ["pin", memory_id], ["unpin", memory_id],
        ["expire", memory_id], ["export", "--output", "out.jsonl"], ["import", "out.jsonl"], ["reindex"], ["optimize"],
        ["status"], ["doctor"], ["forget", memory_id, "--yes"], ["agent", "list"], ["config", "show"], [],
    ):  # fmt: skip
        here.done(*arguments)
    assert outward == []


def test_on_prem_refuses_a_server_on_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = Cli(tmp_path / "home", monkeypatch)
    here.done("config", "backend", "on-prem")
    monkeypatch.setenv("MEMANTO_QDRANT_URL", "https://qdrant.example.com:6333")
    outcome = here("recall", "--agent", "x")
    assert outcome.status == 2
    assert "qdrant.example.com" in outcome.err


# -- as a user runs it ------------------------------------------------------------------------------
def test_the_installed_command_works_from_one_process_to_the_next(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MEMANTO_")}
    environ |= {"MEMANTO_HOME": str(tmp_path / "home"), "MEMANTO_OFFLINE": "1"}

    def memanto(*arguments: str) -> str:
        program = Path(sys.executable).with_name("memanto")
        done = subprocess.run(
            [program, *arguments],
            capture_output=True,
            check=False,
            encoding="utf-8",
            env=environ,
            cwd=tmp_path,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    memanto(*STEPS["create"])
    memanto(*STEPS["artifact"])
    memanto(*STEPS["failure"])
    assert SCHEMA in memanto(*STEPS["find artifact"])
    assert FAILURE in memanto(*STEPS["recent"])


# -- upkeep -----------------------------------------------------------------------------------------
class Daily:
    """A scheduler that remembers what it was given."""

    name = "daily"

    def __init__(self) -> None:
        self.job: Job | None = None

    def available(self) -> bool:
        return True

    def install(self, job: Job) -> None:
        self.job = job

    def remove(self) -> bool:
        return self.job is not None

    def installed(self) -> bool:
        return self.job is not None


@pytest.mark.parametrize("name", UPKEEP)
def test_the_upkeep_of_the_course_is_done(
    name: str, course: Mapping[str, Outcome], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    daily = Daily()
    monkeypatch.setattr("memanto.cli.timers.timers", lambda home: [daily])
    monkeypatch.setattr("memanto.cli.schedule.timers", lambda home: [daily])
    assert course["goal"].status == 0
    for arguments in UPKEEP[name]:
        outcome = cli.done(*arguments, "--agent", "nightly-reconciler", "--json")
        assert outcome.out
    if name == "schedule":
        assert (outcome.json["enabled"], outcome.json["timer"]) == (True, "daily")
        assert outcome.json["next_run"]
        assert daily.job is not None
        assert daily.job.cron_line.startswith("55 23 * * * ")


def test_upkeep_is_done_on_an_empty_day_and_with_conflicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fresh = Cli(tmp_path / "home", monkeypatch)
    fresh.done("agent", "create", "quiet")
    assert "Nothing was recorded." in fresh.done("daily-summary").out
    assert fresh.done("conflicts").out == ""
    fresh.remember("The primary database is Postgres", "--type", "fact")
    fresh.remember("The primary database is MySQL", "--type", "fact")
    assert "## Conflicts (1 open)" in fresh.done("daily-summary").out
    assert "contradiction by value" in fresh.done("conflicts").out
