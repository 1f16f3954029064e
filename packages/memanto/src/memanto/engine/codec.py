"""Memories to payloads and back, the same for every engine.

Absent values are left out of the payload. `metadata` is kept as JSON text, so that it comes back equal from
engines that keep numbers their own way; `confidence` is rounded to six decimals for the same reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from memanto.engine.schema import OPEN_END
from memanto.errors import SerializationError
from memanto.models import Decision, Memory, MemoryType, Provenance, Status
from memanto.times import from_rfc3339, to_rfc3339

# Looking a value up takes a fourth of the time of asking the enumeration, and a recall decodes many.
_TYPES: Final = {one.value: one for one in MemoryType}
_PROVENANCES: Final = {one.value: one for one in Provenance}
_STATUSES: Final = {one.value: one for one in Status}


def encode(memory: Memory, *, content_hash: str) -> dict[str, Any]:
    """Return the payload of one version.

    `recorded_at` and, where no `valid_from` is given, `event_at` are included too; a caller that lets the
    engine choose the time of recording names them in `Change.stamp`, which overwrites them.

    Args:
        memory: The version.
        content_hash: Keyed digest of the text (`memory.versions`), or `""` for a tombstone.
    """
    recorded = to_rfc3339(memory.recorded_at)
    payload: dict[str, Any] = {
        "kind": "version",
        "memory_id": memory.id,
        "version": memory.version,
        "type": memory.type.value,
        "status": memory.status.value,
        "title": memory.title,
        "content": memory.content,
        "confidence": round(memory.confidence, 6),
        "provenance": memory.provenance.value,
        "source": memory.source,
        "recorded_at": recorded,
        "retired_at": OPEN_END if memory.retired_at is None else to_rfc3339(memory.retired_at),
        "event_at": recorded if memory.valid_from is None else to_rfc3339(memory.valid_from),
    }
    optional: dict[str, Any] = {
        "content_hash": content_hash,
        "tags": list(memory.tags),
        "source_ref": memory.source_ref,
        "valid_from": memory.valid_from and to_rfc3339(memory.valid_from),
        "valid_to": memory.valid_to and to_rfc3339(memory.valid_to),
        "world_from": memory.begins and to_rfc3339(memory.begins),
        "supersedes": list(memory.supersedes),
        "superseded_by": memory.superseded_by,
        "decision": memory.decision and _encode_decision(memory.decision),
        "run_id": memory.run_id,
        "actor": memory.actor,
        "key": memory.key,
        "marks": marks(memory),
        "metadata": json.dumps(memory.metadata, ensure_ascii=False, sort_keys=True) if memory.metadata else None,
        "type_guessed": memory.type_guessed,
        "title_given": memory.title_given,
        "imported": memory.imported,
        "parent_id": memory.parent_id,
        "part": memory.part,
        "parts": memory.parts,
    }
    payload.update({name: value for name, value in optional.items() if value})
    return payload


def marks(memory: Memory) -> list[str]:
    """Return what `engine.schema` calls the marks of a version."""
    lasting = (("ends", memory.valid_to is not None), ("keyed", memory.key is not None), ("pinned", memory.pinned))
    found = [mark for mark, holds in lasting if holds]
    if memory.retired_at is None and memory.status is Status.ACTIVE:
        standing = "live" if memory.valid_to is None else "ending"
        found += [standing, f"{standing} {memory.type.value}"]
    return found


def closing(memory: Memory) -> dict[str, Any]:
    """Return the payload fields of a version that change when it is closed, besides `retired_at`."""
    return {"marks": [mark for mark in marks(memory) if not mark.startswith(("live", "ending"))]}


def decode(namespace: str, payload: Mapping[str, Any], *, as_of: datetime | None = None) -> Memory:
    """Return the version a payload holds, as it was known at `as_of` (default: as it is known now).

    Raises:
        SerializationError: The payload is not one this schema writes.
    """
    try:
        retired = None if payload["retired_at"] == OPEN_END else from_rfc3339(payload["retired_at"])
        recorded = from_rfc3339(payload["recorded_at"])
        return Memory(
            id=payload["memory_id"],
            version=payload["version"],
            namespace=namespace,
            type=_TYPES[payload["type"]],
            content=payload["content"],
            title=payload["title"],
            recorded_at=recorded,
            retired_at=None if as_of is not None and retired is not None and retired > as_of else retired,
            tags=tuple(payload.get("tags", ())),
            confidence=round(float(payload["confidence"]), 6),
            provenance=_PROVENANCES[payload["provenance"]],
            source=payload["source"],
            source_ref=payload.get("source_ref"),
            status=_STATUSES[payload["status"]],
            valid_from=_time(payload.get("valid_from")),
            valid_to=_time(payload.get("valid_to")),
            begins=_time(payload.get("world_from")),
            supersedes=tuple(payload.get("supersedes", ())),
            superseded_by=payload.get("superseded_by"),
            decision=_decode_decision(payload.get("decision"), recorded),
            run_id=payload.get("run_id"),
            actor=payload.get("actor"),
            key=payload.get("key"),
            pinned="pinned" in payload.get("marks", ()),
            metadata=json.loads(payload["metadata"]) if "metadata" in payload else {},
            type_guessed=payload.get("type_guessed", False),
            title_given=payload.get("title_given", False),
            imported=payload.get("imported", False),
            parent_id=payload.get("parent_id"),
            part=payload.get("part", 0),
            parts=payload.get("parts", 0),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise SerializationError(
            f"a stored memory in namespace {namespace!r} cannot be decoded ({type(error).__name__}: {error})",
            hint="run `memanto doctor` to name the damaged memories",
        ) from error


def _time(value: str | None) -> datetime | None:
    return None if value is None else from_rfc3339(value)


def _encode_decision(decision: Decision) -> dict[str, str]:
    fields = {"actor": decision.actor, "action": decision.action, "reason": decision.reason}
    return {name: value for name, value in fields.items() if value}


def _decode_decision(value: Mapping[str, str] | None, at: datetime) -> Decision | None:
    if value is None:
        return None
    return Decision(actor=value.get("actor", ""), action=value["action"], reason=value.get("reason", ""), at=at)
