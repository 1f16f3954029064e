"""The embedded engine: Qdrant's own engine in this process, one shard per namespace, nothing to run."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import UUID

from memanto.engine import edge_calls as calls
from memanto.engine import edge_commit, generations
from memanto.engine.edge_calls import Call, Request
from memanto.engine.edge_commit import new_token
from memanto.engine.edge_lease import ShardLease
from memanto.engine.edge_shard import Shard
from memanto.engine.layout import (
    Place,
    list_namespaces,
    make_private,
    namespaces_root,
    prepare_root,
    remove,
    translated_os,
)
from memanto.engine.leases import registry
from memanto.engine.network_fs import refuse_network_file_system
from memanto.engine.port import Candidate, Change, EngineInfo, Point, SparseVector, Vector
from memanto.engine.schema import KEYWORD_FIELDS
from memanto.errors import (
    BackendUnavailableError,
    InvalidInputError,
    MemantoError,
    NotFoundError,
)
from memanto.filters import Where
from memanto.ids import check_agent_id, meta_point_id
from memanto.times import utc_now

T = TypeVar("T")


class EdgeEngine:
    """`memanto.engine.port.Engine` on `qdrant_edge`, in a folder of this machine.

    Several engines, threads and processes may use one folder at the same time: one process at a time has the
    lease of a namespace and works for the others meanwhile, or they take turns. Forked children may go on
    using an engine they inherited.

    Args:
        root: The store's folder, made when missing; namespaces live in `root/namespaces`.
        durability: `"log"`: what is acknowledged survives the process, and a power cut once it was flushed,
            within a second of idleness. `"full"`: it is flushed before it is acknowledged.
        clock: Tells the time of recording (aware); never goes back within a namespace even if this does.
        lock_timeout: Seconds to wait for other processes before `StoreLockedError`.
        max_open: Namespaces this process keeps open, each about 110 MB of file-backed memory.
        relay: Ask the process that has a namespace open, and answer others while this one has (on a Unix
            socket in the store's folder); otherwise processes only take turns.
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
        relay: bool = True,
    ) -> None:
        self._home = Path(root)
        self._durability = durability
        self._clock = clock
        self._timeout = lock_timeout
        self._max_open = max_open
        self._relay = relay
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
                    edge_commit.replace(shard, Point(meta_point_id(namespace), meta), None, new_token())
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
        with self._lease(namespace).kept(self._timeout, ask=self._relay):
            yield

    # -- writing ------------------------------------------------------------------------------------
    def commit(self, namespace: str, changes: Sequence[Change]) -> list[datetime | None]:
        return self._run(namespace, calls.Commit(changes, [new_token() for _ in changes]))

    def replace(self, namespace: str, point: Point, expected_token: str | None) -> bool:
        return self._run(namespace, calls.Replace(point, expected_token, new_token()))

    def set_payload(self, namespace: str, point_id: UUID, fields: Mapping[str, Any]) -> None:
        self._run(namespace, calls.SetPayload(point_id, fields))

    def erase(self, namespace: str, delete: Sequence[UUID], insert: Sequence[Change]) -> list[datetime | None]:
        place, lease = self._existing(namespace), self._lease(namespace)
        change = calls.Commit(insert, [new_token() for _ in insert])
        with translated_os(place.folder), lease.writing(self._timeout):
            with lease.use(self._timeout) as shard:
                if not shard.get(delete, vectors=False):
                    return Request(change, settle=self._durability == "full").run(shard, self._clock)
                target = generations.begin_next(shard, delete)
            try:
                times = change.run(target, self._clock)
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
        return self._run(namespace, calls.Get(ids, vectors))

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
        return self._run(namespace, calls.SearchDense(vector_name, vector, where, limit, exact, fields))

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
        return self._run(namespace, calls.SearchLexical(query, where, limit, corpus, fields))

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
        return self._run(namespace, calls.Scan(where, order_by, descending, limit, vectors, fields))

    def count(self, namespace: str, where: Where) -> int:
        return self._run(namespace, calls.Count(where))

    def facet(self, namespace: str, field: str, where: Where) -> dict[str, int]:
        if field not in KEYWORD_FIELDS:
            raise InvalidInputError(
                f"points cannot be counted by {field!r}", hint=f"use one of {', '.join(KEYWORD_FIELDS)}"
            )
        return self._run(namespace, calls.Facet(field, where))

    # -- vector spaces ------------------------------------------------------------------------------
    def vector_names(self, namespace: str) -> dict[str, int]:
        return self._run(namespace, calls.VectorNames())

    def add_vector_name(self, namespace: str, name: str, dimension: int) -> None:
        self._run(namespace, calls.AddVectorName(name, dimension))

    def put_vectors(self, namespace: str, name: str, vectors: Mapping[UUID, Vector]) -> None:
        self._run(namespace, calls.PutVectors(name, vectors))

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
        self._run(namespace, calls.Flush())

    def info(self, namespace: str) -> EngineInfo:
        found = self._run(namespace, calls.Info())
        return dataclasses.replace(found, detail={**found.detail, "durability": self._durability})

    def problems(self, namespace: str) -> list[str]:
        place = self._existing(namespace)
        found: list[str] = []
        try:
            with self._lease(namespace).kept(self._timeout, ask=self._relay) as mine:
                if mine:  # else whoever has it open removed them when it was opened
                    found += [f"left over from an interruption, removed: {path}" for path in place.leftovers()]
                found += [f"field {field!r} has no index" for field in self._run(namespace, calls.MissingIndexes())]
        except MemantoError as error:
            found.append(str(error))
        if os.name == "posix" and place.folder.stat().st_mode & 0o077:
            found.append(f"other users may enter {str(place.folder)!r}; chmod 700 closes it")
        return found

    # -- inside -------------------------------------------------------------------------------------
    def _run(self, namespace: str, call: Call[T]) -> T:
        place = self._existing(namespace)
        request = Request(call, settle=self._durability == "full")
        with translated_os(place.folder):
            return self._lease(namespace).perform(request, self._clock, self._timeout, ask=self._relay)

    def _let_go(self, lease: ShardLease) -> None:
        lease.disconnect()
        if not lease.let_go(timeout=1.0):
            lease.flush()  # another engine of this process is inside; it closes what it uses

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

    def _lease(self, namespace: str) -> ShardLease:
        place = self._place(namespace)
        self._used.add(namespace)

        def load() -> Shard:
            if not place.exists():  # dropped while this process waited
                raise _unknown(namespace)
            registry().limit_open(self._max_open - 1)
            place.remove_leftovers()
            return Shard.load(place, place.generation(), self._timeout)

        lease = registry().lease(place.root, place.folder, lambda: ShardLease(place, load, self._clock))
        lease.serves |= self._relay
        return lease


def _unknown(namespace: str) -> NotFoundError:
    return NotFoundError(f"agent {namespace!r} does not exist", hint=f"run `memanto agent create {namespace}`")
