"""Between the port's values and those of `qdrant_edge`: filters, points and errors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, assert_never
from uuid import UUID

import qdrant_edge as qe

from memanto.engine.port import Point, SparseVector
from memanto.engine.schema import LEXICAL_VECTOR
from memanto.errors import (
    BackendError,
    DiskFullError,
    EmbedderError,
    InvalidInputError,
    MemantoError,
    StoreDamagedError,
)
from memanto.filters import AnyOf, Condition, Either, Equals, HasVector, NumberRange, TimeRange, Where


def to_filter(where: Where) -> qe.Filter | None:
    """Return the engine's filter, `None` when every point matches."""
    if not where.must and not where.must_not:
        return None
    return qe.Filter(must=[_condition(c) for c in where.must], must_not=[_condition(c) for c in where.must_not])


def _condition(condition: Condition) -> Any:  # noqa: PLR0911 - one line per kind of condition
    match condition:
        case Equals(field, value):
            return qe.FieldCondition(field, match=qe.MatchValue(_matchable(value)))
        case AnyOf(field, values):
            return qe.FieldCondition(field, match=qe.MatchAny(list(values)))
        case TimeRange(field, gt, gte, lt, lte):
            return qe.FieldCondition(field, range=qe.RangeDateTime(gt=gt, gte=gte, lt=lt, lte=lte))
        case NumberRange(field, gte, lte):
            return qe.FieldCondition(field, range=qe.RangeFloat(gte=gte, lte=lte))
        case HasVector(name):
            return qe.HasVectorCondition(name)
        case Either(alternatives):
            # The engine takes an empty `should` as no condition at all; no alternative means no match.
            chosen = [_condition(alternative) for alternative in alternatives]
            return qe.Filter(should=chosen) if chosen else qe.HasIdCondition(set())
        case Where():
            return to_filter(condition) or qe.Filter()
        case _:
            assert_never(condition)


def _matchable(value: str | bool | int) -> Any:
    if not isinstance(value, bool):
        return value
    # The binding tries integers before booleans and takes `True` for 1; numpy's booleans are no integers.
    import numpy as np

    return np.bool_(value)


def to_point(point: Point, payload: Mapping[str, Any]) -> qe.Point:
    """Return the engine's point with `payload` in place of the point's own."""
    vectors: dict[str, Any] = {name: list(map(float, vector)) for name, vector in point.dense.items()}
    if point.lexical is not None:
        vectors[LEXICAL_VECTOR] = to_sparse(point.lexical)
    return qe.Point(point.id, vectors, dict(payload))


def to_sparse(vector: SparseVector) -> qe.SparseVector:
    """Return the engine's sparse vector."""
    return qe.SparseVector(list(vector.indices), list(vector.values))


def from_record(record: Any, *, vectors: bool) -> Point:
    """Return the port's point for a record of the engine."""
    if not vectors:
        return Point(to_uuid(record.id), record.payload or {})
    found = dict(record.vector or {})
    sparse = found.pop(LEXICAL_VECTOR, None)
    return Point(
        to_uuid(record.id),
        record.payload or {},
        {name: tuple(vector) for name, vector in found.items()},
        None if sparse is None else SparseVector(tuple(sparse.indices), tuple(sparse.values)),
    )


def to_uuid(value: Any) -> UUID:
    """Return a point id of the engine as a UUID."""
    return value if isinstance(value, UUID) else UUID(str(value))


@contextlib.contextmanager
def translated(place: str) -> Iterator[None]:
    """Turn what `qdrant_edge` raises into the project's errors; `place` names the namespace or folder."""
    try:
        yield
    except MemantoError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"the engine cannot take a value for {place}: {error}") from error
    except OSError:
        raise
    except BaseException as error:  # the engine raises bare `Exception`, and panics are not even that
        if type(error).__name__ == "PanicException":
            raise StoreDamagedError(
                f"the engine failed inside on {place}: {error}", hint="run `memanto doctor`"
            ) from error
        if type(error) is not Exception:
            raise
        raise _translate(error, place) from error


def _translate(error: Exception, place: str) -> MemantoError:
    text = str(error)
    if "No space left" in text or "os error 28" in text:
        return DiskFullError(f"the disk is full: {text}", hint="free some space, then try again")
    if "Vector dimension error" in text or "Not existing vector name" in text:
        return EmbedderError(f"a vector does not fit {place}: {text}", hint="check which embedder is in use")
    return BackendError(f"the engine failed on {place}: {text}", hint="run `memanto doctor`")
