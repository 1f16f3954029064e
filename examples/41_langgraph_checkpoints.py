"""LangGraph: a graph whose process dies in the middle, and goes on where it was."""

import operator
import os
import subprocess
import sys
import tempfile
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph

from langgraph_memanto import MemantoSaver
from memanto import Embedded

THREAD = {"configurable": {"thread_id": "import"}}


class State(TypedDict):
    """What each step reads and writes."""

    step: int
    log: Annotated[list[str], operator.add]


def work(state: State) -> State:
    step = state["step"] + 1
    if step == 4 and os.environ.get("FRAGILE"):
        os._exit(1)  # a power cut, an out-of-memory kill, a closed laptop
    return {"step": step, "log": [f"imported part {step}"]}


def compiled(saver: MemantoSaver):
    graph = StateGraph(State)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    graph.add_conditional_edges("work", lambda state: "work" if state["step"] < 6 else END)
    return graph.compile(checkpointer=saver)


def main(home: str) -> None:
    with MemantoSaver("importer", store=Embedded(home), keep_last=10) as saver:
        graph = compiled(saver)
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
