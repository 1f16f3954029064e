"""Between a state of langgraph and a checkpoint of a `CheckpointLog`: which value is kept where."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.base import Checkpoint as State
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from langgraph_memanto.packing import INLINE, Serialised, dump, load, pack, unpack
from langgraph_memanto.recent import Recent
from memanto.checkpoints import Blob, Checkpoint, Key, Packed, Stored, Write
from memanto.errors import InvalidInputError, SerializationError

REMEMBERED: Final = 1 << 16
"""Bytes of a value up to which it is remembered."""
_DELTA_COUNTERS: Final = "counters_since_delta_snapshot"
_SHORT: Final = 64
_OF_THE_FRAMEWORK: Final = {
    "__start__": " (the graph's input)",
    "__resume__": " (what the graph is resumed with)",
    "__interrupt__": " (what a node asks with interrupt)",
}
"""Channels that no user named, in the user's words."""
_LARGEST: Final = 2**63


@dataclass(frozen=True, slots=True)
class Lineage:
    """What a child takes over from its parent without looking at the values.

    Attributes:
        versions: Of the parent's channels.
        values: Where the parent has the value of each channel that has one.
        deltas: Channels that are kept as changes, as far as they were seen.
    """

    versions: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Packed | str] = field(default_factory=dict)
    deltas: frozenset[str] = frozenset()


@dataclass(slots=True)
class Draft:
    """Values on their way into the log.

    Attributes:
        serde: Serialises them.
        ref: Returns the name of the blob with a digest.
        known: Whether a blob of this name was seen in the log lately; then it is named and not sent.
        blobs: The blobs to send, by name.
        large: What is behind each name, to send it after all.
    """

    serde: SerializerProtocol
    ref: Callable[[str], str]
    known: Callable[[str], bool]
    blobs: dict[str, Blob] = field(default_factory=dict)
    large: dict[str, Serialised] = field(default_factory=dict)

    def add(self, value: Any, what: str) -> Packed | str:
        """Return where the value will be: in place, or the name of its blob."""
        written = dump(self.serde, value, what)
        if len(written.data) <= INLINE:
            return pack(written)
        digest = written.digest()
        ref = self.ref(digest)
        self.large[ref] = written
        if ref not in self.blobs and not self.known(ref):
            self.blobs[ref] = Blob(ref, digest, pack(written))
        return ref

    def send(self, refs: Sequence[str]) -> list[str]:
        """Send these blobs after all; returns those whose values are not at hand."""
        for ref in refs:
            if ref in self.large:
                written = self.large[ref]
                self.blobs[ref] = Blob(ref, written.digest(), pack(written))
        return [ref for ref in refs if ref not in self.large]


def to_checkpoint(
    draft: Draft,
    config: RunnableConfig,
    state: State,
    metadata: CheckpointMetadata,
    *,
    new_versions: ChannelVersions,
    parent: Lineage,
) -> tuple[Checkpoint, Lineage]:
    """Return the checkpoint of a state, and what its children take over.

    A channel with a new version gets a value of its own; another one has its parent's value as long as their
    versions agree, and else the one in the state.

    Raises:
        SerializationError: A value cannot be stored; the message names its channel.
    """
    values, versions = state["channel_values"], state["channel_versions"]
    kept: dict[str, Packed | str] = {}
    plain: dict[str, Any] = {}
    for channel, version in versions.items():
        if channel in values and is_plain(values[channel]):
            plain[channel] = values[channel]
        elif channel not in new_versions and parent.versions.get(channel) == version:
            if channel in parent.values:
                kept[channel] = parent.values[channel]
        elif channel in values:
            kept[channel] = draft.add(values[channel], _channel(channel))
    told = get_checkpoint_metadata(config, metadata)
    snapshots = (channel for channel, value in values.items() if isinstance(value, _DeltaSnapshot))
    deltas = frozenset({*(told.get(_DELTA_COUNTERS) or ()), *parent.deltas, *snapshots} & versions.keys())
    body = {**state, "channel_values": plain}
    written = _dump_body(draft.serde, body, told, plain)
    key = key_of(config, state["id"])
    checkpoint = Checkpoint(
        key=key,
        parent=config["configurable"].get("checkpoint_id"),
        body=pack(written),
        values=kept,
        deltas=deltas,
        open=deltas - values.keys(),
        ts=_text(state.get("ts")) or "",
        step=_integer(told.get("step")),
        source=_text(told.get("source")) or "",
        run=_text(told.get("run_id")),
        root=_text((told.get("parents") or {}).get("")) if key.ns else None,
    )
    # A copy: langgraph goes on counting in the one it passed.
    return checkpoint, Lineage(dict(versions), kept, deltas)


def _dump_body(serde: SerializerProtocol, body: Any, told: Any, plain: Mapping[str, Any]) -> Serialised:
    try:
        return dump(serde, [body, told], "the checkpoint's metadata")
    except SerializationError:
        for channel, value in plain.items():  # say which one it was
            dump(serde, value, _channel(channel))
        raise


def to_writes(draft: Draft, writes: Sequence[tuple[str, Any]], task: str, path: str) -> list[Write]:
    """Return what a task wrote; the number of a special channel is fixed, that of another is its position.

    Raises:
        SerializationError: A value cannot be stored; the message names its channel.
    """
    return [
        Write(task, path, WRITES_IDX_MAP.get(channel, position), channel, draft.add(value, _channel(channel)))
        for position, (channel, value) in enumerate(writes)
    ]


def named(values: Iterable[Packed | str]) -> list[str]:
    """Return the names of blobs among values."""
    return [value for value in values if isinstance(value, str)]


@dataclass(frozen=True, slots=True)
class Unfolded:
    """A stored checkpoint with its texts turned into serialised values, which a cache may keep.

    Reading it makes new objects each time, so that nobody can change what another reader gets.
    """

    checkpoint: Checkpoint
    body: Serialised
    values: tuple[tuple[str, Serialised], ...]
    writes: tuple[tuple[str, str, Serialised], ...]

    @property
    def size(self) -> int:
        """Bytes of its values."""
        written = [self.body, *(value for _, value in self.values), *(value for _, _, value in self.writes)]
        return sum(len(one.data) for one in written)


def unfold(stored: Stored, known: Recent[str, Serialised]) -> Unfolded:
    """Return a stored checkpoint with its texts decoded.

    Args:
        stored: As it comes from the log.
        known: Values of blobs by `ref`, which never change; gets those that were decoded.

    Raises:
        SerializationError: One of them is damaged.
    """
    where = _where(stored.checkpoint.key)

    def unfolded(value: Packed | str, what: str) -> Serialised:
        if not isinstance(value, str):
            return unpack(value, what)
        found = known.get(value)
        if found is None:
            found = unpack(stored.blobs[value], what)
            if len(found.data) <= REMEMBERED:
                known.put(value, found)
        return found

    return Unfolded(
        stored.checkpoint,
        unpack(stored.checkpoint.body, where),
        tuple(
            (channel, unfolded(value, f"channel {channel!r} of {where}"))
            for channel, value in stored.checkpoint.values.items()
        ),
        tuple(
            (one.task, one.channel, unfolded(one.value, f"a write to {one.channel!r} after {where}"))
            for one in stored.writes
        ),
    )


def to_tuple(serde: SerializerProtocol, found: Unfolded) -> CheckpointTuple:
    """Return what langgraph asked for.

    Raises:
        SerializationError: A value cannot be read; the message names its channel.
    """
    key, where = found.checkpoint.key, _where(found.checkpoint.key)
    state, metadata = _body(serde, found.body, where)
    for channel, written in found.values:
        state["channel_values"][channel] = load(serde, written, f"channel {channel!r} of {where}")
    return CheckpointTuple(
        config=_config(key, key.id),
        checkpoint=state,
        metadata=metadata,
        parent_config=_config(key, found.checkpoint.parent) if found.checkpoint.parent else None,
        pending_writes=[
            (task, channel, load(serde, written, f"a write to {channel!r} after {where}"))
            for task, channel, written in found.writes
        ],
    )


def history(
    serde: SerializerProtocol, chain: Iterable[Stored], channels: Sequence[str]
) -> dict[str, DeltaChannelHistory]:
    """Return what parents wrote to channels, back to the nearest one that has the channel's value.

    Args:
        serde: Reads the values.
        chain: The parents, the nearest first.
        channels: Which channels.
    """
    found: dict[str, DeltaChannelHistory] = {channel: {"writes": []} for channel in channels}
    waiting = set(channels)
    for stored in chain:
        where = _where(stored.checkpoint.key)
        for write in reversed(stored.writes):
            if write.channel in waiting:
                written = unpack(_at_hand(stored, write.value), f"a write to {write.channel!r} after {where}")
                value = load(serde, written, f"a write to {write.channel!r} after {where}")
                found[write.channel]["writes"].append((write.task, write.channel, value))
        for channel, value in _values(serde, stored, waiting):
            found[channel]["seed"] = value
            waiting.discard(channel)
        if not waiting:
            break
    for one in found.values():
        one["writes"].reverse()
    return found


def _values(serde: SerializerProtocol, stored: Stored, channels: Collection[str]) -> list[tuple[str, Any]]:
    """Return the values that a checkpoint has of its own for these channels."""
    where, values = _where(stored.checkpoint.key), stored.checkpoint.values
    state, _ = _body(serde, unpack(stored.checkpoint.body, where), where)
    found = [(channel, value) for channel, value in state["channel_values"].items() if channel in channels]
    for channel in values.keys() & channels:
        what = f"channel {channel!r} of {where}"
        found.append((channel, load(serde, unpack(_at_hand(stored, values[channel]), what), what)))
    return found


def metadata_of(serde: SerializerProtocol, checkpoint: Checkpoint) -> CheckpointMetadata:
    """Return the metadata of a checkpoint without its values."""
    where = _where(checkpoint.key)
    return _body(serde, unpack(checkpoint.body, where), where)[1]


def lineage_of(serde: SerializerProtocol, checkpoint: Checkpoint) -> Lineage:
    """Return what children of a stored checkpoint take over."""
    where = _where(checkpoint.key)
    state, _ = _body(serde, unpack(checkpoint.body, where), where)
    return Lineage(state["channel_versions"], checkpoint.values, checkpoint.deltas)


def key_of(config: RunnableConfig, checkpoint_id: str) -> Key:
    """Return the key of a checkpoint in the thread and namespace that a configuration names."""
    return Key(*thread_of(config), checkpoint_id)


def thread_of(config: RunnableConfig) -> tuple[str, str]:
    """Return thread and namespace; the thread `1` and the thread `"1"` are the same.

    Raises:
        InvalidInputError: There is no thread id.
    """
    named = config.get("configurable") or {}
    thread = named.get("thread_id")
    if thread is None:
        raise InvalidInputError(
            "the configuration names no thread", hint="pass config={'configurable': {'thread_id': ...}}"
        )
    return str(thread), str(named.get("checkpoint_ns") or "")


def is_plain(value: Any) -> bool:
    """Whether a value is kept with the checkpoint itself, which costs less than looking for it elsewhere."""
    kind = type(value)
    if kind is str:
        return len(value) <= _SHORT
    return value is None or kind is bool or kind is float or (kind is int and -_LARGEST <= value < _LARGEST)


def _body(serde: SerializerProtocol, body: Serialised, where: str) -> tuple[State, CheckpointMetadata]:
    found = load(serde, body, where)
    match found:
        case [{"channel_values": dict(), "channel_versions": dict()} as state, dict() as metadata]:
            return cast("State", state), cast("CheckpointMetadata", metadata)
        case _:
            raise SerializationError(f"{where} is no checkpoint", hint="delete the thread, or restore a backup")


def _at_hand(stored: Stored, value: Packed | str) -> Packed:
    return stored.blobs[value] if isinstance(value, str) else value


def _config(key: Key, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": key.thread, "checkpoint_ns": key.ns, "checkpoint_id": checkpoint_id}}


def _channel(name: str) -> str:
    return f"channel {name!r}{_OF_THE_FRAMEWORK.get(name, '')}"


def _where(key: Key) -> str:
    return f"checkpoint {key.id!r} of thread {key.thread!r}"


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _integer(value: Any) -> int | None:
    return value if type(value) is int and -_LARGEST <= value < _LARGEST else None
