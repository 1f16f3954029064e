"""How checkpoints, writes and blobs lie in records: ids, texts, and the order of checkpoints as a time.

| record | keys | head | body |
| --- | --- | --- | --- |
| checkpoint | `thread`, `line` (its namespace), `at`, `run` | `id`, `ns`, `parent`, `ts`, `step`, … | values |
| writes of a task in one call | `thread`, `of` (the checkpoint) | `task`, `path`, `count` | values |
| blob | `thread` | `shared`, `digest`, `tag` | its value |
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, Final, Literal

from memanto.checkpoints.values import Blob, Checkpoint, Key, Packed, Value, Write
from memanto.engine.records import Record
from memanto.errors import InvalidInputError, SerializationError
from memanto.filters import AnyOf, Equals, Where

_FIRST: Final = datetime(1, 1, 1, tzinfo=UTC)
_HEX: Final = "0123456789abcdef"
_DIGITS: Final = 14
"""Hexadecimal digits of an id that count for its time: 2^56 microseconds are 2,283 years."""
_CANONICAL: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{2}")
_to_json: Final = json.JSONEncoder(separators=(",", ":")).encode

Kind = Literal["checkpoint", "writes", "blob"]


def in_thread(*threads: str) -> Where:
    """Return the condition of everything that a thread has, or any of several."""
    names = tuple(storable(thread, "thread id") for thread in threads)
    return Where((Equals("thread", names[0]) if len(names) == 1 else AnyOf("thread", names),))


def made_by(runs: Iterable[str]) -> Where:
    """Return the condition of the checkpoints that one of these runs made."""
    return Where((AnyOf("run", tuple(dict.fromkeys(storable(run, "run id") for run in runs))),))


def kind_of(record: Record) -> Kind:
    """Return what a record holds."""
    return "checkpoint" if "line" in record.keys else "writes" if "of" in record.keys else "blob"


class Layout:
    """The layout of one agent's records; ids differ between agents, who may share a collection.

    Every method that takes the id of a thread, namespace, run or checkpoint raises `InvalidInputError` for one that
    UTF-8 cannot hold.
    """

    def __init__(self, agent: str) -> None:
        self._agent = agent

    # -- ids ----------------------------------------------------------------------------------------
    def checkpoint_id(self, key: Key) -> str:
        thread, ns, checkpoint_id = key
        storable(checkpoint_id, "checkpoint id")
        return _id(self._agent, "checkpoint", storable(thread, "thread id"), storable(ns, "namespace"), checkpoint_id)

    def line(self, thread: str, ns: str) -> str:
        """Return what all checkpoints of a namespace have in common, as one keyword."""
        return _id(self._agent, "line", storable(thread, "thread id"), storable(ns, "namespace"))

    def ref(self, thread: str, digest: str) -> str:
        """Return the id of the blob with a digest, in hexadecimal."""
        return _id(self._agent, "blob", storable(thread, "thread id"), digest)

    # -- to records ---------------------------------------------------------------------------------
    def of_checkpoint(self, one: Checkpoint) -> Record:
        key = one.key
        refs: list[str] = []
        body = _to_json([one.body.text, {name: _coded(value, refs) for name, value in one.values.items()}])
        keys = {"thread": key.thread, "line": self.line(key.thread, key.ns), "at": moment(key.id)}
        if one.run is not None:
            keys["run"] = storable(one.run, "run id")
        told: dict[str, Any] = {
            "ns": key.ns, "parent": one.parent, "ts": one.ts, "source": one.source, "root": one.root,
            "deltas": sorted(one.deltas), "open": sorted(one.open), "refs": refs,
        }  # fmt: skip
        head: dict[str, Any] = {"id": key.id, "tag": one.body.tag, "step": one.step, "size": len(body)}
        head.update((name, value) for name, value in told.items() if value)
        return Record(self.checkpoint_id(key), keys, head, body)

    def of_writes(self, key: Key, writes: Sequence[Write], bundle: int) -> Record:
        """Return the record of a task's writes; `bundle` counts those of one task from 0 on, -1 are replaceable."""
        first = writes[0]
        refs: list[str] = []
        body = _to_json([[one.idx, one.channel, _coded(one.value, refs)] for one in writes])
        head = {
            "task": first.task, "path": first.path, "count": len(writes), "refs": refs, "size": len(body),
            "name": str(bundle) if bundle >= 0 else f"special {first.idx}",
        }  # fmt: skip
        return self._of_writes(key, head, body)

    def moved_writes(self, record: Record, key: Key, refs: Mapping[str, str]) -> Record:
        """Return a record of writes as one after another checkpoint, with other blobs in place of its own."""
        return self._of_writes(key, {**record.head, "refs": [refs[ref] for ref in record.head["refs"]]}, record.body)

    def _of_writes(self, key: Key, head: Mapping[str, Any], body: str) -> Record:
        of = self.checkpoint_id(key)
        record_id = _id(self._agent, "writes", of, head["task"], head["name"])
        return Record(record_id, {"thread": key.thread, "of": of}, head, body)

    def of_blob(self, thread: str, blob: Blob) -> Record:
        value = blob.value
        head = {"shared": True, "digest": blob.digest, "tag": value.tag, "size": len(value.text)}
        return Record(blob.ref, {"thread": storable(thread, "thread id")}, head, value.text)


# -- from records -----------------------------------------------------------------------------------------
def to_checkpoint(record: Record) -> Checkpoint:
    """Return the checkpoint of a record; without its values when the record comes without its body.

    Raises:
        SerializationError: The record holds none.
    """
    try:
        head, keys = record.head, record.keys
        refs = head.get("refs", ())
        text, values = json.loads(record.body) if record.body else ("", {})
        return Checkpoint(
            key=Key(keys["thread"], head.get("ns", ""), head["id"]),
            parent=head.get("parent"),
            body=Packed(head["tag"], text),
            values={name: _decoded(value, refs) for name, value in values.items()},
            deltas=frozenset(head.get("deltas", ())),
            open=frozenset(head.get("open", ())),
            ts=head.get("ts", ""),
            step=head["step"],
            source=head.get("source", ""),
            run=keys.get("run"),
            root=head.get("root"),
        )
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise _damaged("checkpoint", error) from error


def to_writes(records: Iterable[Record]) -> tuple[Write, ...]:
    """Return the writes of records, in order.

    Raises:
        SerializationError: One of them holds none.
    """
    try:
        found = [
            Write(record.head["task"], record.head["path"], idx, channel, _decoded(value, record.head["refs"]))
            for record in records
            for idx, channel, value in json.loads(record.body)
        ]
        return tuple(sorted(found, key=lambda one: (one.path, one.task, one.idx)))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise _damaged("write", error) from error


def to_blob(record: Record) -> Blob:
    """Return the blob of a record.

    Raises:
        SerializationError: The record holds none.
    """
    try:
        return Blob(record.id, record.head["digest"], Packed(record.head["tag"], record.body))
    except KeyError as error:
        raise _damaged("value", error) from error


def storable(text: str, what: str) -> str:
    """Return an id that every engine can store and be asked for.

    Raises:
        InvalidInputError: UTF-8 cannot hold it; the message begins with `what`.
    """
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise InvalidInputError(f"{what} {ascii(text)[:80]} is no text that UTF-8 can hold", hint="use another id")
    return text


def moment(checkpoint_id: str) -> str:
    """Return a time for an id so that a later id, compared as a text, never gets an earlier time.

    The engine orders by times, not by texts. An id that begins like a UUID counts with its first digits: those of
    langgraph (UUIDv6) get a time of their own every 26 microseconds. Another id counts like the greatest one of
    that form below it; ids that share a time are told apart by their text.
    """
    text = checkpoint_id
    digits = text[:8] + text[9:13] + text[14:16] if _CANONICAL.match(text) else _nearest(text)
    return (_FIRST + timedelta(microseconds=int(digits, 16))).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _nearest(text: str) -> str:
    digits = ""
    position = 0
    while len(digits) < _DIGITS:
        letter = text[position : position + 1]
        if position in {8, 13}:
            if letter != "-":
                return digits.ljust(_DIGITS, "f" if letter > "-" else "0")
        elif letter and letter in _HEX:
            digits += letter
        else:
            below = [digit for digit in _HEX if digit < letter]
            return (digits + below[-1]).ljust(_DIGITS, "f") if below else digits.ljust(_DIGITS, "0")
        position += 1
    return digits


@functools.lru_cache(maxsize=1_024)
def _id(*parts: str) -> str:
    # Lengths keep the parts apart, whatever is in them.
    text = "".join([f"{len(part)}:{part}" for part in parts])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _coded(value: Value, refs: list[str]) -> int | list[str]:
    """Return a value as JSON: the position of its ref, which is added to `refs`, or the value itself."""
    if isinstance(value, Packed):
        return list(value)
    if value not in refs:
        refs.append(value)
    return refs.index(value)


def _decoded(value: Any, refs: Sequence[str]) -> Value:
    return refs[value] if isinstance(value, int) else Packed(*value)


def _damaged(kind: str, error: Exception) -> SerializationError:
    return SerializationError(
        f"a stored {kind} cannot be read ({type(error).__name__}: {error})",
        hint="restore the store from a backup, or delete the thread",
    )
