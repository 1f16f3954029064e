"""`ServerEngine`: the engine port on a Qdrant server, or on qdrant-client's in-memory mode for tests.

One collection holds every namespace; a tenant field keeps them apart and is part of each request. A server
offers no transaction over several points, so correctness rests on three things only: point ids that are
computed, writes that apply only under a condition, and reading back a token afterwards.

Times of recording are handed out in order through a point per namespace that only a compare-and-set moves.
They arrive in any order: while another writer's request is under way, a point with an earlier time than the
newest one may still appear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from memanto.engine.checks import check_payload, check_point, check_vector, cut, next_size
from memanto.engine.port import Candidate, Change, EngineInfo, Point, Salvage, SparseVector, Vector
from memanto.engine.schema import KEYWORD_FIELDS, LEXICAL_VECTOR, TIME_FIELDS
from memanto.engine.server_client import Connection
from memanto.engine.server_collection import Collection
from memanto.engine.server_convert import (
    META_FIELD,
    NAMESPACE_FIELD,
    TOKEN_FIELD,
    batches,
    check_fields,
    float32,
    new_token,
    ranked,
    to_filter,
    to_point,
    to_sparse,
    to_struct,
)
from memanto.engine.server_state import NamespaceState, unknown
from memanto.errors import BackendError, EmbedderMismatchError, InvalidInputError, NotFoundError
from memanto.filters import Equals, TimeRange, Where
from memanto.ids import check_agent_id, meta_point_id
from memanto.times import from_rfc3339, to_rfc3339, utc_now

if TYPE_CHECKING:
    from qdrant_client import models

_PAGE: Final = 500
_SPARE: Final = 8
"""Candidates asked for beyond the limit, so that a tie at the cut-off is usually seen at once."""


@dataclass(frozen=True, slots=True)
class _Planned:
    """A change with the time of recording and the token it will carry when its insertion wins."""

    change: Change
    at: datetime
    token: str

    @property
    def extra(self) -> dict[str, str]:
        return {**dict.fromkeys(self.change.stamp, to_rfc3339(self.at)), TOKEN_FIELD: self.token}

    @property
    def closing(self) -> dict[str, Any]:
        return {"retired_at": to_rfc3339(self.at), **self.change.closing}


@dataclass(frozen=True, slots=True)
class _Query:
    """A vector to search with, under which name and how, and which parts of the payload to return."""

    vector: list[float] | models.SparseVector
    using: str
    params: models.SearchParams
    fields: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class _Shape:
    """How much of a scan to return, and which parts of each point."""

    limit: int | None
    vectors: bool
    fields: Sequence[str] | None

    def page_after(self, records: Sequence[object]) -> int:
        """Return the size of the next page, 0 when nothing more is wanted."""
        return _PAGE if self.limit is None else max(0, min(_PAGE, self.limit - len(records)))

    def less(self, records: Sequence[object]) -> _Shape:
        """Return the shape of what is left to read."""
        return self if self.limit is None else replace(self, limit=self.limit - len(records))


class ServerEngine:
    """The engine port on a Qdrant server of version 1.19 or newer.

    Args:
        url: `http(s)://host[:port][/prefix]`, or `":memory:"` for a store inside this object, which is gone
            when it is closed: slow and meant for tests.
        api_key: Sent with each request, never shown.
        timeout: Seconds to wait for one answer.
        collection: Name of the collection that holds every namespace; made when the first one is created.
        clock: Where times of recording come from.

    Raises:
        ConfigurationError: The URL or the timeout is malformed.
    """

    name = "server"
    atomic_commit = False

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = 10.0,
        collection: str = "memanto",
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._connection = Connection(url, api_key=api_key, timeout=timeout)
        self._collection = Collection(self._connection, collection)
        self._states = NamespaceState(self._collection, clock)

    def open(self) -> None:
        """Connect, check the server's version, and check the collection when it exists already.

        Raises:
            BackendUnavailableError: Nothing answers at the URL.
            ConfigurationError: The server is too old or refuses the API key.
            SchemaMismatchError: The collection was not made by this version of the project.
        """
        self._connection.open()
        self._collection.exists()

    def close(self) -> None:
        self._connection.close()
        self._collection.forget()
        self._states.forget()

    # -- namespaces ---------------------------------------------------------------------------------
    def namespaces(self) -> list[str]:
        if not self._collection.exists():
            return []
        return sorted(self._collection.facet(META_FIELD, None))

    def exists(self, namespace: str) -> bool:
        meta_id = meta_point_id(check_agent_id(namespace))
        return self._collection.exists() and bool(self._collection.retrieve([meta_id], fields=()))

    def create(self, namespace: str, meta: Mapping[str, Any]) -> bool:
        check_agent_id(namespace)
        check_payload(meta)
        check_fields(meta)
        self._collection.ensure()
        point_id, token = meta_point_id(namespace), new_token()
        struct = to_struct(namespace, Point(point_id, meta), {TOKEN_FIELD: token})
        self._collection.insert([struct])
        return self._collection.tokens([point_id]).get(point_id) == token

    def drop(self, namespace: str) -> None:
        self._require(namespace)
        # The describing point goes first: a writer that reads back without it undoes its own write.
        self._delete(namespace, [meta_point_id(namespace)])
        self._collection.delete(to_filter(namespace, Where()))
        self._states.drop(namespace)

    def hold(self, namespace: str) -> AbstractContextManager[None]:
        self._require(namespace)
        return nullcontext()

    # -- writing ------------------------------------------------------------------------------------
    def commit(self, namespace: str, changes: Sequence[Change]) -> list[datetime | None]:
        if not changes:
            self._require(namespace)
            return []
        self._check(namespace, changes)
        planned = self._plan(namespace, changes)
        first: dict[UUID, _Planned] = {}
        for plan in planned:
            first.setdefault(plan.change.point.id, plan)
        won: set[str] = set()
        lost: set[UUID] = set()
        waiting = list(first.values())
        while waiting:  # once, and again for what closes a point of this commit
            pending = {plan.change.point.id for plan in waiting}
            ready = [plan for plan in waiting if plan.change.closes not in pending]
            waiting = [plan for plan in waiting if plan.change.closes in pending]
            won |= self._insert(namespace, [plan for plan in ready if plan.change.closes not in lost])
            lost |= {plan.change.point.id for plan in ready if plan.token not in won}
        return [plan.at if plan.token in won else None for plan in planned]

    def replace(self, namespace: str, point: Point, expected_token: str | None) -> bool:
        self._require(namespace)
        check_point(point, self._states.vector_names(namespace, point.dense))
        check_fields(point.payload)
        token = new_token()
        struct = to_struct(namespace, point, {TOKEN_FIELD: token})
        if expected_token is None:
            self._collection.insert([struct])
        else:
            self._collection.update(struct, to_filter(namespace, Where((Equals(TOKEN_FIELD, expected_token),))))
        return self._read_back(namespace, [point.id]).get(point.id) == token

    def erase(self, namespace: str, delete: Sequence[UUID], insert: Sequence[Change]) -> list[datetime | None]:
        """Insert, then delete, whether or not every insertion won.

        A crash in between leaves more than was asked for, except of a point that is both deleted and inserted:
        that one is deleted first.
        """
        self._require(namespace)
        self._check(namespace, insert)
        written = {change.point.id for change in insert}
        self._delete(namespace, [point_id for point_id in delete if point_id in written])
        times = self.commit(namespace, insert)
        self._delete(namespace, [point_id for point_id in delete if point_id not in written])
        return times

    def set_payload(self, namespace: str, point_id: UUID, fields: Mapping[str, Any]) -> None:
        check_payload(fields)
        check_fields(fields)
        if point_id not in self.get(namespace, [point_id]):
            raise NotFoundError(f"point {str(point_id)!r} does not exist in namespace {namespace!r}")
        self._collection.set_payload([(to_filter(namespace, Where(), [point_id]), dict(fields))])

    # -- reading ------------------------------------------------------------------------------------
    def get(self, namespace: str, ids: Sequence[UUID], *, vectors: bool = False) -> dict[UUID, Point]:
        meta_id = meta_point_id(namespace)
        records = self._known(namespace).retrieve([meta_id, *ids], vectors=vectors)
        found = {UUID(str(record.id)): record for record in records if _belongs(record, namespace)}
        if meta_id not in found:
            raise unknown(namespace)
        return {point_id: to_point(found[point_id]) for point_id in dict.fromkeys(ids) if point_id in found}

    def search_dense(
        self,
        namespace: str,
        vector_name: str,
        vector: Vector,
        where: Where,
        limit: int,
        *,
        exact: bool = False,
        fields: Sequence[str] | None = None,
    ) -> list[Candidate]:
        from qdrant_client import models

        names = self._states.vector_names(namespace, {vector_name})
        if vector_name not in names:
            return []
        check_vector(vector_name, vector, names)
        asked = _Query(float32(vector), vector_name, models.SearchParams(exact=exact), fields)
        return self._search(namespace, asked, where, limit)

    def search_lexical(
        self,
        namespace: str,
        query: SparseVector,
        where: Where,
        limit: int,
        *,
        corpus: Where | None = None,
        fields: Sequence[str] | None = None,
    ) -> list[Candidate]:
        from qdrant_client import models

        population = to_filter(namespace, corpus or Where())
        params = models.SearchParams(idf=models.IdfCorpusParams(corpus=population))
        asked = _Query(to_sparse(query), LEXICAL_VECTOR, params, fields)
        return self._search(namespace, asked, where, limit if query.indices else 0)

    def scan(
        self,
        namespace: str,
        where: Where,
        *,
        order_by: str | None = None,
        descending: bool = True,
        limit: int | None = None,
        vectors: bool = False,
        fields: Sequence[str] | None = None,
    ) -> list[Point]:
        if order_by is None:
            records = self._scan_by_id(namespace, where, _Shape(limit, vectors, fields))
        elif order_by in TIME_FIELDS:
            wanted = fields if fields is None else [*fields, order_by]
            shape = _Shape(limit, vectors, wanted)
            records = self._scan_by_time(namespace, where, order_by, shape, descending=descending)
        else:  # a server would refuse this, local mode would return nothing
            raise _unindexed(order_by, TIME_FIELDS)
        if not records:
            self._require(namespace)
        points = [to_point(record) for record in records]
        return points if fields is None else [_with_only(point, fields) for point in points]

    def count(self, namespace: str, where: Where) -> int:
        found = self._known(namespace).count(to_filter(namespace, where))
        return found or self._require(namespace)

    def facet(self, namespace: str, field: str, where: Where) -> dict[str, int]:
        if field not in KEYWORD_FIELDS:
            raise _unindexed(field, KEYWORD_FIELDS)
        found = self._known(namespace).facet(field, to_filter(namespace, where))
        if not found:
            self._require(namespace)
        return found

    # -- vector spaces ------------------------------------------------------------------------------
    def vector_names(self, namespace: str) -> dict[str, int]:
        return self._states.vector_names(namespace)

    def add_vector_name(self, namespace: str, name: str, dimension: int) -> None:
        """Add a dense vector name; does nothing when it exists with this dimension.

        Raises:
            EmbedderMismatchError: The name exists with another dimension, here or in another namespace.
        """
        if self.vector_names(namespace).get(name) == dimension:
            return
        existing = self._collection.add_dense_name(name, dimension)
        if existing != dimension:
            raise EmbedderMismatchError(
                f"vector name {name!r} holds {existing} dimensions on this server, not {dimension}",
                hint="names are shared by all namespaces of a collection: choose another name or collection",
            )
        self._states.add_vector_name(namespace, name, dimension)

    def put_vectors(self, namespace: str, name: str, vectors: Mapping[UUID, Vector]) -> None:
        """Set one named vector on those of the points that exist; other vectors and payloads stay.

        Raises:
            NotFoundError: The namespace does not exist.
            EmbedderError: The vector name does not exist, or a vector does not fit it.
        """
        names = self._states.vector_names(namespace, {name})
        for vector in vectors.values():
            check_vector(name, vector, names)
        ids = list(vectors)
        for start in range(0, len(ids), _PAGE):
            present = self.get(namespace, ids[start : start + _PAGE])
            self._collection.put_vectors(
                {point_id: {name: float32(vectors[point_id])} for point_id in present}, to_filter(namespace, Where())
            )

    # -- upkeep -------------------------------------------------------------------------------------
    def optimize(self, namespace: str, progress: Callable[[str], None] | None = None) -> bool:  # noqa: ARG002
        """Return `False`: a server builds indexes and reclaims space by itself."""
        self._require(namespace)
        return False

    def flush(self, namespace: str) -> None:
        """Do nothing: what a server acknowledges is in its write-ahead log; when it syncs is its setting."""
        self._require(namespace)

    def info(self, namespace: str) -> EngineInfo:
        """Return figures; `indexed_vectors` counts those of the whole collection, a server knows no finer."""
        points = self.count(namespace, Where())
        indexed, detail = self._collection.figures()
        return EngineInfo(points, indexed, None, self._connection.location, detail)

    def problems(self, namespace: str) -> list[str]:
        self._require(namespace)
        return self._collection.problems()

    def salvage(self, namespace: str) -> Salvage:
        self._require(namespace)
        raise BackendError(
            f"the files of agent {namespace!r} belong to the server",
            hint="restore a snapshot of the collection on the server",
        )

    def mend(self, namespace: str) -> tuple[str, ...]:
        return self.salvage(namespace).lost

    # -- helpers: existence -------------------------------------------------------------------------
    def _known(self, namespace: str) -> Collection:
        """Return the collection; without one no namespace exists."""
        check_agent_id(namespace)
        if not self._collection.exists():
            raise unknown(namespace)
        return self._collection

    def _require(self, namespace: str) -> int:
        """Return 0 when the namespace exists; raise otherwise. An empty answer is checked with this."""
        if not self._known(namespace).retrieve([meta_point_id(namespace)], fields=()):
            raise unknown(namespace)
        return 0

    # -- helpers: writing ---------------------------------------------------------------------------
    def _check(self, namespace: str, changes: Sequence[Change]) -> None:
        """Refuse what cannot be stored before anything is."""
        names = self._states.vector_names(namespace, {name for change in changes for name in change.point.dense})
        for change in changes:
            check_point(change.point, names)
            check_payload(change.closing)
            check_fields({**change.point.payload, **change.closing})

    def _plan(self, namespace: str, changes: Sequence[Change]) -> list[_Planned]:
        """Give each change its token and its time: reserved, or the one an import brings along."""
        texts = [None if change.stamp else change.point.payload.get("recorded_at") for change in changes]
        own = [None if text is None else from_rfc3339(text) for text in texts]
        newest = max((time for time in own if time is not None), default=None)
        reserved = iter(self._states.reserve(namespace, own.count(None), after=newest))
        return [
            _Planned(change, next(reserved) if time is None else time, new_token())
            for change, time in zip(changes, own, strict=True)
        ]

    def _insert(self, namespace: str, plans: Sequence[_Planned]) -> set[str]:
        """Insert points that are not there yet, close what they close, and return the tokens of those inserted."""
        if not plans:
            return set()
        for batch in batches(to_struct(namespace, plan.change.point, plan.extra) for plan in plans):
            self._collection.insert(batch)
        stored = self._read_back(namespace, [plan.change.point.id for plan in plans])
        winners = [plan for plan in plans if stored.get(plan.change.point.id) == plan.token]
        self._retire(namespace, winners)
        return {plan.token for plan in winners}

    def _read_back(self, namespace: str, ids: Sequence[UUID]) -> dict[UUID, str]:
        """Return the tokens now stored; undo the writes when the namespace was dropped meanwhile."""
        meta_id = meta_point_id(namespace)
        tokens = self._collection.tokens([meta_id, *ids])
        if meta_id not in tokens:
            self._delete(namespace, ids)
            raise unknown(namespace)
        return tokens

    def _retire(self, namespace: str, winners: Iterable[_Planned]) -> None:
        self._collection.set_payload(
            [
                (to_filter(namespace, Where(), [plan.change.closes]), plan.closing)
                for plan in winners
                if plan.change.closes is not None
            ]
        )

    def _delete(self, namespace: str, ids: Sequence[UUID]) -> None:
        for start in range(0, len(ids), _PAGE):
            self._collection.delete(to_filter(namespace, Where(), ids[start : start + _PAGE]))

    # -- helpers: reading ---------------------------------------------------------------------------
    def _search(self, namespace: str, asked: _Query, where: Where, limit: int) -> list[Candidate]:
        """Return candidates down to where `cut` says, asking for more while it cannot tell."""
        condition = to_filter(namespace, where)
        found: list[Candidate] = []
        count: int | None = 0 if limit < 1 else None
        size = limit + _SPARE
        while count is None:
            hits = self._known(namespace).query(
                asked.vector, asked.using, condition, size=size, params=asked.params, fields=asked.fields
            )
            found = ranked(hits)
            count = cut([candidate.score for candidate in found], limit, complete=len(found) < size)
            size = next_size(size, limit)
        if not found:
            self._require(namespace)
        return found[:count]

    def _scan_by_id(self, namespace: str, where: Where, shape: _Shape) -> list[models.Record]:
        condition = to_filter(namespace, where)
        records: list[models.Record] = []
        offset: models.ExtendedPointId | None = None
        while size := shape.page_after(records):
            page, offset = self._known(namespace).scroll(
                condition, size, offset=offset, vectors=shape.vectors, fields=shape.fields
            )
            records += page
            if offset is None:
                break
        return records

    def _scan_by_time(
        self, namespace: str, where: Where, field: str, shape: _Shape, *, descending: bool
    ) -> list[models.Record]:
        """Page by time; equal times at a page's end are paged by id, for an ordered scroll cannot go on inside them."""
        records: list[models.Record] = []
        rest = where
        while size := shape.page_after(records):
            page, _ = self._known(namespace).scroll(
                to_filter(namespace, rest),
                size,
                order_by=(field, descending),
                vectors=shape.vectors,
                fields=shape.fields,
            )
            page.sort(key=lambda record: str(record.id))
            page.sort(key=lambda record: _text(record, field), reverse=descending)
            if len(page) < size:
                return records + page
            last = _text(page[-1], field)
            records += [record for record in page if _text(record, field) != last]
            same = where.also(TimeRange(field, gte=last, lte=last))
            records += self._scan_by_id(namespace, same, shape.less(records))
            rest = where.also(TimeRange(field, lt=last) if descending else TimeRange(field, gt=last))
        return records


def _belongs(record: models.Record, namespace: str) -> bool:
    return (record.payload or {}).get(NAMESPACE_FIELD) == namespace


def _text(record: models.Record, field: str) -> str:
    return str((record.payload or {})[field])


def _with_only(point: Point, fields: Sequence[str]) -> Point:
    payload = {name: value for name, value in point.payload.items() if name in fields}
    return Point(point.id, payload, point.dense, point.lexical)


def _unindexed(field: str, indexed: Sequence[str]) -> InvalidInputError:
    return InvalidInputError(f"field {field!r} has no index for this", hint=f"use one of {', '.join(indexed)}")
