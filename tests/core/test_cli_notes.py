"""What a command says beside its result, so that nobody is left to wonder why (our decision)."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from tests.acceptance.cli_kit import Cli

from memanto import InMemory, Memanto, agents
from memanto.models import Redaction


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    made = Cli(tmp_path / "home", monkeypatch)
    made.done("agent", "create", "loop")
    return made


# -- recall -----------------------------------------------------------------------------------------
def test_quarantined_memories_that_match_are_counted_where_the_result_is_short(cli: Cli) -> None:
    asked = ["recall", "which port does the ledger use", "--type", "fact"]
    cli.remember("The ledger uses port 7070", "--type", "fact", "--provenance", "inferred")
    empty = cli.done(*asked)
    assert (empty.out, "1 quarantined memory matches too; --status quarantined shows it" in empty.err) == ("", True)
    cli.remember("The ledger listens on port 6060", "--type", "fact")
    cli.remember("Zebras graze", "--type", "fact", "--provenance", "inferred")
    assert "1 quarantined memory matches" in cli.done(*asked).err
    assert "2 quarantined memories match" in cli.done("recall", "--type", "fact").err
    assert "quarantined" not in cli.done(*asked, "--limit", "1").err
    assert "quarantined" not in cli.done(*asked, "--all").err
    assert "quarantined" not in cli.done(*asked, "--status", "quarantined").err
    assert "quarantined" not in cli.done("recall", "--type", "goal").err
    assert "1 quarantined memory matches too" in cli.done(*asked, "--json").json["note"]


def test_valid_at_says_so_where_nothing_found_has_a_validity(cli: Cli) -> None:
    cli.remember("The ledger uses port 6060", "--type", "fact")
    asked = ["recall", "ledger port", "--valid-at", "2026-06-01"]
    found = cli.done(*asked)
    assert "port 6060" in found.out
    assert "--valid-at made no difference" in found.err
    assert "--valid-at" not in cli.done(*asked[:2]).err
    cli.remember("The ledger used port 5050", "--type", "fact", "--valid-from", "2026-01-01")
    assert "--valid-at made no difference" not in cli.done(*asked).err


# -- answer -----------------------------------------------------------------------------------------
def test_an_answer_of_quotes_prints_each_once(cli: Cli) -> None:
    cli.remember("Ledger pulls lag the source by about 5 minutes", "--type", "fact")
    shown = cli.done("answer", "How far do ledger pulls lag the source?").out
    assert shown.count("by about 5 minutes") == 1
    assert "[1] 0" in shown


# -- sources ----------------------------------------------------------------------------------------
SECRET = "gh" + "p_" + "xR7" + "a1B2c3D4e5" * 3 + "f6G"


def test_a_secret_given_as_the_source_is_redacted_whoever_gives_it() -> None:
    with Memanto("tester", store=InMemory(), embedder=None, source=SECRET) as memory:
        given = memory.remember("one", type="fact", source=SECRET)
        assert given.redactions == (Redaction(field="source", kind="github-token"),)
        own = memory.remember("two", type="fact")
        edited = memory.edit(own.id, source=SECRET, reason="by mistake")
        for receipt in (given, own, edited):
            assert memory.show(receipt.id).source == "redacted-github-token"
        assert SECRET not in "\n".join(memory.export())


def test_the_command_names_the_redaction_and_not_the_secret(cli: Cli) -> None:
    told = cli.done("remember", "one", "--type", "fact", "--source", SECRET)
    assert "redacted: github-token in source" in told.out
    assert SECRET not in told.out + told.err + cli.done("export").out


# -- the store --------------------------------------------------------------------------------------
def test_a_home_that_cannot_be_written_keeps_its_active_agent_and_says_why(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    refused = cli("agent", "deactivate", "--json")
    assert (refused.status, refused.error["code"]) == (2, "configuration")
    assert "Read-only file system" in refused.error["message"]
    assert agents.active(cli.home) == "loop"


def test_doctor_lists_a_server_that_does_not_answer_as_what_failed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMANTO_BACKEND", "qdrant")
    monkeypatch.setenv("MEMANTO_QDRANT_URL", "http://127.0.0.1:1")
    seen = cli("doctor")
    assert seen.status == 3
    [backend, store, *_] = seen.out.splitlines()
    assert backend.split() == ["ok", "backend", "qdrant"]
    assert store.startswith("FAILED")
    assert "http://127.0.0.1:1 cannot be reached" in store
    assert "check that the Qdrant server is running" in seen.out
    assert cli("doctor", "--json").json["ok"] is False


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("MEMANTO_BACKEND", "on-prem", "on-prem: no call to another machine"),
        ("MEMANTO_OFFLINE", "1", "embedded, offline: no call to another machine"),
        ("MEMANTO_OFFLINE", "0", "embedded"),
    ],
)
def test_status_and_doctor_say_whether_calls_may_leave_this_machine(
    variable: str, value: str, told: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    for command in (["status"], ["doctor"], []):
        rows = [line.split(maxsplit=2) for line in cli(*command).out.splitlines()]
        assert any(row[-1] == told or " ".join(row[1:]) == told for row in rows if "backend" in row), command
