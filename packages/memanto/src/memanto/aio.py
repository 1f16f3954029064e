"""`AsyncMemanto`: the same verbs, awaited. Derived from `Memanto`, never written twice.

The engine works in this process and answers in milliseconds, so each call is handed to a small executor of
its own; other tasks of the event loop go on meanwhile.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Final, Self

from memanto.client import Memanto

_LIFE: Final = frozenset({"open", "close"})
WORKERS: Final = 4
"""Threads of one handle's executor."""


class AsyncMemanto:
    """`Memanto` for asyncio: every public method of it, as a coroutine with the same arguments.

    Takes the arguments of `Memanto`. `export` returns the finished list of lines. A cancelled call may still
    be carried out: what a write does, it does whole.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._memory = Memanto(*args, **kwargs)
        self._executor = ThreadPoolExecutor(max_workers=WORKERS, thread_name_prefix="memanto")

    @property
    def agent(self) -> str:
        """The agent id."""
        return self._memory.agent

    async def open(self) -> Self:
        """Connect to the store."""
        await self._call(self._memory.open)
        return self

    async def close(self) -> None:
        """Flush and let go of the store and the executor. Calling it again does nothing."""
        if self._executor._shutdown:  # noqa: SLF001 - no public way to ask
            return
        await self._call(self._memory.close)
        self._executor.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, functools.partial(function, *args, **kwargs))


def _awaited(name: str) -> Callable[..., Awaitable[Any]]:
    """Return a coroutine method that runs the method `name` of `Memanto`."""
    method = getattr(Memanto, name)

    @functools.wraps(method)
    async def call(self: AsyncMemanto, *args: Any, **kwargs: Any) -> Any:
        def run() -> Any:
            result = method(self._memory, *args, **kwargs)
            return list(result) if inspect.isgenerator(result) else result

        return await self._call(run)

    return call


for _name in dir(Memanto):
    if not _name.startswith("_") and _name not in _LIFE and inspect.isfunction(getattr(Memanto, _name)):
        setattr(AsyncMemanto, _name, _awaited(_name))
del _name
