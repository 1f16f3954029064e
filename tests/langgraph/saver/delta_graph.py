"""A graph with a channel that is kept in changes. Its annotations hold values, so they are not postponed."""

import operator
from typing import Annotated, Any, TypedDict

from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph

STEPS = 12


def _joined(state: list[str], writes: list[list[str]]) -> list[str]:
    return [*state, *(item for write in writes for item in write)]


def delta_graph(saver: BaseCheckpointSaver[Any], every: int) -> Any:
    """Return a graph that counts to `STEPS`, with a snapshot of the channel `log` once in `every` updates."""

    class State(TypedDict):
        step: int
        log: Annotated[list[str], DeltaChannel(_joined, snapshot_frequency=every)]
        total: Annotated[int, operator.add]

    def work(state: State) -> dict[str, Any]:
        step = state["step"] + 1
        return {"step": step, "log": [f"step {step}"], "total": step}

    graph = StateGraph(State)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    graph.add_conditional_edges("work", lambda state: "work" if state["step"] % STEPS else END)
    return graph.compile(checkpointer=saver)
