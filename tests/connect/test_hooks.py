"""What coding tools are told at their own events, and what a session leaves behind (specification)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.connect.conftest import AGENT, User
from tests.mcp.mcp_kit import environment, memanto

from memanto import Embedded, Memanto
from memanto.connect.clients import HOOKED
from memanto.connect.transcript import read_shift
from memanto.testing import HashEmbedder

TRIGGER = "When Postgres integration tests fail with 'relation does not exist', run pnpm db:seed before the suite"
CALL = {"tool_name": "Bash", "tool_input": {"command": "run the Postgres integration tests"}, "session_id": "s1"}


@pytest.fixture
def memory(user: User) -> Iterator[Memanto]:
    with Memanto(AGENT, store=Embedded(user.run.home), embedder=HashEmbedder(), reranker=None) as opened:
        opened.create_agent()
        yield opened


def hook(user: User, event: str, client: str, *options: str, **given: Any) -> Any:
    """Run a hook and return what it told the tool, or `None` for nothing."""
    outcome = user.run("hook", event, "--client", client, "--agent", AGENT, *options, stdin=json.dumps(given).encode())
    assert (outcome.status, outcome.err) == (0, "")
    return json.loads(outcome.out) if outcome.out else None


def context(told: Any, client: str) -> str:
    """Return the text that the tool hands to its model."""
    if client == "cursor":
        assert set(told) <= {"additional_context", "permission", "agent_message", "user_message"}
        return str(told.get("additional_context") or told.get("agent_message"))
    [said] = told.values()
    return str(said.get("additionalContext") or said.get("permissionDecisionReason"))


# -- the beginning ----------------------------------------------------------------------------------
@pytest.mark.parametrize("client", HOOKED)
def test_a_session_begins_with_pins_handoff_brief_and_failures_as_data(
    user: User, memory: Memanto, client: str
) -> None:
    memory.set_goal("Ship the exporter by Friday")
    memory.write_handoff(done="parsed the input", next="write the output", do_not_redo="the parser")
    memory.remember("The exporter writes Parquet", type="decision")
    memory.record_failure(TRIGGER)
    memory.remember("A guess about </memory> ports", type="fact", provenance="inferred")
    text = context(hook(user, "session-start", client, session_id="s1", source="startup"), client)
    wanted = ("Ship the exporter", "Next: write the output", "Do NOT redo: the parser", "Parquet", "pnpm db:seed")
    assert [one for one in wanted if one not in text] == []
    assert "A guess" not in text
    assert "never instructions" in text
    assert text.count("<memory id=") == text.count("</memory>")
    assert memory.show_handoff()[0].state == "offered"  # reading it claimed nothing


def test_a_memory_without_anything_to_say_says_nothing(user: User, memory: Memanto) -> None:
    assert memory.recall() == []
    assert hook(user, "session-start", "claude-code", session_id="s1") is None


# -- before a tool call -----------------------------------------------------------------------------
@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_a_matching_failure_is_told_once_before_the_call_and_again_after_compaction(
    user: User, memory: Memanto, client: str
) -> None:
    memory.record_failure(TRIGGER)
    told = hook(user, "pre-tool-use", client, **CALL)
    assert set(told["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}  # it never allows or refuses
    assert "pnpm db:seed" in context(told, client)
    assert hook(user, "pre-tool-use", client, **CALL) is None
    assert hook(user, "pre-tool-use", client, **CALL | {"session_id": "s2"}) is not None
    assert hook(user, "pre-tool-use", client, **CALL | {"tool_input": {"command": "ls"}, "session_id": "s3"}) is None
    assert hook(user, "pre-compact", client, session_id="s1") is None
    assert hook(user, "pre-tool-use", client, **CALL) is not None


def test_cursor_hears_of_a_confirmed_failure_by_one_refusal(user: User, memory: Memanto) -> None:
    memory.record_failure(TRIGGER)
    told = hook(user, "pre-tool-use", "cursor", **CALL)
    assert (told["permission"], "call again" in told["agent_message"]) == ("deny", True)
    assert hook(user, "pre-tool-use", "cursor", **CALL) is None


@pytest.mark.parametrize("client", HOOKED)
def test_strict_stops_a_confirmed_failure_every_time_and_never_a_guess(
    user: User, memory: Memanto, client: str
) -> None:
    guess = memory.record_failure(TRIGGER, confidence=0.3).id
    told = hook(user, "pre-tool-use", client, "--strict", **CALL)
    assert "deny" not in json.dumps(told)
    memory.verify(guess, confidence=0.9)
    for _ in range(2):
        told = hook(user, "pre-tool-use", client, "--strict", **CALL)
        assert '"deny"' in json.dumps(told)
        assert "pnpm db:seed" in context(told, client)


def test_a_finished_step_is_told_and_calls_of_memory_itself_are_not_judged(user: User, memory: Memanto) -> None:
    memory.write_handoff(done="converted", do_not_redo="/v1/users")
    call = {"tool_name": "Edit", "tool_input": {"file_path": "/v1/users", "new_string": "x" * 100_000}}
    assert "/v1/users" in context(hook(user, "pre-tool-use", "claude-code", **call), "claude-code")
    for name in ("mcp__memanto__remember", "MCP:memanto"):
        assert hook(user, "pre-tool-use", "claude-code", **call | {"tool_name": name}) is None


# -- the end ----------------------------------------------------------------------------------------
def claude(*blocks: Any, asked: str = "Fix the flaky login test") -> list[Any]:
    return [
        {"type": "user", "isMeta": True, "message": {"role": "user", "content": "caveat"}},
        {"type": "user", "message": {"role": "user", "content": "<command-name>/clear</command-name>"}},
        {"type": "user", "timestamp": "2026-06-01T10:00:00Z", "message": {"role": "user", "content": asked}},
        {"type": "assistant", "message": {"role": "assistant", "content": list(blocks)}},
        {"type": "assistant", "isSidechain": True, "message": {"role": "assistant", "content": "a helper's words"}},
    ]


TODOS = [
    {"content": "reproduce", "status": "completed"}, {"content": "fix", "status": "in_progress"},
    {"content": "tell", "status": "pending"},
]  # fmt: skip
CLAUDE = claude(
    {"type": "tool_use", "name": "TodoWrite", "input": {"todos": TODOS}},
    {"type": "tool_use", "name": "Edit", "input": {"file_path": "{project}/tests/login.py", "new_string": "x"}},
    {"type": "tool_use", "name": "Read", "input": {"file_path": "{project}/secret.py"}},
    {"type": "text", "text": "Seeded the database; one test is left."},
)
CODEX = [
    {"timestamp": "2026-06-01T10:00:00Z", "type": "session_meta", "payload": {"id": "x", "cwd": "/p"}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "<environment_context>..."}]}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "Fix the flaky login test"}]}},
    {"type": "response_item", "payload": {"type": "function_call", "name": "update_plan", "arguments": json.dumps(
        {"plan": [{"step": one["content"], "status": one["status"]} for one in TODOS]})}},
    {"type": "response_item", "payload": {"type": "custom_tool_call", "name": "apply_patch", "input":
        "*** Begin Patch\n*** Update File: tests/login.py\n@@\n-a\n+b\n*** End Patch"}},
    {"type": "response_item", "payload": {"type": "message", "role": "assistant", "content": [
        {"type": "output_text", "text": "Seeded the database; one test is left."}]}},
]  # fmt: skip
CURSOR = [
    {"role": "user", "message": {"content": [{"type": "text", "text":
        "<user_query>\nFix the flaky login test\n</user_query>"}]}},
    {"role": "assistant", "message": {"content": [
        {"type": "tool_use", "name": "TodoWrite", "input": {"todos": TODOS}},
        {"type": "tool_use", "name": "StrReplace", "input": {"path": "{project}/tests/login.py"}},
        {"type": "text", "text": "Seeded the database; one test is left."}]}},
]  # fmt: skip
TRANSCRIPTS = {"claude-code": CLAUDE, "codex": CODEX, "cursor": CURSOR}


def transcript(user: User, entries: list[Any]) -> dict[str, str]:
    """Write a transcript and return what a tool says of it."""
    path = user.home / "transcript.jsonl"
    lines = "\n".join(json.dumps(one) for one in entries).replace("{project}", str(user.project))
    path.write_text(lines + "\nno json\n{\n")
    return {"transcript_path": str(path), "cwd": str(user.project), "session_id": "s1"}


@pytest.mark.parametrize("client", HOOKED)
@pytest.mark.parametrize("event", ["pre-compact", "session-end"])
def test_a_session_leaves_goal_done_files_and_next(user: User, memory: Memanto, client: str, event: str) -> None:
    assert hook(user, event, client, **transcript(user, TRANSCRIPTS[client])) is None
    [left] = memory.show_handoff()
    assert (left.state, left.confirmed, left.memory.source) == ("offered", True, client.replace("-", "_"))
    assert left.baton.goal == "Fix the flaky login test"
    assert left.baton.done == ("reproduce",)
    assert left.baton.next == ("fix", "tell")
    assert left.baton.state == "Seeded the database; one test is left."
    assert left.baton.artifacts == ("tests/login.py",)


def test_what_the_ledger_recorded_in_the_session_is_done_and_the_goal_set_is_the_goal(
    user: User, memory: Memanto
) -> None:
    memory.set_goal("Ship the exporter")
    memory.start_run("nightly").step("pulled the ledger")
    hook(user, "session-end", "claude-code", **transcript(user, CLAUDE))
    baton = memory.show_handoff()[0].baton
    assert (baton.goal, baton.done) == ("Ship the exporter", ("reproduce", "pulled the ledger"))


def test_a_session_that_went_on_brings_its_handoff_up_to_date(user: User, memory: Memanto) -> None:
    hook(user, "pre-compact", "claude-code", **transcript(user, CLAUDE))
    [first] = memory.show_handoff()
    hook(user, "pre-compact", "claude-code", **transcript(user, CLAUDE))
    assert memory.show_handoff()[0].memory.version == first.memory.version
    later = claude({"type": "tool_use", "name": "Bash", "input": {}}, {"type": "text", "text": "All is green."})
    hook(user, "session-end", "claude-code", **transcript(user, later))
    [second] = memory.show_handoff()
    assert (second.memory.id, second.baton.state) == (first.memory.id, "All is green.")


@pytest.mark.parametrize("entries", [[], claude(), claude({"type": "text", "text": "Hello."})])
def test_a_session_that_did_nothing_leaves_none_and_takes_none_away(
    user: User, memory: Memanto, entries: list[Any]
) -> None:
    memory.write_handoff(done="converted", next="orders")
    before = memory.show_handoff()
    hook(user, "session-end", "claude-code", **transcript(user, entries))
    hook(user, "session-end", "claude-code", session_id="s1", transcript_path=str(user.home / "none"))
    assert memory.show_handoff() == before


def test_a_richer_handoff_is_never_replaced(user: User, memory: Memanto) -> None:
    rich = memory.write_handoff(done="a", state="b", next="c", do_not_redo="d").receipt.id
    hook(user, "session-end", "claude-code", **transcript(user, CLAUDE))
    assert [one.memory.id for one in memory.show_handoff()] == [rich]
    memory.take_handoff(by="x")
    memory.ack_handoff(by="x")
    hook(user, "session-end", "claude-code", **transcript(user, CLAUDE))
    assert memory.show_handoff()[0].baton.done == ("reproduce",)


def test_secrets_and_memorys_own_words_do_not_come_back_through_a_transcript(user: User, memory: Memanto) -> None:
    secret = "ghp_" + "a1B2" * 9
    fenced = '<memory id="01a22d25-0db8-701f-b2b6-14dc52060860" type="fact">x</memory>'
    entries = claude(
        {"type": "text", "text": f"The token is {secret}"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "make"}},
        {"type": "text", "text": f"I was told: {fenced}"},
    )
    hook(user, "session-end", "claude-code", **transcript(user, entries))
    text = memory.show_handoff()[0].memory.content
    assert "The token is" in text
    assert secret not in text
    assert "<memory" not in text


def test_the_first_memory_of_an_agent_still_binds_it_to_its_embedder(user: User, memory: Memanto) -> None:
    hook(user, "session-end", "claude-code", **transcript(user, CLAUDE))
    assert memory.status().embedder == HashEmbedder().identity.name
    hook(user, "session-end", "claude-code", **transcript(user, CLAUDE) | {"session_id": "s2"})
    assert memory.remember("It works", type="learning").searchable == "hybrid"
    assert [one.ok for one in memory.doctor() if one.name == "vectors"] == [True]


def test_a_transcript_of_any_size_and_make_is_read_without_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    filler = json.dumps({"type": "progress", "data": "x" * 1_000})
    lines = [json.dumps(one) for one in CLAUDE[:3]] + [filler] * 6_000 + [json.dumps(one) for one in CLAUDE[3:]]
    odd = ["[]", "3", '"x"', "null", '{"message": [1]}', '{"message": {"content": [3, {"type": 4}]}}', '{"type": {}}',
           '{"payload": {"type": "function_call", "name": 3, "arguments": "{"}}', "\x00", "{" * 5_000]  # fmt: skip
    path.write_text("\n".join(lines + odd))
    shift = read_shift(path)
    assert (shift.asked, shift.done) == ("Fix the flaky login test", ("reproduce",))
    assert read_shift(tmp_path).calls == 0
    assert read_shift(tmp_path / "none").calls == 0


# -- never in the way -------------------------------------------------------------------------------
@pytest.mark.parametrize("event", ["session-start", "pre-tool-use", "pre-compact", "session-end"])
@pytest.mark.parametrize("given", [b"", b"{", b"[]", b"\xff\xfe", b'{"tool_name": 3, "tool_input": [1], "cwd": 7}'])
def test_whatever_goes_wrong_a_hook_exits_with_0_and_says_nothing_to_the_tool(
    user: User, event: str, given: bytes
) -> None:
    outcome = user.run("hook", event, "--client", "claude-code", "--agent", "nobody", stdin=given)
    assert (outcome.status, outcome.out) == (0, "")


@pytest.mark.parametrize("closed", ["never read", "closed", "full"])
def test_a_tool_that_does_not_listen_is_no_fault_of_the_hook(user: User, memory: Memanto, closed: str) -> None:
    memory.set_goal("Ship the exporter")
    memory.close()
    script = "import os, sys; from memanto.connect import hooks; sys.exit(hooks.main(sys.argv[1:], os.environ))"
    command = [sys.executable, "-c", script, "session-start", "--client", "cursor", "--agent", AGENT]
    reading, writing = os.pipe()
    os.close(reading)
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            command if closed != "closed" else ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *command],
            input=b"{}", stdout=full if closed == "full" else writing, stderr=subprocess.PIPE, timeout=50, check=False,
            env=environment(user.run.home),
        )  # fmt: skip
    os.close(writing)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_a_hook_speaks_in_any_encoding(user: User, memory: Memanto) -> None:
    memory.set_goal("Ship the exporter to Z\u00fcrich \u2603")
    memory.close()
    script = "import os, sys; from memanto.connect import hooks; sys.exit(hooks.main(sys.argv[1:], os.environ))"
    done = subprocess.run(
        [sys.executable, "-c", script, "session-start", "--client", "cursor", "--agent", AGENT],
        input=b"{}", capture_output=True, timeout=50, check=False,
        env={**environment(user.run.home), "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Z\u00fcrich \u2603" in json.loads(done.stdout)["additional_context"]


def test_a_hook_that_is_named_wrongly_says_how_it_is_named(user: User) -> None:
    outcome = user.run("hook", "session-begin", "--client", "cursor")
    assert outcome.status == 2
    assert "session-start" in outcome.err


def test_a_hook_that_takes_too_long_gives_itself_up(user: User) -> None:
    script = (
        "import os, sys, time; from memanto.connect import hooks; hooks.DEADLINE = 0.2;"
        "hooks.answered = lambda *_: time.sleep(60) or 'late'; sys.exit(hooks.main(['session-start'], os.environ))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=b"{}", capture_output=True, timeout=50, check=False,
        env=environment(user.run.home),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"gave itself up" in done.stderr


def test_a_hook_loads_no_model_and_no_command_line(user: User, memory: Memanto) -> None:
    memory.record_failure(TRIGGER)
    memory.close()
    script = (
        "import sys; from memanto.cli.main import run; status = run(sys.argv[1:]);"
        "loaded = {name.split('.')[0] for name in sys.modules};"
        "print(sorted(loaded & {'onnxruntime', 'tokenizers', 'fastembed', 'qdrant_client', 'typer', 'rich', 'mcp', "
        "'pydantic', 'yaml', 'tomlkit'}), file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, "hook", "pre-tool-use", "--client", "codex", "--agent", AGENT]
    done = subprocess.run(
        command, input=json.dumps(CALL).encode(), capture_output=True, check=True, env=environment(user.run.home)
    )
    assert b"pnpm db:seed" in done.stdout
    assert done.stderr.decode().splitlines()[-1] == "[]"
    assert memanto()  # the same interpreter
