"""A shard of records: payloads only, with a journal in place of the engine's log."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final, TypeAlias

import qdrant_edge as qe

from memanto.engine.edge_convert import to_filter, translated
from memanto.engine.edge_shard import Shard
from memanto.engine.journal import Journal
from memanto.engine.layout import Place, check_free_space, make_private, translated_os
from memanto.engine.record_codec import BODY, HEAD, LIGHT, head_text, to_record
from memanto.engine.records import Record
from memanto.engine.schema import RECORD_KEYWORDS, RECORD_TIME
from memanto.filters import Where

_UNUSED: Final = "none"
"""The engine wants one vector name; this is the kind that takes the least room."""
_JOURNAL: Final = "journal"
_PAGE: Final = 1_000
_EVERY_VALUE: Final = 1_000_000_000
_births: Final = itertools.count()

_Head: TypeAlias = tuple[str, Mapping[str, str], str]
"""A record without its body, as the journal keeps it: its id in hexadecimal, its keys, the text of its head."""


class RecordShard(Shard):
    """An open shard of records.

    Attributes:
        changes: How often it was written to since it was opened.
        birth: Tells it from every other shard that this process opened.
        epoch: Changes whenever something is deleted; no other shard has the same.
    """

    grows: ClassVar = False
    logged: ClassVar = False

    def __init__(self, place: Place, generation: int, raw: Any) -> None:
        super().__init__(place, generation, raw)
        self.changes = 0
        self.birth = next(_births)
        self.epoch = self.birth << 32
        self._folder = self.folder  # each write asks for it
        self._journal = Journal(self._folder / _JOURNAL)
        # A change that came between writing the files and emptying the journal would be in neither.
        self._changing = threading.Lock()

    @classmethod
    def create(cls, place: Place, generation: int, dimensions: Mapping[str, int]) -> RecordShard:  # noqa: ARG003
        folder = place.shard(generation)
        check_free_space(place.folder)
        folder.mkdir(mode=0o700)
        smallest = qe.EdgeVectorParams(1, qe.Distance.Dot, datatype=qe.VectorStorageDatatype.Uint8)
        config = qe.EdgeConfig(vectors={_UNUSED: smallest}, max_search_threads=1, wal_enabled=False)
        schema = dict.fromkeys(RECORD_KEYWORDS, qe.PayloadSchemaType.Keyword)
        schema[RECORD_TIME] = qe.PayloadSchemaType.Datetime
        with translated(str(folder)):
            raw = qe.EdgeShard.create(str(folder), config)
            for field, kind in schema.items():
                raw.update(qe.UpdateOperation.create_field_index(field, kind))
            raw.flush()
        shard = cls(place, generation, raw)
        shard.dirty = shard._written = True
        make_private(folder)
        return shard

    @classmethod
    def load(cls, place: Place, generation: int, timeout: float) -> RecordShard:
        """Open a generation and apply what its journal holds."""
        shard = super().load(place, generation, timeout)
        assert isinstance(shard, RecordShard)
        shard.recover()
        return shard

    def recover(self) -> None:
        """Apply what the journal holds: the files lack it after a crash."""
        try:
            with translated(self.place.namespace):
                for (heads, delete), bodies in self._journal.entries():
                    self.touch()
                    self._apply(heads, bodies, delete)
        except BaseException:
            self.raw.close()
            self._journal.close()
            raise

    # -- reading ------------------------------------------------------------------------------------
    def present(self, ids: Sequence[str]) -> set[str]:
        """Return those of the ids that a record has."""
        with translated(self.place.namespace):
            return {record.id.hex for record in self.raw.retrieve(list(ids), False, False)}

    def records(self, ids: Sequence[str]) -> list[Record]:
        """Return the records that exist, in the order of the ids."""
        with translated(self.place.namespace):
            found = {one.id.hex: one for one in self.raw.retrieve(list(ids), True, False)}
        return [to_record(one, found[one].payload or {}, body=True) for one in ids if one in found]

    def ids(self, where: Where) -> list[str]:
        """Return the ids of matching records, damaged ones too, in no particular order."""
        return [one.id.hex for one in self._pages(where, None, payload=False)]

    def values(self, key: str) -> list[str]:
        """Return the values of a key, sorted, also those of damaged records: the index tells them."""
        with translated(self.place.namespace):
            hits = self.raw.facet(qe.FacetRequest(key=key, limit=_EVERY_VALUE, filter=None, exact=True)).hits
        return sorted(str(hit.value) for hit in hits)

    def check_readable(self, ids: Sequence[str]) -> None:
        """Raise `StoreDamagedError` unless the engine can read all of these, sound or not.

        It reads what it deletes, and one that it cannot read leaves the open shard unfit for any further change.
        """
        with translated(self.place.namespace):
            self.raw.retrieve(list(ids), [RECORD_TIME], False)

    def find(self, where: Where, limit: int | None = None, *, bodies: bool = True) -> list[Record]:
        """Return matching records in no particular order."""
        pages = self._pages(where, limit, payload=True if bodies else list(LIGHT))
        return [to_record(one.id.hex, one.payload or {}, body=bodies) for one in pages]

    def newest(self, where: Where, size: int, *, bodies: bool) -> list[Record]:
        """Return the `size` records with the latest times, latest first, those of one time in any order."""
        payload = True if bodies else list(LIGHT)
        page, _ = self._scroll(where, size, payload, order_by=qe.OrderBy(RECORD_TIME, qe.Direction.Desc))
        return [to_record(one.id.hex, one.payload or {}, body=bodies) for one in page]

    def _pages(self, where: Where, limit: int | None, *, payload: bool | list[str]) -> list[Any]:
        found: list[Any] = []
        offset = None
        while True:
            size = _PAGE if limit is None else min(_PAGE, limit - len(found))
            page, offset = self._scroll(where, size, payload, offset=offset)
            found += page
            if offset is None or (limit is not None and len(found) >= limit):
                return found

    def _scroll(self, where: Where, size: int, payload: bool | list[str], **position: Any) -> tuple[Any, Any]:
        request = qe.ScrollRequest(limit=size, filter=to_filter(where), with_payload=payload, **position)
        with translated(self.place.namespace):
            return self.raw.scroll(request)  # type: ignore[no-any-return]

    # -- writing ------------------------------------------------------------------------------------
    def change(self, put: Sequence[Record], delete: Sequence[str] = ()) -> None:
        """Store and delete records, all or none, so that it survives the process when this returns."""
        check_free_space(self._folder)
        heads = [(one.id, one.keys, head_text(one)) for one in put]
        bodies = [one.body for one in put]
        with translated_os(self._folder), translated(self.place.namespace), self._changing:
            self.touch()
            position = self._journal.append((heads, delete), bodies)
            try:
                self._apply(heads, bodies, delete)
            except BaseException:
                self._journal.undo(position)
                raise

    def touch(self) -> None:
        if not self._written:  # neither its seal nor its number of points will hold
            self.place.forget_clean_close()
        self.dirty = self._written = True

    def flush(self) -> None:
        with self._changing:
            super().flush()
            self._journal.clear()

    def settle(self) -> None:
        with translated_os(self.folder):
            self._journal.sync()

    def close(self) -> None:
        if self.raw is None:
            return
        super().close()
        self._journal.clear()
        self._journal.close()

    def _apply(self, heads: Sequence[_Head], bodies: Sequence[str], delete: Sequence[str]) -> None:
        self.changes += 1
        if heads:
            points = [
                qe.Point(key, {}, {**keys, HEAD: head, BODY: body})
                for (key, keys, head), body in zip(heads, bodies, strict=True)
            ]
            self.raw.update(qe.UpdateOperation.upsert_points(points))
        if delete:
            self.epoch += 1
            self.raw.update(qe.UpdateOperation.delete_points(list(delete)))

    def _newest(self) -> datetime | None:
        return None
