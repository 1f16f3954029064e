"""Nodes that keep the window small: compress old tool results, work apart and bring back one finding."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableLambda

from langgraph_memanto.nodes_base import Node, Source, node, read, text_of
from memanto import Memanto, Provenance
from memanto.adapter import Failsafe, as_sync
from memanto.adapter_results import pointers
from memanto.errors import InvalidInputError

if TYPE_CHECKING:
    from memanto import AsyncMemanto


def compress_node(
    memory: Memanto | AsyncMemanto,
    *,
    messages: str = "messages",
    over_tokens: int = 1_000,
    keep_last: int = 2,
    source: str = "langgraph",
    strict: bool = False,
) -> Node:
    """Return a node that lets older long tool results give way to pointers; their texts are kept as artifacts.

    Needs a field of messages with LangGraph's `add_messages`. `Memanto.page` reads an artifact page by page.

    Args:
        memory: Who opened it closes it.
        messages: Field of the state that holds the messages.
        over_tokens: Size from which a result is kept apart.
        keep_last: How many of the latest tool results stay whole.
        source: Who writes.
        strict: Raise when memory fails.

    Raises:
        InvalidInputError: A number is out of its range.
    """
    verbs = as_sync(memory)
    if over_tokens < 1 or keep_last < 0:
        raise InvalidInputError(
            f"over_tokens {over_tokens!r} and keep_last {keep_last!r} are not valid", hint="from 1 and from 0 on"
        )

    def act(state: Any) -> dict[str, Any]:
        results = [one for one in read(state, messages) if isinstance(one, ToolMessage)]
        older = results[: len(results) - keep_last]
        shorter = pointers(verbs, older, over_tokens=over_tokens, source=source)
        return {messages: shorter} if shorter else {}

    return node("compress", act, {}, strict=strict)


def isolate_node(
    memory: Memanto | AsyncMemanto,
    worker: Callable[[Any, Memanto], str | None] | Callable[[Any, Memanto], Awaitable[str | None]],
    *,
    task: Source,
    into: str = "finding",
    provenance: Provenance | str = Provenance.INFERRED,
    run_id: str | None = None,
    source: str = "langgraph",
    strict: bool = False,
) -> Node:
    """Return a node in which a sub-agent works with a memory of its own; one finding of it comes back.

    Args:
        memory: Who opened it closes it.
        worker: Gets the state and a complete, empty memory that is gone afterwards; returns its finding (at most 2,000
            tokens), or `None`. May be a coroutine function; then the graph runs by `ainvoke`. What it raises is raised.
        task: What the sub-agent is asked.
        into: Field of the state for the finding, `""` for none. It is stored as a `learning`, too.
        provenance: Of the finding.
        run_id: The run it belongs to.
        source: Who writes.
        strict: Raise when the finding cannot be stored.
    """
    verbs = as_sync(memory)
    failsafe = Failsafe("isolate_node", strict=strict)

    def keep(finding: str, about: str) -> None:
        with verbs.isolate(about, run_id=run_id, source=source) as scratch:
            scratch.conclude(finding, provenance=provenance)

    def scratch_of(state: Any) -> Any:
        return verbs.isolate(text_of(state, task) or "a task without words", run_id=run_id, source=source)

    def act(state: Any) -> dict[str, Any]:
        with scratch_of(state) as scratch:
            finding: Any = worker(state, scratch.memory)
        if finding:
            failsafe.call("store a finding", keep, finding, scratch.task, otherwise=None)
        return {into: finding or ""}

    async def aact(state: Any) -> dict[str, Any]:
        if not iscoroutinefunction(worker):
            return await asyncio.to_thread(act, state)
        scratch = scratch_of(state)
        await asyncio.to_thread(scratch.__enter__)
        try:
            finding: Any = await worker(state, scratch.memory)
        finally:
            await asyncio.to_thread(scratch.__exit__, None, None, None)
        if finding:
            await failsafe.acall("store a finding", keep, finding, scratch.task, otherwise=None)
        return {into: finding or ""}

    return RunnableLambda(act, aact, name="isolate")
