"""A loop of many steps with a bounded window: the program that the test kills and starts again.

Each start goes on where the checkpoints end. It takes the baton that the process before left, and leaves one of its
own at once and after each step. What a step did is written to a file of its own first, as a tool with an effect
would, so that a step that was done twice can be told; and what a model would be shown is noted, too.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph

from langgraph_memanto import MemantoSaver, handoff_node
from memanto import Embedded, Memanto
from memanto.loop.fence import fence
from memanto.memory.recall import tokens

WINDOW = 5
CONFIG: RunnableConfig = {"configurable": {"thread_id": "long"}, "recursion_limit": 10_000}
PINS = ("Every one of the steps is done once", "First the early steps, then the late ones", "Never skip a step")
"""Goal, plan and constraint, in the order in which they lead every prompt."""
DEATHS = {"before": 9, "after": 10, "storing": 11, "handing over": 12}
"""Where a process dies and with which status: before or after a step has had its effect, when what it wrote was stored,
and when its baton was left."""


class State(TypedDict, total=False):
    step: int
    total: int
    window: list[str]
    baton: str


def line(step: int) -> str:
    """Return what a step adds to the window."""
    return f"step {step:04}: " + " ".join(f"{(step * 7919 + n) % 1000:03}" for n in range(20))


def advance(state: State) -> State:
    """Return the state after one more step."""
    step = state["step"] + 1
    window = [*state["window"], line(step)][-WINDOW:]
    return {"step": step, "total": (state["total"] * 31 + step) % 1_000_003, "window": window}


def begin() -> State:
    return {"step": 0, "total": 0, "window": []}


def baton(state: State) -> dict[str, Any]:
    """Return what the next process has to know."""
    return {"state": f"{state['step']:04} steps are done", "next": f"step {state['step'] + 1:04}"}


def build(saver: MemantoSaver, steps: int, work: Any, leave: Any) -> Any:
    """Return the graph: a step and the baton after it, again and again."""
    graph = StateGraph(State)
    graph.add_node("work", work)
    graph.add_node("leave", leave)
    graph.add_edge(START, "work")
    graph.add_edge("work", "leave")
    graph.add_conditional_edges("leave", lambda state: "work" if state["step"] < steps else END)
    return graph.compile(checkpointer=saver)


class Shift:
    """One process: what it was handed, and when it dies.

    Attributes:
        handed_over: Whether a baton waited for it.
        opening: What every prompt begins with: pins, and the baton.

    Args:
        memory: Holds pins and batons.
        notes: Folder for the effects of steps, and for what a model would be shown.
        seed: Decides where and when it dies; names it, too.
    """

    def __init__(self, memory: Memanto, notes: Path, seed: str) -> None:
        generator = random.Random(int(seed))
        self._dies = generator.choice(list(DEATHS))
        self._left = generator.randrange(1, 60)
        self._notes = notes
        self._seed = seed
        self._leave = handoff_node(memory, "write", baton=baton, into="baton", strict=True)
        taken = handoff_node(memory, "take", by=f"process {seed}", strict=True).invoke({})["handoff"]
        self.handed_over = bool(taken)
        self.opening = taken or fence(memory.pins().memories)

    def die(self, place: str) -> None:
        """End without a word if the time has come and this is the place."""
        if self._left <= 0 and self._dies == place:
            os._exit(DEATHS[place])

    def work(self, state: State) -> State:
        """Do one step: what a model would be shown is what was handed over, led by the pins, and the window."""
        self._left -= 1
        prompt = "\n".join([self.opening, *state["window"]])
        self.note("prompts", step=state["step"] + 1, prompt=prompt, tokens=tokens(prompt))
        self.die("before")
        with Path(self._notes, f"{state['step'] + 1:04}").open("a") as file:  # the test counts the lines
            file.write(f"{self._seed}\n")
        self.die("after")
        return advance(state)

    def leave(self, state: State) -> dict[str, Any]:
        """Leave a baton for whoever comes next."""
        left = self._leave.invoke(state)
        self.die("handing over")
        return left

    def note(self, name: str, **told: Any) -> None:
        """Append a line to a file of notes."""
        with Path(self._notes, name).open("a") as file:
            file.write(f"{json.dumps({'by': self._seed, 'handed_over': self.handed_over, **told})}\n")


def main(home: str, notes: str, steps: str, seed: str) -> None:
    """Go on with the loop; die at a moment that the seed decides, or end with status 0 when it is done."""
    store = Embedded(home)
    with Memanto("loop", store=store, embedder=None) as memory:
        if memory.create_agent():
            memory.set_goal(PINS[0])
            memory.set_plan(PINS[1])
            memory.remember(PINS[2], type="instruction", pinned=True)
        shift = Shift(memory, Path(notes), seed)

        class Dying(MemantoSaver):
            def put_writes(self, *args: Any, **options: Any) -> None:
                super().put_writes(*args, **options)
                shift.die("storing")

        with Dying("loop", store=store, keep_last=20) as saver:
            graph = build(saver, int(steps), shift.work, shift.leave)
            started = graph.get_state(CONFIG).values
            shift.leave(started or begin())  # as early as that: a process may die before its first step
            shift.note("starts", step=started.get("step"), opening=shift.opening)
            graph.invoke(None if started else begin(), CONFIG, durability="sync")


if __name__ == "__main__":
    main(*sys.argv[1:])
