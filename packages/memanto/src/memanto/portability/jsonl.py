"""The lossless form of a namespace as JSON lines, and export: all versions, nothing derived.

The first line describes the export, each further line is one version with the field names of `Memory`.
Times are RFC 3339 in UTC with microseconds. Vectors and slots are derived and made anew on import.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from memanto.engine.codec import decode
from memanto.engine.schema import OPEN_END
from memanto.errors import InvalidInputError
from memanto.filters import TimeRange, Where
from memanto.memory.namespace import Namespace
from memanto.models import Decision, Memory, MemoryType, Provenance, Status
from memanto.times import from_rfc3339, to_rfc3339

FORMAT: Final = "memanto-memories"
FORMAT_VERSION: Final = 1
_TIMES: Final = ("recorded_at", "retired_at", "valid_from", "valid_to", "begins")
_EVERY_VERSION: Final = Where((TimeRange("recorded_at", lte=OPEN_END),))


def export_lines(namespace: Namespace, *, now: datetime) -> Iterator[str]:
    """Yield the lines of an export, without line ends: a header, then every version by memory and number."""
    agent = namespace.meta().agent
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "agent": agent.id,
        "description": agent.description,
        "pattern": agent.pattern,
        "exported_at": to_rfc3339(now),
    }
    yield json.dumps(header, ensure_ascii=False)
    points = namespace.engine.scan(namespace.name, _EVERY_VERSION, order_by="recorded_at", descending=False)
    for point in points:
        yield json.dumps(memory_to_json(decode(namespace.name, point.payload)), ensure_ascii=False)


def memory_to_json(memory: Memory) -> dict[str, Any]:
    """Return a memory as JSON values; fields at their default are left out, the namespace too."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(Memory):
        value = getattr(memory, field.name)
        if field.name == "namespace" or value == field.default or value in ((), {}):
            continue
        if field.name in _TIMES:
            value = to_rfc3339(value)
        elif field.name == "decision":
            value = {k: v for k, v in dataclasses.asdict(value).items() if v and k != "at"}
        values[field.name] = list(value) if isinstance(value, tuple) else value
    return values


def memory_from_json(value: Mapping[str, Any], namespace: str) -> Memory:
    """Return the memory that `memory_to_json` described.

    Raises:
        InvalidInputError: A field is unknown, missing or of another kind.
    """
    known = {field.name for field in dataclasses.fields(Memory)} - {"namespace"}
    unknown = sorted(set(value) - known)
    if unknown:
        raise InvalidInputError(f"unknown field {unknown[0]!r}")
    fields = dict(value)
    try:
        for name in _TIMES:
            if fields.get(name) is not None:
                fields[name] = from_rfc3339(fields[name])
        fields["type"] = MemoryType(fields["type"])
        fields["provenance"] = Provenance(fields.get("provenance", Provenance.EXPLICIT_STATEMENT))
        fields["status"] = Status(fields.get("status", Status.ACTIVE))
        for name in ("tags", "supersedes"):
            fields[name] = tuple(fields.get(name, ()))
        if fields.get("decision") is not None:
            fields["decision"] = Decision(**fields["decision"])
        return Memory(namespace=namespace, **fields)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInputError(f"not a version of a memory ({type(error).__name__}: {error})") from error


def check_header(value: Mapping[str, Any]) -> None:
    """Raise `InvalidInputError` unless this first line begins an export that can be read."""
    if value["format"] != FORMAT or value.get("format_version") != FORMAT_VERSION:
        given = f"{value['format']!r} version {value.get('format_version')!r}"
        raise InvalidInputError(f"format {given} is not {FORMAT!r} version {FORMAT_VERSION}")
