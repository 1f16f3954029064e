"""What connecting does to one file: an entry, a list item, a block or a file of its own, added and taken out again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from memanto.connect import jsonc, tables
from memanto.errors import InvalidInputError

BEGIN: Final = "<!-- memanto:begin, written by `memanto connect`; what stands between the marks is replaced -->"
END: Final = "<!-- memanto:end -->"
SERVER: Final = "memanto"
"""The name the MCP server is registered under, and the mark of a file that is ours alone."""
_BEGIN: Final = re.compile(r"^<!-- memanto:begin\b[^\n]*-->[ \t\r]*$", re.MULTILINE)
_END: Final = re.compile(r"^<!-- memanto:end\b[^\n]*-->[ \t\r]*$", re.MULTILINE)
_PROGRAM: Final = re.compile(r"(?:^|[/\\])memanto(?:\.exe)?$")
_HOOK: Final = re.compile(r"(?:^|[/\\])memanto(?:\.exe)?[\"']? hook ")


class Edit(Protocol):
    """A change to a file's text that can be taken back.

    Texts are decoded UTF-8 with their byte order mark and line ends. `add` of a text that holds the change already
    returns it as it is.
    """

    def add(self, text: str) -> str:
        """Return the text with the change.

        Raises:
            InvalidInputError: The file is malformed, or written in a way that cannot be changed safely.
        """

    def remove(self, text: str, original: str | None) -> str:
        """Return the text without the change.

        `original`, the file before the change, says which containers to leave and what stood in its place; where it is
        unknown (`None`) they are left, and so is an entry that starts another server than ours.
        """


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A registration of the server as a member of an object in JSON, with or without comments."""

    path: tuple[str, ...]
    value: Any

    def add(self, text: str) -> str:
        return jsonc.set_member(text, self.path, self.value)

    def remove(self, text: str, original: str | None) -> str:
        before = None if original is None else jsonc.value_at(original, self.path)
        if before is not None:  # it was there, in another form
            return jsonc.set_member(text, self.path, before)
        if not _starts_ours(jsonc.value_at(text, self.path)):
            return text
        return _without_empty(jsonc.remove_member(text, self.path), self.path[:-1], original)


@dataclass(frozen=True, slots=True)
class JsonDefault:
    """A member that a format asks for, set only where it is missing."""

    path: tuple[str, ...]
    value: Any

    def add(self, text: str) -> str:
        found = jsonc.value_at(text, self.path)
        return jsonc.set_member(text, self.path, self.value) if found is None else text

    def remove(self, text: str, original: str | None) -> str:
        if original is None:
            return text
        before, now = jsonc.parse(original).value, jsonc.parse(text).value
        added = {name for name in now if name != self.path[0] and now[name] != before.get(name)}
        if added or jsonc.value_at(original, self.path) is not None:
            return text  # somebody else's, or needed by what somebody added
        return jsonc.remove_member(text, self.path)


@dataclass(frozen=True, slots=True)
class JsonHook:
    """An item in an array of hooks; recognised by its command, so that an older one is replaced."""

    path: tuple[str, ...]
    value: Any

    def add(self, text: str) -> str:
        found = jsonc.value_at(text, self.path)
        if isinstance(found, list) and [one for one in found if is_hook(one)] == [self.value]:
            return text
        return jsonc.append_item(jsonc.remove_items(text, self.path, is_hook), self.path, self.value)

    def remove(self, text: str, original: str | None) -> str:
        return _without_empty(jsonc.remove_items(text, self.path, is_hook), self.path, original)


@dataclass(frozen=True, slots=True)
class TomlTable:
    """A registration of the server as a table in TOML."""

    path: tuple[str, ...]
    values: Mapping[str, Any]

    def add(self, text: str) -> str:
        return _in_unix_lines(text, lambda plain: tables.set_table(plain, self.path, self.values))

    def remove(self, text: str, original: str | None) -> str:
        before = None if original is None else tables.table_at(original, self.path)
        if before is not None:  # it was there, in another form
            return _in_unix_lines(text, lambda plain: tables.set_table(plain, self.path, before))
        if not _starts_ours(tables.table_at(text, self.path)):
            return text
        return _in_unix_lines(text, lambda plain: tables.remove_table(plain, self.path))


@dataclass(frozen=True, slots=True)
class YamlChild:
    """A registration of the server as a child of a top-level key in YAML, by key or, in a list, by `name`."""

    key: str
    name: str
    value: Mapping[str, Any]
    listed: bool = False

    def add(self, text: str) -> str:
        return _in_unix_lines(
            text, lambda plain: tables.set_child(plain, self.key, self.name, self.value, listed=self.listed)
        )

    def remove(self, text: str, original: str | None) -> str:
        before = None if original is None else tables.child_at(original, self.key, self.name)
        if isinstance(before, Mapping):  # it was there, in another form
            return replace(self, value=before).add(text)
        if not _starts_ours(tables.child_at(text, self.key, self.name)):
            return text

        def removed(plain: str) -> str:
            left = tables.remove_child(plain, self.key, self.name)
            there = original is None or re.search(rf"^{re.escape(self.key)}:", original, re.MULTILINE)
            return left if there else tables.drop_empty_key(left, self.key)

        return _in_unix_lines(text, removed)


@dataclass(frozen=True, slots=True)
class Block:
    """Lines between marks in a file that others write too."""

    body: str

    def add(self, text: str) -> str:
        return _in_unix_lines(text, self._added)

    def _added(self, text: str) -> str:
        block = f"{BEGIN}\n{self.body.strip()}\n{END}"
        span = _marked(text)
        if span is not None:
            return text[: span[0]] + block + text[span[1] :]
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}{block}\n"

    def remove(self, text: str, original: str | None) -> str:  # noqa: ARG002 - the marks say enough
        return _in_unix_lines(text, self._removed)

    def _removed(self, text: str) -> str:
        span = _marked(text)
        if span is None:
            return text
        before, behind = text[: span[0]], text[span[1] :].removeprefix("\n")
        return before.removesuffix("\n") + behind if before.endswith("\n\n") or not behind else before + behind


@dataclass(frozen=True, slots=True)
class Own:
    """A file that holds nothing else."""

    text: str

    def add(self, text: str) -> str:  # noqa: ARG002 - it replaces what was there
        return self.text

    def remove(self, text: str, original: str | None) -> str:
        return (original or "") if SERVER in text else text


def is_hook(value: Any) -> bool:
    """Return whether an item of an array of hooks is one of ours: every command in it runs `memanto hook`."""
    if not isinstance(value, Mapping):
        return False
    nested = value.get("hooks")
    entries = nested if isinstance(nested, list) and nested else [value]
    return all(isinstance(one, Mapping) and _HOOK.search(str(one.get("command", ""))) for one in entries)


def _starts_ours(entry: Any) -> bool:
    """Return whether a registration runs `memanto mcp`; another server may have the same name."""
    if not isinstance(entry, Mapping):
        return False
    command = entry.get("command", entry.get("cmd"))
    words = [command, entry.get("args")] if isinstance(command, str) else [command]
    flat = [str(part) for word in words for part in (word if isinstance(word, list) else [word])]
    return len(flat) > 1 and _PROGRAM.search(flat[0]) is not None and flat[1] == "mcp"


def _marked(text: str) -> tuple[int, int] | None:
    """Return where the block with its marks begins and ends, or `None`.

    Raises:
        InvalidInputError: A mark is missing, or there are several blocks.
    """
    begins, ends = list(_BEGIN.finditer(text)), list(_END.finditer(text))
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or ends[0].start() < begins[0].end():
        line = text.count("\n", 0, (begins or ends)[0].start()) + 1
        raise InvalidInputError(
            f"line {line}: the marks of memanto's block do not pair",
            hint="remove the lines `<!-- memanto:begin … -->` and `<!-- memanto:end -->` with what is between them",
        )
    return begins[0].start(), ends[0].end()


def _without_empty(text: str, path: tuple[str, ...], original: str | None) -> str:
    """Return a text without the objects on a path that are empty now and were not there before."""
    if original is None:
        return text
    for length in range(len(path), 0, -1):
        if jsonc.value_at(original, path[:length]) is None:
            text = jsonc.remove_empty(text, path[:length])
    return text


def _in_unix_lines(text: str, edit: Callable[[str], str]) -> str:
    """Return an edited text in the line ends it had, where they are all the same."""
    windows = "\r\n" in text and text.count("\r\n") == text.count("\n")
    edited = edit(text.replace("\r\n", "\n") if windows else text)
    return edited.replace("\n", "\r\n") if windows else edited
