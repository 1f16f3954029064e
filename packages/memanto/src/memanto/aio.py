"""`AsyncMemanto`: the same verbs, awaited. Derived from `Memanto`, never written twice.

The engine works in this process and answers in milliseconds, so each call is handed to a small executor of
its own; other tasks of the event loop go on meanwhile. Type checkers and editors read `aio.pyi`, which
`scripts/make_async_stub.py` writes from the same classes.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from memanto.client import Memanto
from memanto.loop.isolate import Scratch
from memanto.loop.run import Run

T = TypeVar("T")

WORKERS: Final = 4
"""Threads of one handle's executor."""
_LIFE: Final = frozenset({"open", "close"})
BLOCKS: Final = frozenset({"isolate", "run"})
"""Verbs that are begun by `async with` rather than awaited."""


class AsyncMemanto:
    """`Memanto` for asyncio: every public method of it, as a coroutine with the same arguments.

    Takes the arguments of `Memanto`. `export` returns the finished list of lines; `start_run` and `resume_run` an
    `AsyncRun`. `isolate` and `run` are not awaited, for they begin a block: `async with memory.isolate(task) as
    scratch`. A cancelled call may still be carried out: what a write does, it does whole.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._memory = Memanto(*args, **kwargs)
        self._executor = ThreadPoolExecutor(max_workers=WORKERS, thread_name_prefix="memanto")

    @property
    def agent(self) -> str:
        """The agent id."""
        return self._memory.agent

    @property
    def sync(self) -> Memanto:
        """The memory underneath, for code that cannot await: its calls block."""
        return self._memory

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

    def _apart(self, memory: Memanto) -> AsyncMemanto:
        """Return the verbs of another memory on this handle's executor; its owner closes it."""
        apart = AsyncMemanto.__new__(AsyncMemanto)
        vars(apart).update(_memory=memory, _executor=self._executor)
        return apart


class AsyncRun:
    """`Run` for asyncio: what it says of itself at once, what it does awaited."""

    def __init__(self, owner: AsyncMemanto, inner: Run) -> None:
        self._owner = owner
        self._inner = inner

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._owner._call(self._inner.__exit__, kind, error, trace)  # noqa: SLF001


class AsyncScratch:
    """`Scratch` for asyncio: its memory is an `AsyncMemanto`, its conclusion is awaited."""

    def __init__(self, owner: AsyncMemanto, inner: Scratch) -> None:
        self._owner = owner
        self._inner = inner

    @property
    def memory(self) -> AsyncMemanto:
        """The sub-agent's memory; gone when the block ends."""
        memory: Any = self._inner.memory
        return self._owner._apart(memory)  # noqa: SLF001


class AsyncBlock(Generic[T]):
    """What `async with` begins and ends; its work is done on the handle's executor."""

    def __init__(
        self,
        owner: AsyncMemanto,
        begin: Callable[[], AbstractContextManager[Any]],
        awaited: Callable[[AsyncMemanto, Any], T],
    ) -> None:
        self._owner = owner
        self._begin = begin
        self._awaited = awaited

    async def __aenter__(self) -> T:
        self._block = await self._owner._call(self._begin)  # noqa: SLF001
        return self._awaited(self._owner, await self._owner._call(self._block.__enter__))  # noqa: SLF001

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._owner._call(self._block.__exit__, kind, error, trace)  # noqa: SLF001


_HANDLES: Final[dict[type, Callable[[AsyncMemanto, Any], Any]]] = {Run: AsyncRun, Scratch: AsyncScratch}


def public_methods(of: type) -> list[str]:
    """Return the names of a class's public methods, properties left out."""
    return [name for name in dir(of) if not name.startswith("_") and inspect.isfunction(getattr(of, name))]


def _finished(owner: AsyncMemanto, result: Any) -> Any:
    """Return a result as the caller of a coroutine gets it."""
    handle = _HANDLES.get(type(result))
    return result if handle is None else handle(owner, result)


def _awaited(name: str) -> Callable[..., Awaitable[Any]]:
    """Return a coroutine method that runs the method `name` of `Memanto`."""
    method = getattr(Memanto, name)

    @functools.wraps(method)
    async def call(self: AsyncMemanto, *args: Any, **kwargs: Any) -> Any:
        def run() -> Any:
            result = method(self._memory, *args, **kwargs)
            return list(result) if inspect.isgenerator(result) else result

        return _finished(self, await self._call(run))

    return call


def _begun(name: str, handle: Callable[[AsyncMemanto, Any], Any]) -> Callable[..., AsyncBlock[Any]]:
    """Return a method whose block begins and ends that of the method `name` of `Memanto`."""
    method = getattr(Memanto, name)

    @functools.wraps(method)
    def call(self: AsyncMemanto, *args: Any, **kwargs: Any) -> AsyncBlock[Any]:
        return AsyncBlock(self, functools.partial(method, self._memory, *args, **kwargs), handle)

    return call


def _passed_on(of: type, name: str) -> Callable[..., Awaitable[Any]]:
    """Return a coroutine method that runs the method `name` of the object behind a handle."""
    method = getattr(of, name)

    @functools.wraps(method)
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await self._owner._call(method, self._inner, *args, **kwargs)  # noqa: SLF001

    return call


def _told(name: str, doc: str | None) -> property:
    """Return a property that reads an attribute of the object behind a handle."""
    return property(lambda self: getattr(self._inner, name), doc=doc)


def _derive() -> None:
    """Give the classes above the methods and attributes of those they stand for."""
    for name in public_methods(Memanto):
        if name in BLOCKS:
            setattr(AsyncMemanto, name, _begun(name, AsyncScratch if name == "isolate" else AsyncRun))
        elif name not in _LIFE:
            setattr(AsyncMemanto, name, _awaited(name))
    for of, handle in ((Run, AsyncRun), (Scratch, AsyncScratch)):
        for name in public_methods(of):
            setattr(handle, name, _passed_on(of, name))
        for name, attribute in vars(of).items():
            if isinstance(attribute, property) and not hasattr(handle, name):
                setattr(handle, name, _told(name, attribute.__doc__))
    for name in ("task", "receipt"):
        setattr(AsyncScratch, name, _told(name, None))


_derive()
