"""The asynchronous half of `MemantoSaver`: each method is its synchronous twin, in a thread of the saver's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, CheckpointMetadata, CheckpointTuple, DeltaChannelHistory
from langgraph.checkpoint.base import Checkpoint as State

from langgraph_memanto.workers import Workers

_PAGE: Final = 20
"""Checkpoints that a listing fetches at a time, after the first."""


class AsyncTwins:
    """What `BaseCheckpointSaver` asks of an asynchronous saver."""

    _workers: Workers

    if TYPE_CHECKING:  # the twins, as `MemantoSaver` has them
        open: Any
        close: Any
        put: Any
        put_writes: Any
        get_tuple: Any
        list: Any
        delete_thread: Any
        delete_for_runs: Any
        copy_thread: Any
        prune: Any
        get_delta_channel_history: Any

    async def __aenter__(self) -> Self:
        await self._workers.run(self.open)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._workers.run(self.close)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: State,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await self._workers.run(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        await self._workers.run(self.put_writes, config, writes, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._workers.run(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the base class's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        found: Iterator[CheckpointTuple] = self.list(config, filter=filter, before=before, limit=limit)
        size = 1  # whoever looks for one checkpoint leaves with the first
        while page := await self._workers.run(lambda number: [*islice(found, number)], size):
            for one in page:
                yield one
            size = _PAGE

    async def adelete_thread(self, thread_id: str) -> None:
        await self._workers.run(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self._workers.run(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self._workers.run(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await self._workers.run(self.prune, thread_ids, strategy=strategy)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return await self._workers.run(self.get_delta_channel_history, config=config, channels=channels)
