"""Reads the pages of the documentation, and runs the blocks in them as a reader would."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from memanto.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`]*)$")
_ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}(?:-[0-9a-f]{4})?(?:-[0-9a-f]{4}-[0-9a-f]{12})?\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)?")
_EXIT = re.compile(r"#\s*exit (\d+)")
_RUN = re.compile(r"\b\d{8}T\d{6}-[0-9a-f]{6}\b")
_HERE = re.compile(r"<<'(\w+)'$")
_SHELL = re.compile(r"[|<>&;$`]|^\w+=")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text and the line its text begins on."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """One `$ ` line with what the page shows below it."""

    text: str
    line: int
    status: int
    shown: tuple[str, ...]


def pages() -> list[Path]:
    """Return every page whose blocks a reader may copy."""
    top = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("packages/*/README.md"))]
    return top + sorted(p for p in (*DOCS.rglob("*.md"), *ROOT.glob("examples/*.md")) if "_build" not in p.parts)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page in order."""
    lines = page.read_text("utf-8").splitlines()
    index = 0
    while index < len(lines):
        opened = _FENCE.match(lines[index])
        index += 1
        if opened is None:
            continue
        first = index
        while not lines[index].strip().startswith(opened["ticks"]):
            index += 1
        indent = len(opened["indent"])
        text = "\n".join(line[indent:] for line in lines[first:index])
        yield Block(opened["info"].strip().split(" ")[0], text, first + 1)
        index += 1


def commands(block: Block) -> Iterator[Command]:
    """Yield the commands of a block; `# exit N` after one says that it fails with that status."""
    lines = block.text.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
    for start, following in pairwise([*starts, len(lines)]):
        text, shown = lines[start][2:], start + 1
        while text.endswith("\\"):
            text, shown = f"{text[:-1].rstrip()} {lines[shown].strip()}", shown + 1
        if here := _HERE.search(text):
            end = lines.index(here[1], shown) + 1
            text, shown = "\n".join([text, *lines[shown:end]]), end
        status = _EXIT.search(text)
        output = tuple(line.rstrip() for line in lines[shown:following] if line.strip())
        yield Command(_EXIT.sub("", text).strip(), block.line + start, int(status[1]) if status else 0, output)


class Reader:
    """Somebody who copies a page's blocks in order, in one folder and one Python session."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.ran = 0
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._ids: dict[str, str] = {}

    def follow(self) -> None:
        """Run every block that can be run."""
        for block in blocks(self.page):
            if block.language == "python":
                self._python(block)
            elif block.language in {"console", "sh"}:
                for command in commands(block):
                    self._shell(command)

    def _python(self, block: Block) -> None:
        source = "\n" * (block.line - 1) + block.text
        exec(compile(source, str(self.page), "exec", dont_inherit=True), self._names)
        self.ran += 1

    def _shell(self, command: Command) -> None:
        status, output = self._run(self._with_real_ids(command.text))
        where = f"{name_of(self.page)}:{command.line}: $ {command.text}\n{output}"
        assert status == command.status, where
        found = iter(output.splitlines())
        for line in command.shown:
            if line.strip() != "…":
                assert any(self._same(line, real) for real in found), f"not printed (any more): {line!r}\n{where}"
        self.ran += 1

    def _run(self, text: str) -> tuple[int, str]:
        unquoted = re.sub(r"'[^']*'|\"[^\"$`]*\"", "", text)
        if _SHELL.search(unquoted) or not text.startswith("memanto "):
            tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
            done = subprocess.run(
                ["sh", "-c", f"exec 2>&1; {text}"],
                stdout=subprocess.PIPE, check=False, cwd=self.folder, env=os.environ | {"PATH": tools}, timeout=60,
            )  # fmt: skip
            return done.returncode, done.stdout.decode("utf-8")
        _, *arguments = shlex.split(text, comments=True)
        printed = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            status = run(arguments)
        printed.seek(0)
        return status, printed.read()

    def _with_real_ids(self, text: str) -> str:
        def real(match: re.Match[str]) -> str:
            shown = match.group()
            known = [actual for page_id, actual in self._ids.items() if page_id.startswith(shown)]
            assert known, f"{name_of(self.page)} uses the id {shown}, which no output above it shows"
            return known[0]

        return _ID.sub(real, text)

    def _same(self, shown: str, printed: str) -> bool:
        """Whether a printed line is the one shown: ids and times may differ, `…` stands for anything."""
        pattern = re.escape(_plain(shown)).replace("…", ".*")
        if re.fullmatch(rf"\s*{pattern}\s*", _plain(printed)) is None:
            return False
        for page_id, actual in zip(_ID.findall(shown), _ID.findall(printed), strict=False):
            self._ids.setdefault(page_id, actual)
        return True


def _plain(line: str) -> str:
    return " ".join(_TIME.sub("<time>", _RUN.sub("<run>", _ID.sub("<id>", line))).split())
