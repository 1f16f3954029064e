"""CrewAI's memory records as memories, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from crewai.memory.types import MemoryRecord

from crewai_memanto.origin import Origin, checked_source, label
from crewai_memanto.scopes import MARK, ROOT, category_tag, is_below, scope_of, tags_of
from memanto import Draft, Memory, MemoryType, Provenance
from memanto.adapter import claim_type
from memanto.errors import InvalidInputError
from memanto.loop.fence import whole
from memanto.models import MAX_KEY, MAX_TITLE

NEUTRAL: Final = 0.5
"""Importance of a record that states none, CrewAI's default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How records are written.

    Attributes:
        type: Of all of them; `None` to go by what each says.
        provenance: How the writer came to know them.
        source: The surface that writes.
    """

    type: MemoryType | None = None
    provenance: Provenance = Provenance.INFERRED
    source: str = "crewai"

    def __post_init__(self) -> None:
        checked_source(self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What CrewAI knows of a record beside its text, as a memory's metadata keeps it.

    Attributes:
        scope: Its path, in normal form.
        categories: As they were given.
        importance: 0..1.
        source: Whose it is, in CrewAI's words: a user, a session.
        private: Whether only that source may see it.
        metadata: As it was given.
        record: CrewAI's id of it, where CrewAI chose one.
        created_at: When it came to be (aware), where that is not when it was recorded.
        accessed_at: When it was used last (aware), where that was handed over.
        origin: The run, crew, task and agent that it comes from.
    """

    scope: str = ROOT
    categories: tuple[str, ...] = ()
    importance: float = NEUTRAL
    source: str | None = None
    private: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    record: str | None = None
    created_at: datetime | None = None
    accessed_at: datetime | None = None
    origin: Origin = field(default_factory=Origin)

    def draft(self, content: str, style: Style, *, key: str | None, title: str | None = None) -> Draft:
        """Return what is remembered."""
        return Draft(
            content=whole(content),
            type=style.type or claim_type(content),
            title=label(title, MAX_TITLE),
            tags=tags_of(self.scope, self.categories),
            provenance=style.provenance,
            source=style.source,
            key=key,
            run_id=self.origin.run_id,
            actor=label(self.origin.agent, MAX_KEY),
            metadata=self.packed(),
        )

    def packed(self) -> dict[str, Any]:
        """Return it as a memory's metadata."""
        told: dict[str, Any] = {
            "scope": self.scope,
            "categories": list(self.categories) or None,
            "importance": self.importance,
            "source": self.source,
            "private": self.private or None,
            "metadata": _plain(self.metadata) or None,
            "record": self.record,
            "created_at": self.created_at and self.created_at.isoformat(),
            "accessed_at": self.accessed_at and self.accessed_at.isoformat(),
            **self.origin.metadata().get(MARK, {}),
        }
        return {MARK: {name: value for name, value in told.items() if value is not None}}

    def is_in(self, prefix: str, categories: Sequence[str]) -> bool:
        """Return whether it lies in a scope and has any of these categories, where any are asked for."""
        wanted = {category_tag(one) for one in categories}
        return is_below(self.scope, prefix) and (not wanted or any(category_tag(c) in wanted for c in self.categories))

    def is_seen_by(self, source: str | None) -> bool:
        """Return whether this source may see it."""
        return not self.private or (source is not None and source == self.source)


def kept_of(memory: Memory) -> Kept:
    """Return what CrewAI knows of a memory. Of another surface's, a tag that is a path is the scope."""
    if not is_record(memory):
        paths = [tag for tag in memory.tags if tag.startswith(ROOT)]
        return Kept(
            scope=scope_of(max(paths, key=len, default=ROOT)),
            categories=tuple(tag for tag in memory.tags if tag not in paths),
        )
    told = memory.metadata[MARK]
    metadata = told.get("metadata")
    return Kept(
        scope=scope_of(str(told.get("scope", ROOT))),
        categories=tuple(map(str, told.get("categories") or ())),
        importance=_share(told.get("importance")),
        source=told.get("source"),
        private=bool(told.get("private")),
        metadata=dict(metadata) if isinstance(metadata, Mapping) else {},
        record=told.get("record"),
        created_at=_time(told.get("created_at")),
        accessed_at=_time(told.get("accessed_at")),
        origin=Origin(
            run_id=memory.run_id,
            crew=told.get("crew"),
            task=told.get("task"),
            agent=told.get("agent"),
            crew_name=told.get("crew_name"),
            task_name=told.get("task_name"),
        ),
    )


def is_record(memory: Memory) -> bool:
    """Return whether a memory came through CrewAI's memory; others of a crew's name their origin and no scope."""
    told = memory.metadata.get(MARK)
    return isinstance(told, Mapping) and "scope" in told


def record_of(memory: Memory, *, own_id: bool) -> MemoryRecord:
    """Return a memory as CrewAI's record; its times are in UTC without a zone, as everywhere in CrewAI.

    Args:
        memory: What is stored.
        own_id: Whether the record has the id and the metadata that CrewAI gave it, else the memory's id, and under
            `memanto` what memory knows of it.
    """
    kept = kept_of(memory)
    known = {
        "type": memory.type.value,
        "provenance": memory.provenance.value,
        "status": memory.status.value,
        "confidence": memory.confidence,
        "version": memory.version,
        "source": memory.source,
        "run": memory.run_id,
        "crew": kept.origin.crew,
        "crew_name": kept.origin.crew_name,
        "task": kept.origin.task,
        "task_name": kept.origin.task_name,
        "agent": kept.origin.agent,
    }
    created = kept.created_at or memory.recorded_at
    return MemoryRecord(
        id=(kept.record or memory.id) if own_id else (memory.parent_id or memory.id),
        content=memory.content,
        scope=kept.scope,
        categories=list(kept.categories),
        metadata=dict(kept.metadata) if own_id else {**kept.metadata, "memanto": known},
        importance=kept.importance,
        created_at=unzoned(created),
        last_accessed=unzoned(kept.accessed_at or created),
        source=kept.source,
        private=kept.private,
    )


def zoned(moment: datetime) -> datetime:
    """Return a time in UTC; one without a zone is in UTC already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def unzoned(moment: datetime) -> datetime:
    """Return a time as CrewAI has it: in UTC, without a zone."""
    return zoned(moment).replace(tzinfo=None)


def _time(value: object) -> datetime | None:
    try:
        return zoned(datetime.fromisoformat(value)) if isinstance(value, str) else None
    except ValueError:
        return None


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NEUTRAL
    return min(1.0, max(0.0, float(value)))


def _plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata as JSON has it; what JSON does not know stands as text."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(metadata), default=str))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"metadata cannot be kept: {error}", hint="give names and plain values") from error
    return plain
