"""What can be asked of an open shard of records; see `memanto.engine.edge_calls`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from memanto.engine.edge_record_shard import RecordShard
from memanto.engine.edge_shard import Shard
from memanto.engine.layout import allocated_bytes
from memanto.engine.record_reading import newest, with_belongings
from memanto.engine.records import Found, Record, RecordsInfo, Written, in_order, unreferenced
from memanto.filters import Where

Clock = Callable[[], datetime]


class FindRecords(NamedTuple):
    """`Records.find`."""

    where: Where
    newest_first: bool
    limit: int | None
    bodies: bool

    def run(self, shard: Shard, clock: Clock) -> list[Record]:  # noqa: ARG002 - one signature for all calls
        records, bodies = _of(shard), self.bodies
        if not self.newest_first:
            return records.find(self.where, self.limit, bodies=bodies)
        if self.limit is None:
            return in_order(records.find(self.where, bodies=bodies))
        return newest(lambda size: records.newest(self.where, size, bodies=bodies), self.limit)


class CollectRecords(NamedTuple):
    """`Records.collect`."""

    ids: Sequence[str]
    where: Where | None
    limit: int | None

    def run(self, shard: Shard, clock: Clock) -> Found:
        if self.where is None:
            found = _of(shard).records(self.ids)
        else:
            found = FindRecords(self.where, newest_first=True, limit=self.limit, bodies=True).run(shard, clock)
        return with_belongings(found, _of(shard).find, _of(shard).records)


class RecordValues(NamedTuple):
    """`Records.values`."""

    key: str

    def run(self, shard: Shard, clock: Clock) -> list[str]:  # noqa: ARG002
        return _of(shard).values(self.key)


class RecordFigures(NamedTuple):
    """`Records.info`."""

    def run(self, shard: Shard, clock: Clock) -> RecordsInfo:  # noqa: ARG002
        folder = shard.place.folder
        return RecordsInfo(shard.points(), allocated_bytes(folder), str(folder))


class WriteRecords(NamedTuple):
    """`Records.write`."""

    put: Sequence[Record]
    keep: Sequence[Record]
    add: Sequence[Record]
    needs: Sequence[str]
    epoch: int | None

    def run(self, shard: Shard, clock: Clock) -> Written:  # noqa: ARG002
        records = _of(shard)
        lasting = (*self.keep, *self.add)
        needs = () if self.epoch == records.epoch else self.needs
        asked = [*needs, *(record.id for record in lasting)]
        # What is kept may as well be written again; it is looked for only where something else is.
        present = records.present(asked) if needs or self.add else set()
        missing = [one for one in needs if one not in present]
        if missing:
            return Written(missing, ())
        new = [record for record in lasting if record.id not in present]
        if self.put or new:
            records.change((*new, *self.put))
        return Written((), [record.id for record in self.add if record.id in present])


class DeleteRecords(NamedTuple):
    """`Records.delete`."""

    ids: Sequence[str]
    where: Where | None

    def run(self, shard: Shard, clock: Clock) -> None:  # noqa: ARG002
        matching = () if self.where is None else _of(shard).ids(self.where)
        doomed = list(dict.fromkeys((*self.ids, *matching)))
        if doomed:
            _of(shard).check_readable(doomed)
            _of(shard).change((), doomed)


class ReclaimRecords(NamedTuple):
    """`Records.reclaim`."""

    scope: Where

    def run(self, shard: Shard, clock: Clock) -> int:  # noqa: ARG002
        doomed = [record.id for record in unreferenced(_of(shard).find(self.scope, bodies=False))]
        if doomed:
            _of(shard).check_readable(doomed)
            _of(shard).change((), doomed)
        return len(doomed)


READS: Final = (FindRecords, CollectRecords, RecordValues, RecordFigures)
WRITES: Final = (WriteRecords, DeleteRecords, ReclaimRecords)


def _of(shard: Shard) -> RecordShard:
    assert isinstance(shard, RecordShard)
    return shard
