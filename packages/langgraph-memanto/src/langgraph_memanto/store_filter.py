"""Conditions on the value of an item, as LangGraph's own stores understand them."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, Final

from memanto.errors import InvalidInputError

_EQUAL: Final = {"$eq": operator.eq, "$ne": operator.ne}
_ORDER: Final = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}


def matches(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    """Return whether a value meets all conditions.

    A condition is a value to be equal to, an object whose fields must be met by the same fields (others may be there),
    or an object of operators: `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`. The last four compare numbers, or texts that
    read as numbers; any other value meets none of them.

    Raises:
        InvalidInputError: An operator is unknown, or what it compares with is no number. (A `ValueError` too.)
    """
    return not conditions or all(_meets(value.get(name), wanted) for name, wanted in conditions.items())


def _meets(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compares(value, str(name), bound) for name, bound in wanted.items())
        return isinstance(value, Mapping) and all(_meets(value.get(name), inner) for name, inner in wanted.items())
    if isinstance(wanted, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(wanted):
            return False
        return all(_meets(item, inner) for item, inner in zip(value, wanted, strict=True))
    return bool(value == wanted)


def _compares(value: Any, name: str, bound: Any) -> bool:
    if name in _EQUAL:
        return bool(_EQUAL[name](value, bound))
    if name not in _ORDER:
        raise InvalidInputError(f"unknown operator {name!r}", hint=f"one of {', '.join([*_EQUAL, *_ORDER])}")
    limit, number = _number(bound), _number(value)
    if limit is None:
        raise InvalidInputError(f"{name} compares numbers, not {bound!r}", hint="give a number, or use $eq")
    return number is not None and bool(_ORDER[name](number, limit))


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
