"""Writing to an open shard: insert-only commits with their closings, compare-and-set, vectors.

Only one thread writes to a namespace at a time (the lease's `writing`), and no other process has it open;
so looking first and writing then is safe, and one `upsert_points` makes each step atomic against a crash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace as with_fields
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final, TypeVar
from uuid import UUID, uuid4

import qdrant_edge as qe

from memanto.engine.checks import check_payload, check_point, check_vector
from memanto.engine.edge_convert import to_point
from memanto.engine.edge_shard import Shard
from memanto.engine.port import Change, Point, Vector
from memanto.errors import BackendError, NotFoundError
from memanto.times import from_rfc3339, to_rfc3339, utc

CHUNK: Final = 250
"""Changes written by one operation; a change and what it closes are never parted."""

_STEP: Final = timedelta(microseconds=1)
T = TypeVar("T")


def commit(shard: Shard, changes: Sequence[Change], clock: Callable[[], datetime]) -> list[datetime | None]:
    """Insert each change that is new and close what it closes; see `Engine.commit`."""
    for change in changes:
        check_point(change.point, shard.dimensions)
        check_payload(change.closing)
    times: list[datetime | None] = []
    for chunk in _chunks(changes):
        times += _commit_chunk(shard, chunk, clock)
    return times


def replace(shard: Shard, point: Point, expected_token: str | None) -> bool:
    """Overwrite the point if its token is the expected one; see `Engine.replace`."""
    check_point(point, shard.dimensions)
    stored = shard.get([point.id], vectors=False).get(point.id)
    token = None if stored is None else stored.payload.get("token")
    if token != expected_token or (stored is not None and expected_token is None):
        return False
    _write(shard, {point.id: with_fields(point, payload=_with_token(point.payload))})
    return True


def set_payload(shard: Shard, point_id: UUID, fields: Mapping[str, Any]) -> None:
    """Set payload fields of an existing point; see `Engine.set_payload`."""
    check_payload(fields)
    if not shard.get([point_id], vectors=False):
        raise NotFoundError(f"agent {shard.place.namespace!r} has no point {point_id}")
    shard.update(qe.UpdateOperation.set_payload([point_id], dict(fields)))


def put_vectors(shard: Shard, name: str, vectors: Mapping[UUID, Vector]) -> None:
    """Set one named vector on the points that exist; see `Engine.put_vectors`."""
    for vector in vectors.values():
        check_vector(name, vector, shard.dimensions)
    for chunk in _chunks(list(vectors)):
        existing = shard.get(chunk, vectors=False)
        updates = [qe.PointVectors(key, {name: list(map(float, vectors[key]))}) for key in chunk if key in existing]
        if updates:
            shard.update(qe.UpdateOperation.update_vectors(updates))


def _commit_chunk(shard: Shard, changes: Sequence[Change], clock: Callable[[], datetime]) -> list[datetime | None]:
    wanted = {change.point.id for change in changes}
    closed = {change.closes for change in changes if change.closes is not None}
    present = shard.get(list(wanted), vectors=False).keys()
    stored = shard.get(list(closed), vectors=True)
    staged: dict[UUID, Point] = {}
    times: list[datetime | None] = []
    last = shard.last_recorded_at
    for change in changes:
        if change.point.id in present or change.point.id in staged:
            times.append(None)
            continue
        time, last = _time_of(change, last, clock)
        times.append(time)
        stamped = dict(change.point.payload) | dict.fromkeys(change.stamp, to_rfc3339(time))
        staged[change.point.id] = with_fields(change.point, payload=_with_token(stamped))
        if change.closes is not None:
            target = staged.get(change.closes) or stored.get(change.closes)
            if target is not None:
                closing = {"retired_at": to_rfc3339(time)} | dict(change.closing)
                staged[target.id] = with_fields(target, payload=dict(target.payload) | closing)
    if staged:
        _write(shard, staged)
        shard.last_recorded_at = last
    return times


def _time_of(change: Change, last: datetime | None, clock: Callable[[], datetime]) -> tuple[datetime, datetime | None]:
    """Return the time of recording of a change, and the newest time given so far."""
    brought = change.point.payload.get("recorded_at")
    if not change.stamp and brought is not None:
        time = from_rfc3339(brought)
        return time, time if last is None else max(last, time)
    now = utc(clock())
    time = now if last is None else max(now, last + _STEP)
    return time, time


def _write(shard: Shard, points: Mapping[UUID, Point]) -> None:
    """Write whole points in one operation and read their payloads back."""
    shard.update(qe.UpdateOperation.upsert_points([to_point(point, point.payload) for point in points.values()]))
    found = shard.get(list(points), vectors=False)
    for key, point in points.items():
        token = found[key].payload.get("token") if key in found else None
        if token != point.payload.get("token"):
            raise BackendError(
                f"point {key} of agent {shard.place.namespace!r} is not what was just written",
                hint="run `memanto doctor`",
            )


def _with_token(payload: Mapping[str, Any]) -> dict[str, Any]:
    return dict(payload) | {"token": uuid4().hex}


def _chunks(items: Sequence[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk
