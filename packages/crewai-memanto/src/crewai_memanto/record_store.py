"""The records that came through CrewAI, in one agent's memory: reading, listing, deleting."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from crewai.memory.types import MemoryRecord, ScopeInfo

from crewai_memanto.records import is_record, kept_of, record_of, unzoned, zoned
from crewai_memanto.scopes import children, scope_of, scope_tag
from memanto import Memanto, Memory, Status
from memanto.adapter import newest_first
from memanto.errors import InvalidInputError, NotFoundError

_USED: Final = 10_000
"""Records whose last use is kept in mind."""


class RecordStore:
    """What `MemantoMemory` and `MemantoStorage` do alike.

    Listing, counting and deleting are about what came through CrewAI's memory. What other surfaces wrote to the same
    agent is left alone, unless a deletion names it by its id.

    When a record was used last is known to this process alone: reading writes nothing.

    Args:
        memory: The agent's memory.
        own_id: Whether records go by the ids that CrewAI gave them, else by those of their memories.
    """

    def __init__(self, memory: Memanto, *, own_id: bool) -> None:
        self._memory = memory
        self._own_id = own_id
        self._used: OrderedDict[str, datetime] = OrderedDict()
        self._lock = threading.Lock()

    # -- one ----------------------------------------------------------------------------------------
    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return a record by its id, or `None`."""
        found = self._find(record_id)
        return None if found is None or found.status is not Status.ACTIVE else self._record(found)

    def _find(self, record_id: str) -> Memory | None:
        """Return the memory of a record, whatever its standing; a split text is whole."""
        try:
            memory = self._memory.show(record_id)
        except (InvalidInputError, NotFoundError):  # no id of ours, or nothing was ever written
            return None
        return memory if memory.id == record_id and memory.status is not Status.FORGOTTEN else None

    def _record(self, memory: Memory) -> MemoryRecord:
        record = record_of(memory, own_id=self._own_id)
        with self._lock:
            used = self._used.get(record.id)
        if used is not None:
            record.last_accessed = max(record.last_accessed, unzoned(used))
        return record

    def touch_records(self, record_ids: Sequence[str]) -> None:
        """Note that records were used."""
        now = self._memory.clock()
        with self._lock:
            for record_id in record_ids:
                self._used[record_id] = now
                self._used.move_to_end(record_id)
            while len(self._used) > _USED:
                self._used.popitem(last=False)

    # -- many ---------------------------------------------------------------------------------------
    def _below(self, scope: str | None, *, everything: bool = False) -> Iterator[Memory]:
        """Yield the records of a scope and of those below it."""
        prefix = scope_of(scope)
        for memory in newest_first(self._memory, [scope_tag(prefix)], everything=everything):
            if self._is_mine(memory) and kept_of(memory).is_in(prefix, ()):
                yield memory

    def _is_mine(self, memory: Memory) -> bool:
        return is_record(memory) and (not self._own_id or kept_of(memory).record is not None)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Return the records of a scope and of those below it, the newest first."""
        records = [self._record(memory) for memory in self._below(scope_prefix)]
        records.sort(key=lambda record: record.created_at, reverse=True)  # equal ones stay latest recorded first
        start = max(0, offset)
        return records[start : start + max(0, limit)]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return figures about a scope and those below it."""
        path = scope_of(scope)
        records = [self._record(memory) for memory in self._below(path)]
        created = [record.created_at for record in records]
        return ScopeInfo(
            path=path,
            record_count=len(records),
            categories=sorted({category for record in records for category in record.categories}),
            oldest_record=min(created, default=None),
            newest_record=max(created, default=None),
            child_scopes=children((record.scope for record in records), path),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the scopes one step below another, sorted."""
        path = scope_of(parent)
        return children((kept_of(memory).scope for memory in self._below(path)), path)

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return how many records of a scope have each category."""
        return dict(Counter(name for memory in self._below(scope_prefix) for name in kept_of(memory).categories))

    def count(self, scope_prefix: str | None = None) -> int:
        """Return how many records a scope and those below it hold."""
        return sum(1 for _ in self._below(scope_prefix))

    # -- deleting -----------------------------------------------------------------------------------
    def delete(
        self,
        scope_prefix: str | None = None,
        categories: Sequence[str] | None = None,
        record_ids: Sequence[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> int:
        """Erase the records that meet every condition given, with all their versions, and return how many.

        What has expired or was superseded is erased with the rest. A time without a zone is in UTC.
        """
        if record_ids is None:
            chosen = list(self._below(scope_prefix, everything=True))
        else:
            prefix = scope_of(scope_prefix)
            named = (self._find(record_id) for record_id in dict.fromkeys(record_ids))
            chosen = [memory for memory in named if memory is not None and kept_of(memory).is_in(prefix, ())]
        doomed = [one.id for one in chosen if _fits(one, categories, older_than, metadata_filter)]
        if doomed:
            self._memory.forget(*doomed, reason="deleted through CrewAI")
        return len(doomed)

    def reset(self, scope_prefix: str | None = None) -> None:
        """Erase what came through CrewAI, in a scope or everywhere."""
        self.delete(scope_prefix)

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: Sequence[str] | None = None,
        record_ids: Sequence[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
    ) -> int:
        """Do as `delete` does, in a thread."""
        return await asyncio.to_thread(self.delete, scope_prefix, categories, record_ids, older_than, metadata_filter)

    def close(self) -> None:
        """Do nothing: who opened the memory closes it."""


def _fits(
    memory: Memory,
    categories: Sequence[str] | None,
    older_than: datetime | None,
    metadata_filter: Mapping[str, Any] | None,
) -> bool:
    kept = kept_of(memory)
    if older_than is not None and (kept.created_at or memory.recorded_at) >= zoned(older_than):
        return False
    return kept.is_in(kept.scope, categories or ()) and has_metadata(kept.metadata, metadata_filter)


def has_metadata(metadata: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Return whether metadata holds every name with the value asked for."""
    return all(name in metadata and metadata[name] == value for name, value in (wanted or {}).items())
