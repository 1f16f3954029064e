"""Nodes in graphs that run: what memory says reaches the state fenced, and never fails the graph (pins the spec)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from langgraph_memanto.nodes import brief_node, guard_node, handoff_node, remember_node
from langgraph_memanto.nodes_window import compress_node, isolate_node
from memanto import AsyncMemanto, Draft, InMemory, Memanto, Provenance
from memanto.errors import InvalidInputError, MemantoError
from memanto.loop.fence import NOTICE, is_fenced
from memanto.testing import HashEmbedder


class State(TypedDict, total=False):
    task: str
    messages: Annotated[list[AnyMessage], add_messages]
    brief: str
    warnings: str
    handoff: str
    finding: str
    stored: list[str]


Drive = Callable[..., dict[str, Any]]


@pytest.fixture(params=["sync", "async"])
def drive(request: pytest.FixtureRequest) -> Drive:
    """Return a function that runs nodes one after the other as a graph."""

    def run(given: dict[str, Any], **nodes: Any) -> dict[str, Any]:
        graph = StateGraph(State)
        graph.add_sequence(list(nodes.items()))
        graph.add_edge(START, next(iter(nodes)))
        compiled = graph.compile()
        if request.param == "async":
            return asyncio.run(compiled.ainvoke(given))  # type: ignore[arg-type]
        return compiled.invoke(given)  # type: ignore[arg-type]

    return run


def test_a_brief_is_fenced_and_led_by_the_goal(memory: Memanto, drive: Drive) -> None:
    memory.set_goal("Goal: every invoice is matched")
    memory.remember("The ledger lags by 5 minutes", type="fact")
    for task in ("task", lambda state: state["task"]):
        told = drive({"task": "reconcile the ledger"}, plan=brief_node(memory, task=task))["brief"]
        assert told.startswith(NOTICE)
        assert told.index("every invoice is matched") < told.index("lags by 5 minutes")
    told = drive({"messages": [HumanMessage("the ledger")]}, plan=brief_node(memory, task="messages"))["brief"]
    assert "lags by 5 minutes" in told


def test_a_guard_speaks_up_and_an_edge_can_branch_on_it(memory: Memanto) -> None:
    memory.record_failure("When the ledger pull times out, wait five minutes", cause="it lags")
    graph = StateGraph(State)
    graph.add_node("guard", guard_node(memory, situation="task"))
    graph.add_node("act", lambda state: {"finding": "acted"})
    graph.add_edge(START, "guard")
    graph.add_conditional_edges("guard", lambda state: END if state["warnings"] else "act")
    compiled = graph.compile()
    warned = compiled.invoke({"task": "the ledger pull times out again"})
    assert ("finding" in warned, is_fenced(warned["warnings"])) == (False, True)
    assert compiled.invoke({"task": "bake a cake"})["finding"] == "acted"
    assert compiled.invoke({"task": ""})["warnings"] == ""


def test_what_nobody_confirmed_can_be_left_out_of_a_guard(memory: Memanto, drive: Drive) -> None:
    rule = "When the ledger pull times out, wait five minutes"
    memory.remember(rule, type="error", provenance="imported")
    asked = {"task": "the ledger pull times out"}
    assert "unconfirmed" in drive(asked, guard=guard_node(memory, situation="task"))["warnings"]
    assert drive(asked, guard=guard_node(memory, situation="task", confirmed_only=True))["warnings"] == ""


def test_a_baton_goes_from_one_shift_to_the_next_and_is_done_then(memory: Memanto, drive: Drive) -> None:
    memory.remember("Never touch production", type="instruction", pinned=True)
    write = handoff_node(memory, "write", baton=lambda state: {"done": [state["task"]], "next": "convert orders"})
    take = handoff_node(memory, "take", by="night-shift")
    left = drive({"task": "converted users"}, leave=write)["handoff"]
    assert memory.show(left).content.startswith("SESSION HANDOFF")
    taken = drive({}, take=take)["handoff"]
    assert is_fenced(taken)
    assert taken.index("Never touch production") < taken.index("converted users")
    assert drive({}, take=take)["handoff"] == ""
    assert drive({"task": "x"}, leave=handoff_node(memory, "write", baton=lambda _: None))["handoff"] == ""


def test_a_baton_that_is_not_acknowledged_waits_again(memory: Memanto, clock: Any, drive: Drive) -> None:
    memory.write_handoff(done=["one"], next=["two"])
    take = handoff_node(memory, "take", acknowledge=False)
    assert drive({}, take=take)["handoff"] != ""
    assert drive({}, take=take)["handoff"] == ""
    clock.advance(3600)
    assert drive({}, take=take)["handoff"] != ""


def test_what_is_remembered_states_how_it_is_known(memory: Memanto, drive: Drive) -> None:
    node = remember_node(
        memory,
        lambda state: [state["task"], Draft(content="a decision", type="decision"), "  "],  # type: ignore[arg-type]
        type="learning",
        provenance="inferred",
        into="stored",
    )
    stored = drive({"task": "waiting helps"}, keep=node)["stored"]
    first, second = map(memory.show, stored)
    assert (first.content, first.provenance, first.source) == ("waiting helps", Provenance.INFERRED, "langgraph")
    assert (second.type.value, second.provenance) == ("decision", Provenance.EXPLICIT_STATEMENT)
    nothing = remember_node(memory, "task", type="fact", provenance="observed", into="stored")
    assert drive({}, keep=nothing)["stored"] == []


def messages_of(count: int) -> list[AnyMessage]:
    said: list[AnyMessage] = []
    for number in range(count):
        call = {"name": "read", "args": {}, "id": str(number)}
        said += [AIMessage("", tool_calls=[call]), ToolMessage("words " * 400 + str(number), tool_call_id=str(number))]
    return said


def test_older_long_results_become_pointers_to_pages_and_stay_so(memory: Memanto, drive: Drive) -> None:
    one, two = (compress_node(memory, over_tokens=100, keep_last=1) for _ in range(2))
    result = drive({"messages": messages_of(3)}, compress=one, again=two)
    told = [one.text for one in result["messages"] if isinstance(one, ToolMessage)]
    assert ["kept outside the window" in text for text in told] == [True, True, False]
    ids = [hit.memory.id for hit in memory.recall(types=["artifact"])]
    assert len(ids) == 2
    assert {memory.show(one).content[-1] for one in ids} == {"0", "1"}


def test_a_result_that_cannot_be_kept_stays_and_the_others_are_kept_all_the_same(memory: Memanto, drive: Drive) -> None:
    said = messages_of(4)
    for place, text in ((1, "words " * 400 + "\ud83d"), (3, "\n" * 4_000)):
        said[place] = said[place].model_copy(update={"content": text})
    result = drive({"messages": said}, compress=compress_node(memory, over_tokens=100, keep_last=1, strict=True))
    told = [one.text for one in result["messages"] if isinstance(one, ToolMessage)]
    assert ["kept outside the window" in text for text in told] == [True, False, True, False]


def test_half_a_character_hides_nothing_from_memory(memory: Memanto, drive: Drive) -> None:
    memory.record_failure("When the ledger of march is pulled, wait until it is closed", cause="it lags")
    nodes = {
        "brief": brief_node(memory, task="task", strict=True),
        "guard": guard_node(memory, tool="task", args=lambda state: {"note": state["task"]}, strict=True),
        "keep": remember_node(memory, "task", type="fact", provenance="observed", into="stored", strict=True),
    }
    result = drive({"task": "pull the ledger of march \ud83d"}, **nodes)
    assert "wait until it is closed" in result["warnings"]
    assert memory.show(result["stored"][0]).content == "pull the ledger of march \ufffd"


def test_a_sub_agent_works_apart_and_one_finding_comes_back(memory: Memanto, drive: Drive) -> None:
    memory.remember("only the parent knows this", type="fact")

    def work(state: State, scratch: Memanto) -> str:
        scratch.remember("scribbled on the way", type="observation")
        assert [hit.memory.content for hit in scratch.recall()] == ["scribbled on the way"]
        return f"found {state['task']}"

    result = drive({"task": "the cause"}, search=isolate_node(memory, work, task="task"))
    assert result["finding"] == "found the cause"
    assert memory.recall("scribbled", words_only=True) == []
    [learned] = [hit.memory for hit in memory.recall(types=["learning"])]
    assert (learned.content, learned.provenance) == ("found the cause", Provenance.INFERRED)


def test_a_sub_agent_may_be_a_coroutine_and_what_it_raises_is_raised(memory: Memanto) -> None:
    async def work(state: State, scratch: Memanto) -> str | None:
        await asyncio.sleep(0)
        if state["task"] == "fail":
            raise LookupError("not there")
        return None

    graph = StateGraph(State)
    graph.add_node("search", isolate_node(memory, work, task="task"))
    graph.add_edge(START, "search")
    compiled = graph.compile()
    assert asyncio.run(compiled.ainvoke({"task": "look"}))["finding"] == ""
    with pytest.raises(LookupError, match="not there"):
        asyncio.run(compiled.ainvoke({"task": "fail"}))


def test_a_finding_that_cannot_be_stored_still_reaches_the_state(
    memory: Memanto, drive: Drive, caplog: pytest.LogCaptureFixture
) -> None:
    long = "word " * 4_000
    with caplog.at_level(logging.WARNING, "memanto"):
        assert drive({"task": "x"}, search=isolate_node(memory, lambda *_: long, task="task"))["finding"] == long
    assert "cannot store a finding" in caplog.text
    with pytest.raises(InvalidInputError, match="tokens"):
        drive({"task": "x"}, search=isolate_node(memory, lambda *_: long, task="task", strict=True))


def all_nodes(memory: Memanto | AsyncMemanto, *, strict: bool) -> dict[str, Any]:
    return {
        "take": handoff_node(memory, "take", strict=strict),
        "plan": brief_node(memory, task="task", strict=strict),
        "look": guard_node(memory, situation="task", strict=strict),
        "compress": compress_node(memory, over_tokens=10, keep_last=0, strict=strict),
        "keep": remember_node(memory, "task", type="fact", provenance="observed", into="stored", strict=strict),
        "leave": handoff_node(memory, "write", baton=lambda _: {"next": "x"}, strict=strict),
    }


def test_a_failing_memory_never_fails_a_graph_and_each_node_says_so_once(
    drive: Drive, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = Memanto("nobody", store=InMemory(), embedder=HashEmbedder(), create=False)
    for verb in ("brief", "guard", "take_handoff", "write_handoff", "remember_many", "keep_result"):
        monkeypatch.setattr(memory, verb, lambda *_, **__: 1 / 0)
    nodes = all_nodes(memory, strict=False)
    given = {"task": "go on", "messages": messages_of(1)}
    with caplog.at_level(logging.WARNING, "memanto"):
        for _ in range(2):
            result = drive(given, **nodes)
    assert [result[name] for name in ("brief", "warnings", "handoff", "stored")] == ["", "", "", []]
    assert caplog.text.count("goes on without") == len(nodes)
    for name, node in all_nodes(memory, strict=True).items():
        with pytest.raises(ZeroDivisionError):
            drive(given, **{name: node})


def test_an_agent_that_knows_nothing_yet_is_no_failure(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    with (
        AsyncMemanto("new", store=InMemory(), embedder=None).sync as memory,
        caplog.at_level(logging.WARNING, "memanto"),
    ):
        nodes = {name: node for name, node in all_nodes(memory, strict=True).items() if name in ("plan", "look")}
        result = drive({"task": "begin"}, **nodes)
    assert (result["brief"], result["warnings"], caplog.text) == ("", "", "")


def test_options_that_make_no_sense_are_refused_at_once(memory: Memanto) -> None:
    wrong: list[Callable[[], object]] = [
        lambda: handoff_node(memory, "write"),
        lambda: handoff_node(memory, "drop"),  # type: ignore[arg-type]
        lambda: compress_node(memory, over_tokens=0),
        lambda: remember_node(memory, "task", type="pizza", provenance="observed"),
        lambda: remember_node(memory, "task", type="fact", provenance="sure"),
        lambda: brief_node("memory", task="task"),  # type: ignore[arg-type]
    ]
    for make in wrong:
        with pytest.raises(MemantoError):
            make()
