"""The lossless form of a namespace as JSON lines, and export: all versions, nothing derived.

The first line describes the export, each further line is one version with the field names of `Memory`.
Times are RFC 3339 in UTC with microseconds. Vectors and slots are derived and made anew on import.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from memanto.engine.codec import decode
from memanto.engine.schema import OPEN_END
from memanto.errors import InvalidInputError, shown
from memanto.filters import TimeRange, Where
from memanto.memory.namespace import Namespace
from memanto.memory.redaction import redact
from memanto.memory.validation import coerce_provenance, coerce_status, coerce_type
from memanto.models import Agent, Decision, Memory, Status
from memanto.times import from_rfc3339, to_rfc3339

FORMAT: Final = "memanto-memories"
FORMAT_VERSION: Final = 1
MAX_DEPTH: Final = 64
"""How deep the JSON of memories may be nested; their metadata may be less."""

_TOO_DEEP: Final = f"JSON nested deeper than {MAX_DEPTH} levels"
_TEXT: Final = (str, "text")
_NUMBER: Final = (int, "a whole number")
_TRUTH: Final = (bool, "true or false")
_LIST: Final = (list, "a list")
_OBJECT: Final = (dict, "an object")
_TEXTS: Final = (
    "id", "type", "content", "title", "recorded_at", "retired_at", "provenance", "source", "source_ref", "status",
    "valid_from", "valid_to", "begins", "superseded_by", "run_id", "actor", "key", "parent_id",
)  # fmt: skip
_KINDS: Final[Mapping[str, tuple[Any, str]]] = {
    **dict.fromkeys(_TEXTS, _TEXT),
    **dict.fromkeys(("version", "part", "parts"), _NUMBER),
    **dict.fromkeys(("pinned", "type_guessed", "title_given", "imported"), _TRUTH),
    **dict.fromkeys(("tags", "supersedes"), _LIST),
    **dict.fromkeys(("decision", "metadata"), _OBJECT),
    "confidence": (int | float, "a number"),
}
_REQUIRED: Final = ("id", "version", "type", "content", "title", "recorded_at")
_TIMES: Final = frozenset({"recorded_at", "retired_at", "valid_from", "valid_to", "begins"})
_EVERY_VERSION: Final = Where((TimeRange("recorded_at", lte=OPEN_END),))


def export_lines(namespace: Namespace, *, now: datetime) -> Iterator[str]:
    """Return the lines of an export, without line ends: a header, then every version by time of recording."""
    points = namespace.engine.scan(namespace.name, _EVERY_VERSION, order_by="recorded_at", descending=False)
    return lines_of(namespace.meta().agent, [decode(namespace.name, point.payload) for point in points], now=now)


def lines_of(agent: Agent, memories: Sequence[Memory], *, now: datetime) -> Iterator[str]:
    """Yield the lines of an export of these versions, ascending by time of recording."""
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "agent": agent.id,
        "description": agent.description,
        "pattern": agent.pattern,
        "exported_at": to_rfc3339(now),
    }
    yield json.dumps(header, ensure_ascii=False)
    for memory in _settled(memories):
        yield json.dumps(memory_to_json(memory), ensure_ascii=False)


def _settled(memories: Sequence[Memory]) -> Iterator[Memory]:
    """Yield versions as they are once every write is finished, also when a writer died or is at work.

    An engine whose commits are not atomic may hold a version that is not closed beside its successor, and one
    that was to be erased beside its tombstone.
    """
    recorded = {(memory.id, memory.version): memory.recorded_at for memory in memories}
    forgotten = {memory.id: memory.version for memory in memories if memory.status is Status.FORGOTTEN}
    for memory in memories:
        if memory.version < forgotten.get(memory.id, 0):
            continue
        following = recorded.get((memory.id, memory.version + 1))
        unclosed = memory.retired_at is None and following is not None
        yield dataclasses.replace(memory, retired_at=following) if unclosed else memory


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
    """Return the memory that `memory_to_json` described; its fields are of the right kinds, no more.

    Raises:
        InvalidInputError: A field is unknown, missing or of another kind.
    """
    unknown = sorted(set(value) - set(_KINDS))
    if unknown:
        raise InvalidInputError(f"unknown field {shown(unknown[0])}")
    missing = [name for name in _REQUIRED if name not in value]
    if missing:
        raise InvalidInputError(f"not a version of a memory: the field {missing[0]!r} is missing")
    fields = {name: _of_kind(name, item) for name, item in value.items()}
    for name in _TIMES & set(fields):
        try:
            fields[name] = from_rfc3339(fields[name])
        except InvalidInputError as error:
            raise InvalidInputError(f"{name}: {error.message}", hint=error.hint) from error
    for name, coerce in (("type", coerce_type), ("provenance", coerce_provenance), ("status", coerce_status)):
        if name in fields:
            fields[name] = coerce(fields[name])
    for name in ("tags", "supersedes"):
        fields[name] = tuple(fields.get(name, ()))
    if "decision" in fields:
        fields["decision"] = _decision(fields["decision"])
    return Memory(namespace=namespace, **fields)


def parse_json(text: str) -> Any:
    """Return the value of a JSON text that is nested at most `MAX_DEPTH` levels deep.

    Raises:
        InvalidInputError: It is no JSON, or nested deeper.
    """
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(f"not JSON: {error}") from error
    except RecursionError as error:
        raise InvalidInputError(_TOO_DEEP) from error
    level = [value]
    for _ in range(MAX_DEPTH):
        inner = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [item for items in inner for item in items]
        if not level:
            return value
    raise InvalidInputError(_TOO_DEEP)


def _of_kind(name: str, value: Any) -> Any:
    kind, words = _KINDS[name]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InvalidInputError(f"{name} {redact(repr(value)[:80])[0]} is not {words}")
    return value


def _decision(value: Mapping[str, Any]) -> Decision:
    unknown = sorted(set(value) - {"actor", "action", "reason"})
    if unknown:
        raise InvalidInputError(f"a decision has no field {shown(unknown[0])}")
    if "action" not in value:
        raise InvalidInputError("a decision says which action it was")
    for name, item in value.items():
        if not isinstance(item, str):
            raise InvalidInputError(f"the decision's {name} {redact(repr(item)[:80])[0]} is not text")
    return Decision(actor=value.get("actor", ""), action=value["action"], reason=value.get("reason", ""))


def check_header(value: Mapping[str, Any]) -> None:
    """Raise `InvalidInputError` unless this first line begins an export that can be read."""
    if value["format"] != FORMAT or value.get("format_version") != FORMAT_VERSION:
        given = f"{value['format']!r:.80} version {value.get('format_version')!r:.80}"
        raise InvalidInputError(f"format {given} is not {FORMAT!r} version {FORMAT_VERSION}")
