"""`MemantoStore`: LangGraph's long-term store on an agent's memories."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from langgraph_memanto.members import member
from langgraph_memanto.store_items import Kept, Style, draft_of, kept_of
from langgraph_memanto.store_long import is_long, pointing, read_whole, whole_of
from langgraph_memanto.store_names import STORE, TTL
from langgraph_memanto.store_reading import Place, StoreReader, found_items
from memanto import Draft, Memanto, Memory, MemoryType, Provenance, Receipt
from memanto.adapter import Failsafe, as_sync
from memanto.errors import ConflictError, InvalidInputError, NotFoundError, SerializationError
from memanto.models import MAX_BATCH

if TYPE_CHECKING:
    from memanto import AsyncMemanto

_LOGGER: Final = logging.getLogger("memanto")
SLACK: Final = 0.05
"""Share of its time to live that a reading adds beyond it, so that reading again soon writes nothing. Our choice."""


class MemantoStore(BaseStore):
    """A store whose items are memories: typed, versioned, found by `recall`, shared with every other surface.

    An item is the current version of one memory; putting it again appends a version, and `created_at` stays. The item's
    field `type` names the memory's type, where it is one of the 13; `provenance` is the store's to say and never the
    value's. Values are JSON objects nested at most 13 deep, without secrets: those are replaced before anything is
    stored, and the log says so.

    A query is answered by words and meaning, with the memory's own embedder. `search` without a query, and what follows
    the ranked results of one with a query, come in the order of writing, the latest first. Deleting erases the item
    with all its versions; `erase=False` retires it instead, which is quicker and can be undone.

    All methods may be called from any thread, and the asynchronous ones from any event loop.

    Args:
        memory: A `Memanto` or an `AsyncMemanto`; who opened it closes it.
        type: Of items that name none.
        provenance: Of all items.
        source: Who writes, 1..64 of `[A-Za-z0-9._-]`.
        fields: Paths whose texts are searched, where a `put` names none; `$` is the whole value.
        ttl: LangGraph's settings for items that expire: `default_ttl` and `refresh_on_read` as they are documented
            there; `sweep_interval_minutes` sweeps when something is put. What has expired is never returned.
        erase: Whether a deleted item leaves no trace.
        strict: `False` lets a failing memory read as empty and lose what is put, logged once and counted.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memanto | AsyncMemanto,
        *,
        type: MemoryType | str = MemoryType.OBSERVATION,  # noqa: A002 - the word users know it by
        provenance: Provenance | str = Provenance.OBSERVED,
        source: str = "langgraph",
        fields: Sequence[str] = ("$",),
        ttl: TTLConfig | None = None,
        erase: bool = True,
        strict: bool = True,
    ) -> None:
        self.ttl_config = ttl
        self._memory = as_sync(memory)
        self._style = Style(
            type=member("type", MemoryType, type),
            provenance=member("provenance", Provenance, provenance),
            source=source,
            fields=tuple(fields),
        )
        self._reader = StoreReader(self._memory, held_back=self._style.provenance is Provenance.INFERRED)
        self._erase = erase
        self._failsafe = Failsafe("MemantoStore", strict=strict)
        self._swept_at: datetime | None = None

    @property
    def failures(self) -> int:
        """How many calls memory has failed."""
        return self._failsafe.failures

    # -- LangGraph's surface ------------------------------------------------------------------------
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations; results in their order. Reads see what was there before the writes of the same batch.

        Raises:
            InvalidNamespaceError: A label is empty, no text, or holds a period.
            InvalidInputError: A value cannot be kept.
        """
        asked = list(ops)
        for op in asked:
            validate_op_namespace(op)
        gets = {(op.namespace, op.key): op for op in asked if isinstance(op, GetOp)}
        puts = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
        found: dict[Place, Kept] = {}
        if gets:
            found = self._failsafe.call("read items", self._get, gets, otherwise=found)
        results = [self._result(op, found) for op in asked]
        if puts:
            self._failsafe.call("write items", self._write, puts, otherwise=None)
        return results

    def _result(self, op: Op, found: Mapping[Place, Kept]) -> Result:
        """Return what an operation reads; of those that were asked for by key, from what was found."""
        nothing: list[Any] = []
        match op:
            case GetOp():
                kept = found.get((op.namespace, op.key))
                return None if kept is None else kept.item()
            case SearchOp():
                return self._failsafe.call("search", self._search, op, otherwise=nothing)
            case ListNamespacesOp():
                return self._failsafe.call("list namespaces", self._namespaces, op, otherwise=nothing)
            case PutOp():
                return None
        raise InvalidInputError(f"unknown operation {op!r}", hint="a GetOp, PutOp, SearchOp or ListNamespacesOp")

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do as `batch` does, in a thread. What a cancelled call writes, it writes whole."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Delete what has expired, and return how many items that was."""
        over = self._reader.expired(TTL)
        self._retire(over)
        self._swept_at = self._memory.clock()
        return len(over)

    # -- reading ------------------------------------------------------------------------------------
    def _get(self, gets: Mapping[Place, GetOp]) -> dict[Place, Kept]:
        found = self._reader.get(gets)
        self._refresh(kept for place, kept in found.items() if gets[place].refresh_ttl)
        return found

    def _search(self, op: SearchOp) -> list[Any]:
        found = self._reader.search(op)
        if op.refresh_ttl:
            self._refresh(kept for kept, _ in found)
        return found_items(found)

    def _namespaces(self, op: ListNamespacesOp) -> list[Any]:
        return self._reader.namespaces(op)

    def _refresh(self, used: Iterable[Kept]) -> None:
        """Let items that expire live on; each writes a version at most every twentieth of its time."""
        now = self._memory.clock()
        for kept in used:
            until = kept.memory.valid_to
            if kept.ttl is None or until is None or until >= now + timedelta(minutes=kept.ttl):
                continue
            try:
                self._memory.edit(
                    kept.memory.id,
                    reason="read through the store",
                    expected_version=kept.memory.version,
                    valid_to=now + timedelta(minutes=kept.ttl * (1 + SLACK)),
                )
            except (ConflictError, InvalidInputError, NotFoundError):
                continue  # put, deleted or read by somebody else at the same moment

    # -- writing ------------------------------------------------------------------------------------
    def _write(self, puts: Mapping[Place, PutOp]) -> None:
        """Carry out the writes of a batch, of which each item has one."""
        known = self._reader.memories(puts)
        gone = [place for place, op in puts.items() if op.value is None]
        if gone:
            held = self._reader.memories(gone, everything=True)
            slots = [memory.id for memories in held.values() for memory in memories]
            self._retire([*slots, *(one for place in held for one in self._reader.wholes(place))])
        fresh = {place: op for place, op in puts.items() if op.value is not None}
        drafts = {place: self._draft(place, op, known.get(place, [])) for place, op in fresh.items()}
        waiting = [place for place, draft in drafts.items() if not _says_it_all(known.get(place, []), draft)]
        for first in range(0, len(waiting), MAX_BATCH):
            places = waiting[first : first + MAX_BATCH]
            ready = [self._fitting(drafts[place]) for place in places]
            receipts = self._memory.remember_many(ready)
            for place, draft, receipt in zip(places, ready, receipts, strict=True):
                self._settle(place, draft, receipt, known.get(place, []))
        self._sweep_in_time()

    def _draft(self, place: Place, op: PutOp, known: Sequence[Memory]) -> Draft:
        assert op.value is not None
        before = next(_readable(known), None)
        return draft_of(
            *place,
            op.value,
            self._style,
            index=op.index,
            ttl=op.ttl,
            now=self._memory.clock(),
            created_at=None if before is None else before.created_at,
        )

    def _fitting(self, draft: Draft) -> Draft:
        """Return an item that one memory holds; a longer value is stored apart first.

        Raises:
            InvalidInputError: It holds a secret, and without that it is no JSON any more; nothing of it is kept.
        """
        if not is_long(draft):
            return draft
        receipt = self._memory.remember(whole_of(draft))
        try:
            read_whole(self._memory, receipt.id)
        except SerializationError as error:
            self._memory.forget(receipt.id, reason="not readable without the secrets in it")
            raise InvalidInputError(
                "the value is long and holds a secret, which cannot be cut out of it", hint="put it without the secret"
            ) from error
        return pointing(draft, receipt.id)

    def _settle(self, place: Place, draft: Draft, receipt: Receipt, known: Sequence[Memory]) -> None:
        """Complete a write: what its text alone did not tell apart, and what an earlier inference left."""
        if receipt.redactions:
            kinds = ", ".join(sorted({one.kind for one in receipt.redactions}))
            _LOGGER.warning("MemantoStore: secrets were removed from %r before it was stored: %s", place, kinds)
        if receipt.duplicate:  # the same text with another value, type or time to live
            self._memory.edit(
                receipt.id,
                reason="put in the store",
                metadata=draft.metadata,
                type=draft.type,
                tags=draft.tags,
                valid_to=draft.valid_to,
            )
        past = [one.id for one in known if one.id != receipt.id and one.provenance is Provenance.INFERRED]
        kept = [one.whole for one in _readable(known) if one.whole is not None]
        past += [one for one in kept if one != draft.metadata[STORE].get("whole")]
        for memory_id in past:
            with suppress(InvalidInputError, NotFoundError):  # it is expired or forgotten already
                self._memory.expire(memory_id, reason="put again in the store")

    def _retire(self, ids: Sequence[str]) -> None:
        if not ids:
            return
        if self._erase:
            self._memory.forget(*ids, reason="deleted from the store")
            return
        for memory_id in ids:
            try:
                self._memory.expire(memory_id, reason="deleted from the store")
            except InvalidInputError:
                continue  # it is expired already

    def _sweep_in_time(self) -> None:
        interval = (self.ttl_config or {}).get("sweep_interval_minutes")
        if interval is None:
            return
        now = self._memory.clock()
        if self._swept_at is None:
            self._swept_at = now
        elif now - self._swept_at >= timedelta(minutes=interval):
            self.sweep_ttl()


def _readable(known: Iterable[Memory]) -> Iterator[Kept]:
    """Yield the items of memories; putting one again replaces what cannot be read."""
    for memory in known:
        with suppress(SerializationError):
            kept = kept_of(memory)
            if kept is not None:
                yield kept


def _says_it_all(known: Sequence[Memory], draft: Draft) -> bool:
    """Return whether the item is stored as it would be now: then putting it adds nothing."""
    if not known or draft.valid_to is not None:
        return False
    memory = known[0]
    same = (memory.content, memory.type, memory.tags, memory.valid_to) == (draft.content, draft.type, draft.tags, None)
    return same and _timeless(memory.metadata) == _timeless(draft.metadata)


def _timeless(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metadata[STORE].items() if name != "updated_at"}


__all__ = ["MemantoStore"]
