"""Looking at every point of an open shard: is it what was stored, and do the indexes say the same?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final
from uuid import UUID

import qdrant_edge as qe

from memanto.engine.edge_convert import from_record, to_uuid, translated
from memanto.engine.integrity import WORDS_SUM, words_sum
from memanto.engine.port import Point
from memanto.engine.schema import INDEXED_FIELDS, KEYWORD_FIELDS, TIME_FIELDS
from memanto.errors import MemantoError

_PAGE: Final = 200
_EVERY_VALUE: Final = 1_000_000_000
_EARLIEST: Final = "0001-01-01T00:00:00.000000Z"
_NORM: Final = 0.01
"""How far the length of a stored vector may be from 1; rounding to float32 stays a thousand times below."""


def read_each(raw: Any) -> Iterator[tuple[UUID, str | None, Point | MemantoError]]:
    """Yield each point's id, the sum of its words, and the point, or why it cannot be read.

    A page is read at once where that works, and point by point where it does not.
    """
    offset = None
    while True:
        with translated("the shard"):
            page, offset = raw.scroll(qe.ScrollRequest(limit=_PAGE, offset=offset, with_payload=False))
        yield from _read(raw, [to_uuid(record.id) for record in page])
        if offset is None:
            return


def _read(raw: Any, ids: Sequence[UUID]) -> Iterator[tuple[UUID, str | None, Point | MemantoError]]:
    try:
        with translated("the shard"):
            records = raw.retrieve(list(ids), True, True)
        summed = [(record.payload or {}).get(WORDS_SUM) for record in records]
        yield from [
            (to_uuid(record.id), total, from_record(record, vectors=True))
            for record, total in zip(records, summed, strict=True)
        ]
    except MemantoError as error:
        if len(ids) == 1:
            yield ids[0], None, error
            return
        for one in ids:
            yield from _read(raw, [one])


def inspect(raw: Any, namespace: str) -> list[str]:
    """Return what is wrong with the points and indexes of an open shard, one sentence each."""
    with translated(namespace):
        indexed = set(raw.info().payload_schema)
    found = [f"field {field!r} has no index" for field in INDEXED_FIELDS if field not in indexed]
    values: dict[str, Counter[str]] = {field: Counter() for field in KEYWORD_FIELDS}
    times = dict.fromkeys(TIME_FIELDS, 0)
    for key, total, point in read_each(raw):
        if not isinstance(point, Point):
            found.append(f"point {key} cannot be read: {point.message}")
            continue
        found += _of_vectors(point, total)
        for field in KEYWORD_FIELDS:
            value = point.payload.get(field, ())
            values[field].update([value] if isinstance(value, str) else set(value))
        for field in TIME_FIELDS:
            times[field] += field in point.payload
    for field in indexed & set(INDEXED_FIELDS):
        stored, told = (values[field], _facet(raw, field)) if field in values else (times[field], _count(raw, field))
        if stored != told:
            found.append(f"the index of field {field!r} does not say what the points say")
    return found


def _of_vectors(point: Point, total: str | None) -> Iterator[str]:
    if total is not None and (point.lexical is None or words_sum(point.lexical) != total):
        yield f"the words of point {point.id} are not what was stored"
    for name, vector in point.dense.items():
        if not abs(math.hypot(*vector) - 1) < _NORM:
            yield f"vector {name!r} of point {point.id} is not what was stored"


def _facet(raw: Any, field: str) -> Counter[str]:
    with translated(field):
        hits = raw.facet(qe.FacetRequest(key=field, limit=_EVERY_VALUE, filter=None, exact=True)).hits
    return Counter({str(hit.value): int(hit.count) for hit in hits})


def _count(raw: Any, field: str) -> int:
    every = qe.Filter(must=[qe.FieldCondition(field, range=qe.RangeDateTime(gte=_EARLIEST))])
    with translated(field):
        return int(raw.count(qe.CountRequest(filter=every, exact=True)))
