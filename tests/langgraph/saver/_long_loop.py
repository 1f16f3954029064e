"""A loop of many steps with a bounded window: the program that the test kills and starts again.

Each start goes on where the checkpoints end. What a step did is written to a file of its own first, as a tool
with an effect would, so that a step that was done twice can be told.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph

from langgraph_memanto import MemantoSaver
from memanto import Embedded

WINDOW = 5
CONFIG: RunnableConfig = {"configurable": {"thread_id": "long"}, "recursion_limit": 10_000}


class State(TypedDict):
    step: int
    total: int
    window: list[str]
    prompt_tokens: list[int]


def line(step: int) -> str:
    """Return what a step adds to the window."""
    return f"step {step}: " + " ".join(str((step * 7919 + n) % 1000) for n in range(20))


def advance(state: State) -> State:
    """Return the state after one more step."""
    step = state["step"] + 1
    window = [*state["window"], line(step)][-WINDOW:]
    tokens = sum(len(one.split()) for one in window)
    return {
        "step": step,
        "total": (state["total"] * 31 + step) % 1_000_003,
        "window": window,
        "prompt_tokens": [*state["prompt_tokens"], tokens][-WINDOW:],
    }


def begin() -> State:
    return {"step": 0, "total": 0, "window": [], "prompt_tokens": []}


def build(saver: MemantoSaver, steps: int, work: Any) -> Any:
    """Return the graph: one node that is repeated."""
    graph = StateGraph(State)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    graph.add_conditional_edges("work", lambda state: "work" if state["step"] < steps else END)
    return graph.compile(checkpointer=saver)


def main(home: str, effects: str, steps: str, seed: str) -> None:
    """Go on with the loop; die at a moment that the seed decides, or end with status 0 when it is done."""
    generator = random.Random(int(seed))
    # Before or after a step has had its effect, or while its checkpoint is stored.
    place, lives = generator.choice(["before", "storing", "after"]), generator.randrange(1, 60)
    left = lives

    def work(state: State) -> State:
        nonlocal left
        left -= 1
        if left <= 0 and place == "before":
            os._exit(9)
        done = Path(effects, f"{state['step'] + 1:04}")
        with done.open("a") as file:  # idempotent by name; the test counts the lines
            file.write(f"{seed}\n")
        if left <= 0 and place == "after":
            os._exit(9)
        return advance(state)

    class Dying(MemantoSaver):
        def put_writes(self, *args: Any, **options: Any) -> None:
            super().put_writes(*args, **options)
            if left <= 0 and place == "storing":
                os._exit(9)

    saver = Dying("loop", store=Embedded(home), keep_last=20)
    graph = build(saver, int(steps), work)
    started = graph.get_state(CONFIG).values
    graph.invoke(None if started else begin(), CONFIG, durability="sync")
    saver.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
