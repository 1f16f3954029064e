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
from memanto.engine.integrity import PAYLOAD_SUM, payload_sum
from memanto.engine.port import Change, Point, Vector
from memanto.errors import BackendError, NotFoundError
from memanto.times import from_rfc3339, to_rfc3339, utc

CHUNK: Final = 250
"""Changes written by one operation; a change and what it closes are never parted."""

_STEP: Final = timedelta(microseconds=1)
T = TypeVar("T")


def commit(
    shard: Shard, changes: Sequence[Change], tokens: Sequence[str], clock: Callable[[], datetime]
) -> list[datetime | None]:
    """Insert each change that is new and close what it closes; see `Engine.commit`.

    Args:
        shard: Open; nobody else writes to it meanwhile.
        changes: What to insert.
        tokens: One new token per change. A point that carries it already was inserted by an earlier attempt
            at this very commit, whose answer was lost; it counts as won, with the time it was given then.
        clock: Tells the time of recording.
    """
    for change in changes:
        check_point(change.point, shard.dimensions)
        check_payload(change.closing)
    times: list[datetime | None] = []
    refused: set[UUID] = set()
    for chunk in _chunks(list(zip(changes, tokens, strict=True))):
        times += _commit_chunk(shard, chunk, clock, refused)
    return times


def replace(shard: Shard, point: Point, expected_token: str | None, token: str) -> bool:
    """Overwrite the point if its token is the expected one; see `Engine.replace`.

    A point that carries the new `token` already was written by an earlier attempt at this very call.
    """
    check_point(point, shard.dimensions)
    stored = shard.get([point.id], vectors=False).get(point.id)
    found = None if stored is None else stored.payload.get("token")
    if found == token:
        return True
    if found != expected_token or (stored is not None and expected_token is None):
        return False
    _write(shard, {point.id: _with_token(point, point.payload, token)})
    return True


def set_payload(shard: Shard, point_id: UUID, fields: Mapping[str, Any]) -> None:
    """Set payload fields of an existing point; see `Engine.set_payload`."""
    check_payload(fields)
    stored = shard.get([point_id], vectors=False).get(point_id)
    if stored is None:
        raise NotFoundError(f"agent {shard.place.namespace!r} has no point {point_id}")
    total = payload_sum({**stored.payload, **fields})
    shard.update(qe.UpdateOperation.set_payload([point_id], {**fields, PAYLOAD_SUM: total}))


def put_vectors(shard: Shard, name: str, vectors: Mapping[UUID, Vector]) -> None:
    """Set one named vector on the points that exist; see `Engine.put_vectors`."""
    for vector in vectors.values():
        check_vector(name, vector, shard.dimensions)
    for chunk in _chunks(list(vectors)):
        existing = shard.get(chunk, vectors=False)
        updates = [qe.PointVectors(key, {name: list(map(float, vectors[key]))}) for key in chunk if key in existing]
        if updates:
            shard.update(qe.UpdateOperation.update_vectors(updates))


def _commit_chunk(
    shard: Shard, changes: Sequence[tuple[Change, str]], clock: Callable[[], datetime], refused: set[UUID]
) -> list[datetime | None]:
    """Write a chunk of a commit; `refused` are the points that this commit did not get to insert."""
    wanted = {change.point.id for change, _ in changes}
    closed = {change.closes for change, _ in changes if change.closes is not None}
    present = shard.get(list(wanted), vectors=False)
    stored = shard.get(list(closed), vectors=True)
    staged: dict[UUID, Point] = {}
    times: list[datetime | None] = []
    last = shard.last_recorded_at
    for change, token in changes:
        key = change.point.id
        if change.closes in refused or key in present or key in staged:
            times.append(_time_given(present.get(key), change, token, last))
            if times[-1] is None and key not in staged:
                refused.add(key)
            continue
        time, last = _time_of(change, last, clock)
        times.append(time)
        stamped = dict(change.point.payload) | dict.fromkeys(change.stamp, to_rfc3339(time))
        staged[key] = _with_token(change.point, stamped, token)
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


def _time_given(stored: Point | None, change: Change, token: str, last: datetime | None) -> datetime | None:
    """Return when a point was recorded if it is the one that this change inserted, else `None`.

    The newest time given stands in where a change keeps none (no stamp, and none brought).
    """
    if stored is None or stored.payload.get("token") != token:
        return None
    kept = stored.payload.get(change.stamp[0] if change.stamp else "recorded_at")
    return last if kept is None else from_rfc3339(kept)


def _write(shard: Shard, points: Mapping[UUID, Point]) -> None:
    """Write whole points in one operation and read their payloads back."""
    shard.update(qe.UpdateOperation.upsert_points([to_point(point, point.payload) for point in points.values()]))
    found = shard.get(list(points), vectors=False)
    for key, point in points.items():
        payload = found[key].payload if key in found else {}
        if any(payload.get(field) != point.payload.get(field) for field in ("token", "retired_at")):
            raise BackendError(
                f"point {key} of agent {shard.place.namespace!r} is not what was just written",
                hint="run `memanto doctor`",
            )


def _with_token(point: Point, payload: Mapping[str, Any], token: str) -> Point:
    return with_fields(point, payload=dict(payload) | {"token": token})


def new_token() -> str:
    """Return a token that no other write has."""
    return uuid4().hex


def _chunks(items: Sequence[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk
