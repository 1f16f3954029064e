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
    # One that is not finite makes the sum so too, and a sum takes a tenth of the time.
    if not math.isfinite(sum(vector)) and not all(map(math.isfinite, vector)):
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
    """Return a score with 5 significant digits and at most 5 decimals.

    Engines add up float32 terms in different orders and agree on about six digits; a rounded score that
    still differs is rare, and differences below this say nothing about relevance.
    """
    if -1 < score < 1:
        return round(score, 5)
    return round(score, 4) if -10 < score < 10 else float(f"{score:.5g}")


def cut(scores: Sequence[float], limit: int, *, complete: bool) -> int | None:
    """Return how many of the best points a search returns, or `None` when more of them must be seen to tell.

    Points with equal scores are never separated, since engines order them differently. A tie that straddles
    the limit is returned whole when it ends within twice the limit. A longer one says little (a word that most texts
    share, say) and is left out, if at least half the limit ranks above it, or if anything does and it is longer than
    eight times the limit; else it is returned whole however long it is.

    Args:
        scores: Rounded, descending.
        limit: At least 1.
        complete: Whether these are all that match.
    """
    if len(scores) <= limit:
        return len(scores) if complete else None
    tied = scores[limit - 1]
    end = next((i for i in range(limit, min(len(scores), 2 * limit)) if scores[i] < tied), None)
    if end is not None:
        return end
    if len(scores) <= 2 * limit:
        return len(scores) if complete else None
    if scores[2 * limit] < tied:
        return 2 * limit
    begin = scores.index(tied)
    endless = len(scores) > _LONG_TIE * limit and scores[_LONG_TIE * limit] == tied
    if 2 * begin >= limit or (begin > 0 and endless):
        return begin
    end = next((i for i in range(2 * limit, len(scores)) if scores[i] < tied), None)
    return end if end is not None or not complete else len(scores)


_LONG_TIE: Final = 8
"""Times the limit from which a tie is left out whenever anything ranks above it: a store of 100,000 short texts of
one form would otherwise hand over all of them for each query with a word of that form."""


def next_size(size: int, limit: int) -> int:
    """Return how many points to ask for when `cut` could not tell from `size` of them."""
    return 2 * limit + 1 if size <= 2 * limit else 4 * size


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
