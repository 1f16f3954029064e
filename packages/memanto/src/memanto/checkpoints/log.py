"""`CheckpointLog`: the checkpoints of an agent's graphs in its store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from memanto.checkpoints import upkeep
from memanto.checkpoints.layout import Layout, in_thread, moment, storable, to_blob, to_checkpoint, to_writes
from memanto.checkpoints.values import Blob, Checkpoint, Key, LogSize, Pruned, Stored, ThreadInfo, Write
from memanto.engine.record_codec import THREAD_HINT
from memanto.errors import SerializationError, StoreDamagedError
from memanto.filters import Equals, TimeRange, Where
from memanto.ids import check_agent_id
from memanto.opened import Opened
from memanto.times import utc_now

if TYPE_CHECKING:
    from memanto.engine.records import Found, Record, Records
    from memanto.stores import Store

PAGE: Final = 50
"""Checkpoints that a listing reads at a time."""


class CheckpointLog:
    """The checkpoints of one agent. Every method may be called from any thread.

    What a write stores is durable and readable when it returns. Opened by the first call that needs it. Reading raises
    `StoreDamagedError` for what is not what was stored, and every method `InvalidInputError` for an id of a thread,
    namespace, run or checkpoint that UTF-8 cannot hold.

    Args:
        agent: Whose checkpoints; they share nothing with its memories but the store.
        store: `Embedded(path)`, `InMemory()` or `Server(url)`; what the user configured by default.
        clock: Tells the time (aware); for tests.
    """

    def __init__(self, agent: str, *, store: Store | None = None, clock: Callable[[], datetime] = utc_now) -> None:
        self.agent = check_agent_id(agent)
        self.clock = clock
        self._layout = Layout(agent)
        self._connection: Opened[Records] = Opened(store, lambda chosen: chosen.records(clock))
        self._records = self._connection.get

    # -- life ---------------------------------------------------------------------------------------
    def open(self) -> Self:
        """Connect to the store. Calling it again does nothing."""
        self._records()
        return self

    def close(self) -> None:
        """Flush and let go of the store. Calling it again does nothing; the next call opens it again."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def flush(self) -> None:
        """Make everything acknowledged survive a power cut."""
        self._records().flush(self.agent)

    # -- writing ------------------------------------------------------------------------------------
    def ref(self, thread: str, digest: str) -> str:
        """Return the `ref` of the blob with this digest in a thread."""
        return self._layout.ref(thread, digest)

    def put(self, checkpoint: Checkpoint, blobs: Sequence[Blob], epoch: int | None = None) -> list[str]:
        """Store a checkpoint in the place of one with its key, if there is one.

        Args:
            checkpoint: What to store.
            blobs: Those that its values name, as far as they may be new.
            epoch: One at which all others were there: see `epoch`.

        Returns:
            The refs of blobs that its values name and that are neither given nor there; then nothing was stored.
        """
        named = {value for value in checkpoint.values.values() if isinstance(value, str)}
        keep, needs = self._belongings(checkpoint.key.thread, blobs, named)
        made = [self._layout.of_checkpoint(checkpoint)]
        written = self._records().write(self.agent, made, keep=keep, needs=needs, epoch=epoch)
        return list(written.missing)

    def put_writes(
        self, key: Key, writes: Sequence[Write], blobs: Sequence[Blob], epoch: int | None = None
    ) -> list[str]:
        """Store what a task wrote after a checkpoint, which may be stored later; see `put`."""
        named = {one.value for one in writes if isinstance(one.value, str)}
        keep, needs = self._belongings(key.thread, blobs, named)
        special = {one.idx: self._layout.of_writes(key, [one], -1) for one in writes if one.idx < 0}
        lasting = [one for one in writes if one.idx >= 0]
        for bundle in count():
            add = [self._layout.of_writes(key, lasting, bundle)] if lasting else []
            if not (special or add):
                break
            written = self._records().write(
                self.agent, list(special.values()), keep=keep, add=add, needs=needs, epoch=epoch
            )
            if written.missing or not written.taken:
                return list(written.missing)
            # The task wrote before: what it wrote first stays, and only further numbers are new.
            first = to_writes(self._records().collect(self.agent, written.taken).records)
            lasting = [one for one in lasting if one.idx not in {taken.idx for taken in first}]
            special = {}
        return []

    def _belongings(self, thread: str, blobs: Sequence[Blob], named: set[str]) -> tuple[list[Record], list[str]]:
        """Return the records of blobs, and the ids of those that are named and not among them."""
        records = {blob.ref: self._layout.of_blob(thread, blob) for blob in blobs}
        return list(records.values()), list(named - records.keys())

    # -- reading ------------------------------------------------------------------------------------
    def stamp(self) -> object:
        """Return a value that stays equal as long as no checkpoint of the agent changes, or `None` when unknown."""
        return self._records().stamp(self.agent)

    def epoch(self) -> int | None:
        """Return a number that changes whenever something of the agent is deleted, or `None` when unknown."""
        return self._records().epoch(self.agent)

    def latest(self, thread: str, ns: str) -> Stored | None:
        """Return the checkpoint with the greatest id of a namespace, or `None` when it has none."""
        return next(iter(self._stored(self._where(thread, ns), 1)), None)

    def get(self, key: Key) -> Stored | None:
        """Return a checkpoint, or `None` when there is none."""
        return next(iter(self._stored({self._layout.checkpoint_id(key): key})), None)

    def chain(self, key: Key) -> Iterator[Stored]:
        """Yield the parents of a checkpoint, the nearest first, as far as they are there."""
        start = self.get(key)
        parent = None if start is None else start.checkpoint.parent
        page: dict[str, Stored] = {}
        seen = {key.id}
        size = 4
        while parent is not None and parent not in seen:
            seen.add(parent)
            if parent not in page:  # a parent is most often the one before: read some of those with it
                found = self.get(key._replace(id=parent))
                before = self.checkpoints(key.thread, key.ns, before=parent, limit=size)
                page = {} if found is None else {one.checkpoint.key.id: one for one in (found, *before)}
                size = min(2 * size, PAGE)
            if parent not in page:
                return
            yield page[parent]
            parent = page[parent].checkpoint.parent

    def checkpoints(
        self,
        thread: str | None = None,
        ns: str | None = None,
        *,
        before: str | None = None,
        limit: int | None = None,
        accept: Callable[[Checkpoint], bool] | None = None,
    ) -> Iterator[Stored]:
        """Yield checkpoints by id, the latest first. Nothing is held between two of them.

        Args:
            thread: Of this thread; of all by default.
            ns: Of this namespace of the thread; of all by default.
            before: Only those with a smaller id.
            limit: At most so many.
            accept: Decides from the checkpoint alone, before its writes and blobs are read.
        """
        where = self._where(thread, ns)
        if before is not None:
            where = where.also(TimeRange("at", lte=moment(storable(before, "checkpoint id"))))
        left = limit
        size = PAGE if limit is None or accept is not None else min(limit, PAGE)
        while (left is None or left > 0) and (page := self._page(where, size, accept)):
            for _, stored in page:
                if stored is None or (before is not None and stored.checkpoint.key.id >= before):
                    continue
                if left == 0:
                    return
                yield stored
                left = None if left is None else left - 1
            where = where.also(TimeRange("at", lt=page[-1][0]))

    # -- upkeep -------------------------------------------------------------------------------------
    def threads(self) -> list[ThreadInfo]:
        """Return all threads with their figures, those with the latest checkpoint first."""
        return upkeep.threads(self._records(), self.agent)

    def thread(self, thread: str) -> ThreadInfo | None:
        """Return a thread's figures, or `None` when there is no such thread."""
        return next(iter(upkeep.threads(self._records(), self.agent, in_thread(thread))), None)

    def outline(self, thread: str) -> list[tuple[Checkpoint, int]]:
        """Return a thread's checkpoints, the latest first, each with the number of writes that follow it."""
        return upkeep.outline(self._records(), self.agent, thread)

    def prune(
        self,
        threads: Iterable[str] | None = None,
        *,
        keep_last: int | None = None,
        before: datetime | None = None,
        dry_run: bool = False,
    ) -> Pruned:
        """Delete old checkpoints, with their writes and whatever only they named.

        The latest one of each namespace stays, and whatever it is rebuilt from: see
        `memanto.checkpoints.retention`. A thread whose checkpoints were all made before `before` goes whole.

        Args:
            threads: Which threads; all by default.
            keep_last: So many checkpoints of each namespace stay, at least 1.
            before: Checkpoints made before this moment (aware) go.
            dry_run: Delete nothing.

        Raises:
            InvalidInputError: Neither limit is given, or one is out of its range.
        """
        limits = upkeep.Limits.checked(keep_last, before)
        names = [one.id for one in self.threads()] if threads is None else list(dict.fromkeys(threads))
        return upkeep.prune(self._records(), self.agent, names, limits, dry_run=dry_run)

    def delete_threads(self, threads: Iterable[str]) -> None:
        """Delete threads with all they have, also damaged ones.

        Raises:
            StoreDamagedError: Other threads are damaged so that they cannot be read at all; nothing was deleted. Delete
                all that `problems` names at once.
        """
        names = list(dict.fromkeys(threads))
        if names:
            self._records().delete(self.agent, (), in_thread(*names))

    def delete_runs(self, runs: Iterable[str]) -> None:
        """Delete the checkpoints that these runs made, with their writes.

        Raises:
            ConflictError: A later checkpoint of another run is rebuilt from them; nothing was deleted.
        """
        upkeep.delete_runs(self._records(), self.agent, list(runs))

    def copy_thread(self, source: str, target: str) -> None:
        """Copy a thread with all it has; what the target has under the same ids is replaced."""
        if source != target:
            upkeep.copy(self._records(), self.agent, self._layout, source, target)

    def compact(self) -> None:
        """Give disk space back and destroy the bytes of what was deleted; a server does this by itself."""
        self._records().compact(self.agent)

    def agents(self) -> list[str]:
        """Return the agents that have checkpoints in this store, sorted."""
        return self._records().namespaces()

    def problems(self) -> list[str]:
        """Return what is wrong with the agent's checkpoints, a sentence each; reads all of them."""
        return list(upkeep.problems(self._records(), self.agent)) if self.agent in self.agents() else []

    def size(self) -> LogSize:
        """Return what all threads take together."""
        threads, info = self.threads(), self._records().info(self.agent)
        return LogSize(
            threads=len(threads),
            checkpoints=sum(one.checkpoints for one in threads),
            writes=sum(one.writes for one in threads),
            bytes=sum(one.bytes for one in threads),
            disk_bytes=info.disk_bytes,
            location=info.location,
        )

    # -- inside -------------------------------------------------------------------------------------
    def _where(self, thread: str | None, ns: str | None) -> Where:
        if thread is None:
            return Where()
        return in_thread(thread) if ns is None else Where((Equals("line", self._layout.line(thread, ns)),))

    def _page(
        self, where: Where, size: int, accept: Callable[[Checkpoint], bool] | None
    ) -> list[tuple[str, Stored | None]]:
        """Return the newest checkpoints that match with their times, `None` for one that is not accepted."""
        if accept is None:
            return [(moment(one.checkpoint.key.id), one) for one in self._stored(where, size)]
        records = self._records().find(self.agent, where, newest_first=True, limit=size, bodies=True)
        whole = ((one.id, to_checkpoint(one)) for one in records)
        accepted = {record_id: one.key for record_id, one in whole if accept(one)}
        stored = {self._layout.checkpoint_id(one.checkpoint.key): one for one in self._stored(accepted)}
        return [(one.keys["at"], stored.get(one.id)) for one in records]

    def _stored(self, which: Mapping[str, Key] | Where, limit: int | None = None) -> list[Stored]:
        """Return checkpoints by the ids of their records, or the newest that match."""
        try:
            ids = which if isinstance(which, Where) else list(which)
            found = _assembled(self._records().collect(self.agent, ids, limit))
        except StoreDamagedError as error:
            raise self._named(error, which, limit) from error
        if all(found.values()):
            return [one for one in found.values() if one is not None]
        # Somebody deletes at this moment: what is still there now must be whole.
        again = _assembled(self._records().collect(self.agent, list(found)))
        torn = next((key for key, one in again.items() if one is None), None)
        if torn is not None:
            raise SerializationError(
                f"a checkpoint of agent {self.agent!r} names a value that is not there (record {torn})",
                hint="restore the store from a backup, or delete the thread",
            )
        return [one for one in again.values() if one is not None]

    def _named(
        self, error: StoreDamagedError, which: Mapping[str, Key] | Where, limit: int | None
    ) -> StoreDamagedError:
        """Return a fault of the store with the name of the first of these checkpoints that has it."""
        if isinstance(which, Where):
            heads = self._records().find(self.agent, which, newest_first=True, limit=limit)
            which = {one.id: to_checkpoint(one).key for one in heads}
        for record_id, key in which.items():
            try:
                self._records().collect(self.agent, [record_id])
            except StoreDamagedError as found:
                what = f"checkpoint {key.id!r} of thread {key.thread!r} cannot be read: {found.message}"
                return StoreDamagedError(what, hint=THREAD_HINT)
        return error


def _assembled(found: Found) -> dict[str, Stored | None]:
    """Return the checkpoints with what belongs to them, in order; `None` for one whose blobs are not all there."""
    blobs = {record.id: to_blob(record).value for record in found.shared}
    parts: dict[str, list[Record]] = defaultdict(list)
    for part in found.parts:
        parts[part.keys["of"]].append(part)
    whole: dict[str, Stored | None] = {}
    for record in found.records:
        belonging = parts[record.id]
        complete = all(ref in blobs for one in (record, *belonging) for ref in one.head.get("refs", ()))
        whole[record.id] = Stored(to_checkpoint(record), to_writes(belonging), blobs) if complete else None
    return whole
