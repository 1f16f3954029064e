"""What adapters to frameworks share: the memory they are given, and calls that must not fail the agent they serve."""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memanto.errors import InvalidInputError, MemantoError

if TYPE_CHECKING:
    from memanto.client import Memanto

__all__ = ["Failsafe", "as_sync", "zoned"]

_T = TypeVar("_T")
_LOGGER: Final = logging.getLogger("memanto")


def as_sync(memory: object) -> Memanto:
    """Return a `Memanto` as it is, and the one underneath an `AsyncMemanto`.

    Raises:
        InvalidInputError: It is neither.
    """
    from memanto.client import Memanto

    if isinstance(memory, Memanto):
        return memory
    from memanto.aio import AsyncMemanto

    if isinstance(memory, AsyncMemanto):
        return memory.sync
    raise InvalidInputError(
        f"memory {memory!r} is no memory", hint='pass Memanto("my-agent") or AsyncMemanto("my-agent")'
    )


def zoned(value: object) -> object:
    """Return a time as it was given, for a schema to read; a bare number is none.

    Schemas take one for seconds since 1970, while a model that says "2024" means a year.

    Raises:
        ValueError: It is a number.
    """
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return value
    elif not isinstance(value, int | float):
        return value
    raise ValueError("give a date, a time and a zone, such as 2026-01-02T03:04:05Z, not a number")


class Failsafe:
    """Runs calls of a memory. One that fails is counted, told once, and answered by a stand-in.

    What is told goes to the logger `memanto` as a warning; a warning of `warnings` could be turned into an exception.
    May be used from several threads.

    Args:
        who: Who calls, for the log.
        strict: Let failures through.

    Attributes:
        failures: Number of calls that failed.
        last_error: What the latest of them raised, or `None`.
    """

    def __init__(self, who: str, *, strict: bool = False) -> None:
        self.who = who
        self.strict = strict
        self.failures = 0
        self.last_error: Exception | None = None
        self._lock = threading.Lock()

    def call(self, doing: str, function: Callable[..., _T], *args: Any, otherwise: _T, **kwargs: Any) -> _T:
        """Return what a call returns, or `otherwise` when it fails.

        Args:
            doing: What it is for, as in "cannot {doing}".
            function: What to call.
            *args: Its arguments.
            otherwise: Stands in for its result.
            **kwargs: Its keyword arguments.

        Raises:
            Exception: It failed, and this is strict.
        """
        try:
            return function(*args, **kwargs)
        except Exception as error:  # a fault of memory, whatever it is, must not fail what it serves
            if self.strict:
                raise
            self.note(doing, error)
            return otherwise

    async def acall(self, doing: str, function: Callable[..., _T], *args: Any, otherwise: _T, **kwargs: Any) -> _T:
        """Do as `call` does, in a thread, so that the event loop goes on. A call that is cancelled runs to its end."""
        bound = functools.partial(self.call, doing, function, *args, otherwise=otherwise, **kwargs)
        return await asyncio.to_thread(bound)

    def note(self, doing: str, error: Exception) -> None:
        """Count a failure, and tell the first one."""
        with self._lock:
            self.failures += 1
            self.last_error = error
            first = self.failures == 1
        if first:
            code = error.code if isinstance(error, MemantoError) else type(error).__name__
            _LOGGER.warning("%s cannot %s and goes on without (%s): %s", self.who, doing, code, error)
        else:
            _LOGGER.debug("%s cannot %s", self.who, doing, exc_info=error)
