"""Upkeep's own records: memories that no search finds and no list shows, with versions like any other.

What upkeep decides and how far it got is kept as the loop keeps the steps of a run: as memories that are a *part*
of another (here of a parent that is never stored), without words or vectors. So every engine keeps them, they
have a history with actor and reason, a point-in-time read sees them as they were, export carries them, and
nothing new has to be stored, indexed or migrated. A record's id follows from its name and it is only inserted
where none is, so of two processes that find the same thing at once one records it.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from memanto.engine.codec import decode
from memanto.filters import AnyOf, Equals, Where
from memanto.memory.namespace import Namespace
from memanto.memory.versions import NewVersion, VersionLog, next_version
from memanto.memory.visibility import believed_at
from memanto.models import Decision, Memory, MemoryType, Provenance, Status

FIELD: Final = "upkeep"
"""Field of a record's metadata that holds what it records."""
TAG: Final = "upkeep"
"""Tag of every record; `upkeep:KIND` is the tag of one kind."""
SOURCE: Final = "memanto"


def record_id(namespace: str, kind: str, name: str) -> str:
    """Return the memory id of a record: the same wherever it is computed (a UUID of version 8, RFC 9562)."""
    digest = hashlib.blake2b(f"upkeep\x00{namespace}\x00{kind}\x00{name}".encode(), digest_size=16).digest()
    value = int.from_bytes(digest, "big") & ~(0xF << 76) & ~(0x3 << 62)
    return str(uuid.UUID(int=value | 0x8 << 76 | 0x2 << 62))


class Journal:
    """The records of one namespace.

    Args:
        namespace: Where they are kept.
    """

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace
        self._engine = namespace.engine
        self._name = namespace.name
        self.log = VersionLog(namespace)

    def id(self, kind: str, name: str) -> str:
        """Return the id of a record of this namespace."""
        return record_id(self._name, kind, name)

    def read(self, kind: str, name: str) -> Memory | None:
        """Return a record's current version, or `None` where there is none, or it was forgotten."""
        record_id = self.id(kind, name)
        head = self.log.heads([record_id]).get(record_id)
        return None if head is None or head.status is Status.FORGOTTEN else head

    def find(self, *tags: Iterable[str], as_of: datetime | None = None) -> list[Memory]:
        """Return the records that have at least one tag of each group, as believed at `as_of`, by id."""
        wanted = tuple(AnyOf("tags", tuple(group)) for group in tags)
        where = Where((Equals("tags", TAG), *wanted, *believed_at(as_of)))
        points = self._engine.scan(self._name, where)
        alive = self.log.not_overtaken(points, as_of=as_of)
        found = [decode(self._name, point.payload, as_of=as_of) for point in points if point.id in alive]
        return [memory for memory in found if memory.status is not Status.FORGOTTEN]

    def first(
        self, kind: str, name: str, text: str, value: Mapping[str, Any], *, tags: Sequence[str], decision: Decision
    ) -> NewVersion:
        """Return version 1 of a record, to append."""
        record_id = self.id(kind, name)
        memory = Memory(
            id=record_id,
            version=1,
            namespace=self._name,
            type=MemoryType.DECISION,
            content=text,
            title=text[:60],
            recorded_at=_UNSTAMPED,
            tags=(TAG, f"{TAG}:{kind}", *tags),
            confidence=1.0,
            provenance=Provenance.OBSERVED,
            source=SOURCE,
            decision=decision,
            metadata={FIELD: dict(value)},
            parent_id=self.id("parent", ""),
            part=1,
        )
        return NewVersion(memory=memory)

    def following(
        self, head: Memory, text: str, value: Mapping[str, Any], *, tags: Sequence[str], decision: Decision
    ) -> NewVersion:
        """Return the next version of a record, to append."""
        kept = head.tags[:2]
        memory = next_version(
            head,
            decision=decision,
            content=text,
            title=text[:60],
            tags=(*kept, *tags),
            metadata={FIELD: dict(value)},
            status=Status.ACTIVE,
        )
        return NewVersion(memory=memory, previous=head)

    def put(self, kind: str, name: str, text: str, value: Mapping[str, Any], *, decision: Decision) -> Memory:
        """Store a record's first or next version and return it.

        Raises:
            VersionConflictError: Somebody else wrote it meanwhile.
        """
        head = self.read(kind, name)
        if head is None:
            return self.log.append_one(self.first(kind, name, text, value, tags=(), decision=decision))
        return self.log.append_one(self.following(head, text, value, tags=(), decision=decision))


def value_of(record: Memory) -> Mapping[str, Any]:
    """Return what a record records."""
    value: Mapping[str, Any] = record.metadata.get(FIELD, {})
    return value


_UNSTAMPED: Final = datetime.fromisoformat("2000-01-01T00:00:00+00:00")
"""Stands for the time of recording until the engine stamps it."""
