"""One surface as a process, for `test_one_store`: `python _surface.py ROLE HOME RECEIPTS [SEED]`.

Each appends the id of what was acknowledged to RECEIPTS, a line each, as it goes.
"""

from __future__ import annotations

import asyncio
import json
import operator
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

from memanto import Embedded, Memanto

AGENT = "shared"
STEPS = 24
FINDINGS = 8
NOTES = 10
SERVER = ["-c", "import sys; from memanto.cli.main import run; sys.exit(run())", "mcp", "--agent", AGENT]
DIES = 9
"""Exit status of a loop that kills itself."""


def opened(home: str, **options: Any) -> Memanto:
    return Memanto(AGENT, store=Embedded(home), **options)


def crew(home: str, acknowledged: Callable[[str], None], _: int) -> None:
    """Kick a crew off once for each of several inputs, recorded by a listener; its model is a script."""
    from crewai import Agent, Crew, Task
    from crewai.llms.base_llm import BaseLLM

    from crewai_memanto import MemantoListener, MemantoMemory

    class Model(BaseLLM):
        def call(self, messages: Any, *_: Any, **__: Any) -> str:
            asked = str(messages)
            [number] = [one for one in range(FINDINGS) if f"cause {one}." in asked.rpartition("Current Task")[2]]
            return f"Thought: I know it.\nFinal Answer: Cause {number} is that pool {number} has fewer than 20 slots."

    with opened(home) as memory, MemantoListener(memory, task_type="research"):
        agent = Agent(role="Scout", goal="Find causes", backstory="Careful", llm=Model(model="script"))
        task = Task(description="Find cause {number}.", expected_output="A finding", agent=agent)
        made = Crew(agents=[agent], tasks=[task], memory=MemantoMemory(memory))
        made.kickoff_for_each([{"number": number} for number in range(FINDINGS)])
        for hit in memory.recall(types=["learning"], limit=100):
            if hit.memory.source == "crewai":
                acknowledged(hit.memory.id)


class State(TypedDict, total=False):
    done: Annotated[list[int], operator.add]


def loop(home: str, acknowledged: Callable[[str], None], seed: int) -> None:
    """Do steps until all are done, and die at a random one unless the seed is 0."""
    from langgraph.graph import END, START, StateGraph

    from langgraph_memanto import MemantoSaver

    chosen = random.Random(seed).randrange(2, 8) if seed else STEPS

    def work(state: State) -> State:
        step = len(state.get("done", []))
        receipt = memory.remember(f"Step {step} moved shelf {step} of the store", type="event", provenance="observed")
        acknowledged(receipt.id)
        if len(state.get("done", [])) - begun == chosen:
            os._exit(DIES)
        return {"done": [step]}

    with opened(home, source="langgraph") as memory, MemantoSaver(AGENT, store=Embedded(home)) as saver:
        graph = StateGraph(State)
        graph.add_node("work", work)
        graph.add_edge(START, "work")
        graph.add_conditional_edges("work", lambda state: "work" if len(state["done"]) < STEPS else END)
        thread = {"configurable": {"thread_id": "loop"}, "recursion_limit": 3 * STEPS}
        app = graph.compile(checkpointer=saver)
        before = app.get_state(thread).values
        begun = len(before.get("done", []))
        ended = app.invoke(None if before else {}, thread, durability="sync")
        assert ended["done"] == list(range(STEPS)), ended


def chain(home: str, acknowledged: Callable[[str], None], _: int) -> None:
    """Retrieve again and again until every finding of the crew has been seen, and say so."""
    from langchain_core.runnables import RunnableLambda

    from langchain_memanto import MemantoRetriever, numbered

    with opened(home, source="langchain") as memory:
        retriever = MemantoRetriever(memory=memory, types=["learning"], k=FINDINGS * 2, strict=True)
        rag = retriever | RunnableLambda(lambda documents: (documents, numbered(documents)))
        seen: set[str] = set()
        while len(seen) < FINDINGS:
            documents, text = rag.invoke("which pool has fewer slots")
            assert all(document.page_content in text for document in documents)
            seen |= {document.id for document in documents if document.metadata["source"] == "crewai"}
        receipt = memory.remember(f"Saw {len(seen)} findings", type="event", provenance="observed")
        acknowledged(receipt.id)


def window(home: str, acknowledged: Callable[[str], None], seed: int) -> None:
    """One window of a coding tool: a server of its own that writes and reads what the others wrote."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def session() -> None:
        server = StdioServerParameters(command=sys.executable, args=SERVER, env=os.environ | {"MEMANTO_HOME": home})
        async with stdio_client(server) as streams, ClientSession(*streams) as client:
            await client.initialize()
            for number in range(NOTES):
                note = f"Window {seed} renamed setting {number} of module {seed}{number}"
                told = await client.call_tool(
                    "remember", {"content": note, "type": "decision", "provenance": "inferred"}
                )
                acknowledged(json.loads(told.content[0].text)["id"])
            found = ""
            while "has fewer than 20 slots" not in found:
                told = await client.call_tool("recall", {"query": "pool fewer slots", "types": ["learning"]})
                found = told.content[0].text

    asyncio.run(session())


if __name__ == "__main__":
    role, home, receipts, *seed = sys.argv[1:]
    with Path(receipts).open("a", encoding="utf-8") as file:

        def acknowledged(memory_id: str) -> None:
            file.write(memory_id + "\n")
            file.flush()

        {"crew": crew, "loop": loop, "chain": chain, "window": window}[role](home, acknowledged, int(*seed or [0]))
