"""The embedded engine: Qdrant's own engine in this process, one shard per namespace, nothing to run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal
from uuid import UUID

import qdrant_edge as qe

from memanto.engine import edge_commit, edge_search, generations
from memanto.engine.edge_convert import to_filter, translated
from memanto.engine.edge_shard import Shard
from memanto.engine.layout import (
    Place,
    allocated_bytes,
    list_namespaces,
    make_private,
    namespaces_root,
    prepare_root,
    remove,
    translated_os,
)
from memanto.engine.lease import Lease, registry
from memanto.engine.locks import LockPair
from memanto.engine.network_fs import refuse_network_file_system
from memanto.engine.port import Candidate, Change, EngineInfo, Point, SparseVector, Vector
from memanto.engine.schema import INDEXED_FIELDS, KEYWORD_FIELDS, LEXICAL_VECTOR
from memanto.errors import (
    BackendUnavailableError,
    EmbedderMismatchError,
    InvalidInputError,
    MemantoError,
    NotFoundError,
)
from memanto.filters import HasVector, Where
from memanto.ids import check_agent_id, encode_agent_id, meta_point_id
from memanto.times import utc_now

_FACET_LIMIT: Final = 1_000_000
_LEXICAL: Final = Where((HasVector(LEXICAL_VECTOR),))


class EdgeEngine:
    """`memanto.engine.port.Engine` on `qdrant_edge`, in a folder of this machine.

    Several engines, threads and processes may use one folder at the same time; they take turns by a lease
    per namespace. Forked children may go on using an engine they inherited.

    Args:
        root: The store's folder, made when missing; namespaces live in `root/namespaces`.
        durability: `"log"`: what is acknowledged survives the process, and a power cut once it was flushed,
            within a second of idleness. `"full"`: it is flushed before it is acknowledged.
        clock: Tells the time of recording (aware); never goes back within a namespace even if this does.
        lock_timeout: Seconds to wait for other processes before `StoreLockedError`.
        max_open: Namespaces this process keeps open, each about 110 MB of file-backed memory.
    """

    name = "edge"
    atomic_commit = True

    def __init__(
        self,
        root: Path,
        *,
        durability: Literal["log", "full"] = "log",
        clock: Callable[[], datetime] = utc_now,
        lock_timeout: float = 30.0,
        max_open: int = 8,
    ) -> None:
        self._home = Path(root)
        self._durability = durability
        self._clock = clock
        self._timeout = lock_timeout
        self._max_open = max_open
        self._root: Path | None = None
        self._closed = False
        self._used: set[str] = set()
        self._places: dict[str, Place] = {}

    def open(self) -> None:
        refuse_network_file_system(self._home)
        root = namespaces_root(self._home)
        with translated_os(self._home):
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            prepare_root(root)
        self._root, self._closed = root, False

    def close(self) -> None:
        leases = [self._lease(namespace) for namespace in sorted(self._used)]
        self._used.clear()
        self._closed = True
        with contextlib.ExitStack() as stack:  # goes on after one that fails, then raises
            for lease in leases:
                stack.callback(self._let_go, lease)

    # -- namespaces ---------------------------------------------------------------------------------
    def namespaces(self) -> list[str]:
        return list_namespaces(self._folder())

    def exists(self, namespace: str) -> bool:
        return self._place(namespace).exists()

    def create(self, namespace: str, meta: Mapping[str, Any]) -> bool:
        place = self._place(namespace)
        if place.exists():
            return False
        lease = self._lease(namespace)
        with translated_os(place.folder), lease.writing(self._timeout), lease.exclusive(self._timeout):
            if place.exists():
                return False
            with place.building() as draft:
                shard = Shard.create(draft, 1, {})
                try:
                    edge_commit.replace(shard, Point(meta_point_id(namespace), meta), None)
                finally:
                    shard.close()
                draft.switch(1)
        return True

    def drop(self, namespace: str) -> None:
        place = self._existing(namespace)
        lease = self._lease(namespace)
        with translated_os(place.folder), lease.writing(self._timeout), lease.exclusive(self._timeout):
            if not place.exists():
                raise _unknown(namespace)
            place.drop()

    @contextlib.contextmanager
    def hold(self, namespace: str) -> Iterator[None]:
        self._existing(namespace)
        with self._lease(namespace).hold(self._timeout):
            yield

    # -- writing ------------------------------------------------------------------------------------
    def commit(self, namespace: str, changes: Sequence[Change]) -> list[datetime | None]:
        with self._writing(namespace) as shard:
            return edge_commit.commit(shard, changes, self._clock)

    def replace(self, namespace: str, point: Point, expected_token: str | None) -> bool:
        with self._writing(namespace) as shard:
            return edge_commit.replace(shard, point, expected_token)

    def set_payload(self, namespace: str, point_id: UUID, fields: Mapping[str, Any]) -> None:
        with self._writing(namespace) as shard:
            edge_commit.set_payload(shard, point_id, fields)

    def erase(self, namespace: str, delete: Sequence[UUID], insert: Sequence[Change]) -> list[datetime | None]:
        place, lease = self._existing(namespace), self._lease(namespace)
        with translated_os(place.folder), lease.writing(self._timeout):
            with lease.use(self._timeout) as shard:
                if not shard.get(delete, vectors=False):
                    times = edge_commit.commit(shard, insert, self._clock)
                    self._settle(shard)
                    return times
                target = generations.begin_next(shard, delete)
            try:
                times = edge_commit.commit(target, insert, self._clock)
            except BaseException:
                target.close()
                remove(target.folder)
                raise
            with lease.exclusive(self._timeout):
                generations.finish_next(target)
                target.place.remove_leftovers()
        return times

    # -- reading ------------------------------------------------------------------------------------
    def get(self, namespace: str, ids: Sequence[UUID], *, vectors: bool = False) -> dict[UUID, Point]:
        with self._reading(namespace) as shard:
            return shard.get(ids, vectors=vectors)

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
        with self._reading(namespace) as shard:
            return edge_search.search_dense(shard, vector_name, vector, where, limit, exact=exact, fields=fields)

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
        with self._reading(namespace) as shard:
            return edge_search.search_lexical(shard, query, where, limit, corpus=corpus, fields=fields)

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
        with self._reading(namespace) as shard:
            return edge_search.scan(
                shard, where, order_by=order_by, descending=descending, limit=limit, vectors=vectors, fields=fields
            )

    def count(self, namespace: str, where: Where) -> int:
        with self._reading(namespace) as shard:
            return shard.count(where)

    def facet(self, namespace: str, field: str, where: Where) -> dict[str, int]:
        if field not in KEYWORD_FIELDS:
            raise InvalidInputError(
                f"points cannot be counted by {field!r}", hint=f"use one of {', '.join(KEYWORD_FIELDS)}"
            )
        request = qe.FacetRequest(key=field, limit=_FACET_LIMIT, filter=to_filter(where), exact=True)
        with self._reading(namespace) as shard, translated(namespace):
            return {str(hit.value): int(hit.count) for hit in shard.raw.facet(request).hits}

    # -- vector spaces ------------------------------------------------------------------------------
    def vector_names(self, namespace: str) -> dict[str, int]:
        with self._reading(namespace) as shard:
            return dict(shard.dimensions)

    def add_vector_name(self, namespace: str, name: str, dimension: int) -> None:
        with self._writing(namespace) as shard:
            existing = shard.dimensions.get(name)
            if existing is None:
                shard.add_vector_name(name, dimension)
            elif existing != dimension:
                raise EmbedderMismatchError(
                    f"vectors {name!r} of agent {namespace!r} have {existing} dimensions, not {dimension}",
                    hint="run `memanto reindex --embedder MODEL`",
                )

    def put_vectors(self, namespace: str, name: str, vectors: Mapping[UUID, Vector]) -> None:
        with self._writing(namespace) as shard:
            edge_commit.put_vectors(shard, name, vectors)

    # -- upkeep -------------------------------------------------------------------------------------
    def optimize(self, namespace: str, progress: Callable[[str], None] | None = None) -> bool:
        place, lease = self._existing(namespace), self._lease(namespace)
        with translated_os(place.folder), lease.writing(self._timeout):
            with lease.use(self._timeout) as shard:
                folder = shard.folder
            with lease.exclusive(self._timeout):
                try:
                    return generations.optimize_in_child(folder, progress)
                finally:
                    make_private(folder)

    def flush(self, namespace: str) -> None:
        with self._reading(namespace) as shard:
            shard.flush()

    def info(self, namespace: str) -> EngineInfo:
        with self._reading(namespace) as shard:
            with translated(namespace):
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
                    "durability": self._durability,
                },
            )

    def problems(self, namespace: str) -> list[str]:
        place = self._existing(namespace)
        found: list[str] = []
        try:
            with self._lease(namespace).hold(self._timeout):
                found += [f"left over from an interruption, removed: {path}" for path in place.leftovers()]
                with self._reading(namespace) as shard:
                    with translated(namespace):
                        indexed = set(shard.raw.info().payload_schema)
                    found += [f"field {field!r} has no index" for field in INDEXED_FIELDS if field not in indexed]
        except MemantoError as error:
            found.append(str(error))
        if os.name == "posix" and place.folder.stat().st_mode & 0o077:
            found.append(f"other users may enter {str(place.folder)!r}; chmod 700 closes it")
        return found

    # -- inside -------------------------------------------------------------------------------------
    @contextlib.contextmanager
    def _reading(self, namespace: str) -> Iterator[Shard]:
        place = self._existing(namespace)
        with translated_os(place.folder), self._lease(namespace).use(self._timeout) as shard:
            yield shard

    @contextlib.contextmanager
    def _writing(self, namespace: str) -> Iterator[Shard]:
        place, lease = self._existing(namespace), self._lease(namespace)
        with translated_os(place.folder), lease.writing(self._timeout), lease.use(self._timeout) as shard:
            yield shard
            self._settle(shard)

    def _let_go(self, lease: Lease[Shard]) -> None:
        if not lease.let_go(timeout=1.0):
            lease.flush()  # another engine of this process is inside; it closes what it uses

    def _settle(self, shard: Shard) -> None:
        if self._durability == "full":
            shard.flush()

    def _existing(self, namespace: str) -> Place:
        place = self._place(namespace)
        if not place.exists():
            raise _unknown(namespace)
        return place

    def _place(self, namespace: str) -> Place:
        root = self._folder()
        place = self._places.get(namespace)
        if place is None or place.root != root:
            place = self._places[namespace] = Place(root, check_agent_id(namespace))
        return place

    def _folder(self) -> Path:
        if self._closed:
            raise BackendUnavailableError("the store was closed", hint="open it again first")
        if self._root is None:
            self.open()
        assert self._root is not None
        return self._root

    def _lease(self, namespace: str) -> Lease[Shard]:
        place = self._place(namespace)
        self._used.add(namespace)

        def load() -> Shard:
            if not place.exists():  # dropped while this process waited
                raise _unknown(namespace)
            registry().limit_open(self._max_open - 1)
            place.remove_leftovers()
            return Shard.load(place, place.generation(), self._timeout)

        def make() -> Lease[Shard]:
            locks = LockPair(place.locks, encode_agent_id(namespace))
            return Lease(f"agent {namespace!r}", locks, load)

        return registry().lease(place.root, place.folder, make)


def _unknown(namespace: str) -> NotFoundError:
    return NotFoundError(f"agent {namespace!r} does not exist", hint=f"run `memanto agent create {namespace}`")
