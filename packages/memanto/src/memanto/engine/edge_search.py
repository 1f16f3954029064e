"""Searching and scanning an open shard completely: ties and pages that the engine cuts are made whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import repeat
from typing import Any, Final
from uuid import UUID

import qdrant_edge as qe

from memanto.engine.checks import check_vector, cut, next_size, round_score
from memanto.engine.edge_convert import from_record, to_filter, to_sparse, to_uuid, translated
from memanto.engine.edge_shard import Shard
from memanto.engine.integrity import without_sums
from memanto.engine.port import Candidate, Point, SparseVector, Vector
from memanto.engine.schema import LEXICAL_VECTOR, TIME_FIELDS
from memanto.errors import InvalidInputError
from memanto.filters import Where
from memanto.times import to_rfc3339

_MARGIN: Final = 16
_PAGE: Final = 1_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_new_candidate: Final[Callable[[tuple[UUID, float, Mapping[str, Any]]], Candidate]] = partial(tuple.__new__, Candidate)
"""`Candidate._make`, without the call in Python that it costs for each of a hundred."""


def search_dense(
    shard: Shard, name: str, vector: Vector, where: Where, limit: int, *, exact: bool, fields: Sequence[str] | None
) -> list[Candidate]:
    """Return the nearest points; none when the vector name does not exist."""
    if name not in shard.dimensions:
        return []
    check_vector(name, vector, shard.dimensions)
    query = qe.Query.Nearest(vector if isinstance(vector, list) else list(map(float, vector)), using=name)
    return _search(
        shard, query, where, limit, fields=fields, parameters=qe.SearchParams(exact=exact), size=limit + _MARGIN
    )


def search_lexical(
    shard: Shard, query: SparseVector, where: Where, limit: int, *, corpus: Where | None, fields: Sequence[str] | None
) -> list[Candidate]:
    """Return the best points by BM25."""
    if not query.indices:
        return []
    counted = None if corpus is None else to_filter(corpus)
    parameters = qe.SearchParams(idf=None if counted is None else qe.IdfParams(corpus=counted))
    terms = qe.Query.Nearest(to_sparse(query), using=LEXICAL_VECTOR)
    # Ties are common here: enough for `cut` to tell at once, where payloads do not make that dear.
    size = limit + _MARGIN if fields is None or fields else 2 * limit + 1
    return _search(shard, terms, where, limit, fields=fields, parameters=parameters, size=size)


def _search(
    shard: Shard, query: Any, where: Where, limit: int, *, fields: Sequence[str] | None, parameters: Any, size: int
) -> list[Candidate]:
    if limit < 1:
        return []
    payload = True if fields is None else list(fields) or False
    chosen = to_filter(where)
    while True:
        request = qe.QueryRequest(limit=size, query=query, filter=chosen, params=parameters, with_payload=payload)
        with translated(shard.place.namespace):
            found = shard.raw.query(request)
        scores = [round_score(hit.score) for hit in found]
        count = cut(scores, limit, complete=len(found) < size)
        if count is not None:
            break
        size = next_size(size, limit)
    hits, scores = found[:count], scores[:count]
    payloads: Iterable[Mapping[str, Any]] = repeat({})
    if payload:
        payloads = (without_sums(hit.payload or {}, hit.id) for hit in hits)
    ids = [to_uuid(hit.id) for hit in hits]
    candidates = list(map(_new_candidate, zip(ids, scores, payloads, strict=False)))
    if len(set(scores)) < len(scores):  # else the engine's order is the one to return
        candidates.sort(key=lambda candidate: (-candidate.score, candidate.id.int))
    return candidates


def scan(
    shard: Shard,
    where: Where,
    *,
    order_by: str | None,
    descending: bool,
    limit: int | None,
    vectors: bool,
    fields: Sequence[str] | None,
) -> list[Point]:
    """Return matching points by time and then id (ascending), or by id."""
    if limit is not None and limit < 1:
        return []
    if order_by is not None and order_by not in TIME_FIELDS:
        raise InvalidInputError(
            f"points cannot be ordered by {order_by!r}", hint=f"use one of {', '.join(TIME_FIELDS)}"
        )
    options: dict[str, Any] = {
        "filter": to_filter(where),
        "with_payload": True if fields is None else list(fields),
        "with_vector": vectors,
    }

    def page(size: int, **position: Any) -> tuple[list[Any], Any]:
        with translated(shard.place.namespace):
            records, following = shard.raw.scroll(qe.ScrollRequest(limit=size, **options, **position))
        return list(records), following

    records = _by_id(page, limit) if order_by is None else _by_time(page, order_by, descending, limit)
    return [from_record(record, vectors=vectors) for record in records]


def _by_id(page: Callable[..., tuple[list[Any], Any]], limit: int | None) -> list[Any]:
    found: list[Any] = []
    offset = None
    while limit is None or len(found) < limit:
        records, offset = page(_PAGE if limit is None else min(_PAGE, limit - len(found)), offset=offset)
        found += records
        if offset is None:
            break
    return found


def _by_time(page: Callable[..., tuple[list[Any], Any]], field: str, descending: bool, limit: int | None) -> list[Any]:
    """Page by the last time seen: its points may continue on the next page, so it is asked for again."""
    direction = qe.Direction.Desc if descending else qe.Direction.Asc
    usual = _PAGE if limit is None else min(_PAGE, limit + _MARGIN)
    found: list[Any] = []
    start, size = None, usual
    while True:
        records, _ = page(size, order_by=qe.OrderBy(field, direction, start_from=start))
        if len(records) < size:
            found += records
            break
        last = records[-1].order_value
        complete = [record for record in records if record.order_value != last]
        if not complete:  # one moment fills the page
            size *= 2
            continue
        found += complete
        # As text: the engine reads a number as a float, which loses microseconds in far years.
        start, size = to_rfc3339(_EPOCH + timedelta(microseconds=last)), usual
        if limit is not None and len(found) >= limit:
            break
    sign = -1 if descending else 1
    found.sort(key=lambda record: (sign * record.order_value, to_uuid(record.id)))
    return found[:limit]
