"""The store in graphs: given to nodes, from many threads, tasks and processes at once (pins the specification)."""

from __future__ import annotations

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, GetOp, PutOp, SearchOp

from langgraph_memanto.store import MemantoStore
from memanto import AsyncMemanto, Embedded, InMemory, Memanto, Server
from memanto.testing import HashEmbedder

NS = ("shared",)


class State(TypedDict, total=False):
    user: str
    told: str


def test_nodes_share_what_they_put_across_threads_of_a_graph(store: MemantoStore) -> None:
    def note(state: State, runtime: Runtime[None]) -> State:
        assert runtime.store is not None
        runtime.store.put(("users", state["user"]), "seen", {"text": f"{state['user']} was here"})
        others = runtime.store.search(("users",), query="who was here")
        return {"told": ", ".join(sorted(item.namespace[1] for item in others))}

    graph = StateGraph(State)
    graph.add_node("note", note)
    graph.add_edge(START, "note")
    compiled = graph.compile(store=store)
    assert compiled.invoke({"user": "ana"})["told"] == "ana"
    assert asyncio.run(compiled.ainvoke({"user": "bob"}))["told"] == "ana, bob"


def test_every_method_has_a_twin_that_is_awaited_and_leaves_the_loop_free() -> None:
    async def main() -> None:
        async with AsyncMemanto("tester", store=InMemory(), embedder=HashEmbedder(), reranker=None) as memory:
            store: BaseStore = MemantoStore(memory)
            await asyncio.gather(*(store.aput(NS, f"k{n}", {"text": f"entry {n}"}) for n in range(10)))
            found = await asyncio.gather(*(store.aget(NS, f"k{n}") for n in range(10)))
            assert [item is not None and item.value["text"] for item in found] == [f"entry {n}" for n in range(10)]
            assert len(await store.asearch(NS, query="entry", limit=20)) == 10
            await store.adelete(NS, "k0")
            assert await store.alist_namespaces() == [NS]
            assert await store.aget(NS, "k0") is None

    asyncio.run(main())


def test_results_of_a_batch_are_in_its_order_and_reads_see_what_was_before(store: MemantoStore) -> None:
    store.put(NS, "k", {"n": 1})
    results = store.batch([PutOp(NS, "k", {"n": 2}), GetOp(NS, "k"), SearchOp(NS), PutOp(NS, "k", {"n": 3})])
    assert [results[0], results[3]] == [None, None]
    assert results[1].value == {"n": 1}  # type: ignore[union-attr]
    assert [item.value for item in results[2]] == [{"n": 1}]  # type: ignore[union-attr]
    item = store.get(NS, "k")
    assert item is not None
    assert item.value == {"n": 3}


def test_writers_at_once_lose_nothing_and_one_item_has_the_value_of_one_of_them(store: MemantoStore) -> None:
    def write(number: int) -> None:
        store.put(NS, f"own {number}", {"text": f"writer {number}"})
        store.put(NS, "common", {"text": f"writer {number}", "n": number})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(16)))
    assert len(store.search(NS, limit=100)) == 17
    item = store.get(NS, "common")
    assert item is not None
    assert item.value["text"] == f"writer {item.value['n']}"


def test_a_cancelled_put_is_whole_or_not_there(store: MemantoStore) -> None:
    async def main() -> None:
        task = asyncio.create_task(store.aput(NS, "k", {"text": "whole", "n": 1}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.get_running_loop().shutdown_default_executor()

    asyncio.run(main())
    item = store.get(NS, "k")
    assert item is None or item.value == {"text": "whole", "n": 1}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_forked_child_reads_and_writes_the_same_items(tmp_path: Path) -> None:
    with Memanto("forked", store=Embedded(tmp_path), embedder=None, reranker=None) as memory:
        store = MemantoStore(memory)
        store.put(NS, "parent", {"n": 1})
        child = os.fork()
        if child == 0:
            seen = store.get(NS, "parent")
            store.put(NS, "child", {"n": 2})
            os._exit(0 if seen is not None and seen.value == {"n": 1} else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert sorted(item.key for item in store.search(NS)) == ["child", "parent"]


def test_a_server_gives_the_same() -> None:
    with Memanto("served", store=Server(":memory:"), embedder=HashEmbedder(), reranker=None) as memory:
        store = MemantoStore(memory)
        for number in range(3):
            store.put(NS, f"k{number}", {"text": f"entry {number}", "n": number})
        store.put(NS, "k1", {"text": "entry one again", "n": 1})
        store.delete(NS, "k2")
        assert [item.key for item in store.search(NS)] == ["k1", "k0"]
        assert store.search(NS, query="one again", limit=1)[0].value["n"] == 1
        assert store.list_namespaces() == [NS]
