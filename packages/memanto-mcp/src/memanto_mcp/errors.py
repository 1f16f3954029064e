"""Errors as a model can act on them: what is wrong, with which value, and what to do next."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from pydantic import ValidationError

from memanto import MemantoError

P = ParamSpec("P")
R = TypeVar("R")

_SHOWN = 60


def instructive(error: MemantoError) -> str:
    """Return an error of ours: its code, what is wrong, what to do, whether to try again."""
    hint = f" Next: {error.hint}." if error.hint else ""
    again = " Trying again may help." if error.retryable else ""
    return f"{error.code}: {error.message}.{hint}{again}"


def wrong_arguments(error: ValidationError) -> str:
    """Return what is wrong with a call's arguments, one clause each; a long value is shortened."""
    return "invalid_input: " + "; ".join(
        f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}{_given(one['type'], one['input'])}"
        for one in error.errors(include_url=False)[:5]
    )


def _given(kind: str, value: object) -> str:
    if kind == "missing":
        return ""
    if isinstance(value, str) and len(value) > _SHOWN:
        return f" (given {len(value):,} characters)"
    return f" (given {repr(value)[:_SHOWN]})"


def telling(function: Callable[P, Awaitable[R]], raised: type[Exception]) -> Callable[P, Awaitable[R]]:
    """Return a coroutine function that raises an error of ours as `raised`, with what to do next as its text."""

    @functools.wraps(function)
    async def told(*given: P.args, **named: P.kwargs) -> R:
        try:
            return await function(*given, **named)
        except MemantoError as error:
            raise raised(instructive(error)) from error

    return told
