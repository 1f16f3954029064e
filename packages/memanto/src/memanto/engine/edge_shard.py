"""One generation of a namespace, opened: a `qdrant_edge.EdgeShard` with what the engine has to know about it."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Final
from uuid import UUID

import qdrant_edge as qe

from memanto.counted import counted
from memanto.engine.edge_convert import from_record, to_filter, translated
from memanto.engine.integrity import LOG_MARK, MEND_HINT, Seal, differences, lead_of_the_log, seal
from memanto.engine.layout import (
    OPENING_SPACE,
    CleanClose,
    Place,
    check_free_space,
    make_private,
    sync,
    translated_os,
)
from memanto.engine.port import Point
from memanto.engine.schema import KEYWORD_FIELDS, LEXICAL_VECTOR, TIME_FIELDS
from memanto.errors import (
    BackendUnavailableError,
    DiskFullError,
    MemantoError,
    StoreDamagedError,
    StoreLockedError,
)
from memanto.filters import Where
from memanto.ids import meta_point_id
from memanto.times import from_rfc3339

_HARMLESS_LEAD: Final = 32
"""Operations that changed nothing, one after the other: lost races for a slot. Between two flushes lie hundreds."""
_THREADS: Final = 1
"""Search threads of a shard. Namespaces are small, and each open shard has its own pool."""
_MOST_ENTRIES: Final = 1_000_000
"""More than the files of a log hold."""


class Shard:
    """An open shard; the resource behind a namespace's lease.

    Attributes:
        raw: The engine's object. Calls are wrapped in `translated`.
        dimensions: Dense vector names with their dimensions.
        incarnation: `Place.incarnation` when it was opened; files built anew since have another.
        last_recorded_at: The newest time of recording given in this namespace, also to points erased since.
        dirty: Whether something was written since the last flush.
    """

    grows: ClassVar = True
    """Whether points are only ever added, so that the number at a flush is a lower bound for good."""
    logged: ClassVar = True
    """Whether the engine keeps a log of its own."""

    def __init__(self, place: Place, generation: int, raw: Any) -> None:
        self.place = place
        self.generation = generation
        self.raw = raw
        self.dimensions = vector_names(self.folder)
        self.incarnation = place.incarnation()
        self.last_recorded_at: datetime | None = None
        self.dirty = False
        self._noting = threading.Lock()
        self._written = False  # the files are not, or no longer, as they were sealed
        self._reshaped = False  # vectors were added since the last flush: their settings are in no log

    @property
    def folder(self) -> Path:
        return self.place.shard(self.generation)

    @classmethod
    def create(cls, place: Place, generation: int, dimensions: Mapping[str, int]) -> Shard:
        """Create an empty generation with the indexes of the schema."""
        folder = place.shard(generation)
        check_free_space(place.folder)
        folder.mkdir(mode=0o700)
        dense = {name: qe.EdgeVectorParams(size=n, distance=qe.Distance.Dot) for name, n in dimensions.items()}
        config = qe.EdgeConfig(
            vectors=dense or None,
            sparse_vectors={LEXICAL_VECTOR: qe.EdgeSparseVectorParams(modifier=qe.Modifier.Idf)},
            max_search_threads=_THREADS,
        )
        schema = dict.fromkeys(KEYWORD_FIELDS, qe.PayloadSchemaType.Keyword)
        schema |= dict.fromkeys(TIME_FIELDS, qe.PayloadSchemaType.Datetime)
        with translated(str(folder)):
            raw = qe.EdgeShard.create(str(folder), config)
            for field, kind in schema.items():
                raw.update(qe.UpdateOperation.create_field_index(field, kind))
        shard = cls(place, generation, raw)
        shard.dirty = shard._written = True
        make_private(folder)
        return shard

    @classmethod
    def load(cls, place: Place, generation: int, timeout: float) -> Shard:
        """Open a generation, replaying its log, and compare it with what was noted of it.

        Raises:
            StoreDamagedError: A file is not what it was when it was closed, cannot be read, or points are missing.
            StoreLockedError: A process outside the lease (an interrupted `optimize`) has it open.
            DiskFullError: There is no room to open it safely.
        """
        folder, note = place.shard(generation), place.read_clean_close(generation)
        sealed = None if note is None else note.seal
        check_free_space(folder, reserve=None if sealed is None else OPENING_SPACE)
        if sealed is not None:
            _check_seal(folder, sealed)
        elif cls.grows and (lead := lead_of_the_log(folder)) > _HARMLESS_LEAD:
            raise StoreDamagedError(
                f"the files of {str(folder)!r} are of different moments: its log begins {lead} operations after what "
                "its segments hold, as in a copy that was made while the store was written to",
                hint="copy it again while no process uses it, or carry memories over with `memanto export`",
            )
        raw = _load(folder, timeout)
        try:
            shard = cls(place, generation, raw)
            shard._compare(note)
            if sealed is None:
                shard._written = True
                if shard._renumbered():
                    raise StoreDamagedError(
                        f"the log of {str(folder)!r} was altered: what was written in the last moments before the "
                        "store was left without being closed may be missing",
                        hint=MEND_HINT,
                    )
        except BaseException:
            raw.close()
            raise
        return shard

    # -- reading ------------------------------------------------------------------------------------
    def points(self) -> int:
        """Return the number of points."""
        with translated(self.place.namespace):
            return int(self.raw.info().points_count)

    def count(self, where: Where) -> int:
        with translated(self.place.namespace):
            return int(self.raw.count(qe.CountRequest(filter=to_filter(where), exact=True)))

    def get(self, ids: Sequence[UUID], *, vectors: bool) -> dict[UUID, Point]:
        """Return the points that exist."""
        with translated(self.place.namespace):
            records = self.raw.retrieve(list(ids), True, vectors)
        points = (from_record(record, vectors=vectors) for record in records)
        return {point.id: point for point in points}

    # -- writing ------------------------------------------------------------------------------------
    def update(self, operation: Any) -> None:
        """Apply one operation: it is atomic, and survives the process when this returns."""
        check_free_space(self.folder)
        self.touch()
        with translated(self.place.namespace):
            self.raw.update(operation)

    def touch(self) -> None:
        """Note that the files are about to change; before everything that writes to them."""
        if not self._written:
            self.place.break_seal(self.generation)
            self._renumbered()
        self.dirty = self._written = True

    def _renumbered(self) -> bool:
        """Whether the log's numbers had gone back; they have caught up when this returns.

        The engine reads its log up to the first entry that is altered, and numbers what comes next from there. It
        takes an operation with a number below a point's as one that the point has seen, and silently leaves it out.
        """
        key, attempts = meta_point_id(self.place.namespace), 0
        while self.logged and self.get([key], vectors=False):
            mark = f"{time.time_ns()}-{attempts}"
            with translated(self.place.namespace):
                self.raw.update(qe.UpdateOperation.set_payload([key], {LOG_MARK: mark}))
                [record] = self.raw.retrieve([key], [LOG_MARK], False)
            if (record.payload or {}).get(LOG_MARK) == mark:
                break
            attempts += 1
            if attempts == _MOST_ENTRIES:
                raise StoreDamagedError(
                    f"the engine carries out nothing of what it is given for {str(self.folder)!r}", hint=MEND_HINT
                )
        return attempts > 0

    def add_vector_name(self, name: str, dimension: int) -> None:
        """Add a dense vector name.

        Vectors are L2-normalised already, so a dot product is the cosine; and unlike the engine's cosine,
        which normalises again, it keeps them bit for bit.
        """
        self._reshaped = True
        self.update(qe.UpdateOperation.create_dense_vector(name, dimension, qe.Distance.Dot))
        self.dimensions = vector_names(self.folder)

    def flush(self) -> None:
        """Write everything to the disk, and note how much that is."""
        points, last = self.points(), self.last_recorded_at  # before: others may write meanwhile
        with translated(str(self.folder)):
            self.raw.flush()
        self.dirty = self._reshaped = False
        if self.grows and self._written:
            # Not forced to the disk: an older note that a power cut leaves promises less, and is true.
            with self._noting:
                self.place.write_clean_close(self.generation, CleanClose(points, last), synced=False)

    def settle(self) -> None:
        """Make what was written survive a power cut, in a fraction of the time that `flush` takes.

        The engine applies its log again when it loads the shard, so that the log on the disk is enough. It is mapped
        into memory, and only Linux says that syncing a file writes what was changed through a mapping.
        """
        if self._reshaped or sys.platform != "linux":
            self.flush()
            return
        with translated_os(self.folder):
            log = self.folder / "wal"
            for path in (*log.iterdir(), log):
                sync(path)

    def close(self) -> None:
        """Flush, close, and note what the generation holds. Idempotent."""
        if self.raw is None:
            return
        raw, self.raw = self.raw, None
        with translated(str(self.folder)):
            try:
                raw.flush()
                points = int(raw.info().points_count)
            finally:
                raw.close()
        self.dirty = False
        with translated_os(self.folder):
            make_private(self.folder)
            if self._written:
                note = CleanClose(points, self.last_recorded_at, seal(self.folder))
                self.place.write_clean_close(self.generation, note)

    def _compare(self, note: CleanClose | None) -> None:
        """Find the newest time of recording, and hold the number of points against the note."""
        points = self.points()
        if note is not None and points < note.points:
            raise StoreDamagedError(
                f"{str(self.folder)!r} holds {counted(points, 'point')}, but held {note.points} when last flushed",
                hint=MEND_HINT,
            )
        last = self._newest()
        if note is not None:
            last = max((time for time in (last, note.last_recorded_at) if time is not None), default=None)
        self.last_recorded_at = last

    def _newest(self) -> datetime | None:
        order = qe.OrderBy("recorded_at", qe.Direction.Desc)
        with translated(str(self.folder)):
            records, _ = self.raw.scroll(qe.ScrollRequest(limit=1, order_by=order, with_payload=["recorded_at"]))
        return from_rfc3339(records[0].payload["recorded_at"]) if records else None


def vector_names(folder: Path) -> dict[str, int]:
    """Return the dense vector names of the shard in `folder` with their dimensions, from its own settings."""
    path = folder / "edge_config.json"
    try:
        vectors = json.loads(path.read_text("utf-8")).get("vectors") or {}
        return {name: int(settings["size"]) for name, settings in sorted(vectors.items())}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreDamagedError(f"{str(path)!r} cannot be read: {error}", hint=MEND_HINT) from error


def _check_seal(folder: Path, sealed: Seal) -> None:
    changed = differences(folder, sealed)
    if changed:
        more = f", and {counted(len(changed) - 1, 'more difference')}" if len(changed) > 1 else ""
        raise StoreDamagedError(
            f"{str(folder)!r} is not what it was when it was closed: {changed[0]}{more}", hint=MEND_HINT
        )


def _load(folder: Path, timeout: float) -> Any:
    deadline = time.monotonic() + timeout
    while True:
        try:
            with translated(str(folder)):
                return qe.EdgeShard.load(str(folder))
        except (DiskFullError, BackendUnavailableError):
            raise
        except MemantoError as error:
            if "WouldBlock" not in error.message:
                raise StoreDamagedError(f"{str(folder)!r} cannot be opened: {error.message}", hint=MEND_HINT) from error
            if time.monotonic() >= deadline:
                raise StoreLockedError(
                    f"{str(folder)!r} is open in a process that holds no lease, such as an interrupted `optimize`",
                    hint="wait for it to end, or end it",
                ) from error
        time.sleep(0.02)
