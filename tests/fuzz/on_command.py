"""The target `options`: commands of the command line, each with any value for one of its options."""

from __future__ import annotations

from typing import Final

import pytest
from tests.acceptance.cli_kit import Cli
from tests.fuzz.kit import scratch, target

from memanto.errors import LONGEST_MESSAGE

_SEEDS: Final = {
    "recall --type": "fact,error",
    "recall --as-of": "last month",
    "recall --limit": "3",
    "recall --tags": "a,b",
    "recall --min-similarity": "nan",
    "recall --budget": "1e3",
    "recall --agents": "loop,../x",
    "recall": "kept",
    "brief --budget": "5",
    "guard --args": '{"path": "x"}',
    "handoff take --hold": "nan",
    "handoff show --lane": "a[b]",
    "failure": "When x happens, do y",
    "show": "ffff",
    "check": "~nobody-has-this-name/q.yaml",
    "import": "~nobody-has-this-name/x",
    "remember --batch": "~",
}
_COMMANDS: Final = frozenset(_SEEDS)
_STATUSES: Final = (0, 2, 3)


@target(
    "options",
    seeds=[f"{command}\n{value}" for command, value in _SEEDS.items()],
    words=(
        "recall --since\n", "recall --valid-at\n", "recall --status\n", "recall --memory\n", "recall --source\n",
        "handoff take --hold\n", "guard --args\n", "nan", "inf", "-inf", "1e300", "-1", "0", "9" * 400, "[" * 2_000,
        "~", "~nobody-has-this-name", "..", "--", "\ud800", "\u0663",
    ),
    lead="guard --args\n",
    longest=20_000,
)  # fmt: skip
def options(text: str) -> None:
    """A command ends with a status of ours whatever an option is given, and with a typed error when it failed."""
    command, _, value = text.partition("\n")
    # No standard input and no devices; and no argument of a program can hold the character NUL.
    if command not in _COMMANDS or value == "-" or value.startswith(("/", "\\")) or "\x00" in value:
        return
    *words, last = command.split(" ")
    arguments = [*words, f"{last}={value}"] if last.startswith("--") else [*words, last, "--", value]
    folder = scratch() / "command"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        cli = Cli(folder / "home", patch)
        if not cli.home.exists():
            cli.done("agent", "create", "loop")
        outcome = cli(*_with_json(arguments))
    assert outcome.status in _STATUSES, outcome
    if not outcome.out:
        assert outcome.error["code"] != "internal", outcome
        assert outcome.error["hint"], outcome
        assert len(outcome.error["message"]) <= LONGEST_MESSAGE, outcome.err[:300]


def _with_json(arguments: list[str]) -> list[str]:
    place = arguments.index("--") if "--" in arguments else len(arguments)
    return [*arguments[:place], "--json", *arguments[place:]]
