"""What every command keeps to: where data, notes and errors go, and what the exit status says (our decision)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
import typer
from tests.acceptance.cli_kit import Cli, Outcome

from memanto.cli.app import make_app

Words = list[str]
_NUMBER = count(1)


def new(cli: Cli) -> str:
    """Return the id of a memory of its own."""
    return cli.remember(f"note {next(_NUMBER)} about the ledger", "--type", "observation")


def begun(cli: Cli) -> str:
    """Return the id of a run of its own."""
    name = f"r{next(_NUMBER)}"
    cli.done("run", "start", "nightly", "--id", name)
    return name


def waiting(cli: Cli) -> None:
    cli.done("handoff", "write", "--done", f"part {next(_NUMBER)}")


CALLS: Final[dict[str, Words | Callable[[Cli], Words]]] = {
    "remember": lambda _: [f"text {next(_NUMBER)}", "--type", "fact"],
    "recall": ["ledger"],
    "show": lambda cli: [new(cli)],
    "history": lambda cli: [new(cli)],
    "answer": ["what is about the ledger?", "--no-rerank", "--no-llm"],
    "edit": lambda cli: [new(cli), "--title", "changed"],
    "verify": lambda cli: [new(cli)],
    "quarantine": lambda cli: [new(cli)],
    "pin": lambda cli: [new(cli)],
    "unpin": lambda cli: [new(cli)],
    "expire": lambda cli: [new(cli)],
    "restore": lambda cli: [json.loads(cli.done("expire", new(cli), "--json").out)["id"]],
    "supersede": lambda cli: [new(cli), new(cli)],
    "forget": lambda cli: [new(cli), "--yes"],
    "agent create": lambda _: [f"agent-{next(_NUMBER)}"],
    "agent list": [],
    "agent activate": ["loop"],
    "agent deactivate": [],
    "agent show": ["loop"],
    "agent delete": lambda cli: [_made(cli), "--yes"],
    "goal set": lambda _: [f"goal {next(_NUMBER)}"],
    "goal show": [],
    "plan set": lambda _: [f"plan {next(_NUMBER)}"],
    "plan show": [],
    "handoff write": lambda _: ["--done", f"part {next(_NUMBER)}"],
    "handoff take": lambda cli: waiting(cli) or ["--by", "ann"],
    "handoff ack": lambda cli: waiting(cli) or (cli.done("handoff", "take", "--by", "ann") and ["--by", "ann"]),
    "handoff show": [],
    "failure": lambda _: [f"When step {next(_NUMBER)} fails, wait"],
    "guard": ["deploy the ledger"],
    "feedback": lambda cli: [new(cli), "--helped"],
    "brief": ["reconcile the ledger"],
    "policy-prompt": ["--part", "check"],
    "run start": ["nightly"],
    "run step": lambda cli: ["--run", begun(cli), "--outcome", "done"],
    "run end": lambda cli: ["--run", begun(cli), "--outcome", "done"],
    "run show": lambda cli: [begun(cli)],
    "runs": [],
    "compounding": [],
    "check": ["--no-rerank"],
    "detect-conflicts": ["--no-rerank"],
    "conflicts": [],
    "daily-summary": ["--no-llm"],
    "policy show": [],
    "policy presets": [],
    "policy list": [],
    "policy apply-preset": ["balanced"],
    "policy set": ["event", "--ttl", "90d"],
    "policy apply": ["--dry-run"],
    "calibration": [],
    "export": [],
    "import": lambda cli: [_exported(cli)],
    "connect": ["cursor", "--print"],
    "threads list": [],
    "threads show": ["t1"],
    "threads prune": ["--keep-last", "5"],
    "threads delete": ["t1", "--yes"],
    "status": [],
    "doctor": [],
    "reindex": [],
    "optimize": [],
    "schedule enable": ["--print"],
    "schedule disable": [],
    "schedule status": [],
    "schedule run": [],
    "config show": [],
    "config get": ["backend"],
    "config set": ["durability", "log"],
    "config backend": ["embedded"],
}  # fmt: skip
"""A call of each command that has something to do. `hook` and `mcp` speak the protocols of others."""

_OTHERS: Final = {"hook", "mcp"}
_ANY_AGENT: Final = {"connect", "policy presets", "policy list", "policy-prompt", "threads list", "threads prune"}
"""Commands outside `agent`, `config` and `schedule` that ask no agent; checkpoints need no memory beside them."""


def _made(cli: Cli) -> str:
    name = f"agent-{next(_NUMBER)}"
    cli.done("agent", "create", name)
    cli.done("agent", "activate", "loop")
    return name


def _exported(cli: Cli) -> str:
    file = cli.home.parent / "export.jsonl"
    file.write_text(cli.done("export", "--agent", "loop").out, "utf-8")
    return str(file)


class Pretended(Cli):
    """Does nothing, and names a memory as if it had: for calls that fail before they look for it."""

    def __call__(self, *_: str, stdin: bytes | None = None) -> Outcome:
        return Outcome(0, '{"id": "00000000-0000-7000-8000-000000000000"}', "")


def paths(command: Any, before: str = "") -> Iterator[str]:
    for name, one in command.commands.items():
        if hasattr(one, "commands"):
            yield from paths(one, f"{before}{name} ")
        else:
            yield f"{before}{name}"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("every") / "home"
    with pytest.MonkeyPatch.context() as patch:
        cli = Cli(home, patch)
        cli.done("agent", "create", "loop")
        cli.remember("The ledger lags by 5 minutes", "--type", "fact")
    return home


@pytest.fixture
def cli(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMANTO_OFFLINE", "1")
    cli = Cli(home, monkeypatch)
    monkeypatch.setenv("MEMANTO_AGENT", "loop")
    return cli


def call(cli: Cli, command: str, *more: str) -> Outcome:
    """Run a command as `CALLS` has it; it has to do what it does or to say that there is nothing of that name."""
    given = CALLS[command]
    outcome = cli(*command.split(), *(given if isinstance(given, list) else given(cli)), *more)
    assert outcome.status in {0, 3}, outcome
    assert "Traceback" not in outcome.out + outcome.err
    return outcome


def test_every_command_is_called_here() -> None:
    assert set(CALLS) | _OTHERS == set(paths(typer.main.get_command(make_app())))


@pytest.mark.parametrize("command", CALLS)
def test_with_json_and_quiet_one_value_is_all_that_is_written(command: str, cli: Cli) -> None:
    outcome = call(cli, command, "--json", "--quiet")
    if outcome.out:
        assert isinstance(json.loads(outcome.out), dict)
        assert outcome.out.count("\n") == 1
        assert outcome.err == ""
    else:
        assert outcome.status == 3
        assert set(outcome.error) == {"code", "message", "hint"}
        assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("command", CALLS)
def test_for_a_person_results_notes_and_errors_are_told_apart(command: str, cli: Cli) -> None:
    outcome = call(cli, command)
    assert "error[" not in outcome.out
    assert not [line for line in outcome.out.splitlines() if line.startswith("note: ")]
    for line in outcome.err.splitlines():
        assert line.startswith(("note: ", "error[", "  ")), line
    assert ("error[" in outcome.err) <= (outcome.status == 3)


@pytest.mark.parametrize("command", CALLS)
def test_an_option_that_does_not_exist_is_wrong_usage_in_the_form_asked_for(command: str, cli: Cli) -> None:
    for arguments in (["--no-such-option"], ["--no-such-option", "--json"]):
        outcome = cli(*command.split(), *arguments)
        assert (outcome.status, outcome.out) == (2, "")
    assert outcome.error["code"] == "usage"
    assert outcome.error["hint"]


@pytest.mark.parametrize(
    "command", [one for one in CALLS if one.split()[0] not in {"agent", "config", "schedule"} and one not in _ANY_AGENT]
)
def test_an_agent_that_does_not_exist_is_told_as_such_whatever_is_asked_of_it(
    command: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = CALLS[command]
    arguments = given if isinstance(given, list) else given(Pretended(cli.home, monkeypatch))
    outcome = cli("--agent", "nobody", *command.split(), *arguments, "--json")
    assert (outcome.status, outcome.out, outcome.error["code"]) == (3, "", "not_found")
    assert "'nobody'" in outcome.error["message"]
    assert "nobody" not in [one["agent"]["id"] for one in cli.done("agent", "list", "--json").json["agents"]]
