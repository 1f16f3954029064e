"""`MemantoSaver`: checkpoints of langgraph in a memanto store."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
)
from langgraph.checkpoint.base import Checkpoint as State
from langgraph.checkpoint.serde.base import SerializerProtocol

from langgraph_memanto.packing import strict_serializer
from langgraph_memanto.retaining import Retention
from langgraph_memanto.saver_async import AsyncTwins
from langgraph_memanto.saver_cache import Seen
from langgraph_memanto.states import (
    REMEMBERED,
    Draft,
    Lineage,
    history,
    key_of,
    lineage_of,
    metadata_of,
    named,
    thread_of,
    to_checkpoint,
    to_tuple,
    to_writes,
    unfold,
)
from langgraph_memanto.workers import Workers
from memanto.checkpoints import Blob, Checkpoint, CheckpointLog, Key, LogSize, Pruned, ThreadInfo
from memanto.errors import BackendError, InvalidInputError, shown
from memanto.times import utc_now

if TYPE_CHECKING:
    from memanto import Embedded, InMemory, Server

_ATTEMPTS: Final = 4
"""Times a write is sent before others' deleting the very values it names is taken for a fault."""


class MemantoSaver(AsyncTwins, BaseCheckpointSaver[str]):
    """A checkpointer for langgraph, synchronous and asynchronous, in the store of `memanto`.

    Opened by the first call. What `put` and `put_writes` store survives the process when they return. Threads,
    forked processes and other processes may use the same agent's checkpoints at the same time. Ids of threads,
    namespaces, runs and checkpoints are any text that UTF-8 can hold; another one is `InvalidInputError`. A checkpoint
    whose bytes changed since is `StoreDamagedError`.

    Args:
        agent: Whose checkpoints; they lie beside the agent's memories.
        store: `Embedded(path)`, `InMemory()` or `Server(url)`; what the user configured by default.
        serde: Serialises values. The default brings back plain values and the types of langgraph and langchain;
            any other type comes back as the plain data it held, and nothing is imported for it.
        extra_types: Classes, or `(module, name)`, that the default serializer brings back as well.
        keep_last: Keep about so many checkpoints of each namespace of a thread; older ones go while it is written.
        max_age: Checkpoints of a thread that are older go while it is written, the latest ones apart.
        clock: Tells the time (aware); for tests.

    Raises:
        InvalidInputError: The agent id, the store or a limit is not valid, or `extra_types` comes with a serializer.
    """

    def __init__(
        self,
        agent: str,
        *,
        store: Embedded | InMemory | Server | None = None,
        serde: SerializerProtocol | None = None,
        extra_types: Collection[type | tuple[str, ...]] = (),
        keep_last: int | None = None,
        max_age: timedelta | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        given: object = agent
        if not isinstance(given, str):
            name = getattr(given, "agent", "my-agent")  # of a `Memanto`, which is what the store takes
            raise InvalidInputError(
                f"agent {shown(given)} is no name", hint=f'the saver takes the agent\'s name: MemantoSaver("{name}")'
            )
        if serde is not None and extra_types:
            raise InvalidInputError(
                "extra_types goes with the default serializer", hint="allow the types in the serializer you pass"
            )
        super().__init__(serde=serde if serde is not None else strict_serializer(extra_types))
        # Shared with copies of this object, which differ in their serializer: see `with_allowlist`.
        self._log = CheckpointLog(agent, store=store, clock=clock)
        self._retention = Retention(self._log, keep_last, max_age)
        self._seen = Seen()
        self._workers = Workers()

    @property
    def agent(self) -> str:
        """The agent id."""
        return self._log.agent

    # -- life ---------------------------------------------------------------------------------------
    def open(self) -> Self:
        """Connect to the store. Calling it again does nothing, and not calling it neither."""
        self._log.open()
        return self

    def close(self) -> None:
        """Flush and let go of the store. Calling it again does nothing; the next call opens it again."""
        self._seen.clear()
        self._workers.close()
        self._log.close()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- writing ------------------------------------------------------------------------------------
    def put(
        self,
        config: RunnableConfig,
        checkpoint: State,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint after the one that `config` names; see `BaseCheckpointSaver`.

        Raises:
            SerializationError: A value cannot be stored; the message names its channel. Nothing was stored.
        """
        key = key_of(config, checkpoint["id"])
        parent = self._lineage(key, config["configurable"].get("checkpoint_id"))
        draft = self._draft(key.thread)
        made, lineage = to_checkpoint(draft, config, checkpoint, metadata, new_versions=new_versions, parent=parent)
        missing = self._send(draft, named(made.values.values()), lambda *sent: self._log.put(made, *sent))
        if missing:  # values of the parent's were deleted meanwhile: take all of them from the state
            parent = Lineage(deltas=parent.deltas)
            made, lineage = to_checkpoint(draft, config, checkpoint, metadata, new_versions=new_versions, parent=parent)
            missing = self._send(draft, named(made.values.values()), lambda *sent: self._log.put(made, *sent))
        _check_stored(key, missing)
        self._seen.lineages.put(key, lineage)
        self._retention.stored(key.thread)
        return {"configurable": {"thread_id": key.thread, "checkpoint_ns": key.ns, "checkpoint_id": key.id}}

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote after the checkpoint that `config` names; see `BaseCheckpointSaver`.

        Raises:
            SerializationError: A value cannot be stored; the message names its channel. Nothing was stored.
        """
        key = key_of(config, config["configurable"]["checkpoint_id"])
        draft = self._draft(key.thread)
        made = to_writes(draft, writes, task_id, task_path)
        refs = named(one.value for one in made)
        _check_stored(key, self._send(draft, refs, lambda *sent: self._log.put_writes(key, made, *sent)))

    def _draft(self, thread: str) -> Draft:
        seen = self._seen.blobs
        return Draft(self.serde, lambda digest: self._log.ref(thread, digest), lambda ref: seen.get(ref) is not None)

    def _send(
        self, draft: Draft, refs: Sequence[str], write: Callable[[list[Blob], int | None], list[str]]
    ) -> list[str]:
        """Write, with the blobs that turn out to be missing; return those whose values are not at hand.

        Args:
            draft: Has the blobs.
            refs: All that are named.
            write: Takes blobs, and the epoch at which the other ones were there.
        """
        seen = self._seen
        for _ in range(_ATTEMPTS):
            epoch = self._log.epoch()
            there = all(ref in draft.blobs or seen.blobs.get(ref) == epoch for ref in refs)
            missing = write(list(draft.blobs.values()), epoch if there else None)
            if not missing:
                for ref in refs:
                    seen.blobs.put(ref, -1 if epoch is None else epoch)
                for ref, written in draft.large.items():
                    if len(written.data) <= REMEMBERED:
                        seen.values.put(ref, written)
                break
            for ref in missing:
                seen.blobs.drop(ref)
            if beyond := draft.send(missing):
                return beyond
        return missing

    def _lineage(self, child: Key, parent: str | None) -> Lineage:
        if parent is None:
            return Lineage()
        key = child._replace(id=parent)
        found = self._seen.lineages.get(key)
        if found is None:
            stored = self._log.get(key)
            found = Lineage() if stored is None else lineage_of(self.serde, stored.checkpoint)
            if stored is not None:
                self._seen.lineages.put(key, found)
        return found

    def get_next_version(self, current: str | float | None, channel: None) -> str:  # noqa: ARG002
        """Return a version that is greater than `current` and that no other branch will have."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.getrandbits(32):08x}"

    # -- reading ------------------------------------------------------------------------------------
    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that `config` names, the latest of its namespace if it names none."""
        thread = thread_of(config)
        wanted = get_checkpoint_id(config)
        if wanted:
            stored = self._log.get(Key(*thread, wanted))
            return None if stored is None else to_tuple(self.serde, unfold(stored, self._seen.values))
        before = self._log.stamp()
        found = self._seen.latest(thread, before)
        if found is None:
            stored = self._log.latest(*thread)
            if stored is None:
                return None
            found = unfold(stored, self._seen.values)
            self._seen.keep_latest(thread, before, self._log.stamp(), found)
        return to_tuple(self.serde, found)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the base class's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints by id, the latest first; nothing is held between two of them.

        Args:
            config: Whose: of one thread and namespace, of a thread in all its namespaces when it names none, or
                of all threads when it is `None`. With an id only that checkpoint.
            filter: Metadata that must be equal, every one of them.
            before: Names a checkpoint; only those with a smaller id.
            limit: At most so many of those that match.
        """
        about = (config or {}).get("configurable") or {}
        thread, ns = thread_of(config) if config else (None, None)
        if about.get("checkpoint_ns") is None:
            ns = None
        wanted = about.get("checkpoint_id")
        accept = self._accepting(filter, wanted) if filter or wanted else None
        until = get_checkpoint_id(before) if before else None
        for stored in self._log.checkpoints(thread, ns, before=until, limit=limit, accept=accept):
            yield to_tuple(self.serde, unfold(stored, self._seen.values))

    def _accepting(self, wanted: dict[str, Any] | None, checkpoint_id: str | None) -> Callable[[Checkpoint], bool]:
        def accept(one: Checkpoint) -> bool:
            if checkpoint_id and one.key.id != checkpoint_id:
                return False
            if not wanted:
                return True
            metadata = metadata_of(self.serde, one)
            return all(metadata.get(name) == value for name, value in wanted.items())

        return accept

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return what the parents of a checkpoint wrote to channels that are kept as changes."""
        target = self.get_tuple(config) if channels and not get_checkpoint_id(config) else None
        wanted = get_checkpoint_id(config) or (target.checkpoint["id"] if target else None)
        chain = self._log.chain(key_of(config, wanted)) if channels and wanted else ()
        return history(self.serde, chain, channels)

    # -- upkeep -------------------------------------------------------------------------------------
    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread with all it has."""
        self._log.delete_threads([str(thread_id)])

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what these runs stored.

        Raises:
            ConflictError: Checkpoints of other runs are rebuilt from it; nothing was deleted.
        """
        self._log.delete_runs(map(str, run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with all it has; what the target has under the same ids is replaced."""
        self._log.copy_thread(str(source_thread_id), str(target_thread_id))
        self._seen.lineages.clear()

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all but the latest checkpoint of each namespace, or whole threads.

        What the latest checkpoint is rebuilt from (delta channels) stays too.

        Args:
            thread_ids: The threads.
            strategy: `"keep_latest"` or `"delete"`.

        Raises:
            InvalidInputError: The strategy is another one.
        """
        threads = [str(thread) for thread in thread_ids]
        match strategy:
            case "keep_latest":
                self._log.prune(threads, keep_last=1)
            case "delete":
                self._log.delete_threads(threads)
            case _:
                raise InvalidInputError(f"there is no strategy {strategy!r}", hint="use 'keep_latest' or 'delete'")

    def retain(
        self, *, keep_last: int | None = None, max_age: timedelta | None = None, dry_run: bool = False
    ) -> Pruned:
        """Prune every thread now.

        Args:
            keep_last: So many checkpoints of each namespace stay, at least 1.
            max_age: Checkpoints older than this go; a thread whose latest one is older goes whole.
            dry_run: Delete nothing.
        """
        before = None if max_age is None else self._log.clock() - max_age
        return self._log.prune(keep_last=keep_last, before=before, dry_run=dry_run)

    def list_threads(self) -> Sequence[ThreadInfo]:
        """Return all threads with their figures, those with the latest checkpoint first."""
        return self._log.threads()

    def size(self) -> LogSize:
        """Return what all threads together take."""
        return self._log.size()

    def compact(self) -> None:
        """Give disk space back, and destroy the bytes of what was deleted; a server does this by itself."""
        self._log.compact()

    def flush(self) -> None:
        """Make everything stored survive a power cut."""
        self._log.flush()


def _check_stored(key: Key, missing: Sequence[str]) -> None:
    if missing:
        raise BackendError(
            f"checkpoint {key.id!r} of thread {key.thread!r} was not stored: others keep deleting its values",
            hint="do not delete or prune a thread while it runs",
        )
