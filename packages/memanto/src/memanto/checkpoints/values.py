"""The values of a checkpoint log. A text in them is opaque to it: an adapter wrote it and will read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias


class Key(NamedTuple):
    """Names a checkpoint: thread, namespace within it (`""` is the graph itself), and id.

    Ids sort as texts from the oldest to the latest.
    """

    thread: str
    ns: str
    id: str


class Packed(NamedTuple):
    """A value as an adapter wrote it, and the tag that tells how to read it."""

    tag: str
    text: str


class Blob(NamedTuple):
    """A value that several checkpoints and writes of a thread may share.

    Attributes:
        ref: Names it among the blobs of its thread: see `CheckpointLog.ref`.
        digest: Of the value; equal values have the same one.
        value: The value itself.
    """

    ref: str
    digest: str
    value: Packed


Value: TypeAlias = Packed | str
"""A small value itself, or the `ref` of a blob."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint as it is stored.

    Attributes:
        key: Its name.
        parent: Id of the checkpoint it follows in the same namespace.
        body: What the adapter keeps besides the values of channels.
        values: The value of each channel that has one of its own here.
        deltas: Channels that are kept as changes.
        open: Those of them whose value is not here, but has to be rebuilt from the parents.
        ts: ISO 8601 time at which it was made, or `""`.
        step: Number of the step, if it has one.
        source: What made it.
        run: The run that made it, if it says so.
        root: Id of the graph's own checkpoint during which a subgraph made this one.
    """

    key: Key
    parent: str | None
    body: Packed
    values: Mapping[str, Value] = field(default_factory=dict)
    deltas: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()
    ts: str = ""
    step: int | None = None
    source: str = ""
    run: str | None = None
    root: str | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """What a task wrote to a channel after a checkpoint, before the next one.

    Attributes:
        task: The task.
        path: Where the task stands in its step; writes are ordered by (`path`, `task`, `idx`).
        idx: Which of the task's writes; the first one of a number from 0 on stays, a negative one is replaced.
        channel: Written to.
        value: What was written.
    """

    task: str
    path: str
    idx: int
    channel: str
    value: Value


@dataclass(frozen=True, slots=True)
class Stored:
    """A checkpoint with its writes in order, and the blobs that it and they name, by `ref`."""

    checkpoint: Checkpoint
    writes: tuple[Write, ...]
    blobs: Mapping[str, Packed]


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """Figures about a thread.

    Attributes:
        id: The thread.
        checkpoints: Number of checkpoints in all its namespaces.
        namespaces: Number of namespaces, those of subgraphs included.
        writes: Number of writes of tasks.
        bytes: Size of its texts as stored, each shared value once.
        updated: ISO 8601 time of its latest checkpoint, or `""`.
        by_kind: `bytes` of checkpoints, of shared values and of writes.
    """

    id: str
    checkpoints: int
    namespaces: int
    writes: int
    bytes: int
    updated: str
    by_kind: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class LogSize:
    """What all threads of an agent take together.

    Attributes:
        threads: Number of threads.
        checkpoints: Number of checkpoints.
        writes: Number of writes of tasks.
        bytes: Size of the texts as stored, each shared value once for its thread.
        disk_bytes: What the files take on this machine, or `None` on a server.
        location: Folder or URL.
    """

    threads: int
    checkpoints: int
    writes: int
    bytes: int
    disk_bytes: int | None
    location: str


@dataclass(frozen=True, slots=True)
class Pruned:
    """What pruning removed, or would remove.

    Attributes:
        threads: Threads that lost something.
        checkpoints: Checkpoints removed.
        kept_for_rebuilding: Checkpoints that were to go and stay, because a later one is rebuilt from them.
    """

    threads: int
    checkpoints: int
    kept_for_rebuilding: int
