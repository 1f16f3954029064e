"""`conflicts` and `detect-conflicts` on the command line, also in a pseudo-terminal (our decision)."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_kit import Cli

from memanto.cli.side_by_side import beside, differing
from memanto.cli.style import Palette

OLD, NEW = "The primary database is Postgres", "The primary database is now MySQL"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    monkeypatch.chdir(tmp_path)
    cli = Cli(tmp_path / "home", monkeypatch)
    cli.done("agent", "create", "tester")
    yield cli


def conflict(cli: Cli) -> str:
    cli.remember(OLD, "--type", "fact")
    receipt = cli.done("remember", NEW, "--type", "fact", "--json").json
    return str(receipt["conflicts"][0]["id"])


def test_an_empty_store_has_no_conflicts_and_says_so(cli: Cli) -> None:
    assert "no conflicts" in cli.done("conflicts").err
    assert cli.done("conflicts", "--json").json == {"conflicts": [], "count": 0, "set_aside": 0}
    assert cli.done("detect-conflicts", "--json").json["examined"] == 0


def test_remember_says_what_it_may_update(cli: Cli) -> None:
    first = cli.remember(OLD, "--type", "fact")
    assert f"may update {first}" in cli.done("remember", NEW, "--type", "fact").out


def test_without_a_terminal_conflicts_are_listed_and_nothing_waits(cli: Cli) -> None:
    found = conflict(cli)
    listed = cli.done("conflicts", "--json").json
    assert [one["id"] for one in listed["conflicts"]] == [found]
    assert [listed["conflicts"][0][name]["content"] for name in ("older_memory", "newer_memory")] == [OLD, NEW]
    text = cli.done("conflicts").out
    assert OLD in text
    assert NEW in text
    assert "update by value (“now”)" in text


def test_a_script_decides_and_takes_back(cli: Cli) -> None:
    found = conflict(cli)
    assert cli.done("conflicts", "--resolve", found[:13], "--action", "keep-new", "--reason", "moved").out.startswith(
        "keep-new"
    )
    assert cli.recalled("database") == [NEW]
    assert cli.done("conflicts", "--resolved", "--json").json["conflicts"][0]["decision"]["reason"] == "moved"
    assert cli.done("conflicts", "--undo", found, "--json").json["action"] is None
    assert sorted(cli.recalled("database", "--all")) == sorted([OLD, NEW])


def test_all_of_a_kind_are_decided_at_once(cli: Cli) -> None:
    for value in ("Postgres", "MySQL", "Oracle"):
        cli.remember(f"The primary database is now {value}", "--type", "fact")
    cli.remember("Retries are enabled in the billing worker", "--type", "fact")
    cli.remember("Retries are disabled in the billing worker", "--type", "fact")
    assert cli.done("conflicts", "--kind", "update", "--json").json["count"] == 3
    cli.done("conflicts", "--kind", "update", "--action", "keep-new", "--reason", "the latest holds")
    assert [one["kind"] for one in cli.done("conflicts", "--json").json["conflicts"]] == ["contradiction"]
    assert cli.recalled("primary database", "--limit", "1") == ["The primary database is now Oracle"]
    assert cli("conflicts", "--kind", "quarrel").status == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resolve", "x"], "go together"),
        (["--action", "keep-new"], "go together"),
        (["--resolve", "x", "--action", "keep-new", "--undo", "y"], "exclude each other"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments: list[str], message: str, cli: Cli) -> None:
    outcome = cli("conflicts", *arguments)
    assert outcome.status == 2
    assert message in outcome.err


def test_an_unknown_conflict_has_the_status_of_what_is_not_found(cli: Cli) -> None:
    assert cli("conflicts", "--resolve", "abc", "--action", "keep-new").status == 3


# -- side by side -----------------------------------------------------------------------------------
def test_words_that_differ_are_marked_on_both_sides() -> None:
    one, other = differing("the port is 8080, today", "the port is 9090 today")
    assert [word for word, marked in one if marked] == ["8080,"]
    assert [word for word, marked in other if marked] == ["9090"]


def test_two_texts_stand_beside_each_other_and_lose_no_word() -> None:
    old, new = "alpha beta gamma delta " * 6, "alpha beta epsilon delta " * 6
    lines = list(beside((["OLD"], ["NEW"]), (old, new), Palette(), 60, colour=False))
    assert all(len(line) <= 62 for line in lines)
    left = " ".join(line.partition("│")[0] for line in lines)
    right = " ".join(line.partition("│")[2] for line in lines)
    assert re.findall(r"\w+", left) == ["OLD", *re.findall(r"\w+", old)]
    assert re.findall(r"\w+", right) == ["NEW", *re.findall(r"\w+", new)]
    assert "»gamma«" in left
    assert "»epsilon«" in right


def test_a_word_longer_than_its_side_is_broken() -> None:
    lines = list(beside(([], []), ("x" * 200, "y"), Palette(), 60, colour=False))
    assert sum(line.count("x") for line in lines) == 200
    assert all(len(line) <= 62 for line in lines)


# -- one by one -------------------------------------------------------------------------------------
pytest_pty = pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals")


class Terminal:
    """A command that runs in a pseudo-terminal."""

    def __init__(self, *arguments: str) -> None:
        import pty

        self._master, slave = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "MEMANTO_OFFLINE": "1"}
        code = (
            "import sys; from memanto import composition; from memanto.embedding.choice import Choice;"
            "from memanto.testing import HashEmbedder;"
            "composition.configured_embedder = lambda s=None: Choice(HashEmbedder());"
            "from memanto.cli.main import run; sys.exit(run(sys.argv[1:]))"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments], stdin=slave, stdout=slave, stderr=slave, env=environment
        )
        os.close(slave)
        self._unread = ""

    def until(self, text: str) -> str:
        """Read until a text has been shown, and return what was shown since the last call up to its end."""
        while text not in self._unread:
            ready, _, _ = select.select([self._master], [], [], 60)
            try:
                piece = os.read(self._master, 4096).decode("utf-8", "replace") if ready else ""
            except OSError:  # the command ended
                piece = ""
            assert piece, f"{text!r} was not shown, but {self._unread!r}"
            self._unread += piece
        shown, _, self._unread = self._unread.partition(text)
        return shown + text

    def say(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def status(self) -> int:
        return self._process.wait(timeout=60)


@pytest_pty
def test_the_walk_shows_each_pair_side_by_side_and_carries_out_the_answers(cli: Cli) -> None:
    first = conflict(cli)
    cli.remember("Retries are enabled in the billing worker", "--type", "fact")
    cli.remember("Retries are disabled in the billing worker", "--type", "fact")
    terminal = Terminal("conflicts")
    shown = terminal.until("> ")
    assert "1 of 2" in shown
    assert first in shown
    line = next(line for line in shown.splitlines() if "│" in line and "primary" in line)
    assert "\x1b[31mPostgres\x1b[0m" in line  # the words that differ are painted
    assert "\x1b[32mMySQL\x1b[0m" in shown
    assert "confidence 0.8" in shown
    terminal.say("x\n")  # no key of the menu: asked again
    terminal.until("> ")
    terminal.say("m\n")
    assert f"{NEW} (before: {OLD})" in re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", terminal.until("Postgres)"))
    terminal.say("\x15The primary database is MySQL since June\n")  # erases the line first
    terminal.until("2 of 2")
    terminal.until("> ")
    terminal.say("q\n")
    terminal.until("1 decided, 1 open")
    assert terminal.status() == 0
    assert "The primary database is MySQL since June" in cli.recalled("primary database", "--limit", "1")
    assert [one["action"] for one in cli.done("conflicts", "--resolved", "--json").json["conflicts"]] == ["merge"]


@pytest_pty
def test_the_end_of_input_decides_nothing(cli: Cli) -> None:
    conflict(cli)
    terminal = Terminal("conflicts")
    terminal.until("> ")
    terminal.say("\x04")
    terminal.until("0 decided, 1 open")
    assert terminal.status() == 0
