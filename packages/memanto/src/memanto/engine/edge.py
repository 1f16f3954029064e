"""The embedded engine: Qdrant's own engine in this process, one shard per namespace, nothing to run."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memanto.engine import edge_calls as calls
from memanto.engine import edge_commit, generations
from memanto.engine import salvage as salvaging
from memanto.engine.edge_calls import Request
from memanto.engine.edge_commit import new_token
from memanto.engine.edge_store import EdgeStore
from memanto.engine.layout import allocated_bytes, check_free_space, make_private, remove, translated_os
from memanto.engine.port import Candidate, Change, EngineInfo, Point, Salvage, SparseVector, Vector
from memanto.engine.schema import KEYWORD_FIELDS
from memanto.errors import InvalidInputError, StoreDamagedError
from memanto.filters import Where
from memanto.ids import meta_point_id


class EdgeEngine(EdgeStore):
    """`memanto.engine.port.Engine` on `qdrant_edge`, in a folder of this machine: see `EdgeStore`."""

    name = "edge"
    atomic_commit = True

    # -- namespaces ---------------------------------------------------------------------------------
    def create(self, namespace: str, meta: Mapping[str, Any]) -> bool:
        described = Point(meta_point_id(namespace), meta)
        return self._create(namespace, lambda shard: edge_commit.replace(shard, described, None, new_token()))

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
            check_free_space(folder, allocated_bytes(folder))
            with lease.exclusive(self._timeout):
                place.break_seal(place.generation())
                try:
                    return generations.optimize_in_child(folder, progress)
                finally:
                    make_private(folder)

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
                found += self._run(namespace, calls.Inspect())
        except StoreDamagedError as error:
            found.append(error.message)
        if os.name == "posix" and place.folder.stat().st_mode & 0o077:
            found.append(f"other users may enter {str(place.folder)!r}; chmod 700 closes it")
        return found

    def salvage(self, namespace: str) -> Salvage:
        place, lease = self._existing(namespace), self._lease(namespace)
        with translated_os(place.folder), lease.writing(self._timeout), lease.exclusive(self._timeout):
            return salvaging.salvage(place)

    def mend(self, namespace: str) -> tuple[str, ...]:
        place, lease = self._existing(namespace), self._lease(namespace)
        with translated_os(place.folder), lease.writing(self._timeout), lease.exclusive(self._timeout):
            make_private(place.folder)
            saved = salvaging.salvage(place)
            if not saved.lost:
                salvaging.rebuild(place, saved)
                place.remove_leftovers()
            return saved.lost
