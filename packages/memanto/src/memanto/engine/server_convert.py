"""Between the port's values and qdrant-client's: filters, points, candidates, request sizes.

Floats in payloads may come back one unit in the last place off from a real server; the codec rounds those it
stores. Vectors are float32 and come back bit for bit.
"""

from __future__ import annotations

import json
import uuid
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, assert_never
from uuid import UUID

from memanto.engine.checks import round_score
from memanto.engine.port import Candidate, Point, SparseVector, Vector
from memanto.engine.schema import LEXICAL_VECTOR
from memanto.errors import InvalidInputError
from memanto.filters import AnyOf, Condition, Either, Equals, HasVector, NumberRange, TimeRange, Where
from memanto.ids import meta_point_id

if TYPE_CHECKING:
    from qdrant_client import models

NAMESPACE_FIELD: Final = "namespace"
"""Tenant field of every point of a namespace; added on each write and required on each read."""
META_FIELD: Final = "namespace_meta"
"""Carried by meta points alone, so that listing namespaces reads one small index."""
TOKEN_FIELD: Final = "token"  # noqa: S105 - the name of a field
"""Names the write a point comes from; set by the engine, part of what a reader sees."""
ENGINE_FIELDS: Final = frozenset({NAMESPACE_FIELD, META_FIELD})

_MAX_BATCH_BYTES: Final = 24 * 2**20
"""Below the server's limit of 32 MiB a request, for the sizes are estimates."""
_MAX_BATCH_POINTS: Final = 1_000


def new_token() -> str:
    """Return a token that no other write carries."""
    return uuid.uuid4().hex


# -- filters ------------------------------------------------------------------------------------------
def to_filter(namespace: str, where: Where, ids: Iterable[UUID] | None = None) -> models.Filter:
    """Return `where` limited to a namespace and, when given, to some ids."""
    from qdrant_client import models

    scope: list[models.Condition] = [] if ids is None else [with_ids(ids)]
    scope.append(models.FieldCondition(key=NAMESPACE_FIELD, match=models.MatchValue(value=namespace)))
    return models.Filter(must=[*scope, *map(_condition, where.must)], must_not=_all(where.must_not))


def with_ids(ids: Iterable[UUID]) -> models.HasIdCondition:
    """Return the condition that a point has one of these ids; none match nothing."""
    from qdrant_client import models

    return models.HasIdCondition(has_id=[str(point_id) for point_id in ids])


def _all(conditions: tuple[Condition, ...]) -> list[models.Condition] | None:
    return [_condition(condition) for condition in conditions] or None


def _condition(condition: Condition) -> models.Condition:  # noqa: PLR0911 - one return per kind of condition
    from qdrant_client import models

    match condition:
        case Equals(name, value):
            return models.FieldCondition(key=name, match=models.MatchValue(value=value))
        case AnyOf(name, values):
            return models.FieldCondition(key=name, match=models.MatchAny(any=list(values)))
        case TimeRange(name, gt, gte, lt, lte):
            bounds = models.DatetimeRange(gt=_time(gt), gte=_time(gte), lt=_time(lt), lte=_time(lte))
            return models.FieldCondition(key=name, range=bounds)
        case NumberRange(name, gte, lte):
            return models.FieldCondition(key=name, range=models.Range(gte=gte, lte=lte))
        case HasVector(name):
            return models.HasVectorCondition(has_vector=name)
        case Either(alternatives):
            # A server reads an empty `should` as no constraint; no alternative can hold when there is none.
            if not alternatives:
                return with_ids(())
            return models.Filter(should=[_condition(alternative) for alternative in alternatives])
        case Where(must, must_not):
            return models.Filter(must=_all(must), must_not=_all(must_not))
        case _:
            assert_never(condition)


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


# -- points -------------------------------------------------------------------------------------------
def check_fields(payload: Mapping[str, Any]) -> None:
    """Raise `InvalidInputError` when a payload uses a field name the engine keeps for itself."""
    if taken := ENGINE_FIELDS & payload.keys():
        raise InvalidInputError(f"payload field {min(taken)!r} belongs to the engine", hint="use another field name")


def to_struct(namespace: str, point: Point, extra: Mapping[str, Any]) -> models.PointStruct:
    """Return the point as it is sent: its payload, then `extra`, then the engine's own fields."""
    from qdrant_client import models

    payload = {**point.payload, **extra, NAMESPACE_FIELD: namespace}
    if point.id == meta_point_id(namespace):
        payload[META_FIELD] = namespace
    vectors: dict[str, Any] = {name: float32(vector) for name, vector in point.dense.items()}
    if point.lexical is not None:
        vectors[LEXICAL_VECTOR] = to_sparse(point.lexical)
    return models.PointStruct(id=str(point.id), payload=payload, vector=vectors)


def to_point(record: models.Record) -> Point:
    """Return a stored point without the engine's own fields."""
    from qdrant_client import models

    dense: dict[str, Vector] = {}
    lexical = None
    for name, vector in (record.vector if isinstance(record.vector, dict) else {}).items():
        if isinstance(vector, models.SparseVector):
            lexical = SparseVector(tuple(vector.indices), tuple(array("f", vector.values)))
        elif isinstance(vector, list):
            dense[name] = tuple(float32(vector))
    return Point(UUID(str(record.id)), payload_of(record), dense, lexical)


def payload_of(record: models.Record | models.ScoredPoint) -> dict[str, Any]:
    """Return a stored payload without the engine's own fields."""
    return {name: value for name, value in (record.payload or {}).items() if name not in ENGINE_FIELDS}


def to_sparse(vector: SparseVector) -> models.SparseVector:
    """Return a sparse vector as it is sent."""
    from qdrant_client import models

    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))


def float32(vector: Sequence[Any]) -> list[float]:
    """Return the vector's float32 values as Python floats, which JSON carries exactly."""
    return array("f", vector).tolist()


def batches(structs: Iterable[models.PointStruct]) -> Iterator[list[models.PointStruct]]:
    """Split points into requests the server accepts; a single larger point goes alone."""
    batch: list[models.PointStruct] = []
    size = 0
    for struct in structs:
        weight = _weight(struct)
        if batch and (size + weight > _MAX_BATCH_BYTES or len(batch) >= _MAX_BATCH_POINTS):
            yield batch
            batch, size = [], 0
        batch.append(struct)
        size += weight
    if batch:
        yield batch


def _weight(struct: models.PointStruct) -> int:
    """Estimate a point's bytes as JSON: a float32 takes at most 24 characters with its comma."""
    payload = json.dumps(struct.payload, ensure_ascii=True)
    vectors = struct.vector if isinstance(struct.vector, dict) else {}
    numbers = sum(
        len(vector) if isinstance(vector, list) else 2 * len(getattr(vector, "indices", ()))
        for vector in vectors.values()
    )
    return len(payload) + 24 * numbers + 200


# -- candidates ---------------------------------------------------------------------------------------
def ranked(hits: Iterable[models.ScoredPoint]) -> list[Candidate]:
    """Return candidates, best first, equal scores by id."""
    candidates = [Candidate(UUID(str(hit.id)), round_score(hit.score), payload_of(hit)) for hit in hits]
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.id.int))
