"""The engine port: the few operations on points that memory needs, the same for every engine.

Words of Qdrant (point, payload, vector name) stay in this package. Everything is scoped to a namespace,
and the scope is applied inside the engine: a call that names no existing namespace raises
`NotFoundError` and never falls back to all namespaces.

**What an engine promises**

- Anything acknowledged survives the death of the process.
- `insert` never overwrites; `replace` overwrites only what still carries the expected token. Both read
  back what they wrote, so a silent no-op is noticed.
- `recorded_at` of stored changes is strictly increasing within a namespace (imports aside).
- Candidate lists are ordered by (score, point id) and never cut inside a tie (`engine.checks.cut`).
- Payloads come back equal to what was stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from memanto.filters import Where

Vector = Sequence[float]


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Indices (ascending order is not required) with their weights."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """What an engine stores: a payload, and vectors by name (dense ones L2-normalised float32)."""

    id: UUID
    payload: Mapping[str, Any]
    dense: Mapping[str, Vector] = field(default_factory=dict)
    lexical: SparseVector | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A point to insert, and what closes with it.

    Attributes:
        point: Written only when no point has its id. The engine adds `token` to its payload.
        stamp: Payload fields that receive the time of recording, chosen by the engine at the moment of
            writing; for an import this is empty and the payload brings its own `recorded_at`.
        closes: Id of the point that this one retires, changed only when the insertion won.
        closing: Payload fields set on the closed point, besides `retired_at` (the same time of recording,
            or the value given here for an import).
    """

    point: Point
    stamp: tuple[str, ...] = ("recorded_at",)
    closes: UUID | None = None
    closing: Mapping[str, Any] = field(default_factory=dict)


class Candidate(NamedTuple):
    """A point found by a search; `score` is cosine similarity or BM25, rounded so that engines agree.

    A tuple because a search makes a hundred of them.
    """

    id: UUID
    score: float
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """Figures about one namespace, for `status` and `doctor`.

    Attributes:
        points: Number of points of every kind.
        indexed_vectors: Vectors in a graph index (0 until `optimize` built one).
        disk_bytes: Allocated bytes on this machine, or `None` on a server.
        location: Folder or URL (never with a secret).
        detail: Whatever else the engine can tell.
    """

    points: int
    indexed_vectors: int
    disk_bytes: int | None
    location: str
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Salvage:
    """What could be read of damaged files.

    Attributes:
        points: What is whole, by id; vectors included.
        lost: What is known to be missing, in words; empty when that is everything.
    """

    points: Mapping[UUID, Point]
    lost: tuple[str, ...]


class Engine(Protocol):
    """What `EdgeEngine` and `ServerEngine` implement. All methods may be called from any thread."""

    name: str
    atomic_commit: bool
    """Whether one `commit` closes a point and inserts its successor at once. Where it does not, a reader
    may find both for a moment (never none), and `memory.versions` drops the overtaken one."""

    def open(self) -> None:
        """Check that the engine can be reached; loads nothing that can wait."""

    def close(self) -> None:
        """Flush and let go of everything. Idempotent."""

    # -- namespaces ---------------------------------------------------------------------------------
    def namespaces(self) -> list[str]:
        """Return the existing namespaces, sorted."""

    def exists(self, namespace: str) -> bool: ...

    def create(self, namespace: str, meta: Mapping[str, Any]) -> bool:
        """Create the namespace with its describing point; `False` (and no change) when it exists."""

    def drop(self, namespace: str) -> None:
        """Remove a namespace and everything in it."""

    def hold(self, namespace: str) -> AbstractContextManager[None]:
        """Keep the namespace at hand for several calls: no other process gets in between.

        Re-entrant, and shared between threads. It orders processes, not threads; on a server it does
        nothing, so correctness must never rest on it.
        """

    # -- writing ------------------------------------------------------------------------------------
    def commit(self, namespace: str, changes: Sequence[Change]) -> list[datetime | None]:
        """Insert each change's point and close what it closes.

        Returns one item per change: the time of recording when the insertion won, `None` when a point
        with that id was there already (then nothing of that change was stored). A change that closes what
        another one of this call inserts is stored only if that insertion won. Each change gets a time of its
        own, in the order given. Readable when this returns.
        """

    def replace(self, namespace: str, point: Point, expected_token: str | None) -> bool:
        """Overwrite a slot or meta point if its `token` is still `expected_token` (`None`: if absent).

        Returns whether the new payload is what a read now finds.
        """

    def erase(self, namespace: str, delete: Sequence[UUID], insert: Sequence[Change]) -> list[datetime | None]:
        """Insert `insert` and destroy the points `delete` so that their bytes are gone from the store.

        On a server the points are deleted; what its files still hold until it compacts is out of reach.
        """

    def set_payload(self, namespace: str, point_id: UUID, fields: Mapping[str, Any]) -> None:
        """Set payload fields of an existing point (closing links, repairs). Never content."""

    # -- reading ------------------------------------------------------------------------------------
    def get(self, namespace: str, ids: Sequence[UUID], *, vectors: bool = False) -> dict[UUID, Point]:
        """Return the points that exist, with vectors only when asked for."""

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
        """Return the nearest points by dot product, best first, ties by id, never cut inside a tie.

        `fields` limits the payload; none of them leaves it out.
        """

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
        """Return the best points by BM25, ordered and cut like `search_dense`.

        Document frequencies are counted over `corpus` (default: all versions of the namespace). A query
        without terms returns nothing. `fields` limits the payload.
        """

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
        """Return matching points: ordered by an indexed time field and then by id, or by id alone.

        Paged by key inside, so the result is complete also beyond one page. `fields` limits the payload.
        Points without the ordering field are left out.
        """

    def count(self, namespace: str, where: Where) -> int: ...

    def facet(self, namespace: str, field: str, where: Where) -> dict[str, int]:
        """Count points per value of an indexed keyword field."""

    # -- vector spaces ------------------------------------------------------------------------------
    def vector_names(self, namespace: str) -> dict[str, int]:
        """Return the dense vector names and their dimensions."""

    def add_vector_name(self, namespace: str, name: str, dimension: int) -> None:
        """Add a dense vector name; does nothing when it exists with this dimension."""

    def put_vectors(self, namespace: str, name: str, vectors: Mapping[UUID, Vector]) -> None:
        """Set one named vector on existing points; other vectors and payloads stay."""

    # -- upkeep -------------------------------------------------------------------------------------
    def optimize(self, namespace: str, progress: Callable[[str], None] | None = None) -> bool:
        """Build graph indexes and reclaim space; returns whether anything changed."""

    def flush(self, namespace: str) -> None:
        """Make everything acknowledged survive a power cut."""

    def info(self, namespace: str) -> EngineInfo: ...

    def problems(self, namespace: str) -> list[str]:
        """Look for damage this engine can notice by itself; one sentence each, empty when sound."""

    def salvage(self, namespace: str) -> Salvage:
        """Read what can be read of a namespace whose files are damaged; changes nothing.

        Raises:
            BackendError: The files belong to a server.
            StoreDamagedError: Nothing is left.
        """

    def mend(self, namespace: str) -> tuple[str, ...]:
        """Build damaged files anew from what `salvage` finds, if that is everything.

        Returns:
            What would be lost; nothing was changed then. Empty when it is mended.
        """
