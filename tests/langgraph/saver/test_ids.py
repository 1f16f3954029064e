"""An id that UTF-8 cannot hold is refused by every method, and nothing is changed (pins our decision)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from tests.langgraph.saver.kit import checkpoint, config, put

from langgraph_memanto import MemantoSaver
from memanto.errors import InvalidInputError

ODD = "cut \ud83d"
METADATA: Any = {"source": "loop", "step": 0, "parents": {}}

Method = Callable[[MemantoSaver, Any], Any]
AsyncMethod = Callable[[MemantoSaver, Any], Awaitable[Any]]

TAKES_A_CONFIG: dict[str, tuple[Method, AsyncMethod]] = {
    "get": (lambda saver, odd: saver.get(odd), lambda saver, odd: saver.aget(odd)),
    "get_tuple": (lambda saver, odd: saver.get_tuple(odd), lambda saver, odd: saver.aget_tuple(odd)),
    "list": (lambda saver, odd: list(saver.list(odd)), lambda saver, odd: drained(saver.alist(odd))),
    "history": (
        lambda saver, odd: saver.get_delta_channel_history(config=odd, channels=["a"]),
        lambda saver, odd: saver.aget_delta_channel_history(config=odd, channels=["a"]),
    ),
    "put": (
        lambda saver, odd: saver.put(odd, checkpoint({"a": 1}), METADATA, {"a": 1}),
        lambda saver, odd: saver.aput(odd, checkpoint({"a": 1}), METADATA, {"a": 1}),
    ),
    "put_writes": (
        lambda saver, odd: saver.put_writes(_with_id(odd), [("a", 1)], "task"),
        lambda saver, odd: saver.aput_writes(_with_id(odd), [("a", 1)], "task"),
    ),
}
TAKES_AN_ID: dict[str, tuple[Method, AsyncMethod]] = {
    "delete_thread": (lambda saver, odd: saver.delete_thread(odd), lambda saver, odd: saver.adelete_thread(odd)),
    "delete_for_runs": (
        lambda saver, odd: saver.delete_for_runs(["run", odd]),
        lambda saver, odd: saver.adelete_for_runs(["run", odd]),
    ),
    "copy_from": (lambda saver, odd: saver.copy_thread(odd, "t"), lambda saver, odd: saver.acopy_thread(odd, "t")),
    "copy_to": (lambda saver, odd: saver.copy_thread("t", odd), lambda saver, odd: saver.acopy_thread("t", odd)),
    "prune": (lambda saver, odd: saver.prune(["t", odd]), lambda saver, odd: saver.aprune(["t", odd])),
    "prune_whole": (
        lambda saver, odd: saver.prune(["t", odd], strategy="delete"),
        lambda saver, odd: saver.aprune(["t", odd], strategy="delete"),
    ),
    "list_before": (
        lambda saver, odd: list(saver.list(config(), before=config(checkpoint_id=odd))),
        lambda saver, odd: drained(saver.alist(config(), before=config(checkpoint_id=odd))),
    ),
    "put_of_a_run": (
        lambda saver, odd: saver.put(config(), checkpoint(), {**METADATA, "run_id": odd}, {}),
        lambda saver, odd: saver.aput(config(), checkpoint(), {**METADATA, "run_id": odd}, {}),
    ),
    "put_under_an_id": (
        lambda saver, odd: saver.put(config(), checkpoint(id=odd), METADATA, {}),
        lambda saver, odd: saver.aput(config(), checkpoint(id=odd), METADATA, {}),
    ),
}


async def drained(found: Any) -> list[Any]:
    return [one async for one in found]


def _with_id(named: Any) -> Any:
    return {"configurable": {"checkpoint_id": "c", **named["configurable"]}}


@pytest.fixture
def filled(saver: MemantoSaver) -> MemantoSaver:
    """A saver that has one thread with one checkpoint."""
    put(saver, config(), checkpoint({"a": "x" * 900}), run_id="run")
    return saver


def refused(saver: MemantoSaver, methods: tuple[Method, AsyncMethod], odd: Any) -> None:
    method, twin = methods
    with pytest.raises(InvalidInputError, match="UTF-8") as caught:
        method(saver, odd)
    assert "ud83d" in caught.value.message
    with pytest.raises(InvalidInputError, match="UTF-8"):
        asyncio.run(_awaited(twin(saver, odd)))
    [thread] = saver.list_threads()
    assert (thread.id, thread.checkpoints, thread.writes) == ("t", 1, 0)


async def _awaited(given: Awaitable[Any]) -> Any:
    return await given


@pytest.mark.parametrize("name", TAKES_A_CONFIG)
@pytest.mark.parametrize("odd", [config(ODD), config("t", ODD)], ids=["thread", "namespace"])
def test_a_configuration_with_such_a_thread_or_namespace_is_refused(name: str, odd: Any, filled: MemantoSaver) -> None:
    refused(filled, TAKES_A_CONFIG[name], odd)


@pytest.mark.parametrize("name", [name for name in TAKES_A_CONFIG if name != "list"])
def test_a_configuration_with_such_a_checkpoint_is_refused(name: str, filled: MemantoSaver) -> None:
    refused(filled, TAKES_A_CONFIG[name], config("t", "", ODD))


@pytest.mark.parametrize("name", TAKES_AN_ID)
def test_such_an_id_is_refused_by_upkeep_too(name: str, filled: MemantoSaver) -> None:
    refused(filled, TAKES_AN_ID[name], ODD)


def test_a_graph_on_such_a_thread_says_what_is_wrong_before_it_runs(edge_saver: MemantoSaver) -> None:
    graph = StateGraph(dict)
    graph.add_node("work", lambda _: pytest.fail("a node ran"))
    graph.add_edge(START, "work")
    with pytest.raises(InvalidInputError, match="thread id"):
        graph.compile(checkpointer=edge_saver).invoke({"a": 1}, config(ODD))
