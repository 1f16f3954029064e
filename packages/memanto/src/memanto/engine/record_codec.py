"""A record as the payload of a point, with sums that tell when bytes changed by themselves.

A payload's field costs the binding more than a sum takes to compute. So the sums stand behind the JSON of the head,
in hexadecimal: one of the body, and one of everything else, the sum of the body included. Whoever reads without
bodies can so compare the second alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from zlib import crc32

from memanto.engine.records import NAME, Record
from memanto.engine.schema import RECORD_KEYWORDS, RECORD_TIME
from memanto.errors import InvalidInputError, StoreDamagedError, shown

HEAD: Final = "head"
BODY: Final = "body"
KEYS: Final = (*RECORD_KEYWORDS, RECORD_TIME)
LIGHT: Final = (*KEYS, HEAD)
"""The fields of a record without its body."""

THREAD_HINT: Final = "restore the store from a backup, or remove the thread with `memanto threads delete`"

_SUM: Final = 8
_to_json: Final = json.JSONEncoder(separators=(",", ":")).encode
_from_json: Final = json.JSONDecoder().decode


def head_text(record: Record) -> str:
    """Return the text of a record's head, with its sums.

    Raises:
        InvalidInputError: UTF-8 cannot hold a key or the body.
    """
    try:
        text = f"{_to_json(record.head)}{crc32(record.body.encode()):08x}"
        return f"{text}{_sum_of(record.id, record.keys, text):08x}"
    except UnicodeEncodeError as error:
        where = f"of record {record.id} holds {ascii(error.object[error.start : error.end])[:40]}"
        raise InvalidInputError(f"a text {where}, which UTF-8 cannot hold", hint="use other ids") from error


def to_record(record_id: str, payload: Mapping[str, Any], *, body: bool) -> Record:
    """Return the record of a point.

    Args:
        record_id: In hexadecimal.
        payload: Of the point, whole or without its body; other fields are left alone.
        body: Whether the body was read, too.

    Raises:
        StoreDamagedError: It is not what was stored.
    """
    keys: dict[str, str] = {name: payload[name] for name in KEYS if name in payload}
    text = payload.get(HEAD, "")
    given = payload.get(BODY, "") if body else ""
    try:
        sound = int(text[-_SUM:], 16) == _sum_of(record_id, keys, text[:-_SUM])
        if sound and (not body or int(text[-2 * _SUM : -_SUM], 16) == crc32(given.encode())):
            return Record(record_id, keys, _from_json(text[: -2 * _SUM]), given)
    except (ValueError, TypeError, AttributeError):
        pass  # not even of its form
    raise StoreDamagedError(
        f"{_named(record_id, keys, text)} is not what was stored: its sum differs", hint=THREAD_HINT
    )


def _sum_of(record_id: str, keys: Mapping[str, str], text: str) -> int:
    return crc32("\0".join([record_id, *[keys.get(name, "") for name in KEYS], text]).encode())


def _named(record_id: str, keys: Mapping[str, Any], text: object) -> str:
    """Return what a damaged record can still be called."""
    thread = f" of thread {shown(keys['thread'])}" if "thread" in keys else ""
    try:
        head = _from_json(str(text)[: -2 * _SUM])
        return f"checkpoint {shown(head[NAME])}{thread}" if "line" in keys else f"record {record_id}{thread}"
    except (ValueError, KeyError, TypeError):
        return f"record {record_id}{thread}"
