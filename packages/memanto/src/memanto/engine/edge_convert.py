"""Between the port's values and those of `qdrant_edge`: filters, points and errors."""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, assert_never
from uuid import UUID

import qdrant_edge as qe

from memanto.engine.integrity import MEND_HINT, with_sums, without_sums
from memanto.engine.port import Point, SparseVector
from memanto.engine.schema import LEXICAL_VECTOR
from memanto.errors import (
    BackendError,
    BackendUnavailableError,
    DiskFullError,
    EmbedderError,
    InvalidInputError,
    MemantoError,
    StoreDamagedError,
)
from memanto.filters import AnyOf, Condition, Either, Equals, HasVector, NumberRange, TimeRange, Where

_SYSTEM_ERROR: Final = re.compile(r"\(os error ([0-9]+)\)")
_DAMAGE: Final = re.compile(
    "decode|decompress|deserialize|corrupt|out of bounds|not readable|Gridstore|No range index", re.IGNORECASE
)
"""Words of errors about bytes that cannot be what was written."""
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_REFUSED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM})


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
    return qe.Point(point.id, vectors, with_sums(payload, point.lexical))


def to_sparse(vector: SparseVector) -> qe.SparseVector:
    """Return the engine's sparse vector."""
    return qe.SparseVector(list(vector.indices), list(vector.values))


def from_record(record: Any, *, vectors: bool) -> Point:
    """Return the port's point for a record of the engine.

    Raises:
        StoreDamagedError: The payload, if it is a whole one, is not what was stored.
    """
    payload = without_sums(record.payload or {}, record.id)
    if not vectors:
        return Point(to_uuid(record.id), payload)
    found = dict(record.vector or {})
    sparse = found.pop(LEXICAL_VECTOR, None)
    return Point(
        to_uuid(record.id),
        payload,
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
            raise StoreDamagedError(f"the engine failed inside on {place}: {error}", hint=MEND_HINT) from error
        if type(error) is not Exception:
            raise
        raise _translate(error, place) from error


def _translate(error: Exception, place: str) -> MemantoError:
    text = str(error)
    found = _SYSTEM_ERROR.search(text)
    number = int(found[1]) if found else 0
    if number in _FULL:
        return DiskFullError(f"the disk is full: {text}", hint="free some space, then try again")
    if number in _REFUSED:
        return BackendUnavailableError(
            f"the operating system refused what the engine asked for {place}: {text}",
            hint="check the permissions of the folder, and how many files and how much memory a process may have",
        )
    if _DAMAGE.search(text):
        return StoreDamagedError(f"the engine cannot read {place}: {text}", hint=MEND_HINT)
    if "Vector dimension error" in text or "Not existing vector name" in text:
        return EmbedderError(f"a vector does not fit {place}: {text}", hint="check which embedder is in use")
    return BackendError(f"the engine failed on {place}: {text}", hint="run `memanto doctor`")
