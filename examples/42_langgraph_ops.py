"""LangGraph: an operations loop that is faster the second time an incident comes.

Memory holds what outlives a ticket: `fact` (the systems), `event` (each incident's history, kept by the callback) and
`instruction` (the runbook that worked). The ticket at hand stays in the graph's state.
"""

import operator
import tempfile
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph

from langgraph_memanto import MemantoCallback, MemantoSaver, brief_node, remember_node
from memanto import Draft, Embedded, Memanto

SYSTEM = "The queue workers run on host ops-3 and share one Redis connection pool of 20"
RUNBOOK = "For a stuck order queue: recycle the Redis connection pool on ops-3, then requeue the orders"
LOOKED_AT = ["the dashboard", "the worker log", "the Redis pool"]


class Incident(TypedDict, total=False):
    ticket: str
    brief: str
    done: Annotated[list[str], operator.add]


def diagnose(state: Incident) -> Incident:
    return {"done": [f"looked at {LOOKED_AT[len(state.get('done', []))]}"]}


def mend(state: Incident) -> Incident:
    return {"done": ["recycled the pool" + (", by the runbook" if "recycle the Redis" in state["brief"] else "")]}


def plan(state: Incident) -> str:
    """Follow a runbook if memory has one; else look until there is nothing left to look at."""
    known = "recycle the Redis" in state["brief"]
    return "mend" if known or len(state.get("done", [])) == len(LOOKED_AT) else "diagnose"


def learned(state: Incident) -> list[Draft]:
    if "by the runbook" in state["done"][-1]:
        return []
    return [
        Draft(content=SYSTEM, type="fact", provenance="observed", source_ref="ops-3:/etc/workers.toml"),
        Draft(content=RUNBOOK, type="instruction", provenance="validated"),
    ]


def compiled(memory: Memanto, saver: MemantoSaver):
    graph = StateGraph(Incident)
    graph.add_node("brief", brief_node(memory, task="ticket"))
    graph.add_node("diagnose", diagnose)
    graph.add_node("mend", mend)
    graph.add_node("keep", remember_node(memory, learned, type="fact", provenance="observed"))
    graph.add_edge(START, "brief")
    graph.add_conditional_edges("brief", plan, ["diagnose", "mend"])
    graph.add_conditional_edges("diagnose", plan, ["diagnose", "mend"])
    graph.add_edge("mend", "keep")
    return graph.compile(checkpointer=saver)


def main(home: str) -> None:
    store = Embedded(home)
    with Memanto("ops", store=store) as memory, MemantoSaver("ops", store=store) as saver:
        graph, lengths = compiled(memory, saver), []
        for ticket in ("The order queue is stuck since 02:10", "The order queue is stuck again"):
            told = MemantoCallback(memory, task_type="incident", outcome=lambda state: "; ".join(state["done"]))
            ended = graph.invoke({"ticket": ticket}, {"configurable": {"thread_id": ticket}, "callbacks": [told]})
            print(f"{ticket}: {', '.join(ended['done'])}")
            lengths.append(len(ended["done"]))
        assert lengths == [4, 1], "the second time nothing is looked for"
        history = memory.recall(types=["event"])
        print(f"{len(history)} incidents on record; the latest: {history[0].memory.content}")
        assert set(memory.status().by_type) == {"fact", "event", "instruction"}


with tempfile.TemporaryDirectory() as folder:
    main(folder)
