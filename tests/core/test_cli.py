"""The command line's behaviour that is the same for every command."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
from tests.acceptance.cli_kit import Cli

import memanto
from memanto.cli.app import make_app
from memanto.errors import BackendUnavailableError, DiskFullError, NotFoundError, StoreLockedError


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    return Cli(tmp_path / "home", monkeypatch)


@pytest.fixture
def loop(cli: Cli) -> Cli:
    """The command line with an agent to work with."""
    cli.done("agent", "create", "loop")
    return cli


@pytest.fixture(scope="module")
def settled_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one agent, for commands that change nothing."""
    home = tmp_path_factory.mktemp("settled")
    with pytest.MonkeyPatch.context() as patch:
        Cli(home, patch).done("agent", "create", "loop")
    return home


@pytest.fixture
def settled(settled_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    return Cli(settled_home, monkeypatch)


def commands() -> list[list[str]]:
    """Return the words of every command."""
    found: list[list[str]] = []
    root = typer.main.get_command(make_app())
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        found += [[name, sub] for sub in command.commands] if hasattr(command, "commands") else [[name]]
    return found


def python(code: str, cli: Cli, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, with the user's environment."""
    environ = dict(os.environ) | {"PYTHONIOENCODING": "ascii", "MEMANTO_HOME": str(cli.home)}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, check=False, encoding="utf-8", env=environ, timeout=120)


@dataclass(frozen=True)
class Seen:
    """What a command wrote on a terminal, and its exit status."""

    status: int
    output: bytes


def terminal(cli: Cli, *arguments: str, answer: bytes = b"") -> Seen:
    """Run a command on a terminal of its own and answer its question."""
    import pty

    ours, theirs = pty.openpty()
    code = "from memanto.cli.main import run; raise SystemExit(run())"
    environ = dict(os.environ) | {"MEMANTO_HOME": str(cli.home), "TERM": "xterm"}
    environ.pop("NO_COLOR", None)
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ) as process:
        os.close(theirs)
        os.write(ours, answer)
        output = b""
        with suppress(OSError):  # the terminal is gone when the command has ended
            while data := os.read(ours, 4096):
                output += data
        status = process.wait(timeout=120)
    os.close(ours)
    return Seen(status, output)


# -- help and version -------------------------------------------------------------------------------
def test_version_is_printed_with_and_without_typer(cli: Cli) -> None:
    assert cli.done("--version").out == f"memanto {memanto.__version__}\n"
    assert cli.done("--quiet", "--version").out == f"memanto {memanto.__version__}\n"


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_has_help_and_the_common_options(command: list[str], cli: Cli) -> None:
    shown = cli.done(*command, "--help").out
    for option in ("--agent", "--json", "--quiet"):
        assert option in shown
    assert shown.splitlines()[2].strip(), "the help says what the command does"


def test_help_names_each_command_with_a_sentence_that_is_not_cut(cli: Cli) -> None:
    shown = cli.done("--help").out
    for name, *_ in commands():
        assert f"\n  {name} " in shown
    assert "..." not in shown.split("Start here:")[1]


def test_completion_scripts_are_offered(cli: Cli) -> None:
    assert "--install-completion" in cli.done("--help").out


# -- errors -----------------------------------------------------------------------------------------
def test_an_error_goes_to_standard_error_with_its_code_and_the_next_step(settled: Cli) -> None:
    outcome = settled("show", "0000aaaa")
    assert (outcome.status, outcome.out) == (3, "")
    assert outcome.err.startswith("error[not_found]: ")
    assert "recall --recent" in outcome.err


def test_with_json_an_error_is_an_object_with_code_message_and_hint(settled: Cli) -> None:
    outcome = settled("show", "0000aaaa", "--json")
    assert (outcome.status, outcome.out) == (3, "")
    assert set(outcome.error) == {"code", "message", "hint"}
    assert outcome.error["code"] == "not_found"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["recal"], "recall"),
        (["recall", "--limt", "3"], "--limit"),
        (["recall", "--limit", "many"], "--limit"),
        (["recall", "--limit", "0"], "limit"),
        (["recall", "--type", "fakt"], "fact"),
        (["recall", "--min-confidence", "nan"], "confidence"),
        (["recall", "--as-of", "2026-02-30"], "--as-of"),
        (["recall", "   "], "query"),
        (["recall", "--memory", "muscle"], "episodic"),
        (["remember"], "nothing to remember"),
        (["remember", "  "], "content"),
        (["remember", "hello", "world"], "'world'"),
        (["remember", "x", "--confidence", "2"], "confidence"),
        (["remember", "x", "--source", "a/b"], "source"),
        (["remember", "-", "--batch", "-"], "--batch"),
        (["show"], "ID"),
        (["show", "xyz"], "id"),
        (["edit", "0000aaaa"], "nothing to change"),
        (["agent"], "command"),
        (["agent", "create", "../x"], "agent id"),
        (["agent", "create", "x", "--pattern", "zen"], "coding"),
        (["config", "backend", "cloud"], "on-prem"),
        (["config", "backend", "qdrant"], "--url"),
        (["config", "set", "durabilty", "full"], "durability"),
        (["import", "missing.jsonl"], "missing.jsonl"),
        (["reindex", "--embedder", "bge-smal"], "bge-smal"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_exits_with_2_and_names_what_is_wrong(arguments: list[str], named: str, settled: Cli) -> None:
    outcome = settled(*arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert named in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFoundError("x"), 3),
        (StoreLockedError("held by 12"), 4),
        (BackendUnavailableError("down"), 5),
        (DiskFullError("full"), 5),
        (ZeroDivisionError("oops"), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_kind_of_error_has_its_exit_status(
    error: Exception, status: int, settled: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("memanto.client.Memanto.recall", fail)
    outcome = settled("recall", "x")
    assert outcome.status == status
    assert str(error) in outcome.err
    assert "Traceback" not in outcome.err


def test_the_traceback_of_an_unexpected_error_is_shown_on_request(
    settled: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memanto.client.Memanto.recall", lambda *_, **__: 1 / 0)
    monkeypatch.setenv("MEMANTO_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        settled("recall", "x")


def test_an_interrupted_command_exits_with_130(settled: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("memanto.client.Memanto.recall", interrupt)
    assert settled("recall", "x").status == 130


@pytest.mark.parametrize("arguments", [["recall", "--recent"], ["export"], ["--help"]], ids=" ".join)
def test_a_reader_that_has_enough_ends_the_command_quietly(arguments: list[str], settled: Cli) -> None:
    code = "from memanto.cli.main import run; raise SystemExit(run())"
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-c", code, *arguments]
    environ = dict(os.environ) | {"MEMANTO_HOME": str(settled.home)}
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, env=environ, timeout=120)
    os.close(writing)
    assert (done.returncode, done.stderr.replace(b"note: nothing found\n", b"")) == (0, b"")


# -- streams ----------------------------------------------------------------------------------------
def test_nothing_is_coloured_off_a_terminal(loop: Cli) -> None:
    loop.remember("x")
    for arguments in (["recall"], ["status"], ["doctor"], ["nope"]):
        outcome = loop(*arguments)
        assert "\x1b" not in outcome.out + outcome.err


def test_notes_go_to_standard_error_and_quiet_silences_them(settled: Cli) -> None:
    assert settled.done("recall", "anything").err == "note: nothing found\n"
    assert settled.done("recall", "anything", "--quiet").err == ""
    assert settled.done("--quiet", "recall", "anything").err == ""


def test_quiet_writes_print_the_id_alone(loop: Cli) -> None:
    memory_id = loop.done("remember", "x", "--quiet").out.strip()
    assert loop.done("show", memory_id, "--json").json["content"] == "x"


def test_common_options_may_stand_before_the_command(loop: Cli) -> None:
    loop.done("agent", "create", "other")
    loop.done("--agent", "loop", "remember", "kept by loop")
    assert loop.done("--json", "--agent", "loop", "recall").json["results"][0]["memory"]["namespace"] == "loop"
    assert loop.done("recall", "--json").json["results"] == []
    assert loop.done("--agent", "other", "recall", "--agent", "loop", "--json").json["results"]


def test_streams_are_utf_8_whatever_the_locale_says(loop: Cli) -> None:
    done = python(
        "from memanto.cli.main import run; raise SystemExit(run())",
        loop,
        "remember",
        "naïve 数据",
        "--dry-run",
        "--title",
        "数据",
        "--json",
        "--type",
        "fakt-数",
    )
    assert done.returncode == 2
    assert "fakt-数" in done.stderr


def test_a_missing_embedder_is_told_once_and_not_in_the_result(loop: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from memanto.embedding.choice import Choice

    monkeypatch.setattr("memanto.composition.configured_embedder", lambda: Choice(None, "no weights here"))
    outcome = loop.done("remember", "x", "--json")
    assert outcome.json["searchable"] == "lexical"
    assert outcome.err.count("lexical only: no weights here") == 1


# -- destruction ------------------------------------------------------------------------------------
def test_forgetting_needs_yes_off_a_terminal_and_does_nothing_without_it(loop: Cli) -> None:
    memory_id = loop.remember("keep me")
    outcome = loop("forget", memory_id)
    assert outcome.status == 2
    assert "--yes" in outcome.err
    assert loop.recalled() == ["keep me"]
    assert loop.done("forget", memory_id, "--yes", "--json").json["receipts"][0]["status"] == "forgotten"
    assert loop.recalled() == []


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_on_a_terminal_one_is_asked_and_stored_text_cannot_steer_it(loop: Cli) -> None:
    memory_id = loop.remember("evil \x1b[2J text", "--title", "evil \x1b[2J title")
    assert b"\x1b[36m" in terminal(loop, "recall", "--recent").output
    assert b"\x1b[2J" not in terminal(loop, "recall", "--recent").output
    refused = terminal(loop, "forget", memory_id, answer=b"n\n")
    assert (refused.status, b"\x1b[2J" in refused.output) == (2, False)
    assert loop.recalled() == ["evil \x1b[2J text"]
    assert terminal(loop, "forget", memory_id, answer=b"y\n").status == 0
    assert loop.recalled() == []


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_on_a_terminal_standard_input_is_asked_for(loop: Cli) -> None:
    seen = terminal(loop, "remember", "-", answer=b"typed by hand\n\x04")
    assert b"reading standard input; Ctrl-D ends it" in seen.output
    assert (seen.status, loop.recalled()) == (0, ["typed by hand"])


def test_deleting_an_agent_needs_yes_and_says_how_much_went(loop: Cli) -> None:
    loop.remember("one")
    assert loop("agent", "delete", "loop").status == 2
    assert loop.recalled() == ["one"]
    assert "1 memory" in loop.done("agent", "delete", "loop", "--yes").out
    assert loop("recall").status == 2  # nobody is active any more


# -- agents -----------------------------------------------------------------------------------------
def test_remembering_without_an_agent_exits_with_2_and_says_how_to_make_one(cli: Cli) -> None:
    outcome = cli("remember", "x")
    assert outcome.status == 2
    assert "memanto agent create" in outcome.err


def test_without_an_active_agent_the_error_names_those_that_are_there(cli: Cli) -> None:
    assert "agent create" in cli("recall").err
    assert not cli.home.exists(), "looking for agents makes no store"
    cli.done("agent", "create", "shop")
    (cli.home / "active").unlink()
    outcome = cli("recall", "--json")
    assert (outcome.status, "there is shop: `memanto agent activate shop`" in outcome.err) == (2, True)
    cli.done("config", "backend", "qdrant", "--url", "http://127.0.0.1:9")
    assert cli("recall").status == 2, "a server that is down hides no mistake"


def test_an_agent_that_does_not_exist_is_not_made_by_accident(loop: Cli) -> None:
    for arguments in (["remember", "x"], ["recall"], ["status"], ["agent", "show"], ["import", "-"]):
        outcome = loop(*arguments, "--agent", "lop", stdin=b"{}")
        assert outcome.status == 3
        assert "did you mean 'loop'?" in outcome.err
        assert "memanto agent create lop" in outcome.err
    assert [one["agent"]["id"] for one in loop.done("agent", "list", "--json").json["agents"]] == ["loop"]


def test_creating_an_agent_again_activates_it_and_changes_nothing(cli: Cli) -> None:
    assert cli.done("agent", "create", "a", "--description", "first", "--json").json["created"] is True
    cli.done("agent", "create", "b")
    assert cli.done("agent", "create", "a", "--description", "second", "--json").json["created"] is False
    listed = cli.done("agent", "list", "--json").json
    assert listed["active"] == "a"
    assert listed["agents"][0]["agent"]["description"] == "first"


def test_only_create_and_activate_move_the_active_agent(cli: Cli) -> None:
    cli.done("agent", "create", "other")
    cli.done("agent", "create", "loop")
    memory_id = cli.remember("x", "--agent", "other")
    for arguments in (
        ["remember", "y"], ["recall", "y"], ["show", memory_id], ["history", memory_id], ["pin", memory_id],
        ["status"], ["export"], ["agent", "show"], ["agent", "list"], ["doctor"], ["config", "show"],
    ):  # fmt: skip
        cli.done(*arguments, "--agent", "other")
    assert cli.done("agent", "list", "--json").json["active"] == "loop"
    cli.done("agent", "activate", "other")
    assert cli.done("agent", "show", "--json").json == cli.done("agent", "show", "other", "--json").json


def test_an_agent_that_does_not_exist_cannot_be_activated(loop: Cli) -> None:
    assert loop("agent", "activate", "nope").status == 3
    assert loop.done("agent", "list", "--json").json["active"] == "loop"


def test_without_an_active_agent_the_environment_and_the_project_still_name_one(
    loop: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop.remember("x")
    loop.done("agent", "deactivate")
    assert loop("recall").status == 2
    Path(".memanto.toml").write_text('agent = "loop"\n')
    assert loop.recalled() == ["x"]
    monkeypatch.setenv("MEMANTO_AGENT", "nope")
    assert loop("recall").status == 3


def test_names_that_differ_in_case_are_two_agents(cli: Cli) -> None:
    for name in ("Loop", "loop"):
        cli.done("agent", "create", name)
        cli.remember(f"kept by {name}")
    assert cli.recalled("--agent", "Loop") == ["kept by Loop"]


# -- settings ---------------------------------------------------------------------------------------
def test_settings_are_shown_with_their_origin(loop: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    loop.done("config", "set", "durability", "full")
    monkeypatch.setenv("MEMANTO_OFFLINE", "1")
    shown = loop.done("config", "show", "--json").json["settings"]
    assert (shown["durability"]["value"], shown["durability"]["origin"].split()[0]) == ("full", "user")
    assert (shown["offline"]["value"], shown["offline"]["origin"].split()[0]) == (True, "environment")
    assert shown["backend"] == {"value": "embedded", "origin": "default"}
    assert shown["agent"] == {"value": "loop", "origin": "active agent"}
    assert loop.done("config", "get", "durability").out == "full\n"


def test_a_value_that_another_place_overrides_says_so(loop: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMANTO_DURABILITY", "log")
    outcome = loop.done("config", "set", "durability", "full")
    assert "MEMANTO_DURABILITY" in outcome.err


def test_no_secret_is_shown_or_stored(loop: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QDRANT_SECRET", "hunter2hunter2")
    loop.done("config", "backend", "qdrant", "--url", "http://localhost:1", "--api-key-env", "QDRANT_SECRET")
    shown = loop.done("config", "show").out
    assert "QDRANT_SECRET" in shown
    assert "hunter2" not in shown + (loop.home / "config.toml").read_text()


def test_a_backend_that_is_down_exits_with_5(loop: Cli) -> None:
    loop.done("config", "backend", "qdrant", "--url", "http://127.0.0.1:1")
    outcome = loop("recall", "x")
    assert outcome.status == 5
    assert outcome.err.startswith("error[backend")


# -- start-up ---------------------------------------------------------------------------------------
HEAVY = ("onnxruntime", "tokenizers", "fastembed", "qdrant_client", "rich", "tomlkit", "detect_secrets", "numpy")
UNUSED_BY_HELP = ("qdrant_edge", "_hashlib", "plistlib")


def test_version_and_help_load_nothing_heavy(loop: Cli) -> None:
    code = (
        "import sys; from memanto.cli.main import run; run(['--version']); light = 'typer' not in sys.modules;"
        f"run(['--help']); print(light, [name for name in {(*HEAVY, *UNUSED_BY_HELP)!r} if name in sys.modules])"
    )
    assert python(code, loop).stdout.splitlines()[-1] == "True []"


def test_commands_that_need_no_model_load_none(loop: Cli) -> None:
    loop.remember("x")
    code = (
        "import sys; from memanto.cli.main import run; status = run(['recall', '--recent']);"
        f"print(status, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert python(code, loop).stdout.splitlines()[-1] == "0 []"
