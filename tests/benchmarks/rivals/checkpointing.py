"""One checkpointer of langgraph under the clock: requests and answers as JSON lines.

Runs under the interpreter that has the packages of its arm; it needs nothing else of this folder.

    checkpointing.py ARM FOLDER     ARM: memory, sqlite, sqlite-async, memanto, memanto-async, postgres
"""

from __future__ import annotations

import asyncio
import json
import operator
import os
import random
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, StateGraph

STEPS = 50
_RANDOM = random.Random(7)
_WORDS = [f"{_RANDOM.getrandbits(40):x}" for _ in range(4_000)]


def text(size: int, seed: int) -> str:
    """Return a text of random hexadecimal words: it takes a compressor half its size, and no less."""
    generator = random.Random(seed)
    words: list[str] = []
    length = 0
    while length < size:
        words.append(generator.choice(_WORDS))
        length += len(words[-1]) + 1
    return " ".join(words)[:size]


class State(TypedDict):
    step: int
    plan: str
    scratch: str
    log: Annotated[list[str], operator.add]


BEGIN: State = {"step": 0, "plan": text(2_000, -1), "scratch": text(8_000, 0), "log": []}
_SCRATCH = [text(8_000, step) for step in range(STEPS + 1)]


def work(state: State) -> dict[str, Any]:
    step = state["step"] + 1
    return {"step": step, "scratch": _SCRATCH[step], "log": [f"step {step} done"]}


def graph(saver: Any) -> Any:
    """Return a graph of `STEPS` steps whose state is about 10 KB, 8 of which are new in each step."""
    built = StateGraph(State)
    built.add_node("work", work)
    built.add_edge(START, "work")
    built.add_conditional_edges("work", lambda state: "work" if state["step"] < STEPS else END)
    return built.compile(checkpointer=saver)


class Arm:
    """A saver and what is asked of it. Asynchronous ones run in one event loop from begin to end."""

    def __init__(self, name: str, folder: Path) -> None:
        self._folder = folder
        self._async = name.endswith("-async")
        self._loop = asyncio.new_event_loop()
        self._close: Callable[[], object] = lambda: None
        self._saver = getattr(self, f"_{name.removesuffix('-async')}")()
        self._graph = graph(self._saver)
        self._runs = 0
        self._last: Any = self._thread("long")
        self._filled = 0

    # -- savers -------------------------------------------------------------------------------------
    def _memory(self) -> Any:
        from langgraph.checkpoint.memory import InMemorySaver

        return InMemorySaver()

    def _sqlite(self) -> Any:
        path = str(self._folder / "checkpoints.db")
        if self._async:
            from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

            context = AsyncSqliteSaver.from_conn_string(path)
            self._close = lambda: self._await(context.__aexit__(None, None, None))
            return self._await(context.__aenter__())
        from langgraph.checkpoint.sqlite import SqliteSaver

        made = SqliteSaver.from_conn_string(path)
        self._close = lambda: made.__exit__(None, None, None)
        return made.__enter__()

    def _postgres(self) -> Any:
        from langgraph.checkpoint.postgres import PostgresSaver

        made = PostgresSaver.from_conn_string(os.environ["MEMANTO_BENCH_POSTGRES"])
        self._close = lambda: made.__exit__(None, None, None)
        saver = made.__enter__()
        saver.setup()
        return saver

    def _memanto(self) -> Any:
        from langgraph_memanto import MemantoSaver
        from memanto import Embedded

        saver = MemantoSaver("bench", store=Embedded(self._folder))
        self._close = saver.close
        return saver

    # -- requests -----------------------------------------------------------------------------------
    def run(self) -> dict[str, float]:
        """Run the graph once in a thread of its own, each checkpoint stored before the next step."""
        self._runs += 1
        config = self._thread(f"run-{self._runs}")
        options = {"config": {**config, "recursion_limit": 2 * STEPS}, "durability": "sync"}
        begun, cpu = time.perf_counter(), time.process_time()
        if self._async:
            self._await(self._graph.ainvoke(BEGIN, **options))
        else:
            self._graph.invoke(BEGIN, **options)
        return {"seconds": time.perf_counter() - begun, "cpu": time.process_time() - cpu}

    def checkpoints(self) -> int:
        """Return how many checkpoints the first run left."""
        return len(self._list("run-1", None))

    def fill(self, count: int) -> list[float]:
        """Put checkpoints into one thread until it has `count`; returns the seconds of the last hundred."""
        taken = []
        for number in range(self._filled, count):
            made = empty_checkpoint()
            made["channel_values"] = {"step": number, "plan": BEGIN["plan"], "scratch": _SCRATCH[number % STEPS]}
            version = f"{number + 1:032}.0"
            made["channel_versions"] = {"step": version, "plan": f"{1:032}.0", "scratch": version}
            new = {name: made["channel_versions"][name] for name in ("step", "scratch", *(["plan"] * (number == 0)))}
            told = {"source": "loop", "step": number, "parents": {}}
            begun = time.perf_counter()
            self._last = self._call("put", self._last, made, told, new)
            taken.append(time.perf_counter() - begun)
        self._filled = count
        return taken[-100:]

    def read(self, times: int) -> dict[str, list[float]]:
        """Return the seconds of reading the latest checkpoint of the long thread, and its last ten.

        `fresh` is the first reading after a checkpoint was put, `again` another one with nothing put in between.
        """
        taken: dict[str, list[float]] = {"fresh": [], "again": [], "ten": []}
        for _ in range(times):
            self.fill(self._filled + 1)
            for name in ("fresh", "again"):
                begun = time.perf_counter()
                found = self._call("get_tuple", self._thread("long"))
                taken[name].append(time.perf_counter() - begun)
                assert found.checkpoint["channel_values"]["step"] == self._filled - 1
            begun = time.perf_counter()
            ten = self._list("long", 10)
            taken["ten"].append(time.perf_counter() - begun)
            assert len(ten) == 10
        return taken

    def size(self) -> int | None:
        """Return the bytes on the disk after a flush."""
        if type(self._saver).__name__ == "InMemorySaver":
            return None
        if hasattr(self._saver, "flush"):
            self._saver.flush()
        for path in self._folder.glob("*.db"):
            with sqlite3.connect(path) as connection:
                connection.execute("pragma wal_checkpoint(truncate)")
        if "MEMANTO_BENCH_POSTGRES" in os.environ and type(self._saver).__name__ == "PostgresSaver":
            import psycopg

            tables = (
                "select sum(pg_total_relation_size(oid)) from pg_class where relkind='r' and relname like 'checkpoint%'"
            )
            with psycopg.connect(os.environ["MEMANTO_BENCH_POSTGRES"]) as connection:
                return int(connection.execute(tables).fetchone()[0])
        return sum(path.stat().st_blocks * 512 for path in self._folder.rglob("*") if path.is_file())

    def close(self) -> None:
        self._close()
        self._loop.close()

    # -- the same for both kinds --------------------------------------------------------------------
    def _call(self, name: str, *arguments: Any) -> Any:
        if self._async:
            return self._await(getattr(self._saver, f"a{name}")(*arguments))
        return getattr(self._saver, name)(*arguments)

    def _list(self, thread: str, limit: int | None) -> list[Any]:
        if not self._async:
            return list(self._saver.list(self._thread(thread), limit=limit))

        async def collect() -> list[Any]:
            return [one async for one in self._saver.alist(self._thread(thread), limit=limit)]

        return self._await(collect())

    def _await(self, coroutine: Any) -> Any:
        return self._loop.run_until_complete(coroutine)

    @staticmethod
    def _thread(name: str) -> Any:
        return {"configurable": {"thread_id": name, "checkpoint_ns": ""}}


def main() -> None:
    arm = Arm(sys.argv[1], Path(sys.argv[2]))
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        answers.write(json.dumps(getattr(arm, name)(*arguments)) + "\n")
        answers.flush()
        if name == "close":
            return


if __name__ == "__main__":
    main()
