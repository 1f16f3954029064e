"""Saving what can be saved of a namespace whose files are damaged.

Two sources are read, each from a copy and in a process of its own, and put together:

- the files of the shard, point by point, as far as they load;
- its log, applied to an empty shard. The log keeps what was written since its last file of 32 MiB was full, so
  a store of a few thousand memories is in there as a whole. The engine checks each of its entries.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import qdrant_edge as qe

from memanto.counted import counted
from memanto.engine.edge_convert import to_point
from memanto.engine.edge_shard import Shard, vector_names
from memanto.engine.generations import finish_next
from memanto.engine.layout import CleanClose, Place, allocated_bytes, check_free_space, copy_sparse, remove
from memanto.engine.port import Point, Salvage
from memanto.engine.relay_codec import codec
from memanto.errors import StoreDamagedError
from memanto.times import from_rfc3339

_FILES: Final = "files"
_LOG: Final = "log"
_BATCH: Final = 250


def salvage(place: Place) -> Salvage:
    """Read everything that can be read; changes nothing. Only for the holder of the lease, with the shard closed.

    Raises:
        StoreDamagedError: The namespace has no files at all.
        DiskFullError: There is no room for the copies.
    """
    generation = _generation(place)
    folder = place.shard(generation)
    check_free_space(place.root, 2 * allocated_bytes(folder))
    aside = place.root / ".new" / f"{place.encoded}-salvage"
    remove(aside)
    aside.mkdir(mode=0o700, parents=True)
    try:
        from_files, unreadable = _read(_copy_of_files(folder, aside))
        from_log, _ = _read(_copy_of_log(folder, aside, place))
    finally:
        remove(aside)
    points = _together(from_files, from_log)
    return Salvage(points, tuple(_lost(place.read_clean_close(generation), points, unreadable)))


def rebuild(place: Place, saved: Salvage) -> None:
    """Build the next generation of what was saved, and make it the one in use. Only for the holder of the lease."""
    note = place.read_clean_close(_generation(place))
    points = list(saved.points.values())
    dimensions = {name: len(vector) for point in points for name, vector in point.dense.items()}
    target = Shard.create(place, place.generations()[-1] + 1, dimensions)
    try:
        times = [from_rfc3339(time) for point in points if (time := point.payload.get("recorded_at"))]
        noted = [] if note is None or note.last_recorded_at is None else [note.last_recorded_at]
        target.last_recorded_at = max([*times, *noted], default=None)
        for start in range(0, len(points), _BATCH):
            batch = points[start : start + _BATCH]
            target.update(qe.UpdateOperation.upsert_points([to_point(point, point.payload) for point in batch]))
    except BaseException:
        target.close()
        remove(target.folder)
        raise
    finish_next(target)


def _generation(place: Place) -> int:
    """Return the generation in use, or the one that most likely is where `CURRENT` does not say.

    The note names the last one that was complete. Without it the first one counts: the next may be unfinished.
    """
    with contextlib.suppress(StoreDamagedError):
        return place.generation()
    numbers = place.generations()
    if not numbers:
        raise StoreDamagedError(
            f"{str(place.folder)!r} holds no memories any more", hint="restore the folder from a backup, or an export"
        )
    return next((number for number in numbers if place.read_clean_close(number) is not None), numbers[0])


def _copy_of_files(folder: Path, aside: Path) -> Path:
    copy_sparse(folder, aside / _FILES)
    return aside / _FILES


def _copy_of_log(folder: Path, aside: Path, place: Place) -> Path:
    """Return an empty shard with the whole log of the damaged one, of which nothing counts as applied."""
    draft = Place(aside / _LOG, place.namespace)
    draft.folder.mkdir(parents=True)
    dimensions: Mapping[str, int] = {}
    with contextlib.suppress(StoreDamagedError):
        dimensions = vector_names(folder)
    shard = Shard.create(draft, 1, dimensions)
    shard.raw.close()
    log = shard.folder / "wal"
    shutil.rmtree(log)
    if (folder / "wal").is_dir():
        copy_sparse(folder / "wal", log)
        (log / "first-index").unlink(missing_ok=True)
    return shard.folder


def _read(folder: Path) -> tuple[dict[UUID, Point], list[UUID]]:
    """Return the points a copy holds, and which of its points are not whole."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "memanto.engine.salvage_child", str(folder)]
    points: dict[UUID, Point] = {}
    unreadable: list[UUID] = []
    decode = codec(Point).decode
    with subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
    ) as child:
        assert child.stdout is not None
        for line in _whole_lines(child.stdout):
            if "point" in line:
                point = decode(line["point"])
                points[point.id] = point
            else:
                unreadable.append(UUID(line["unreadable"]))
    return points, unreadable


def _whole_lines(stream: Any) -> Iterator[dict[str, Any]]:
    for line in stream:
        with contextlib.suppress(ValueError):  # the last line of a process that died
            yield json.loads(line)


def _together(from_files: Mapping[UUID, Point], from_log: Mapping[UUID, Point]) -> dict[UUID, Point]:
    """Return every point of both: the one of the files, unless the log has closed it since."""
    chosen = {**from_log, **from_files}
    for key in from_log.keys() & from_files.keys():
        if _retired(from_log[key]) < _retired(from_files[key]):
            chosen[key] = from_log[key]
    return chosen


def _retired(point: Point) -> str:
    return str(point.payload.get("retired_at", ""))


def _lost(note: CleanClose | None, points: Mapping[UUID, Point], unreadable: Sequence[UUID]) -> Iterator[str]:
    yield from (f"point {one} cannot be read" for one in unreadable if one not in points)
    if note is not None and len(points) < note.points:
        yield f"gone: {note.points - len(points)} of {counted(note.points, 'point')}"
