"""Reading what a coding tool wrote down of a session: what was asked, done, left over, and which files changed.

Claude Code, Codex and Cursor keep JSON lines of similar make and change them without notice. So this looks for what
they share, passes over what it does not know, and never fails on a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from memanto.errors import InvalidInputError
from memanto.memory.fencing import is_fenced
from memanto.times import from_rfc3339

HEAD: Final = 256_000
TAIL: Final = 4_000_000
"""Bytes read from either end of a long transcript: the beginning says what was asked, the end what came of it."""
_MAX_LINE: Final = 2_000_000
_GOAL: Final = 300
_STATE: Final = 500
_FILES: Final = 30
_WRITERS: Final = frozenset(
    {"write", "edit", "multiedit", "notebookedit", "strreplace", "search_replace", "edit_file", "create_file"}
)
_PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update) File: (.+?)\s*$", re.MULTILINE)
_ASKED: Final = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)
_DONE: Final = frozenset({"completed", "done"})


@dataclass(slots=True)
class Shift:
    """What a session's transcript tells.

    Attributes:
        asked: The first thing the user asked for, or `""`.
        said: The last thing the agent said, or `""`.
        done: Steps that its list of tasks marks as finished.
        left: Steps that it does not.
        files: Files it wrote, the last ones, in order.
        calls: Number of tool calls.
        began: When it began, or `None`.
    """

    asked: str = ""
    said: str = ""
    done: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    calls: int = 0
    began: datetime | None = None


def read_shift(path: Path, folder: Path | None = None) -> Shift:
    """Return what a transcript tells; an empty shift for one that cannot be read.

    Args:
        path: The transcript.
        folder: The project, that file names are shortened by.
    """
    try:
        reader = _Reader(folder)
        for line in _lines(path):
            reader.take(line)
        return reader.shift()
    except OSError:
        return Shift()


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, of a long one those at its ends."""
    if not path.is_file():
        return
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= HEAD + TAIL:
            yield from file
            return
        yield from file.read(HEAD).split(b"\n")[:-1]
        file.seek(size - TAIL)
        yield from file.read(TAIL).split(b"\n")[1:]


@dataclass(slots=True)
class _Reader:
    folder: Path | None
    _shift: Shift = field(default_factory=Shift)
    _tasks: dict[str, tuple[str, str]] = field(default_factory=dict)
    _files: dict[str, None] = field(default_factory=dict)

    def take(self, line: bytes) -> None:
        """Take in one line."""
        if len(line) > _MAX_LINE:
            return
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(entry, dict) or entry.get("isSidechain") or entry.get("isMeta"):
            return
        if self._shift.began is None:
            self._shift.began = _moment(entry.get("timestamp"))
        message = next((entry[key] for key in ("message", "payload") if isinstance(entry.get(key), dict)), entry)
        role = message.get("role") or entry.get("role") or entry.get("type")
        self._called(message)
        content = message.get("content")
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else _mappings(content):
            if str(block.get("type", "")).endswith("text"):
                self._text(role, str(block.get("text", "")))
            else:
                self._called(block)

    def _text(self, role: object, text: str) -> None:
        if is_fenced(text):
            return  # memory's own words are not said again
        if role == "assistant" and text.strip():
            self._shift.said = _shortened(text, _STATE)
        elif role == "user" and not self._shift.asked:
            quoted = _ASKED.search(text)
            asked = quoted[1] if quoted else text.strip()
            if asked and not asked.startswith("<"):  # reminders and commands of the tool itself come in tags
                self._shift.asked = _shortened(asked, _GOAL)

    def _called(self, block: Mapping[str, Any]) -> None:
        if str(block.get("type")) not in {"tool_use", "function_call", "custom_tool_call", "tool-call"}:
            return
        self._shift.calls += 1
        name = str(block.get("name", ""))
        given = block.get("input", block.get("arguments", block.get("args")))
        if isinstance(given, str):
            self._patched(given)
            try:
                given = json.loads(given)
            except (ValueError, RecursionError):
                return
        if isinstance(given, dict):
            self._listed(name, given)
            self._wrote(name, given)

    def _listed(self, name: str, given: Mapping[str, Any]) -> None:
        """Take in the agent's list of tasks, whole or one at a time."""
        for key, words in (("todos", "content"), ("plan", "step")):
            if isinstance(given.get(key), list):
                tasks = [(str(one.get(words, "")), str(one.get("status", ""))) for one in _mappings(given[key])]
                self._tasks = {str(number): task for number, task in enumerate(tasks)}
        if name == "TaskCreate":
            self._tasks[str(len(self._tasks) + 1)] = (str(given.get("subject", "")), "pending")
        elif name == "TaskUpdate" and str(given.get("taskId")) in self._tasks:
            subject, status = self._tasks[str(given["taskId"])]
            self._tasks[str(given["taskId"])] = (str(given.get("subject", subject)), str(given.get("status", status)))

    def _wrote(self, name: str, given: Mapping[str, Any]) -> None:
        if name.lower() in _WRITERS:
            for key in ("file_path", "path", "notebook_path", "target_file"):
                if isinstance(given.get(key), str):
                    self._file(given[key])
        for value in given.values():
            if isinstance(value, str):
                self._patched(value)

    def _patched(self, text: str) -> None:
        if "*** Begin Patch" in text:
            for found in _PATCHED.findall(text.replace("\\n", "\n")):
                self._file(found)

    def _file(self, name: str) -> None:
        path = Path(name)
        if self.folder is not None and path.is_absolute() and path.is_relative_to(self.folder):
            name = path.relative_to(self.folder).as_posix()
        self._files.pop(name, None)
        self._files[name] = None

    def shift(self) -> Shift:
        """Return what was taken in."""
        shift = self._shift
        tasks = [(_shortened(text, _GOAL), status) for text, status in self._tasks.values() if text.strip()]
        shift.done = tuple(text for text, status in tasks if status in _DONE)
        shift.left = tuple(text for text, status in tasks if status not in _DONE | {"cancelled", "deleted"})
        shift.files = tuple(self._files)[-_FILES:]
        return shift


def _mappings(value: Any) -> Iterable[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _shortened(text: str, size: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= size else f"{line[:size].rsplit(' ', 1)[0]} …"


def _moment(value: object) -> datetime | None:
    try:
        return from_rfc3339(value) if isinstance(value, str) else None
    except (ValueError, InvalidInputError):
        return None
