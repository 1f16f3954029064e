"""A LangGraph loop that may die in the middle, goes on from its checkpoint, and decides by what a crew found."""

import os
import sys
import time
from typing import TypedDict

from langgraph.graph import START, StateGraph

from langgraph_memanto import MemantoSaver, remember_node
from memanto import Embedded, Memanto

THREAD = {"configurable": {"thread_id": "night"}}


class State(TypedDict, total=False):
    counted: int
    decision: str


def count(state: State) -> State:
    return {"counted": state.get("counted", 0) + 1}


def decide(_: State) -> State:
    if os.environ.get("FRAGILE"):
        os._exit(1)  # the machine is gone; the checkpoint is not
    while not (hits := memory.recall("why does the queue stall", types=["learning"])):
        time.sleep(0.1)  # the crew is still at work, in another process
    return {"decision": f"Raise the pool to 40, since: {hits[0].memory.content}"}


store = Embedded(sys.argv[1])
with Memanto("shop", store=store) as memory, MemantoSaver("shop", store=store) as saver:
    graph = StateGraph(State)
    graph.add_node("count", count)
    graph.add_node("decide", decide)
    graph.add_node("keep", remember_node(memory, "decision", type="decision", provenance="inferred"))
    for here, there in ((START, "count"), ("count", "decide"), ("decide", "keep")):
        graph.add_edge(here, there)
    app = graph.compile(checkpointer=saver)
    begun = app.get_state(THREAD).values
    ended = app.invoke(None if begun else {}, THREAD, durability="sync")
    assert ended["counted"] == 1, "what was done before the end of the first process is not done again"
