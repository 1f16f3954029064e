"""What every engine refuses before it stores anything, and how scores are rounded."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from memanto.engine.port import Point
from memanto.errors import EmbedderError, InvalidInputError

_LARGEST: Final = 2**64 - 1
_SMALLEST: Final = -(2**63)


def check_point(point: Point, dimensions: Mapping[str, int]) -> None:
    """Refuse what an engine would alter, refuse half-way, or keep although nothing can use it.

    Args:
        point: About to be stored.
        dimensions: The dense vector names of its namespace, with their dimensions.

    Raises:
        InvalidInputError: A payload value or lexical weight cannot be stored and read back as it is.
        EmbedderError: A dense vector has an unknown name, another dimension, or a component that is not finite.
    """
    check_payload(point.payload)
    for name, vector in point.dense.items():
        check_vector(name, vector, dimensions)
    if point.lexical is not None:
        indices, values = point.lexical.indices, point.lexical.values
        if len(indices) != len(values) or len(set(indices)) != len(indices) or not all(map(math.isfinite, values)):
            raise InvalidInputError(
                f"lexical vector of point {str(point.id)!r} is malformed",
                hint="give one finite weight per index, each index once",
            )


def check_vector(name: str, vector: Sequence[Any], dimensions: Mapping[str, int]) -> None:
    """Raise `EmbedderError` unless `vector` fits the vector name and is finite."""
    if name not in dimensions:
        raise EmbedderError(f"vector name {name!r} does not exist", hint="call add_vector_name first")
    if len(vector) != dimensions[name]:
        raise EmbedderError(
            f"a vector of {len(vector)} components does not fit {name!r}, which has {dimensions[name]}",
            hint="check which embedder is in use",
        )
    if not all(map(math.isfinite, vector)):
        raise EmbedderError(f"a vector for {name!r} holds a component that is not finite", hint="check the embedder")


def check_payload(payload: Mapping[str, Any]) -> None:
    """Raise `InvalidInputError` for a value that JSON, UTF-8 or 64-bit integers cannot hold exactly."""
    for key, value in payload.items():
        if not (_storable(key) and _storable(value)):
            raise InvalidInputError(
                f"value {ascii(value)[:80]} of {ascii(key)[:80]} cannot be stored exactly",
                hint="use text that UTF-8 can hold, finite numbers, 64-bit integers, lists and string-keyed objects",
            )


def round_score(score: float) -> float:
    """Return a score with 6 significant digits: what float32 sums agree on whatever their order."""
    return float(f"{score:.6g}")


def _storable(value: Any) -> bool:  # noqa: PLR0911 - one return per kind of value
    match value:
        case None | bool():
            return True
        case str():
            return value.isascii() or not re.search("[\ud800-\udfff]", value)
        case int():
            return _SMALLEST <= value <= _LARGEST
        case float():
            return math.isfinite(value)
        case list() | tuple():
            return all(map(_storable, value))
        case dict():
            return all(isinstance(name, str) and _storable(name) and _storable(item) for name, item in value.items())
        case _:
            return False
