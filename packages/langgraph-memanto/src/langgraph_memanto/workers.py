"""Threads that do a saver's work for an event loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

T = TypeVar("T")

MOST: Final = 4
"""Threads; the engine answers one call at a time anyway."""


class Workers:
    """A small executor of its own, made when it is first used, and anew in a forked child."""

    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None
        self._pid = 0
        self._lock = threading.Lock()

    async def run(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """Call a function in one of the threads.

        A cancelled caller leaves it running: what a write does, it does whole.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._ready(), partial(function, *args, **options))

    def close(self) -> None:
        """Let the threads end when they are done. The next call makes new ones."""
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None and self._pid == os.getpid():
            executor.shutdown(wait=False)

    def _ready(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._executor is None or self._pid != os.getpid():
                self._executor = ThreadPoolExecutor(MOST, thread_name_prefix="memanto-saver")
                self._pid = os.getpid()
            return self._executor
