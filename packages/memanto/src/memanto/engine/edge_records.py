"""Records in this process: a payload-only shard per namespace, under the same lease as memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final
from uuid import UUID

from memanto.engine import generations
from memanto.engine import record_calls as calls
from memanto.engine.edge_record_shard import RecordShard
from memanto.engine.edge_shard import Shard
from memanto.engine.edge_store import EdgeStore
from memanto.engine.layout import namespaces_root, translated_os
from memanto.engine.records import Found, Record, RecordsInfo, Written
from memanto.errors import NotFoundError, StoreDamagedError
from memanto.filters import Where

_ALL_AT_ONCE: Final = "name every thread that `memanto doctor` says is damaged, and delete them in one call"


class EdgeRecords(EdgeStore):
    """`memanto.engine.records.Records` on `qdrant_edge`, in a folder of this machine: see `EdgeStore`."""

    below: ClassVar = "checkpoints"
    shard: ClassVar[type[Shard]] = RecordShard

    def open(self) -> None:
        """Get ready. The folder is made with the first record: whoever only looks leaves nothing behind."""
        self._root, self._closed = namespaces_root(self._home, self.below), False
        if self._root.exists():
            super().open()

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
            super().open()
            self._create(namespace)
            return self._run(namespace, call)

    def delete(self, namespace: str, ids: Sequence[str], where: Where | None = None) -> None:
        if not self.exists(namespace):
            return
        try:
            self._run(namespace, calls.DeleteRecords(ids, where))
        except StoreDamagedError:  # what cannot be read cannot be deleted, but left behind
            self._rebuild(namespace, lambda shard: [*ids, *(() if where is None else shard.ids(where))])

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

    def values(self, namespace: str, key: str) -> list[str]:
        return self._run(namespace, calls.RecordValues(key)) if self.exists(namespace) else []

    def stamp(self, namespace: str) -> object:
        shard = self._lease(namespace).glimpse()
        return (shard.birth, shard.changes) if isinstance(shard, RecordShard) else None

    def epoch(self, namespace: str) -> int | None:
        shard = self._lease(namespace).glimpse()
        return shard.epoch if isinstance(shard, RecordShard) else None

    def compact(self, namespace: str) -> None:
        """Write what is there to a new generation and remove the old one, bytes of deleted records and all."""
        if self.exists(namespace):
            self._rebuild(namespace, lambda _: ())

    def _rebuild(self, namespace: str, leave_out: Callable[[RecordShard], Sequence[str]]) -> None:
        place, lease = self._existing(namespace), self._lease(namespace)
        with translated_os(place.folder), lease.writing(self._timeout):
            with lease.use(self._timeout) as shard:
                assert isinstance(shard, RecordShard)
                doomed = [UUID(one) for one in leave_out(shard)]
                try:
                    target = generations.begin_next(shard, doomed)
                except StoreDamagedError as error:
                    raise StoreDamagedError(error.message, hint=_ALL_AT_ONCE) from error
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
