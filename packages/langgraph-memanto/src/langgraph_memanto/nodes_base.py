"""What the nodes share: reading a state, and calls of memory that never fail a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from langchain_core.runnables import Runnable, RunnableLambda

from memanto.adapter import Failsafe
from memanto.loop.fence import whole

Source: TypeAlias = str | Callable[[Any], Any]
"""What a node reads: the name of a field of the state, or a function from the state."""
Node: TypeAlias = Runnable[Any, dict[str, Any]]


def node(name: str, act: Callable[[Any], dict[str, Any]], otherwise: Mapping[str, Any], *, strict: bool) -> Node:
    """Return a node that does what `act` does, with `invoke` and `ainvoke`.

    Args:
        name: What it is called in traces and in the log.
        act: From the state to an update of it; blocks.
        otherwise: The update when memory fails.
        strict: Raise instead.
    """
    failsafe = Failsafe(f"{name}_node", strict=strict)

    def run(state: Any) -> dict[str, Any]:
        return failsafe.call(name.replace("_", " "), act, state, otherwise=dict(otherwise))

    async def arun(state: Any) -> dict[str, Any]:
        return await failsafe.acall(name.replace("_", " "), act, state, otherwise=dict(otherwise))

    return RunnableLambda(run, arun, name=name)


def read(state: Any, source: Source) -> Any:
    """Return what a source gives of a state, a mapping or an object; `None` for a field that is not there."""
    if callable(source):
        return source(state)
    return state.get(source) if isinstance(state, Mapping) else getattr(state, source, None)


def text_of(state: Any, source: Source | None) -> str:
    """Return the text that a source gives, stripped; of messages, the latest one's."""
    value = None if source is None else read(state, source)
    if isinstance(value, list) and value:
        value = value[-1]
    text = getattr(value, "text", value)
    return "" if text is None else whole(str(text)).strip()
