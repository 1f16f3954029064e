"""Records in this process: a payload-only shard per namespace, under the same lease as memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from memanto.engine import generations
from memanto.engine import record_calls as calls
from memanto.engine.edge_record_shard import RecordShard
from memanto.engine.edge_shard import Shard
from memanto.engine.edge_store import EdgeStore
from memanto.engine.layout import translated_os
from memanto.engine.records import Found, Record, RecordsInfo, Written
from memanto.errors import NotFoundError
from memanto.filters import Where


class EdgeRecords(EdgeStore):
    """`memanto.engine.records.Records` on `qdrant_edge`, in a folder of this machine: see `EdgeStore`."""

    below: ClassVar = "checkpoints"
    shard: ClassVar[type[Shard]] = RecordShard

    def drop(self, namespace: str) -> None:
        if self.exists(namespace):
            super().drop(namespace)

    def write(
        self,
        namespace: str,
        put: Sequence[Record] = (),
        *,
        keep: Sequence[Record] = (),
        add: Sequence[Record] = (),
        needs: Sequence[str] = (),
        epoch: int | None = None,
    ) -> Written:
        call = calls.WriteRecords(put, keep, add, needs, epoch)
        try:
            return self._run(namespace, call)
        except NotFoundError:
            self._create(namespace)
            return self._run(namespace, call)

    def delete(self, namespace: str, ids: Sequence[str], where: Where | None = None) -> None:
        if self.exists(namespace):
            self._run(namespace, calls.DeleteRecords(ids, where))

    def reclaim(self, namespace: str, scope: Where) -> int:
        return self._run(namespace, calls.ReclaimRecords(scope)) if self.exists(namespace) else 0

    def find(
        self,
        namespace: str,
        where: Where,
        *,
        newest_first: bool = False,
        limit: int | None = None,
        bodies: bool = False,
    ) -> list[Record]:
        if not self.exists(namespace) or (limit is not None and limit < 1):
            return []
        return self._run(namespace, calls.FindRecords(where, newest_first, limit, bodies))

    def collect(self, namespace: str, which: Sequence[str] | Where, limit: int | None = None) -> Found:
        if not self.exists(namespace) or (limit is not None and limit < 1):
            return Found((), (), ())
        ids, where = ((), which) if isinstance(which, Where) else (which, None)
        return self._run(namespace, calls.CollectRecords(ids, where, limit))

    def stamp(self, namespace: str) -> object:
        shard = self._lease(namespace).glimpse()
        return (shard.birth, shard.changes) if isinstance(shard, RecordShard) else None

    def epoch(self, namespace: str) -> int | None:
        shard = self._lease(namespace).glimpse()
        return shard.epoch if isinstance(shard, RecordShard) else None

    def compact(self, namespace: str) -> None:
        """Write what is there to a new generation and remove the old one, bytes of deleted records and all."""
        if not self.exists(namespace):
            return
        place, lease = self._existing(namespace), self._lease(namespace)
        with translated_os(place.folder), lease.writing(self._timeout):
            with lease.use(self._timeout) as shard:
                target = generations.begin_next(shard, ())
            with lease.exclusive(self._timeout):
                generations.finish_next(target)
                target.place.remove_leftovers()

    def flush(self, namespace: str) -> None:
        if self.exists(namespace):
            super().flush(namespace)

    def info(self, namespace: str) -> RecordsInfo:
        if not self.exists(namespace):
            return RecordsInfo(0, 0, str(self._place(namespace).folder))
        return self._run(namespace, calls.RecordFigures())
