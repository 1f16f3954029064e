"""The commands for pins, handoffs, failures, briefs and pages: output, JSON and exit codes (specification)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.acceptance.cli_kit import Cli
from tests.acceptance.course import BATON, FAILURE


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    made = Cli(tmp_path / "home", monkeypatch)
    made.done("agent", "create", "tester")
    return made


def test_goal_and_plan_are_set_and_shown(cli: Cli) -> None:
    assert cli.done("goal", "show", "--json").json == {
        "memory": None, "note": "no goal is set; `memanto goal set TEXT` sets one",
    }  # fmt: skip
    cli.done("goal", "set", "Goal: ship")
    assert cli.done("goal", "set", "Goal: ship it", "--json").json["version"] == 2
    cli.done("plan", "set", "test, ship")
    assert cli.done("goal", "show", "--json").json["memory"]["content"] == "Goal: ship it"
    assert "test, ship" in cli.done("plan", "show").out
    assert cli.done("brief").out == "Goal: ship it\nPlan: test, ship\n"


def test_a_baton_goes_from_write_to_ack(cli: Cli) -> None:
    empty = cli.done("handoff", "take", "--json").json
    assert (empty["handoff"], empty["note"]) == (None, "no handoff waits in lane main")
    cli.done("handoff", "write", "--done", "one", "--done", "two", "--next", "three", "--do-not-redo", "one")
    shown = cli.done("handoff", "show", "--json").json["handoffs"][0]
    assert (shown["state"], shown["baton"]["done"]) == ("offered", ["one", "two"])
    taken = cli.done("handoff", "take", "--by", "a", "--json").json["handoff"]
    assert (taken["state"], taken["by"]) == ("claimed", "a")
    with_remark = cli.done("handoff", "write", "--next", "x", "--lane", "the docs")
    assert with_remark.status == 0
    assert "`memanto handoff ack --lane 'the docs' --by user`" in cli.done("handoff", "take", "--lane", "the docs").err
    assert "claimed by a until" in cli.done("handoff", "take").err
    refused = cli("handoff", "ack", "--by", "b", "--json")
    assert (refused.status, refused.error["code"]) == (4, "conflict")
    assert "acknowledged" in cli.done("handoff", "ack", "--by", "a").out
    assert cli("handoff", "ack", "--by", "a").status == 3


def test_a_whole_baton_is_read_from_an_argument_or_standard_input(cli: Cli) -> None:
    cli.done("handoff", "write", BATON)
    cli.done("handoff", "write", "-", "--lane", "docs", stdin=b"Goal: docs\nNext: write them\n")
    assert "Next: convert /v1/orders" in cli.done("handoff", "show").out
    assert "SESSION HANDOFF\nGoal: docs\nNext: write them" in cli.done("handoff", "show", "--lane", "docs").out
    assert cli("handoff", "write", BATON, "--goal", "x").status == 2


def test_an_empty_shift_is_refused_with_status_2(cli: Cli) -> None:
    cli.done("handoff", "write", BATON)
    refused = cli("handoff", "write", "--goal", "x", "--json")
    assert refused.status == 2
    assert "empty shift" in refused.error["message"]


def test_an_unconfirmed_baton_is_named_and_left(cli: Cli) -> None:
    cli.done("handoff", "write", "--next", "x", "--provenance", "inferred")
    assert "unconfirmed (inferred)" in cli.done("handoff", "show").out
    assert "only an unconfirmed handoff waits" in cli.done("handoff", "take").err
    assert "claimed" in cli.done("handoff", "take", "--unconfirmed").out


def test_guard_prints_what_matches_and_is_strict_on_request(cli: Cli) -> None:
    cli.done("remember", FAILURE, "--type", "error")
    situation = "run the Postgres integration tests"
    found = cli.done("guard", situation)
    assert "do: run pnpm db:seed before the suite" in found.out
    stopped = cli("guard", "-", "--strict", "--json", stdin=situation.encode())
    assert (stopped.status, stopped.json["stopped"]) == (3, True)
    assert stopped.json["triggers"][0]["when"].startswith("Postgres integration tests")
    silent = cli.done("guard", "write the changelog", "--strict")
    assert (silent.out, silent.err.strip()) == ("", "note: nothing speaks against it")
    assert cli("guard").status == 2


def test_strict_does_not_stop_for_what_is_unconfirmed(cli: Cli) -> None:
    cli.done("remember", FAILURE, "--type", "error", "--confidence", "0.4")
    found = cli.done("guard", "run the Postgres integration tests", "--strict")
    assert "(unconfirmed)" in found.out


@pytest.mark.parametrize(
    "arguments", ['{"path": "/v1/users"}', "/v1/users", '"/v1/users"', '["/v1/users"]', "{/v1/users"]
)
def test_guard_reads_arguments_that_are_json_or_not(cli: Cli, arguments: str) -> None:
    cli.done("handoff", "write", BATON)
    found = cli.done("guard", "--tool", "edit", "--args", arguments, "--json").json["triggers"]
    assert [one["kind"] for one in found] == ["do_not_redo"]


def test_a_failure_is_recorded_with_its_fields_and_judged(cli: Cli) -> None:
    recorded = cli.done(
        "failure", "--attempted", "deploying first", "--wrong", "missing column", "--fix", "migrate first",
        "--task-type", "deploy", "--cause", "new code", "--json",
    ).json  # fmt: skip
    stored = cli.done("show", recorded["id"], "--json").json
    assert stored["content"] == "When deploying first ends in missing column, migrate first — root cause: new code"
    assert stored["metadata"]["failure"]["task_type"] == "deploy"
    assert "confidence 0.8 -> 0.84" in cli.done("feedback", recorded["id"], "--helped").err
    assert cli("feedback", recorded["id"]).status == 2
    assert cli("feedback", recorded["id"], "--helped", "--wrong").status == 2
    assert cli("failure", "X", "--trigger", "Y").status == 2
    assert cli("failure", "--wrong", "it broke").status == 2


def test_brief_says_what_it_left_out_and_fences_on_request(cli: Cli) -> None:
    assert "memory has nothing on this yet" in cli.done("brief", "the importer").err
    for number in range(3):
        cli.done("remember", f"The importer has part {number}", "--type", "fact")
    short = cli.done("brief", "the importer", "--bullets", "1", "--json").json
    assert len(short["brief"]["bullets"]) == 1
    assert len(short["brief"]["left_out"]["fact"]) == 2
    assert short["note"] == "left out: 2 fact"
    assert cli.done("brief", "the importer", "--fenced").out.count("<memory id=") == 3
    cli.done("goal", "set", "Goal: " + "long " * 50)
    assert "the pins alone take" in cli.done("brief", "the importer", "--budget", "10").err


def test_policy_prompt_prints_a_part(cli: Cli) -> None:
    assert cli.done("policy-prompt", "--part", "check").out.startswith("MEMORY CHECK")
    assert cli.done("policy-prompt", "--json").json["text"].startswith("MEMORY POLICY")
    assert cli("policy-prompt", "--part", "x").status == 2


def test_a_long_text_is_shown_by_the_page(cli: Cli) -> None:
    text = "".join(f"line {number}\n" for number in range(2_000))
    stored = json.loads(cli.done("remember", "-", "--type", "artifact", "--json", stdin=text.encode()).out)["id"]
    first = cli.done("show", stored, "--page", "1")
    assert first.out.startswith("line 0\n")
    assert "page 1 of" in first.err
    pages = cli.done("show", stored, "--page", "2", "--json").json
    assert (pages["number"], pages["text"][:5]) == (2, "line ")
    assert cli("show", stored, "--page", "99").status == 2


def test_quarantine_names_what_cites_the_demoted_memory(cli: Cli) -> None:
    claim = cli.remember("The importer is slow", "--type", "observation")
    citing = cli.remember(f"Summary: the importer is slow [{claim}]", "--type", "learning")
    demoted = cli.done("quarantine", claim, "--json").json
    assert [one["id"] for one in demoted["cited_by"]] == [citing]
    other = cli.remember(f"Decided because of [{citing}]", "--type", "decision")
    assert f"cited by {other} (decision, active)" in cli.done("quarantine", citing).err
