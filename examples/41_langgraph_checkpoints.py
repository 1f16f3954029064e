"""LangGraph: a graph whose process dies; the next one goes on where it was, with the baton that was left for it."""

import operator
import os
import subprocess
import sys
import tempfile
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph

from langgraph_memanto import MemantoSaver, handoff_node
from memanto import Embedded, Memanto

THREAD = {"configurable": {"thread_id": "import"}}


class State(TypedDict, total=False):
    """What each step reads and writes."""

    step: int
    log: Annotated[list[str], operator.add]
    handoff: str


def work(state: State) -> State:
    step = state["step"] + 1
    if step == 4 and os.environ.get("FRAGILE"):
        os._exit(1)  # a power cut, an out-of-memory kill, a closed laptop
    return {"step": step, "log": [f"imported part {step}"]}


def baton(state: State) -> dict[str, str]:
    return {"state": f"parts 1 to {state['step']} are imported", "next": f"part {state['step'] + 1}"}


def compiled(saver: MemantoSaver, memory: Memanto):
    graph = StateGraph(State)
    graph.add_node("work", work)
    graph.add_node("leave", handoff_node(memory, "write", baton=baton))
    graph.add_edge(START, "work")
    graph.add_edge("work", "leave")
    graph.add_conditional_edges("leave", lambda state: "work" if state["step"] < 6 else END)
    return graph.compile(checkpointer=saver)


def main(home: str) -> None:
    store = Embedded(home)
    with Memanto("importer", store=store, embedder=None) as memory, MemantoSaver("importer", store=store) as saver:
        memory.set_goal("Every part is imported once")
        handed = handoff_node(memory, "take").invoke({})["handoff"]  # leads the prompts of this process, pins first
        if handed:
            assert handed.index("imported once") < handed.index("parts 1 to 3 are imported")
            print("took over: parts 1 to 3 are imported")
        graph = compiled(saver, memory)
        begun = graph.get_state(THREAD).values
        ended = graph.invoke(None if begun else {"step": 0, "log": []}, THREAD, durability="sync")
        print(f"went on after step {begun.get('step', 0)}, ended with step {ended['step']}")
        assert ended["log"] == [f"imported part {n}" for n in range(1, 7)], "no part twice, none left out"
        [thread] = saver.list_threads()
        print(f"thread {thread.id!r}: {thread.checkpoints} checkpoints in {thread.bytes} bytes")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as home:
            died = subprocess.run([sys.executable, __file__, home], env=os.environ | {"FRAGILE": "1"}, check=False)  # noqa: S603
            print(f"the first process ended with status {died.returncode}")
            subprocess.run([sys.executable, __file__, home], check=True)  # noqa: S603
