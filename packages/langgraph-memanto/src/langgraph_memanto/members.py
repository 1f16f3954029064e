"""Members of closed sets by their names."""

from __future__ import annotations

import enum
from typing import TypeVar

from memanto.errors import InvalidInputError

_Member = TypeVar("_Member", bound=enum.StrEnum)


def member(name: str, kind: type[_Member], value: str) -> _Member:
    """Return the member of a closed set that has this name.

    Raises:
        InvalidInputError: There is none.
    """
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(one.value for one in kind)
        raise InvalidInputError(f"unknown {name} {value!r}", hint=f"one of {known}") from None
