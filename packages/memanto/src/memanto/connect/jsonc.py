"""JSON with comments: reading it with positions, and changing one member or item without touching the rest.

Coding tools keep their settings in JSON that people edit by hand: with comments, trailing commas, tabs, a byte order
mark. An edit here inserts or cuts text, so everything else stays as it was, byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from memanto.errors import InvalidInputError

_GAP: Final = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD: Final = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_REMARK: Final = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
_DEEPEST: Final = 200
_CLOSERS: Final = {"{": "}", "[": "]"}


@dataclass(slots=True)
class Node:
    """A value and where it stands.

    Attributes:
        start: Where it begins.
        end: Where it ends, exclusive.
        value: What it says, in Python's types.
        names: Of an object: where each member's name begins, and the name.
        parts: Of an object or array: its members' values or its items.
        trailing: Of an object or array: where a comma stands behind the last part, or -1.
    """

    start: int
    end: int = 0
    value: Any = None
    names: list[tuple[int, str]] = field(default_factory=list)
    parts: list[Node] = field(default_factory=list)
    trailing: int = -1

    def member(self, name: str) -> Node | None:
        """Return the value of an object's member; of several of one name the last counts, as parsers have it."""
        found = None
        for (_, one), part in zip(self.names, self.parts, strict=False):
            found = part if one == name else found
        return found

    def begins(self, place: int) -> int:
        """Return where a member (with its name) or an item begins."""
        return self.names[place][0] if self.names else self.parts[place].start


def parse(text: str) -> Node:
    """Return the root of a text. A text without any value reads as an empty object.

    Raises:
        InvalidInputError: It is not JSON with comments; the message names the line.
    """
    return _Reader(text).root()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def root(self) -> Node:
        self._skip()
        if self._at == len(self._text):
            return Node(self._at, self._at, {})
        node = self._value()
        self._skip()
        if self._at != len(self._text):
            raise self._wrong("text behind the end")
        return node

    def _skip(self) -> None:
        found = _GAP.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _value(self) -> Node:
        opening = self._text[self._at : self._at + 1]
        if opening in _CLOSERS:
            return self._container(opening)
        for pattern in (_STRING, _WORD):
            if found := pattern.match(self._text, self._at):
                try:
                    value = json.loads(found[0])
                except ValueError as error:
                    raise self._wrong("a malformed value") from error
                self._at = found.end()
                return Node(found.start(), found.end(), value)
        raise self._wrong("no value where one is due")

    def _container(self, opening: str) -> Node:
        node = Node(self._at, value={} if opening == "{" else [])
        self._at += 1
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong("too deep a nesting")
        while True:
            self._skip()
            if self._text[self._at : self._at + 1] == _CLOSERS[opening]:
                self._at += 1
                node.end = self._at
                self._depth -= 1
                return node
            if node.parts and node.trailing < 0:
                raise self._wrong("a comma is missing")
            self._part(node, named=opening == "{")
            self._skip()
            node.trailing = -1
            if self._text[self._at : self._at + 1] == ",":
                node.trailing = self._at
                self._at += 1

    def _part(self, node: Node, *, named: bool) -> None:
        name = None
        if named:
            found = _STRING.match(self._text, self._at)
            if found is None:
                raise self._wrong("a name in quotes is due")
            try:
                name = json.loads(found[0], strict=False)
            except ValueError as error:  # an escape that JSON does not have
                raise self._wrong("a malformed name") from error
            node.names.append((self._at, name))
            self._at = found.end()
            self._skip()
            if self._text[self._at : self._at + 1] != ":":
                raise self._wrong("a colon is missing")
            self._at += 1
            self._skip()
        part = self._value()
        node.parts.append(part)
        if named:
            node.value[name] = part.value
        else:
            node.value.append(part.value)

    def _wrong(self, what: str) -> InvalidInputError:
        line = self._text.count("\n", 0, self._at) + 1
        return InvalidInputError(f"line {line}: {what}", hint="correct that line; nothing was changed")


# -- changing ---------------------------------------------------------------------------------------
def set_member(text: str, path: Sequence[str], value: Any) -> str:
    """Return a text whose member at a path has a value; objects on the way are made where they are missing.

    Raises:
        InvalidInputError: The text is malformed, or something on the way is no object.
    """
    root = parse(text)
    if root.start == root.end:  # nothing but a gap
        text = f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{{}}{_newline(text)}"
        root = parse(text)
    node, missing = _descend(root, path)
    if not missing:
        found = node.member(path[-1])
        assert found is not None  # nothing is missing, so it is there
        depth = len(path)
        return text if found.value == value else _spliced(text, found.start, found.end, _shown(text, value, depth))
    for name in reversed(missing[1:]):
        value = {name: value}
    depth = len(path) - len(missing)
    return _inserted(text, node, f"{json.dumps(missing[0], ensure_ascii=False)}: ", value, depth)


def append_item(text: str, path: Sequence[str], value: Any) -> str:
    """Return a text with one more item at the end of the array at a path, made where it is missing."""
    root = parse(text)
    node, missing = _descend(root, path) if root.start != root.end else (root, list(path))
    if missing:
        return set_member(text, path, [value])
    array = node.member(path[-1])
    if array is None or not isinstance(array.value, list):
        raise _unlike(path, "an array")
    return _inserted(text, array, "", value, len(path))


def remove_member(text: str, path: Sequence[str]) -> str:
    """Return a text without the member at a path; the text itself when there is none."""
    for node, names in _holding(text, path):
        places = [place for place, (_, name) in enumerate(node.names) if name == names]
        if places:
            return remove_member(_cut(text, node, places[-1]), path)
    return text


def remove_items(text: str, path: Sequence[str], ours: Any) -> str:
    """Return a text without those items of the array at a path that the function `ours` recognises."""
    for node, name in _holding(text, path):
        array = node.member(name)
        if array is None or not isinstance(array.value, list):
            return text
        for place, item in enumerate(array.parts):
            if ours(item.value):
                return remove_items(_cut(text, array, place), path, ours)
    return text


def remove_empty(text: str, path: Sequence[str]) -> str:
    """Return a text without the object or array at a path when it is empty and holds no comment."""
    for node, name in _holding(text, path):
        found = node.member(name)
        if found is not None and found.value in ({}, []) and not text[found.start + 1 : found.end - 1].strip():
            return remove_member(text, path)
    return text


def value_at(text: str, path: Sequence[str]) -> Any:
    """Return the value at a path, or `None` where there is nothing."""
    value = parse(text).value
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _holding(text: str, path: Sequence[str]) -> Iterator[tuple[Node, str]]:
    """Yield the object that holds the last step of a path, with that step; nothing where there is none."""
    node: Node | None = parse(text)
    for name in path[:-1]:
        node = node.member(name) if node is not None and isinstance(node.value, dict) else None
    if node is not None and isinstance(node.value, dict):
        yield node, path[-1]


def _descend(root: Node, path: Sequence[str]) -> tuple[Node, list[str]]:
    """Return the innermost object on a path, and the steps that are missing below it."""
    node = root
    for place, name in enumerate(path):
        if not isinstance(node.value, dict):
            raise _unlike(path[:place], "an object")
        found = node.member(name)
        if found is None:
            return node, list(path[place:])
        if place == len(path) - 1:
            return node, []
        node = found
    return node, []


def _unlike(path: Sequence[str], wanted: str) -> InvalidInputError:
    where = ".".join(path) or "the whole file"
    return InvalidInputError(f"{where} is not {wanted}", hint="correct it by hand; nothing was changed")


def _inserted(text: str, node: Node, name: str, value: Any, depth: int) -> str:
    """Return a text with a part behind the last one of an object or array at a depth."""
    newline, step = _newline(text), _indent(text)
    body = text[node.start + 1 : node.end - 1]
    if not node.parts:
        kept = body.rstrip() if body.strip() else ""
        shown = f"{newline}{step * (depth + 1)}{name}{_shown(text, value, depth + 1)}{newline}{step * depth}"
        return _spliced(text, node.start + 1 + len(kept), node.end - 1, shown)
    comma = "" if node.trailing >= 0 else ","
    end = node.trailing + 1 if node.trailing >= 0 else node.parts[-1].end
    if "\n" not in body and depth > 0:  # a container on one line stays on it
        return _spliced(text, end, end, f"{comma} {name}{json.dumps(value, ensure_ascii=False)}")
    found = _REMARK.match(text, end)
    behind = found.end() if found else end  # a remark on the last part stays with it
    shown = f"{newline}{step * (depth + 1)}{name}{_shown(text, value, depth + 1)}{',' if node.trailing >= 0 else ''}"
    closing = "" if "\n" in text[behind : node.end - 1] else f"{newline}{step * depth}"
    rest = text[behind:].lstrip(" ") if closing else text[behind:]
    return f"{text[:end]}{comma}{text[end:behind]}{shown}{closing}{rest}"


def _cut(text: str, node: Node, place: int) -> str:
    """Return a text without one part of an object or array, and without the comma and gap that came with it."""
    last = place == len(node.parts) - 1
    start, end = node.begins(place), node.parts[place].end
    comma = node.trailing if last else _past(text, end)
    closing = node.end - 1
    behind = text[end:] if comma < 0 else text[end:comma] + text[comma + 1 :]
    if place == 0 and last:
        inside = _closed(text[node.start + 1 : start], behind[: closing - end - (comma >= 0)], _newline(text))
        return text[: node.start + 1] + (inside if inside.strip() else "") + text[closing:]
    if place == 0:
        return text[:start] + behind.lstrip()
    before = node.parts[place - 1].end
    lead = text[before:start]
    if last and comma < 0:
        at = _past(text, before) - before
        lead = lead[:at] + lead[at + 1 :]
    return text[:before] + _closed(lead, behind, _newline(text))


def _closed(lead: str, behind: str, newline: str) -> str:
    """Return a gap joined with what follows it, which must not become part of a remark at the gap's end."""
    lead = lead.rstrip()
    parted = "//" not in lead or behind.lstrip(" \t").startswith(("\n", "\r"))
    return lead + ("" if parted else newline) + behind


def _past(text: str, at: int) -> int:
    """Return where the next character stands that is neither blank nor in a comment."""
    found = _GAP.match(text, at)
    return found.end() if found else at


def _spliced(text: str, start: int, end: int, inserted: str) -> str:
    return text[:start] + inserted + text[end:]


def _shown(text: str, value: Any, depth: int) -> str:
    """Return a value as JSON in the file's own indentation and line ends."""
    step, newline = _indent(text), _newline(text)
    lines = json.dumps(value, ensure_ascii=False, indent=step).split("\n")
    return f"{newline}{step * depth}".join(lines)


def _indent(text: str) -> str:
    found = re.search(r"^([ \t]+)[\"\[{]", text, re.MULTILINE)
    return found[1] if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
