"""Graphs behave as with the saver that the framework keeps in memory, whatever they do (a specification)."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from threading import Event, Thread
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt
from tests.langgraph.saver.kit import config

from langgraph_memanto import MemantoSaver

Saver = BaseCheckpointSaver[Any]


class State(TypedDict, total=False):
    step: int
    scratch: str
    answer: Any
    log: Annotated[list[str], operator.add]
    messages: Annotated[list[AnyMessage], add_messages]


def _inner(*, stateful: bool) -> Any:
    graph = StateGraph(State)
    graph.add_node("ask", lambda state: {"answer": interrupt("which?"), "log": ["asked"]})
    graph.add_node("note", lambda state: {"log": [f"got {state['answer']}"]})
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "note")
    return graph.compile(checkpointer=True if stateful else None)


def _outer(saver: Saver, *, stateful: bool = False) -> Any:
    """A graph that fans out, calls a subgraph that asks, and goes on."""
    graph = StateGraph(State)
    graph.add_node("plan", lambda state: {"step": 1, "scratch": "plan " * 200, "log": ["planned"]})
    graph.add_node("work", lambda state: {"log": [f"did {state['step']}"]})
    graph.add_node("sub", _inner(stateful=stateful))
    graph.add_node("end", lambda state: {"step": 2, "log": [f"ended with {state['answer']}"]})
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", lambda state: [Send("work", {"step": n}) for n in range(10)])
    graph.add_edge("work", "sub")
    graph.add_edge("sub", "end")
    graph.add_edge("end", END)
    return graph.compile(checkpointer=saver)


def _told(graph: Any) -> list[Any]:
    """Return what a graph's history says, without ids and times."""
    return [
        (
            state.values,
            state.next,
            state.metadata["source"],
            state.metadata["step"],
            [task.name for task in state.tasks],
        )
        for state in graph.get_state_history(config())
    ]


def _same(saver: Saver, play: Callable[[Saver], Any]) -> Any:
    """Return what a play returns with both savers, after checking that it is the same."""
    expected = play(InMemorySaver())
    assert play(saver) == expected
    return expected


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("stateful", [False, True], ids=["called", "stateful"])
def test_fan_out_and_a_subgraph_that_asks(stateful: bool, durability: str, saver: MemantoSaver) -> None:
    def play(one: Saver) -> Any:
        graph = _outer(one, stateful=stateful)
        asked = graph.invoke({"log": ["start"]}, config(), durability=durability)
        waiting = graph.get_state(config(), subgraphs=True)
        ended = graph.invoke(Command(resume="red"), config(), durability=durability)
        again = graph.invoke({"log": ["more"]}, config(), durability=durability)
        inner = waiting.tasks[0].state.values
        return [asked["__interrupt__"][0].value, waiting.next, inner, ended, again["log"], _told(graph)]

    _, _, _, ended, _, told = _same(saver, play)
    assert ended["log"][-1] == "ended with red"
    assert told


def test_an_asynchronous_graph_is_the_synchronous_one(saver: MemantoSaver) -> None:
    async def run(one: Saver) -> Any:
        graph = _outer(one)
        await graph.ainvoke({"log": ["start"]}, config(), durability="async")
        ended = await graph.ainvoke(Command(resume="blue"), config())
        states = [state.values async for state in graph.aget_state_history(config())]
        return ended, states

    ended, _ = _same(saver, lambda one: asyncio.run(run(one)))
    assert ended["answer"] == "blue"
    graph = _outer(saver)  # what the one wrote the other reads
    assert graph.get_state(config()).values == ended


def test_streams_tell_the_same_story(saver: MemantoSaver) -> None:
    def play(one: Saver) -> Any:
        graph = _outer(one)
        events = list(graph.stream({"log": ["start"]}, config(), stream_mode=["updates", "values"]))
        # Tasks of one step end in any order.
        return sorted(repr(one) for one in events if "__interrupt__" not in one[1])

    assert len(_same(saver, play)) > 10


def test_a_stream_that_is_left_early_can_be_resumed(saver: MemantoSaver) -> None:
    graph = _outer(saver)
    stream = graph.stream({"log": ["start"]}, config(), durability="sync")
    next(stream)
    stream.close()
    assert graph.get_state(config()).next
    graph.invoke(None, config())
    assert graph.invoke(Command(resume="red"), config())["log"][-1] == "ended with red"


def test_time_travel_forks_and_replays(saver: MemantoSaver) -> None:
    def play(one: Saver) -> Any:
        graph = _outer(one)
        graph.invoke({"log": ["start"]}, config())
        graph.invoke(Command(resume="red"), config())
        past = next(state for state in graph.get_state_history(config()) if state.next == ("sub",))
        graph.invoke(None, past.config)
        replayed = graph.invoke(Command(resume="green"), config())
        changed = graph.update_state(past.config, {"log": ["changed"]}, as_node="work")
        graph.invoke(None, changed)
        forked = graph.invoke(Command(resume="gold"), config())
        return replayed, forked, _told(graph)

    replayed, forked, _ = _same(saver, play)
    assert replayed["answer"] == "green"
    assert forked["log"][-3:] == ["asked", "got gold", "ended with gold"]


def test_ten_parallel_tool_calls_are_all_kept(saver: MemantoSaver) -> None:
    class Model(GenericFakeChatModel):
        def bind_tools(self, *_: Any, **__: Any) -> Model:
            return self

    calls = [{"name": "look", "args": {"n": n}, "id": f"call-{n}"} for n in range(10)]

    def graph_for(one: Saver) -> Any:
        model = Model(messages=iter([AIMessage("", tool_calls=calls, id="a"), AIMessage("done", id="b")]))
        graph = StateGraph(State)
        graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
        graph.add_node(
            "tool",
            lambda call: {"messages": [ToolMessage(str(call["args"]["n"]), tool_call_id=call["id"], id=call["id"])]},
        )
        graph.add_edge(START, "model")

        def route(state: State) -> Any:
            last = state["messages"][-1]
            return [Send("tool", call) for call in last.tool_calls] if last.tool_calls else END

        graph.add_conditional_edges("model", route, ["tool", END])
        graph.add_edge("tool", "model")
        return graph.compile(checkpointer=one)

    def play(one: Saver) -> Any:
        graph_for(one).invoke({"messages": [HumanMessage("go", id="h")]}, config())
        return graph_for(one).get_state(config()).values["messages"]

    messages = _same(saver, play)
    assert [message.content for message in messages if isinstance(message, ToolMessage)] == [str(n) for n in range(10)]


def test_a_task_that_fails_is_the_only_one_done_again(saver: MemantoSaver) -> None:
    ran: list[str] = []
    broken = True

    def work(state: State) -> State:
        ran.append(f"{state['step']}")
        if state["step"] == 3 and broken:
            raise RuntimeError("no connection")
        return {"log": [f"did {state['step']}"]}

    graph = StateGraph(State)
    graph.add_node("work", work)
    graph.add_conditional_edges(START, lambda state: [Send("work", {"step": n}) for n in range(6)])
    compiled = graph.compile(checkpointer=saver)
    with pytest.raises(RuntimeError, match="no connection"):
        compiled.invoke({"log": ["start"]}, config(), durability="sync")
    done = len(ran)
    broken = False
    ended = compiled.invoke(None, config())
    assert ended["log"] == ["start", *(f"did {n}" for n in range(6))]
    kept = 6 - len(ran[done:])
    assert "3" in ran[done:]
    assert kept >= 1


def test_a_cancelled_task_leaves_a_thread_that_goes_on(saver: MemantoSaver) -> None:
    async def run() -> None:
        entered = asyncio.Event()
        slow = True

        async def work(state: State) -> State:
            if slow:
                entered.set()
                await asyncio.sleep(3_600)
            return {"log": ["worked"]}

        graph = StateGraph(State)
        graph.add_node("first", lambda state: {"log": ["first"]})
        graph.add_node("work", work)
        graph.add_edge(START, "first")
        graph.add_edge("first", "work")
        compiled = graph.compile(checkpointer=saver)
        running = asyncio.create_task(compiled.ainvoke({"log": []}, config(), durability="async"))
        await entered.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        slow = False
        ended = await compiled.ainvoke(None, config())
        assert ended["log"] == ["first", "worked"]

    asyncio.run(run())


def test_a_checkpoint_that_cannot_be_stored_stops_the_graph(edge_saver: MemantoSaver) -> None:
    from memanto.errors import SerializationError

    graph = StateGraph(State)
    graph.add_node("bad", lambda state: {"answer": object()})
    graph.add_edge(START, "bad")
    compiled = graph.compile(checkpointer=edge_saver)
    with pytest.raises(SerializationError, match="'answer'"):
        compiled.invoke({"log": []}, config(), durability="sync")


def test_one_saver_serves_several_event_loops_one_after_the_other(edge_saver: MemantoSaver) -> None:
    async def step(number: int) -> Any:
        graph = StateGraph(State)
        graph.add_node("add", lambda state: {"log": [str(number)]})
        graph.add_edge(START, "add")
        return await graph.compile(checkpointer=edge_saver).ainvoke({"log": []}, config())

    results = [asyncio.run(step(number)) for number in range(3)]
    assert results[-1]["log"] == ["0", "1", "2"]


def test_a_thread_may_be_copied_while_a_graph_writes_and_prunes_it(saver: MemantoSaver) -> None:
    graph = StateGraph(State)
    graph.add_node(
        "work", lambda state: {"step": state.get("step", 0) + 1, "log": ["x" * 300 + str(state.get("step"))]}
    )
    graph.add_edge(START, "work")
    graph.add_conditional_edges("work", lambda state: "work" if state["step"] % 10 else END)
    compiled, enough = graph.compile(checkpointer=saver), Event()

    def write() -> None:
        while not enough.is_set():
            compiled.invoke({"log": []}, config("busy"))
            saver.prune(["busy"])

    writer = Thread(target=write)
    writer.start()
    try:
        for number in range(12):
            saver.copy_thread("busy", f"copy {number}")
            for one in saver.list(config(f"copy {number}")):
                assert set(one.checkpoint["channel_values"]) <= set(one.checkpoint["channel_versions"])
    finally:
        enough.set()
        writer.join()
