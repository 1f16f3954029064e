"""What can be asked of an open shard: one small value per operation, so that it can also be sent elsewhere.

`EdgeEngine` runs a call on the shard of this process, or has it run by the process that holds the lease
(`memanto.engine.edge_lease`). Either way it is the same value and the same code. What changes files (create,
drop, erase, optimize) is no call: it needs the lease itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final, Generic, TypeVar
from uuid import UUID

import qdrant_edge as qe

from memanto.engine import edge_commit, edge_search
from memanto.engine.checks import check_payload
from memanto.engine.edge_convert import to_filter, translated
from memanto.engine.edge_shard import Shard
from memanto.engine.layout import allocated_bytes
from memanto.engine.port import Candidate, Change, EngineInfo, Point, SparseVector, Vector
from memanto.engine.schema import INDEXED_FIELDS, LEXICAL_VECTOR
from memanto.errors import BackendUnavailableError, EmbedderMismatchError
from memanto.filters import HasVector, Where

T = TypeVar("T")
Clock = Callable[[], datetime]

_FACET_LIMIT: Final = 1_000_000
_LEXICAL: Final = Where((HasVector(LEXICAL_VECTOR),))


class Call(ABC, Generic[T]):
    """An operation of the port on one namespace, without the namespace."""

    __slots__ = ()
    writes: ClassVar[bool] = False

    @abstractmethod
    def run(self, shard: Shard, clock: Clock) -> T:
        """Do it; see the method of the same name in `Engine`."""

    def check(self) -> None:
        """Refuse what no engine stores, before it is sent anywhere."""


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """A call with what whoever runs it has to know.

    Attributes:
        call: What to do.
        settle: Flush before answering.
        incarnation: Set when the call was sent before and the answer was lost: it is repeated only on the very
            files it was sent to (`Shard.incarnation`), where its tokens tell whether it was carried out. In a
            store rewritten since, a point may be missing because it was erased, and must not come back.
    """

    call: Call[T]
    settle: bool = False
    incarnation: int | None = None

    def run(self, shard: Shard, clock: Clock) -> T:
        """Run the call on an open shard; the caller is in the lease's `writing` if it writes."""
        if self.incarnation is not None and self.call.writes and self.incarnation != shard.incarnation:
            raise BackendUnavailableError(
                f"the process that was writing to agent {shard.place.namespace!r} ended before it answered, and the "
                "store was rewritten since: what was asked may or may not have been stored",
                hint="look whether it is there, then try again",
            )
        result = self.call.run(shard, clock)
        if self.settle and self.call.writes:
            shard.flush()
        return result


# -- reading --------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Get(Call[dict[UUID, Point]]):
    """`Engine.get`."""

    ids: Sequence[UUID]
    vectors: bool

    def run(self, shard: Shard, clock: Clock) -> dict[UUID, Point]:  # noqa: ARG002 - one signature for all calls
        return shard.get(self.ids, vectors=self.vectors)


@dataclass(frozen=True, slots=True)
class SearchDense(Call[list[Candidate]]):
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


@dataclass(frozen=True, slots=True)
class SearchLexical(Call[list[Candidate]]):
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


@dataclass(frozen=True, slots=True)
class Scan(Call[list[Point]]):
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


@dataclass(frozen=True, slots=True)
class Count(Call[int]):
    """`Engine.count`."""

    where: Where

    def run(self, shard: Shard, clock: Clock) -> int:  # noqa: ARG002
        return shard.count(self.where)


@dataclass(frozen=True, slots=True)
class Facet(Call[dict[str, int]]):
    """`Engine.facet`."""

    field: str
    where: Where

    def run(self, shard: Shard, clock: Clock) -> dict[str, int]:  # noqa: ARG002
        request = qe.FacetRequest(key=self.field, limit=_FACET_LIMIT, filter=to_filter(self.where), exact=True)
        with translated(shard.place.namespace):
            return {str(hit.value): int(hit.count) for hit in shard.raw.facet(request).hits}


@dataclass(frozen=True, slots=True)
class VectorNames(Call[dict[str, int]]):
    """`Engine.vector_names`."""

    def run(self, shard: Shard, clock: Clock) -> dict[str, int]:  # noqa: ARG002
        return dict(shard.dimensions)


@dataclass(frozen=True, slots=True)
class Info(Call[EngineInfo]):
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


@dataclass(frozen=True, slots=True)
class MissingIndexes(Call[list[str]]):
    """Which fields of the schema have no index, for `Engine.problems`."""

    def run(self, shard: Shard, clock: Clock) -> list[str]:  # noqa: ARG002
        with translated(shard.place.namespace):
            indexed = set(shard.raw.info().payload_schema)
        return [field for field in INDEXED_FIELDS if field not in indexed]


@dataclass(frozen=True, slots=True)
class Flush(Call[None]):
    """`Engine.flush`."""

    def run(self, shard: Shard, clock: Clock) -> None:  # noqa: ARG002
        shard.flush()


# -- writing --------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Commit(Call[list[datetime | None]]):
    """`Engine.commit`, with one token per change, which makes repeating it harmless: see `edge_commit.commit`."""

    writes = True
    changes: Sequence[Change]
    tokens: Sequence[str]

    def run(self, shard: Shard, clock: Clock) -> list[datetime | None]:
        return edge_commit.commit(shard, self.changes, self.tokens, clock)

    def check(self) -> None:
        for change in self.changes:
            check_payload(change.point.payload)
            check_payload(change.closing)


@dataclass(frozen=True, slots=True)
class Replace(Call[bool]):
    """`Engine.replace`, with the token that the point gets."""

    writes = True
    point: Point
    expected_token: str | None
    token: str

    def run(self, shard: Shard, clock: Clock) -> bool:  # noqa: ARG002
        return edge_commit.replace(shard, self.point, self.expected_token, self.token)

    def check(self) -> None:
        check_payload(self.point.payload)


@dataclass(frozen=True, slots=True)
class SetPayload(Call[None]):
    """`Engine.set_payload`."""

    writes = True
    point_id: UUID
    fields: Mapping[str, Any]

    def run(self, shard: Shard, clock: Clock) -> None:  # noqa: ARG002
        edge_commit.set_payload(shard, self.point_id, self.fields)

    def check(self) -> None:
        check_payload(self.fields)


@dataclass(frozen=True, slots=True)
class AddVectorName(Call[None]):
    """`Engine.add_vector_name`."""

    writes = True
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


@dataclass(frozen=True, slots=True)
class PutVectors(Call[None]):
    """`Engine.put_vectors`."""

    writes = True
    name: str
    vectors: Mapping[UUID, Vector]

    def run(self, shard: Shard, clock: Clock) -> None:  # noqa: ARG002
        edge_commit.put_vectors(shard, self.name, self.vectors)


CALLS: Final[tuple[type[Call[Any]], ...]] = (
    Get, SearchDense, SearchLexical, Scan, Count, Facet, VectorNames, Info, MissingIndexes, Flush,
    Commit, Replace, SetPayload, AddVectorName, PutVectors,
)  # fmt: skip
"""Every call there is."""
