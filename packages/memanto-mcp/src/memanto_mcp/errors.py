"""Errors as a model can act on them: what is wrong, with which value, and what to do next."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from pydantic import ValidationError

from memanto import MemantoError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

P = ParamSpec("P")
R = TypeVar("R")

_SHOWN = 60


def instructive(error: MemantoError) -> str:
    """Return an error of ours: its code, what is wrong, what to do, whether to try again."""
    hint = f" Next: {error.hint}." if error.hint else ""
    again = " Trying again may help." if error.retryable else ""
    return f"{error.code}: {error.message}.{hint}{again}"


def wrong_arguments(error: ValidationError, taken: Mapping[str, Any]) -> str:
    """Return what is wrong with a call's arguments, one clause each; a long value is shortened.

    Args:
        error: What the check of the arguments raised.
        taken: The JSON schema of each argument, by name.
    """
    return f"invalid_input: {'; '.join(_clause(one, taken) for one in error.errors(include_url=False)[:5])}"


def _clause(one: ErrorDetails, taken: Mapping[str, Any]) -> str:
    place = ".".join(map(str, one["loc"])) or "arguments"
    if one["type"] == "missing":
        return _missing(place, taken.get(place, {}))
    return f"{place}: {one['msg']} (given {_shown(one['input'])})"


def _missing(name: str, schema: Mapping[str, Any]) -> str:
    """Return that an argument is missing, which values it takes, and which to choose when."""
    values = f", one of {', '.join(schema['enum'])}" if "enum" in schema else ""
    return f"{name} is missing{values}. {schema.get('description', '')}".rstrip(" .")


def _shown(value: object) -> str:
    if isinstance(value, str) and len(value) > _SHOWN:
        return f"{len(value):,} characters"
    return repr(value)[:_SHOWN]


def telling(function: Callable[P, Awaitable[R]], raised: type[Exception]) -> Callable[P, Awaitable[R]]:
    """Return a coroutine function that raises an error of ours as `raised`, with what to do next as its text."""

    @functools.wraps(function)
    async def told(*given: P.args, **named: P.kwargs) -> R:
        try:
            return await function(*given, **named)
        except MemantoError as error:
            raise raised(instructive(error)) from error

    return told
