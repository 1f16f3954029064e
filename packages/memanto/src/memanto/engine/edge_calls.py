"""What can be asked of an open shard: one small value per operation, so that it can also be sent elsewhere.

`EdgeEngine` runs a call on the shard of this process, or has it run by the process that holds the lease
(`memanto.engine.edge_lease`). Either way it is the same value and the same code. What changes files (create,
drop, erase, optimize) is no call: it needs the lease itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

import qdrant_edge as qe

from memanto.engine import edge_commit, edge_search, record_calls
from memanto.engine.checks import check_payload
from memanto.engine.edge_convert import to_filter, translated
from memanto.engine.edge_inspect import inspect
from memanto.engine.edge_shard import Shard
from memanto.engine.layout import allocated_bytes
from memanto.engine.port import Candidate, Change, EngineInfo, Point, SparseVector, Vector
from memanto.engine.schema import LEXICAL_VECTOR
from memanto.errors import BackendUnavailableError, EmbedderMismatchError
from memanto.filters import HasVector, Where

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Clock = Callable[[], datetime]

_FACET_LIMIT: Final = 1_000_000
_LEXICAL: Final = Where((HasVector(LEXICAL_VECTOR),))


class Call(Protocol[T_co]):
    """An operation of the port on one namespace, without the namespace.

    Calls are named tuples: values like the dataclasses elsewhere, but sixteen of those would cost every start
    of the program ten milliseconds.
    """

    def run(self, shard: Shard, clock: Clock) -> T_co:
        """Do it; see the method of the same name in `Engine`."""


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """A call with what whoever runs it has to know.

    Attributes:
        call: What to do.
        settle: Make it survive a power cut before answering.
        incarnation: Set when the call was sent before and the answer was lost: it is repeated only on the very
            files it was sent to (`Shard.incarnation`), where its tokens tell whether it was carried out. In a
            store rewritten since, a point may be missing because it was erased, and must not come back.
    """

    call: Call[T]
    settle: bool = False
    incarnation: int | None = None

    @property
    def writes(self) -> bool:
        """Whether the call changes the shard, and so needs the lease's `writing`."""
        return isinstance(self.call, WRITES)

    def run(self, shard: Shard, clock: Clock) -> T:
        """Run the call on an open shard; the caller is in the lease's `writing` if it writes."""
        if self.incarnation is not None and self.writes and self.incarnation != shard.incarnation:
            raise BackendUnavailableError(
                f"the process that was writing to agent {shard.place.namespace!r} ended before it answered, and the "
                "store was rewritten since: what was asked may or may not have been stored",
                hint="look whether it is there, then try again",
            )
        result = self.call.run(shard, clock)
        if self.settle and self.writes:
            shard.settle()
        return result


# -- reading --------------------------------------------------------------------------------------------
class Get(NamedTuple):
    """`Engine.get`."""

    ids: Sequence[UUID]
    vectors: bool

    def run(self, shard: Shard, clock: Clock) -> dict[UUID, Point]:  # noqa: ARG002 - one signature for all calls
        return shard.get(self.ids, vectors=self.vectors)


class SearchDense(NamedTuple):
    """`Engine.search_dense`."""

    vector_name: str
    vector: Vector
    where: Where
    limit: int
    exact: bool
    fields: Sequence[str] | None

    def run(self, shard: Shard, clock: Clock) -> list[Candidate]:  # noqa: ARG002
        return edge_search.search_dense(
            shard, self.vector_name, self.vector, self.where, self.limit, exact=self.exact, fields=self.fields
        )


class SearchLexical(NamedTuple):
    """`Engine.search_lexical`."""

    query: SparseVector
    where: Where
    limit: int
    corpus: Where | None
    fields: Sequence[str] | None

    def run(self, shard: Shard, clock: Clock) -> list[Candidate]:  # noqa: ARG002
        return edge_search.search_lexical(
            shard, self.query, self.where, self.limit, corpus=self.corpus, fields=self.fields
        )


class Scan(NamedTuple):
    """`Engine.scan`."""

    where: Where
    order_by: str | None
    descending: bool
    limit: int | None
    vectors: bool
    fields: Sequence[str] | None

    def run(self, shard: Shard, clock: Clock) -> list[Point]:  # noqa: ARG002
        return edge_search.scan(
            shard,
            self.where,
            order_by=self.order_by,
            descending=self.descending,
            limit=self.limit,
            vectors=self.vectors,
            fields=self.fields,
        )


class Count(NamedTuple):
    """`Engine.count`."""

    where: Where

    def run(self, shard: Shard, clock: Clock) -> int:  # noqa: ARG002
        return shard.count(self.where)


class Facet(NamedTuple):
    """`Engine.facet`."""

    field: str
    where: Where

    def run(self, shard: Shard, clock: Clock) -> dict[str, int]:  # noqa: ARG002
        request = qe.FacetRequest(key=self.field, limit=_FACET_LIMIT, filter=to_filter(self.where), exact=True)
        with translated(shard.place.namespace):
            return {str(hit.value): int(hit.count) for hit in shard.raw.facet(request).hits}


class VectorNames(NamedTuple):
    """`Engine.vector_names`."""

    def run(self, shard: Shard, clock: Clock) -> dict[str, int]:  # noqa: ARG002
        return dict(shard.dimensions)


class Info(NamedTuple):
    """`Engine.info`."""

    def run(self, shard: Shard, clock: Clock) -> EngineInfo:  # noqa: ARG002
        with translated(shard.place.namespace):
            raw = shard.raw.info()
        folder = shard.place.folder
        return EngineInfo(
            points=int(raw.points_count),
            # The engine counts lexical vectors as indexed, which they always are; only dense ones tell.
            indexed_vectors=max(0, int(raw.indexed_vectors_count) - shard.count(_LEXICAL)),
            disk_bytes=allocated_bytes(folder),
            location=str(folder),
            detail={
                "generation": shard.generation,
                "segments": int(raw.segments_count),
                "indexes": sorted(raw.payload_schema),
                "vectors": dict(shard.dimensions),
            },
        )


class Inspect(NamedTuple):
    """What is wrong with points and indexes, for `Engine.problems`."""

    def run(self, shard: Shard, clock: Clock) -> list[str]:  # noqa: ARG002
        return inspect(shard.raw, shard.place.namespace)


class Flush(NamedTuple):
    """`Engine.flush`."""

    def run(self, shard: Shard, clock: Clock) -> None:  # noqa: ARG002
        shard.flush()


# -- writing --------------------------------------------------------------------------------------------
class Commit(NamedTuple):
    """`Engine.commit`, with one token per change, which makes repeating it harmless: see `edge_commit.commit`."""

    changes: Sequence[Change]
    tokens: Sequence[str]

    def run(self, shard: Shard, clock: Clock) -> list[datetime | None]:
        return edge_commit.commit(shard, self.changes, self.tokens, clock)


class Replace(NamedTuple):
    """`Engine.replace`, with the token that the point gets."""

    point: Point
    expected_token: str | None
    token: str

    def run(self, shard: Shard, clock: Clock) -> bool:  # noqa: ARG002
        return edge_commit.replace(shard, self.point, self.expected_token, self.token)


class SetPayload(NamedTuple):
    """`Engine.set_payload`."""

    point_id: UUID
    fields: Mapping[str, Any]

    def run(self, shard: Shard, clock: Clock) -> None:  # noqa: ARG002
        edge_commit.set_payload(shard, self.point_id, self.fields)


class AddVectorName(NamedTuple):
    """`Engine.add_vector_name`."""

    name: str
    dimension: int

    def run(self, shard: Shard, clock: Clock) -> None:  # noqa: ARG002
        existing = shard.dimensions.get(self.name)
        if existing is None:
            shard.add_vector_name(self.name, self.dimension)
        elif existing != self.dimension:
            raise EmbedderMismatchError(
                f"vectors {self.name!r} of agent {shard.place.namespace!r} have {existing} dimensions, "
                f"not {self.dimension}",
                hint="run `memanto reindex --embedder MODEL`",
            )


class PutVectors(NamedTuple):
    """`Engine.put_vectors`."""

    name: str
    vectors: Mapping[UUID, Vector]

    def run(self, shard: Shard, clock: Clock) -> None:  # noqa: ARG002
        edge_commit.put_vectors(shard, self.name, self.vectors)


READS: Final[tuple[type[Call[Any]], ...]] = (
    Get, SearchDense, SearchLexical, Scan, Count, Facet, VectorNames, Info, Inspect, Flush, *record_calls.READS,
)  # fmt: skip
WRITES: Final[tuple[type[Call[Any]], ...]] = (
    Commit, Replace, SetPayload, AddVectorName, PutVectors, *record_calls.WRITES,
)  # fmt: skip


def check(call: object) -> None:
    """Refuse what no engine stores, before it is sent anywhere.

    Raises:
        InvalidInputError: A payload of the call cannot be stored exactly.
    """
    match call:
        case Commit(changes=changes):
            for change in changes:
                check_payload(change.point.payload)
                check_payload(change.closing)
        case Replace(point=point):
            check_payload(point.payload)
        case SetPayload(fields=fields):
            check_payload(fields)
