"""Checkpoints to put, and shorthands to read them."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointTuple, empty_checkpoint


def config(thread: Any = "t", ns: str | None = "", checkpoint_id: str | None = None) -> RunnableConfig:
    """Return a configuration that names a thread and, if given, a namespace and a checkpoint."""
    named = {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}
    return {"configurable": {name: value for name, value in named.items() if value is not None}}


def checkpoint(
    values: dict[str, Any] | None = None, versions: dict[str, Any] | None = None, **fields: Any
) -> Checkpoint:
    """Return a new checkpoint; every channel has version 1 unless told otherwise."""
    made = empty_checkpoint()
    made["channel_values"] = dict(values or {})
    made["channel_versions"] = versions if versions is not None else dict.fromkeys(values or {}, 1)
    made.update(fields)  # type: ignore[typeddict-item]
    return made


def put(
    saver: BaseCheckpointSaver[Any],
    after: RunnableConfig,
    made: Checkpoint,
    *,
    new: dict[str, Any] | None = None,
    **metadata: Any,
) -> RunnableConfig:
    """Put a checkpoint; every channel is new unless told otherwise."""
    told = {"source": "loop", "step": 0, "parents": {}, **metadata}
    return saver.put(after, made, told, made["channel_versions"] if new is None else new)  # type: ignore[arg-type]


def chain(
    saver: BaseCheckpointSaver[Any], number: int, thread: str = "t", ns: str = "", **metadata: Any
) -> list[RunnableConfig]:
    """Put checkpoints one after the other; channel `n` counts from 0 on."""
    last = config(thread, ns)
    made = []
    for n in range(number):
        last = put(saver, last, checkpoint({"n": n}, {"n": n + 1}), step=n, **metadata)
        made.append(last)
    return made


def ids(found: Any) -> list[str]:
    """Return the ids of checkpoints, of tuples or configurations, in order."""
    return [id_of(one.config if isinstance(one, CheckpointTuple) else one) for one in found]


def id_of(named: RunnableConfig) -> str:
    return named["configurable"]["checkpoint_id"]


def values(saver: BaseCheckpointSaver[Any], named: RunnableConfig) -> dict[str, Any]:
    """Return the channel values of a checkpoint that exists."""
    found = saver.get_tuple(named)
    assert found is not None
    return found.checkpoint["channel_values"]
