"""What the loop's questions cost at 10,000 memories, without embedding: `brief`, `guard`, `answer`, `check`.

Texts are turns of LoCoMo, LongMemEval and BEAM, as rich in words as talk is, or, without the data, generated ones of
few words, where ties are many. Every type has its share; 800 are failures phrased as triggers and 60 are runs. Vectors
are random and cost nothing (see `speed`).
"""

from __future__ import annotations

import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

from tests.benchmarks import datasets
from tests.benchmarks.harness import Bench, Figures, Result, Suite, percentile, provenance, register, table
from tests.benchmarks.remembering import RandomVectors
from tests.benchmarks.rivals import protocol

from memanto import Draft, Embedded, EmbedderIdentity, Memanto, MemoryType
from memanto.models import MAX_BATCH

FAILURES: Final = 800
RUNS: Final = 60
_ASKED: Final = 100
_PASSES: Final = 5
_LONGEST: Final = 400
"""Characters that a memory takes of a turn."""
_TYPES: Final = [MemoryType(name) for name in protocol.TYPES if name != "error"]


def measure(bench: Bench) -> Figures:
    """Measure each question on talk, if there is data, and on generated texts of few words."""
    size = 1_000 if bench.quick else 10_000
    stores = {"few words": [protocol.item(number)[1] for number in range(size)]}
    if bench.available("talk", datasets.LOCOMO) and bench.available("talk", datasets.LONGMEMEVAL):
        stores = {"talk": _turns(bench)[:size], **stores}
    return {
        "memories": {name: len(texts) for name, texts in stores.items()},
        "stores": {name: _measured(texts, bench) for name, texts in stores.items()},
    }


def _turns(bench: Bench) -> list[str]:
    pools = [*datasets.locomo(bench), datasets.longmemeval(bench)]
    pools += [pool for name, file in datasets.BEAM.items() if bench.has(file) for pool in datasets.beam(bench, name)]
    turns = list(dict.fromkeys(text[:_LONGEST].strip() for pool in pools for text in pool.texts))
    random.Random(bench.seed).shuffle(turns)
    return [turn for turn in turns if turn]


def _measured(texts: Sequence[str], bench: Bench) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="memanto-bench-"))
    embedder = RandomVectors(EmbedderIdentity("benchmark/random", protocol.DIMENSION))
    try:
        bench.say(f"filling a store with {len(texts)}")
        with Memanto("bench", store=Embedded(folder), embedder=embedder, reranker=None, llm=None) as memory:
            _fill(memory, texts)
        with Memanto("bench", store=Embedded(folder), embedder=embedder, reranker=None, llm=None) as memory:
            return _ask(memory, texts, bench)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill(memory: Memanto, texts: Sequence[str]) -> None:
    failures = len(texts) * FAILURES // 10_000
    drafts = [
        Draft(content=f"When {text.rstrip('.?!')}, look at the log first - root cause: unknown", type=MemoryType.ERROR)
        for text in texts[:failures]
    ]
    drafts += [Draft(content=text, type=kind) for text, kind in zip(texts[failures:], cycle(_TYPES), strict=False)]
    for start in range(0, len(drafts), MAX_BATCH):
        memory.remember_many(drafts[start : start + MAX_BATCH])
    memory.set_goal("Reconcile the ledger with the orders")
    memory.set_plan("Import, compare, report")
    for number, text in enumerate(islice(texts, failures, failures + len(texts) * RUNS // 10_000)):
        with memory.run("reconcile" if number % 2 else "import", goal=text[:80]) as run:
            run.step(f"step of {number}", tool_calls=2)
    memory.write_handoff(done="import", next="compare", do_not_redo=["import"])


def _ask(memory: Memanto, texts: Sequence[str], bench: Bench) -> dict[str, Any]:
    drawn = random.Random(bench.seed).sample(range(len(texts)), _ASKED)
    asked = [texts[number][:120] for number in drawn]
    for text in asked:
        protocol.vector(text)
    ways: dict[str, Callable[[str], Any]] = {
        "recall": memory.recall,
        "guard": memory.guard,
        "brief": lambda text: memory.brief(text, task_type="reconcile"),
        "answer": memory.answer,
        "check": lambda _: memory.check(),
    }
    wall: dict[str, list[float]] = {name: [] for name in ways}
    cpu: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(-1, _PASSES):
        for name, way in ways.items():
            for text in asked[: 10 if name == "check" else _ASKED]:
                begun, used = time.perf_counter(), time.process_time()
                way(text)
                if turn >= 0:
                    wall[name].append(time.perf_counter() - begun)
                    cpu[name].append(time.process_time() - used)
        bench.say(f"pass {turn + 2} of {_PASSES + 1}")
    return {
        name: {
            "p50_ms": round(statistics.median(wall[name]) * 1e3, 2),
            "p95_ms": round(percentile(wall[name], 0.95) * 1e3, 2),
            "cpu_ms": round(statistics.median(cpu[name]) * 1e3, 2),
            "ratio": round(statistics.median(wall[name]) / statistics.median(wall["recall"]), 1),
        }
        for name in ways
    }


_INTRO: Final = """\
# What the loop's questions cost

One call of each, in turns within one run, embedding left out (vectors are random and ready before the clock starts).
*Talk* is turns of LoCoMo, LongMemEval and BEAM, cut at 400 characters; *few words* are generated sentences that share
two dozen words, where many memories rank alike. {failures:,} in 10,000 are failures phrased as triggers, and {runs} are
runs. `recall` stands beside them for the ratio; `answer` is the extractive one, without a language model; `check` asks
its four questions.
"""


def page(result: Result) -> str:
    """Render the page."""
    parts = [_INTRO.format(failures=FAILURES, runs=RUNS)]
    header = ("call", "times a recall", "p50 ms", "p95 ms", "CPU ms")
    for name, calls in result.figures["stores"].items():
        rows = [
            (f"`{call}`", f"{found['ratio']:.1f}", found["p50_ms"], found["p95_ms"], found["cpu_ms"])
            for call, found in calls.items()
        ]
        parts += [
            f"## {name.capitalize()}: {result.figures['memories'][name]:,} memories\n",
            table(header, rows) + "\n",
        ]
    return "\n".join([*parts, provenance(result)])


register(Suite(name="loop-speed", about="brief, guard, answer and check at 10,000 memories", run=measure, page=page))
