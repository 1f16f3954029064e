"""How the command line receives somebody new: its first page, and what it says of a command line that is wrong."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from tests.acceptance.cli_kit import Cli

import memanto
from memanto.cli.app import make_app
from memanto.cli.bounded import Number, decimal, whole
from memanto.cli.help_page import MEANT, SECTIONS
from memanto.counted import counted, plural
from memanto.errors import BackendError, InvalidInputError

ROOT: Any = typer.main.get_command(make_app())
GROUPS = [name for name, command in ROOT.commands.items() if hasattr(command, "commands")]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    return Cli(tmp_path / "home", monkeypatch)


def leaves(command: Any = ROOT, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, one in command.commands.items():
        if hasattr(one, "commands"):
            yield from leaves(one, (*path, name))
        else:
            yield (*path, name), one


# -- the first page ---------------------------------------------------------------------------------
def test_every_command_stands_once_under_what_it_is_for(cli: Cli) -> None:
    placed = [name for names in SECTIONS.values() for name in names]
    assert sorted(placed) == sorted(ROOT.commands)
    shown = cli.done("--help").out
    places = [shown.index(f"\n{title}:\n") for title in (*SECTIONS, "Options")]
    assert places == sorted(places)


def test_the_first_three_commands_of_the_help_work_as_they_stand(cli: Cli) -> None:
    head = cli.done("--help").out.split("\nStart here:\n")[0]
    commands = [shlex.split(line)[1:] for line in head.splitlines() if line.startswith("    memanto ")]
    outcomes = [cli.done(*command) for command in commands]
    assert len(outcomes) == 3
    assert commands[1][1] in outcomes[2].out


def test_help_is_of_the_command_it_follows(cli: Cli) -> None:
    assert cli.done("--help", "recall").out == cli.done("--help").out
    assert "Start here" not in cli.done("recall", "--help").out


# -- groups -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("group", GROUPS)
def test_a_group_without_a_command_is_wrong_usage_that_lists_its_commands(group: str, cli: Cli) -> None:
    for arguments in ([group], ["--quiet", group], [group, "no-such"]):
        outcome = cli(*arguments)
        assert (outcome.status, outcome.out) == (2, "")
        for name, command in ROOT.commands[group].commands.items():
            row = next(line for line in outcome.err.splitlines() if line.startswith(f"    memanto {group} {name} "))
            assert command.get_short_help_str(80) in row
    error = cli(group, "--json").error
    assert error["code"] == "usage"
    assert f"memanto {group} " in error["hint"]


# -- what was meant ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["recall", "--typ", "fact"], "--type"),
        (["recall", "-type", "fact"], "--type"),
        (["recall", "-limit=3"], "--limit"),
        (["recall", "-recent"], "--recent"),
        (["recall", "--Type", "fact"], "--type"),
        (["recall", "--min_conf", "0.5"], "--min-confidence"),
        (["recall", "--chng-since", "today"], "--changed-since"),
        (["remember", "x", "--source_ref", "y"], "--source-ref"),
        (["remember", "x", "--valid"], "--valid-from or --valid-to"),
        (["run", "step", "--outcom", "x"], "--outcome"),
        (["--quite", "recall"], "--quiet"),
        (["recal"], "'recall'"),
        (["agent", "lst"], "'list'"),
        *(([word], f"`memanto {meaning}`") for word, meaning in MEANT.items()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_a_slip_is_answered_with_what_was_meant(arguments: list[str], meant: str, cli: Cli) -> None:
    outcome = cli(*arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert f"Did you mean {meant}?" in outcome.err
    assert "memanto " in outcome.err.splitlines()[-1] or "two dashes" in outcome.err


def test_what_is_meant_by_other_words_is_a_command_there_is(cli: Cli) -> None:
    for meaning in set(MEANT.values()):
        assert "error" not in cli(*meaning.split(), "--help").err


@pytest.mark.parametrize("arguments", [["recall", "--wat"], ["recall", "-5 degrees"], ["status", "--wat"]])
def test_an_option_that_is_like_none_is_not_guessed_at(arguments: list[str], cli: Cli) -> None:
    outcome = cli(*arguments)
    assert outcome.status == 2
    assert "Did you mean" not in outcome.err
    assert ("put `--` before a text" in outcome.err) == (arguments[0] == "recall")


def test_a_text_that_only_looks_like_an_option_is_taken_after_two_dashes(cli: Cli) -> None:
    cli.done("agent", "create", "loop")
    cli.done("remember", "--type", "fact", "--", "-type is what they typed")
    assert cli.recalled() == ["-type is what they typed"]


# -- values -----------------------------------------------------------------------------------------
def numbers() -> list[Any]:
    found = []
    for path, command in leaves():
        for one in command.params:
            reader = getattr(one.type, "func", None)
            if isinstance(reader, Number):
                found.append(pytest.param(path, max(one.opts, key=len), reader, id=" ".join((*path, one.opts[0]))))
    return found


def test_every_option_that_takes_a_number_has_bounds() -> None:
    plain = [(path, one.name) for path, command in leaves() for one in command.params if "int" in repr(one.type).lower()
             or "float" in repr(one.type).lower()]  # fmt: skip
    assert plain == []
    assert len(numbers()) > 20


@pytest.mark.parametrize(("path", "option", "reader"), numbers())
def test_a_number_out_of_bounds_is_told_with_the_bounds_and_one_that_fits(
    path: tuple[str, ...], option: str, reader: Number, cli: Cli
) -> None:
    below = f"{reader.low - 1:g}"
    outcome = cli(*path, option, below, "--json")
    assert (outcome.status, outcome.out, outcome.error["code"]) == (2, "", "invalid_input")
    assert outcome.error["message"] == f"{option} {below!r} is not {reader}"
    assert f"for example {option} {reader.such_as:g}" in outcome.error["hint"]
    assert reader(f"{reader.such_as:g}") == reader.such_as


@given(st.integers(-(10**6), 10**6), st.integers(0, 100), st.sampled_from([None, 100]))
def test_a_number_is_read_exactly_when_it_lies_within_its_bounds(value: int, low: int, high: int | None) -> None:
    reader = whole(low, high, such_as=low)
    if value >= low and (high is None or value <= high):
        assert reader(str(value)) == reader(value) == value
    else:
        with pytest.raises(typer.BadParameter, match="is not a whole number from"):
            reader(str(value))


@pytest.mark.parametrize("text", ["", "many", "nan", "inf", "-inf", "1e999", "0x10", "1,5", "9" * 5000])
def test_what_is_no_number_is_refused_whatever_it_looks_like(text: str) -> None:
    for reader in (whole(0, such_as=1), decimal(0, such_as=1), decimal(-1, 1, such_as=0.5)):
        with pytest.raises(typer.BadParameter):
            reader(text)


# -- a next step ------------------------------------------------------------------------------------
def test_wrong_usage_without_a_next_step_of_its_own_names_the_help(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.done("agent", "create", "loop")
    help_ = "`memanto recall --help` shows how it is used"
    for error, hint in ((InvalidInputError("x"), help_), (BackendError("x"), "")):
        monkeypatch.setattr("memanto.client.Memanto.recall", lambda *_, error=error, **__: _raise(error))
        assert cli("recall", "x", "--json").error["hint"] == hint


def _raise(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (["show"], "ID"),
        (["config", "set", "offline"], "VALUE"),
        (["run", "step"], "--outcome"),
        (["answer"], "question"),
    ],
    ids=str,
)
def test_what_is_missing_is_named_and_explained(arguments: list[str], missing: str, cli: Cli) -> None:
    outcome = cli(*arguments, "--json")
    assert (outcome.status, outcome.error["code"]) == (2, "usage")
    assert outcome.error["message"] == f"{missing} is missing"
    assert outcome.error["hint"].count("; ") >= 1


# -- plurals ----------------------------------------------------------------------------------------
def test_a_number_agrees_with_its_noun() -> None:
    assert [counted(n, "memory") for n in (0, 1, 1_000)] == ["0 memories", "1 memory", "1,000 memories"]
    nouns = ("day", "run", "open conflict", "process", "match", "copy")
    assert [plural(one) for one in nouns] == ["days", "runs", "open conflicts", "processes", "matches", "copies"]


_SOURCES = Path(memanto.__file__).parent
_NOUNS = (
    "memory version agent conflict run thread checkpoint file day hour step part use point call failure page time pair "
    "reply verdict value candidate thing difference question record secret tag"
)
_PLURAL = re.compile(rf" (?:(?!of )[a-z]+ )??(?:{'|'.join(map(plural, _NOUNS.split()))})\b")
_NEVER_ONE = {
    "len(matches)", "len(waiting)", "len(tags)", "len(memory.supersedes)", "planned.spared", "week", "hours / 24",
    "ahead.total_seconds() / 86400", "MAX_BATCH", "MAX_CLAIM.days", "MAX_QUESTIONS",
    "arm.runs", "arm.repeat_rate", "memory.id", "memory_id",
}  # fmt: skip
"""What stands before a plural and is no count, a fraction, or above a limit there."""


def test_no_text_puts_a_plural_after_a_number_that_may_be_1() -> None:
    wrong = []
    for file in sorted(_SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                wrong += [f"{file.name}: {told}" for told in _plurals(node)]
    assert wrong == []


def _plurals(text: ast.JoinedStr) -> Iterator[str]:
    for value, following in zip(text.values, text.values[1:], strict=False):
        if isinstance(value, ast.FormattedValue) and isinstance(following, ast.Constant):
            told = ast.unparse(value.value)
            agrees = told in _NEVER_ONE or told.startswith("counted(")
            if _PLURAL.match(str(following.value)) and not agrees:
                yield f"{{{told}}}{following.value}"


# -- what a newcomer gets wrong ---------------------------------------------------------------------
@pytest.fixture
def loop(cli: Cli) -> Cli:
    cli.done("agent", "create", "my-loop")
    return cli


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["agent", "create", "nightly reconciler"], "such as 'nightly-reconciler'"),
        (["agent", "create", "../x y/"], "such as 'x-y'"),
        (["recall", "x", "--as-of", "2026-6-1"], "did you mean '2026-06-01'?"),
        (["recall", "x", "--as-of", "2026/06/01"], "did you mean '2026-06-01'?"),
        (["recall", "x", "--since", "2026-06-02", "--until", "2026-06-01"], "swap them"),
        (["daily-summary", "--date", "31.12.2025"], "did you mean '2025-12-31'?"),
        (["recall", "x", "--since", "5 minutes"], "did you mean '5 minutes ago'?"),
        (["remember", "Ledger", "pulls", "lag"], "in quotes"),
        (["export", "out.jsonl"], "`memanto export --help`"),
        (["edit", "0000aaaa", "a new text"], "`memanto edit --help`"),
        (["recall", "x", "--agent", "my_loop"], "did you mean 'my-loop'?"),
        (["policy", "set", "event", "--floor", "2"], "--floor '2' is not a number from 0 to 1"),
        (["conflicts", "--resolve", "abcd"], "ACTION is one of keep-old, "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_typical_mistake_is_answered_with_its_remedy(arguments: list[str], said: str, loop: Cli) -> None:
    outcome = loop(*arguments)
    assert outcome.status in {2, 3}
    assert outcome.out == ""
    assert said in outcome.err


@pytest.mark.parametrize(
    "arguments",
    [["remember", "-"], ["remember", "--batch", "-"], ["import", "-"], ["guard", "-"], ["handoff", "write", "-"]],
    ids=" ".join,
)
@pytest.mark.parametrize("text", [b"", b"\n", b" \t\r\n"])
def test_empty_standard_input_is_named_and_nothing_is_done(arguments: list[str], text: bytes, loop: Cli) -> None:
    outcome = loop(*arguments, "--json", stdin=text)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.error["message"] == "standard input is empty"
    assert loop.recalled() == []


def test_a_step_that_cannot_be_taken_twice_says_where_to_look(loop: Cli) -> None:
    memory_id = loop.remember("x")
    loop.done("expire", memory_id)
    assert loop("expire", memory_id, "--json").error["hint"] == f"`memanto history {memory_id}` shows what became of it"
    assert "second" in loop("supersede", memory_id, memory_id, "--json").error["hint"]


def test_without_an_active_agent_both_ways_to_one_are_named(loop: Cli) -> None:
    loop.done("agent", "deactivate")
    error = loop("recall", "--json").error
    assert error["code"] == "configuration"
    for command in ("agent create NAME", "agent activate my-loop"):
        assert f"`memanto {command}`" in error["hint"]


def test_conflicts_listed_off_a_terminal_say_how_one_is_decided(loop: Cli) -> None:
    for text in ("We deploy on Mondays", "We do not deploy on Mondays"):
        loop.remember(text, "--type", "fact")
    loop.done("detect-conflicts", "--no-rerank")
    outcome = loop.done("conflicts")
    assert "We do not deploy" in outcome.out
    assert "`memanto conflicts --resolve ID --action ACTION` decides one: keep-old, keep-new, " in outcome.err
    assert loop.done("conflicts", "--json").err == loop.done("conflicts", "--quiet").err == ""


def test_the_presets_are_listed_under_either_name(loop: Cli) -> None:
    assert loop.done("policy", "list").out == loop.done("policy", "presets").out
    assert "balanced" in loop.done("policy", "list").out


def test_a_bad_value_in_the_settings_file_is_mended_by_the_command_that_the_error_names(loop: Cli) -> None:
    file = loop.home / "config.toml"
    file.write_text('# mine\nbackend = "cloud"\ndurability = "log"\n')
    for arguments in (["recall"], ["config", "show"], ["config", "set", "durability", "full"]):
        error = loop(*arguments, "--json").error
        assert error["code"] == "configuration"
        assert str(file) in error["message"]
        assert "`memanto config set backend VALUE`" in error["hint"]
    loop.done("config", "set", "backend", "embedded")
    assert file.read_text().startswith("# mine\n")
    assert loop.recalled() == []


def test_a_home_that_is_a_file_is_told_as_such(cli: Cli) -> None:
    cli.home.write_text("not a folder")
    for arguments in (["agent", "create", "x"], ["recall"], ["config", "show"]):
        outcome = cli(*arguments, "--json")
        assert (outcome.status, outcome.error["code"]) == (2, "configuration")
        assert f"{str(cli.home)!r} is a file" in outcome.error["message"]
