"""Lossless export and import of a namespace as JSON lines: all versions, nothing derived.

The first line describes the export, each further line is one version with the field names of `Memory`.
Times are RFC 3339 in UTC with microseconds. Vectors and slots are derived and made anew on import.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from memanto.errors import InvalidInputError
from memanto.filters import TimeRange, Where
from memanto.engine.codec import decode
from memanto.engine.schema import OPEN_END
from memanto.memory.namespace import Meta, Namespace
from memanto.memory.prepare import indexed_text
from memanto.memory.redaction import redact_draft
from memanto.memory.spaces import Space
from memanto.memory.validation import check_draft
from memanto.memory.versions import NewVersion, VersionLog
from memanto.models import Decision, Draft, Memory, MemoryType, Provenance, Status
from memanto.times import from_rfc3339, to_rfc3339

FORMAT: Final = "memanto-memories"
FORMAT_VERSION: Final = 1
CLOCK_SKEW: Final = timedelta(hours=1)
"""How far ahead of this machine's clock a time of recording may lie."""
_BATCH: Final = 200
_TIMES: Final = ("recorded_at", "retired_at", "valid_from", "valid_to", "begins")
_EVERY_VERSION: Final = Where((TimeRange("recorded_at", lte=OPEN_END),))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did, or would do with `dry_run`.

    Attributes:
        memories: Memories in the input.
        versions: Versions in the input.
        stored: Versions added.
        present: Versions that were there already.
        conflicts: Ids of memories whose stored versions say something else; nothing of them was touched.
        redacted: Versions in which a secret was removed.
    """

    memories: int
    versions: int
    stored: int
    present: int
    conflicts: tuple[str, ...] = ()
    redacted: int = 0


# -- export -----------------------------------------------------------------------------------------
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
        if field.name in {"namespace", "embedder"} or value == field.default or value in ((), {}):
            continue
        if field.name in _TIMES:
            value = to_rfc3339(value)
        elif field.name == "decision":
            value = {k: v for k, v in dataclasses.asdict(value).items() if v and k != "at"}
        values[field.name] = list(value) if isinstance(value, tuple) else value
    return values


# -- import -----------------------------------------------------------------------------------------
def import_lines(
    lines: Iterable[str],
    namespace: Namespace,
    space: Space,
    *,
    now: datetime,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ImportReport:
    """Add the versions of an export that are not there yet. Running it again changes nothing.

    The whole input is checked before anything is stored. Versions keep their times of recording and are
    marked as imported.

    Raises:
        InvalidInputError: A line is not of this format or breaks a limit; the message names the line.
    """
    meta = namespace.meta()
    memories, redacted = _read(lines, namespace.name, now)
    texts = _whole_texts(memories)
    log = VersionLog(namespace)
    stored = present = 0
    conflicts: list[str] = []
    ids = list(memories)
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        existing = log.histories(batch)
        wanted: list[Memory] = []
        for memory_id in batch:
            here, given = existing.get(memory_id, []), memories[memory_id]
            if not _agree(here, given):
                conflicts.append(memory_id)
                continue
            new = [memory for memory in given if not here or memory.version > here[-1].version]
            present += len(given) - len(new)
            wanted.extend(new)
        if not dry_run:
            _store(wanted, existing, texts, namespace, space, log, meta)
        stored += len(wanted)
        if progress is not None:
            progress(min(start + _BATCH, len(ids)), len(ids))
    return ImportReport(
        memories=len(ids),
        versions=sum(map(len, memories.values())),
        stored=stored,
        present=present,
        conflicts=tuple(conflicts),
        redacted=redacted,
    )


def _read(lines: Iterable[str], namespace: str, now: datetime) -> tuple[dict[str, list[Memory]], int]:
    memories: dict[str, list[Memory]] = {}
    redacted = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            if not isinstance(value, dict):
                raise InvalidInputError("not a JSON object")
            if "format" in value:
                _check_header(value)
                continue
            memory, changed = _checked(memory_from_json(value, namespace), now)
        except (InvalidInputError, ValueError) as error:
            message = error.message if isinstance(error, InvalidInputError) else f"not JSON: {error}"
            hint = error.hint if isinstance(error, InvalidInputError) else ""
            raise InvalidInputError(f"line {number}: {message}", hint=hint or "nothing was imported") from error
        memories.setdefault(memory.id, []).append(memory)
        redacted += changed
    for memory_id, versions in memories.items():
        versions.sort(key=lambda memory: memory.version)
        first = versions[0].version if versions[0].status is Status.FORGOTTEN else 1  # what came before was erased
        if [memory.version for memory in versions] != list(range(first, first + len(versions))):
            numbers = ", ".join(str(memory.version) for memory in versions[:5])
            raise InvalidInputError(f"memory {memory_id} has versions {numbers}: some are missing", hint="nothing was imported")
    return memories, redacted


def _check_header(value: Mapping[str, Any]) -> None:
    if value["format"] != FORMAT or value.get("format_version") != FORMAT_VERSION:
        raise InvalidInputError(
            f"format {value['format']!r} version {value.get('format_version')!r} is not {FORMAT!r} version {FORMAT_VERSION}"
        )


def memory_from_json(value: Mapping[str, Any], namespace: str) -> Memory:
    """Return the memory that `memory_to_json` described.

    Raises:
        InvalidInputError: A field is unknown, missing or of another kind.
    """
    known = {field.name for field in dataclasses.fields(Memory)} - {"namespace", "embedder"}
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


def _checked(memory: Memory, now: datetime) -> tuple[Memory, bool]:
    """Check a version like a draft, redact it, and mark it as imported."""
    if type(memory.version) is not int or memory.version < 1:
        raise InvalidInputError(f"version {memory.version!r} is not a number from 1")
    if memory.recorded_at > now + CLOCK_SKEW:
        raise InvalidInputError(f"recorded_at {to_rfc3339(memory.recorded_at)} lies in the future")
    if memory.status is Status.FORGOTTEN:
        return dataclasses.replace(memory, imported=True), False
    draft, redactions = redact_draft(
        check_draft(
            Draft(
                content=memory.content,
                title=memory.title or None,
                type=memory.type,
                tags=memory.tags,
                confidence=memory.confidence,
                source=memory.source,
                source_ref=memory.source_ref,
                valid_from=memory.valid_from,
                valid_to=memory.valid_to,
                key=memory.key,
                metadata=memory.metadata,
            )
        )
    )
    checked = dataclasses.replace(
        memory,
        content=draft.content,
        title=draft.title or "",
        tags=draft.tags,
        source_ref=draft.source_ref,
        key=draft.key,
        metadata=draft.metadata,
        imported=True,
    )
    return checked, bool(redactions)


def _agree(here: Sequence[Memory], given: Sequence[Memory]) -> bool:
    """Whether one is the beginning of the other: they have the same first version, and agree where both go."""
    return all(
        (mine.version, mine.content, mine.status, mine.recorded_at)
        == (theirs.version, theirs.content, theirs.status, theirs.recorded_at)
        for mine, theirs in zip(here, given, strict=False)
    )


def _store(
    wanted: Sequence[Memory],
    existing: Mapping[str, Sequence[Memory]],
    texts: Mapping[str, str],
    namespace: Namespace,
    space: Space,
    log: VersionLog,
    meta: Meta,
) -> None:
    searchable = [memory for memory in wanted if not memory.parts and memory.status is not Status.FORGOTTEN]
    encoded = space.encode(list(dict.fromkeys(indexed_text(m, m.content) for m in searchable)), meta)
    last = {memory_id: history[-1] for memory_id, history in existing.items()}
    fresh: set[str] = set()
    versions = []
    for memory in wanted:
        words = encoded.get(indexed_text(memory, memory.content)) if memory in searchable else None
        previous = last.get(memory.id) if memory.id not in fresh else None  # others come closed as they are
        fresh.add(memory.id)
        versions.append(
            NewVersion(
                memory=dataclasses.replace(memory, embedder=next(iter(words.dense), None) if words else None),
                dense=words.dense if words else {},
                lexical=words.lexical if words else None,
                content_hash=_digest(memory, texts, namespace, meta),
                recorded=True,
                previous=previous,
            )
        )
    with namespace.engine.hold(namespace.name):
        log.append(versions)
        for head in log.heads(fresh).values():
            _give_slots(head, texts, namespace, log, meta)


def _digest(memory: Memory, texts: Mapping[str, str], namespace: Namespace, meta: Meta) -> str:
    """Return the digest of a memory's whole text; a part and a tombstone have none."""
    if memory.part or memory.status is Status.FORGOTTEN:
        return ""
    return namespace.digest(texts.get(memory.id, memory.content), meta)


def _whole_texts(memories: Mapping[str, Sequence[Memory]]) -> dict[str, str]:
    """Return the whole text of every split memory, joined from its parts."""
    parts: dict[str, list[Memory]] = {}
    for versions in memories.values():
        if versions[-1].parent_id is not None:
            parts.setdefault(versions[-1].parent_id, []).append(versions[-1])
    return {parent: "".join(p.content for p in sorted(found, key=lambda p: p.part)) for parent, found in parts.items()}


def _give_slots(head: Memory, texts: Mapping[str, str], namespace: Namespace, log: VersionLog, meta: Meta) -> None:
    if head.status is not Status.FORGOTTEN and not head.part:
        log.point_text(_digest(head, texts, namespace, meta), head.id)
        if head.key is not None and head.status is Status.ACTIVE:
            namespace.claim("key", head.key, head.id)


