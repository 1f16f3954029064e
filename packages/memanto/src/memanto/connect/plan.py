"""Connecting: what would change, making it so, and taking it back.

Every change is worked out before the first file is written; when writing fails, what was written is put back.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from memanto.connect import targets
from memanto.connect.clients import CLIENTS, Place, Wanted
from memanto.connect.edits import Own
from memanto.connect.records import Connection, Kept, Records, digest
from memanto.errors import ConfigurationError, InvalidInputError, MemantoError

State = Literal["connected", "changed", "missing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file as it is and as it is to be.

    Attributes:
        path: The file.
        what: What the change is for: MCP server, instructions or hooks.
        before: What it holds, or `None` for no file.
        after: What it is to hold, or `None` for no file.
        original: What it held before anything was connected, or `None` for no file.
        own: It is the user's own file rather than one of the project.
    """

    path: Path
    what: str
    before: bytes | None
    after: bytes | None
    original: bytes | None
    own: bool

    @property
    def changes(self) -> bool:
        """Whether anything is to be written."""
        return self.before != self.after

    def diff(self) -> str:
        """Return the change for a person."""
        old, new = (targets.decoded(self.path, data).splitlines(keepends=True) for data in (self.before, self.after))
        return "".join(difflib.unified_diff(old, new, str(self.path), str(self.path), n=2))


def plan(place: Place, client: str, records: Records) -> list[Change]:
    """Return what connecting a tool in a place would change; nothing is written.

    Raises:
        ConfigurationError: A file may not be touched or cannot be read.
        InvalidInputError: A file is malformed; the message names it.
    """
    return [_planned(wanted, records) for wanted in _files(place, client)]


def _files(place: Place, client: str) -> Iterator[Wanted]:
    if client not in CLIENTS:  # in the records of another version
        raise ConfigurationError(
            f"this version knows no tool {client!r}", hint="update memanto, or disconnect it with the version that did"
        )
    return CLIENTS[client].files(place)


def _planned(wanted: Wanted, records: Records) -> Change:
    path = targets.checked(wanted.spot.root, wanted.spot.parts, own=wanted.spot.own)
    before = targets.read(path)
    original = _original(wanted, path, before, records)
    text = targets.decoded(path, before)
    for edit in wanted.edits:
        text = _tried(path, edit.add, text)
    return Change(
        path=path, what=wanted.what, before=before, after=text.encode(), original=original, own=wanted.spot.own
    )


def _original(wanted: Wanted, path: Path, before: bytes | None, records: Records) -> bytes | None:
    """Return what the file would hold without us: as it was backed up, or, where it was changed since, by the marks."""
    kept = records.files.get(str(path))
    if before is None:
        return None
    known = records.original(path)
    # Without its backup, nothing but the marks tells what a file held: it must not be taken for one of ours.
    trusted = kept is not None and (known is not None or not kept.existed)
    if kept is not None and trusted and digest(before) == kept.after:
        return known
    # A file that was not there is known to have held nothing.
    rest = _without(wanted, path, before, (known or b"") if trusted else None)
    alone = any(isinstance(edit, Own) for edit in wanted.edits)
    return None if alone and before.strip() and not rest.strip() else rest


def _without(wanted: Wanted, path: Path, data: bytes, original: bytes | None) -> bytes:
    text = targets.decoded(path, data)
    first = None if original is None else targets.decoded(path, original)
    for edit in reversed(wanted.edits):
        text = _tried(path, edit.remove, text, first)
    return first.encode() if first is not None and text.rstrip() == first.rstrip() else text.encode()


def _tried(path: Path, edit: Callable[..., str], *texts: str | None) -> str:
    """Return what an edit makes of a text; what it complains of is told with the file's name."""
    try:
        return edit(*texts)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error.message}", hint=error.hint) from error


def connect(connection: Connection, changes: Sequence[Change], records: Records) -> None:
    """Write planned changes, keep what the files held, and note the connection.

    Raises:
        ConfigurationError: A file cannot be written; those written before are as they were.
    """
    made = _write([one for one in changes if one.changes])
    records.folders.update(map(str, made))
    for change in changes:
        assert change.after is not None  # connecting removes no file
        known = records.files.get(str(change.path))
        users = [*(known.users if known is not None else []), connection.id]
        existed = change.original is not None
        records.files[str(change.path)] = Kept(
            existed=existed,
            backup=records.back_up(change.path, change.original) if change.original is not None else "",
            after=digest(change.after),
            users=list(dict.fromkeys(users)),
        )
    records.connections[connection.id] = connection


def unplan(place: Place, connection: Connection, records: Records) -> list[Change]:
    """Return what taking a connection back would change; files that other connections need stay as they are."""
    changes = []
    for wanted in _files(place, connection.client):
        path = targets.checked(wanted.spot.root, wanted.spot.parts, own=wanted.spot.own)
        before = targets.read(path)
        kept = records.files.get(str(path))
        if before is None or (kept is not None and set(kept.users) - {connection.id}):
            continue
        original = _original(wanted, path, before, records)
        after = None if _is_ours(kept, original) else original
        changes.append(
            Change(path=path, what=wanted.what, before=before, after=after, original=original, own=wanted.spot.own)
        )
    return changes


def _is_ours(kept: Kept | None, original: bytes | None) -> bool:
    """Return whether a file would not be there without us: it was not, and nothing else is in it."""
    blank = original is None or original.strip() in {b"", b"{}"}
    return original is None or (kept is not None and not kept.existed and blank)


def disconnect(connection: Connection, changes: Iterable[Change], records: Records) -> None:
    """Write planned changes back and forget the connection.

    Raises:
        ConfigurationError: A file cannot be written; those written before are as they were.
    """
    todo = [one for one in changes if one.changes]
    _write([one for one in todo if one.after is not None])
    for change in todo:
        if change.after is None:
            change.path.unlink(missing_ok=True)
    records.folders = set(map(str, targets.remove_empty(map(Path, records.folders))))
    for name, kept in list(records.files.items()):
        kept.users = [user for user in kept.users if user != connection.id]
        if not kept.users:
            del records.files[name]
    records.connections.pop(connection.id, None)


def _write(changes: Sequence[Change]) -> list[Path]:
    """Write all files or none, and return the folders that were made for them."""
    written: list[Change] = []
    made: list[Path] = []
    try:
        for change in changes:
            assert change.after is not None  # callers remove files themselves
            made += targets.replace(change.path, change.after)
            written.append(change)
    except MemantoError:
        for change in reversed(written):
            if change.before is None:
                change.path.unlink(missing_ok=True)
            else:
                targets.replace(change.path, change.before)
        targets.remove_empty(made)
        raise
    return made


def state_of(place: Place, connection: Connection) -> State:
    """Return whether a tool's files still hold what connecting put there."""
    states = set(_states(place, connection))
    return "connected" if states == {"connected"} else "changed" if "connected" in states else "missing"


def _states(place: Place, connection: Connection) -> Iterator[State]:
    if connection.client not in CLIENTS:
        yield "missing"
        return
    for wanted in _files(place, connection.client):
        try:
            path = targets.checked(wanted.spot.root, wanted.spot.parts, own=wanted.spot.own)
            data = targets.read(path)
            text = targets.decoded(path, data)
            same = data is not None and all(edit.add(text) == text for edit in wanted.edits)
        except MemantoError:
            same = False
        yield "connected" if same else "missing"
