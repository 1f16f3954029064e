"""The memory a server serves: opened by the first call that needs it, closed with the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memanto import AsyncMemanto
    from memanto.stores import Store

SOURCE = "mcp"
"""Who writes when a client does not say its name."""


class Host:
    """One agent's memory, shared by every client of a server.

    Nothing happens before the first call: no agent is looked up, no store opened, no model loaded. So the server
    answers `initialize` and lists its tools at once, and a setting that is missing is told by the tool that needs it.

    Args:
        choose_agent: Returns the agent id. Called again after it has raised, so that what was missing may be made
            while the server runs; what it returned holds until the server ends.
        store: Where memories are; what the user configured when missing.
        **options: Further arguments of `memanto.Memanto`, for tests: `embedder`, `reranker`, `llm`, `clock`.
    """

    def __init__(self, choose_agent: Callable[[], str], *, store: Store | None = None, **options: Any) -> None:
        self._choose_agent = choose_agent
        self._store = store
        self._options = options
        self._memory: AsyncMemanto | None = None
        self._opening = asyncio.Lock()

    async def memory(self) -> AsyncMemanto:
        """Return the open memory; its agent exists when this returns.

        Raises:
            ConfigurationError: No agent is named.
            MemantoError: The store cannot be opened.
        """
        async with self._opening:
            if self._memory is None:
                from memanto import AsyncMemanto  # with the whole core, which the start does without

                memory = AsyncMemanto(
                    self._choose_agent(), store=self._store, source=SOURCE, provenance="inferred", **self._options
                )
                try:
                    await memory.open()
                    await memory.create_agent()
                except BaseException:
                    await memory.close()
                    raise
                self._memory = memory
            return self._memory

    async def close(self) -> None:
        """Flush and let go of the store."""
        async with self._opening:
            memory, self._memory = self._memory, None
            if memory is not None:
                await memory.close()
