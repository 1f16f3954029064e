"""The one collection behind `ServerEngine`: how it is made and checked, and the requests it answers.

Every method is one kind of request in the terms of qdrant-client. Scoping to a namespace is the caller's
(`engine.server`); writes wait until they are applied and are strongly ordered, so that a read that follows
finds them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final
from uuid import UUID

from memanto.engine.schema import KEYWORD_FIELDS, LEXICAL_VECTOR, SCHEMA_VERSION, TIME_FIELDS
from memanto.engine.server_client import Connection
from memanto.engine.server_convert import META_FIELD, NAMESPACE_FIELD, TOKEN_FIELD
from memanto.errors import BackendError, SchemaMismatchError

if TYPE_CHECKING:
    from qdrant_client import models

_PAGE: Final = 1_000


class Collection:
    """A collection of a server, which may not exist yet.

    Args:
        connection: Where it lives.
        name: What it is called there.
    """

    _schema_key: ClassVar = "memanto_schema"

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name
        self._checked = False
        self._ensured = False

    # -- existence and shape ------------------------------------------------------------------------
    def exists(self) -> bool:
        """Whether the collection exists; its schema is checked the first time it does.

        Raises:
            SchemaMismatchError: It was made by something else or by a version this one cannot read.
        """
        if not self._checked and self._connection.run(lambda client: client.collection_exists(self._name)):
            self._check(self._described())
            self._checked = True
        return self._checked

    def ensure(self) -> None:
        """Make the collection and its indexes where they are missing."""
        if self._ensured:
            return
        if not self.exists():
            self._make()
        self._index()
        self._ensured = True

    def forget(self) -> None:
        """Drop what is remembered about the collection: another connection may find another one."""
        self._checked = self._ensured = False

    def add_dense_name(self, name: str, dimension: int) -> int:
        """Add a dense vector name unless it exists; return the dimension it has now."""
        from qdrant_client import models

        names = _dense(self._described())
        if name not in names:
            dense = models.DenseVectorConfig(size=dimension, distance=models.Distance.DOT)
            config = models.DenseVectorNameConfig(dense=dense)
            try:
                self._connection.run(lambda client: client.create_vector_name(self._name, name, config))
            except BackendError:
                names = _dense(self._described())
                if name not in names:  # otherwise another process added it just now
                    raise
        return names.get(name, dimension)

    def figures(self) -> tuple[int, dict[str, Any]]:
        """Return the number of vectors in graph indexes, and what else is worth showing."""
        described = self._described()
        detail = {
            "collection": self._name,
            "server_version": self._connection.version,
            "status": str(described.status.value),
            "segments": described.segments_count,
        }
        return described.indexed_vectors_count or 0, detail

    def problems(self) -> list[str]:
        """Return what is wrong with the collection's schema and indexes, one sentence each."""
        described = self._described()
        found = self._faults(described)
        if not self._connection.local:
            found += [
                f"collection {self._name!r} has no index on {field!r}: filtering by it is slow, ordering fails"
                for field in self._wanted_indexes()
                if field not in described.payload_schema
            ]
        return found

    # -- writing ------------------------------------------------------------------------------------
    def insert(self, structs: list[models.PointStruct]) -> None:
        """Insert those points whose ids are not taken; the others stay as they are."""
        from qdrant_client import models

        self._connection.run(
            lambda client: client.upsert(
                self._name,
                structs,
                wait=True,
                ordering=models.WriteOrdering.STRONG,
                update_mode=models.UpdateMode.INSERT_ONLY,
            )
        )

    def swap(self, point_id: UUID, payload: Mapping[str, Any], expected_token: str | None) -> None:
        """Write a point without vectors if it carries the token, or if it is absent when none is expected."""
        from qdrant_client import models

        struct = models.PointStruct(id=str(point_id), payload=dict(payload), vector={})
        if expected_token is None:
            self.insert([struct])
        else:
            match = models.MatchValue(value=expected_token)
            self.update(struct, models.Filter(must=[models.FieldCondition(key=TOKEN_FIELD, match=match)]))

    def update(self, struct: models.PointStruct, condition: models.Filter) -> None:
        """Overwrite a point that exists and meets the condition; otherwise nothing happens."""
        from qdrant_client import models

        self._connection.run(
            lambda client: client.upsert(
                self._name,
                [struct],
                wait=True,
                ordering=models.WriteOrdering.STRONG,
                update_mode=models.UpdateMode.UPDATE_ONLY,  # a condition alone would insert an absent point
                update_filter=condition,
            )
        )

    def set_payload(self, changes: Sequence[tuple[models.Filter, Mapping[str, Any]]]) -> None:
        """Set payload fields on the points that match, one change after the other."""
        from qdrant_client import models

        for start in range(0, len(changes), _PAGE):
            operations: list[models.UpdateOperation] = [
                models.SetPayloadOperation(set_payload=models.SetPayload(payload=dict(fields), filter=condition))
                for condition, fields in changes[start : start + _PAGE]
            ]
            self._batch(operations)

    def put_vectors(self, vectors: Mapping[UUID, Any], condition: models.Filter) -> None:
        """Set named vectors of existing points that match; their other vectors stay."""
        from qdrant_client import models

        points = [models.PointVectors(id=str(point_id), vector=named) for point_id, named in vectors.items()]
        if points:
            self._connection.run(
                lambda client: client.update_vectors(
                    self._name,
                    points,
                    wait=True,
                    ordering=models.WriteOrdering.STRONG,
                    update_filter=condition,
                )
            )

    def delete(self, condition: models.Filter) -> None:
        """Delete the points that match."""
        from qdrant_client import models

        self._connection.run(
            lambda client: client.delete(
                self._name,
                models.FilterSelector(filter=condition),
                wait=True,
                ordering=models.WriteOrdering.STRONG,
            )
        )

    def delete_ids(self, ids: Sequence[UUID]) -> None:
        """Delete points of any namespace by id."""
        from qdrant_client import models

        selector = models.PointIdsList(points=[str(point_id) for point_id in ids])
        self._connection.run(
            lambda client: client.delete(self._name, selector, wait=True, ordering=models.WriteOrdering.STRONG)
        )

    # -- reading ------------------------------------------------------------------------------------
    def retrieve(
        self, ids: Sequence[UUID], *, fields: Sequence[str] | None = None, vectors: bool = False
    ) -> list[models.Record]:
        """Return the points with these ids, of whatever namespace, in no particular order."""
        found: list[models.Record] = []
        for start in range(0, len(ids), _PAGE):
            page = [str(point_id) for point_id in ids[start : start + _PAGE]]
            found += self._connection.run(
                lambda client, page=page: client.retrieve(  # type: ignore[misc]
                    self._name, page, with_payload=True if fields is None else list(fields), with_vectors=vectors
                )
            )
        return found

    def tokens(self, ids: Sequence[UUID]) -> dict[UUID, str]:
        """Return the tokens of those points that exist."""
        records = self.retrieve(ids, fields=(TOKEN_FIELD,))
        return {UUID(str(record.id)): (record.payload or {}).get(TOKEN_FIELD, "") for record in records}

    def query(
        self,
        query: list[float] | models.SparseVector,
        using: str,
        condition: models.Filter,
        *,
        size: int,
        params: models.SearchParams | None,
        fields: Sequence[str] | None = None,
    ) -> list[models.ScoredPoint]:
        """Return the best points under one vector name, with these fields of their payload (default: all)."""
        if self._connection.local and params is not None and params.idf is None:
            params = None  # local mode is always exact, and warns when told so
        answer = self._connection.run(
            lambda client: client.query_points(
                self._name,
                query=query,
                using=using,
                query_filter=condition,
                limit=size,
                search_params=params,
                with_payload=True if fields is None else list(fields) or False,
            )
        )
        return answer.points

    def scroll(
        self,
        condition: models.Filter,
        limit: int,
        *,
        order_by: tuple[str, bool] | None = None,
        offset: models.ExtendedPointId | None = None,
        vectors: bool = False,
        fields: Sequence[str] | None = None,
    ) -> tuple[list[models.Record], models.ExtendedPointId | None]:
        """Return one page, by id or by `(field, descending)`, and where the next one begins (by id only)."""
        from qdrant_client import models

        order = None
        if order_by is not None:
            direction = models.Direction.DESC if order_by[1] else models.Direction.ASC
            order = models.OrderBy(key=order_by[0], direction=direction)
        return self._connection.run(
            lambda client: client.scroll(
                self._name,
                scroll_filter=condition,
                limit=limit,
                order_by=order,
                offset=offset,
                with_payload=True if fields is None else list(fields),
                with_vectors=vectors,
            )
        )

    def count(self, condition: models.Filter) -> int:
        """Count the points that match, exactly."""
        return self._connection.run(lambda client: client.count(self._name, condition, exact=True)).count

    def facet(self, field: str, condition: models.Filter | None) -> dict[str, int]:
        """Count the points that match per value of a keyword field, all values."""
        if self._connection.local:
            return self._facet_locally(field, condition)
        limit = _PAGE
        while True:
            hits = self._connection.run(
                lambda client, limit=limit: client.facet(  # type: ignore[misc]
                    self._name, field, condition, limit=limit, exact=True
                )
            ).hits
            if len(hits) < limit:
                return {str(hit.value): hit.count for hit in hits}
            limit *= 8

    # -- helpers ------------------------------------------------------------------------------------
    def _facet_locally(self, field: str, condition: models.Filter | None) -> dict[str, int]:
        """Count from the payloads, for local mode's facet rewrites values that look like a UUID."""
        from qdrant_client import models

        found: Counter[str] = Counter()
        offset: models.ExtendedPointId | None = None
        while True:
            page, offset = self.scroll(condition or models.Filter(), _PAGE, offset=offset, fields=(field,))
            for record in page:
                value = (record.payload or {}).get(field)
                found.update({value} if isinstance(value, str) else set(value or ()))
            if offset is None:
                return dict(found)

    def _batch(self, operations: Sequence[models.UpdateOperation]) -> None:
        from qdrant_client import models

        self._connection.run(
            lambda client: client.batch_update_points(
                self._name, operations, wait=True, ordering=models.WriteOrdering.STRONG
            )
        )

    def _described(self) -> models.CollectionInfo:
        return self._connection.run(lambda client: client.get_collection(self._name))

    def _check(self, described: models.CollectionInfo) -> None:
        faults = self._faults(described)
        if faults:
            raise SchemaMismatchError(
                "; ".join(faults), hint="name another collection, or use the version that made this one"
            )

    def _make(self) -> None:
        """Create the collection. Losing the race for it to another process is as good as winning."""
        try:
            self._connection.run(
                lambda client: client.create_collection(
                    self._name, vectors_config={}, metadata={self._schema_key: SCHEMA_VERSION}, **self._settings()
                )
            )
        except BackendError:
            if not self.exists():
                raise
        self._checked = True

    def _index(self) -> None:
        if self._connection.local:
            return  # local mode has no indexes and warns when asked for one
        present = self._described().payload_schema
        for field, params in self._wanted_indexes().items():
            if field not in present:
                self._connection.run(
                    lambda client, field=field, params=params: client.create_payload_index(  # type: ignore[misc]
                        self._name, field, field_schema=params, wait=True
                    )
                )

    # -- what makes it a collection of memories -----------------------------------------------------
    def _settings(self) -> dict[str, Any]:
        from qdrant_client import models

        sparse = models.SparseVectorParams(modifier=models.Modifier.IDF)
        # Every search names a namespace, so graphs are built per tenant and none over all of them.
        graph = models.HnswConfigDiff(m=0, payload_m=16)
        return {"sparse_vectors_config": {LEXICAL_VECTOR: sparse}, "hnsw_config": graph}

    def _wanted_indexes(self) -> dict[str, models.KeywordIndexParams | models.DatetimeIndexParams]:
        """Return the indexes of a server: the tenant's, the meta points', and those of the schema.

        Only the tenant's adds links to graphs: no search filters by another field without it.
        """
        from qdrant_client import models

        keyword, time = models.KeywordIndexType.KEYWORD, models.DatetimeIndexType.DATETIME
        wanted: dict[str, models.KeywordIndexParams | models.DatetimeIndexParams] = {
            NAMESPACE_FIELD: models.KeywordIndexParams(type=keyword, is_tenant=True)
        }
        for field in (META_FIELD, *KEYWORD_FIELDS):
            wanted[field] = models.KeywordIndexParams(type=keyword, enable_hnsw=False)
        for field in TIME_FIELDS:
            wanted[field] = models.DatetimeIndexParams(type=time, enable_hnsw=False)
        return wanted

    def _faults(self, described: models.CollectionInfo) -> list[str]:
        from qdrant_client import models

        name = self._name
        schema = (described.config.metadata or {}).get(self._schema_key)
        if schema is None:
            return [f"collection {name!r} was not made by memanto"]
        faults = []
        if schema != SCHEMA_VERSION:
            faults.append(f"collection {name!r} has schema {schema!r}, this version reads {SCHEMA_VERSION!r}")
        sparse = (described.config.params.sparse_vectors or {}).get(LEXICAL_VECTOR)
        if sparse is None or sparse.modifier != models.Modifier.IDF:
            faults.append(f"collection {name!r} has no sparse vector {LEXICAL_VECTOR!r} with document frequencies")
        vectors = described.config.params.vectors
        for vector, params in vectors.items() if isinstance(vectors, dict) else ():
            if params.distance != models.Distance.DOT:
                faults.append(f"vector name {vector!r} of collection {name!r} does not compare by dot product")
        return faults


def _dense(described: models.CollectionInfo) -> dict[str, int]:
    vectors = described.config.params.vectors
    return {name: params.size for name, params in vectors.items()} if isinstance(vectors, dict) else {}
