"""Several processes on one embedded store: taking turns beside being served by the one that has it open.

Busy processes write and search without a pause. The mix is what an agent's machine looks like: a long-lived
server that recalls now and then, a crew that writes, and short-lived processes that open, recall, write, close.
Arms alternate within each pass, so that what else the machine does hits both.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.benchmarks import process_worker
from tests.benchmarks.harness import ROOT, Bench, Figures, Result, Suite, percentile, provenance, register, table

ARMS: Final = ("turns", "relay")
COUNTS: Final = (1, 2, 4, 8)
GOALS: Final = {1: 2, 2: 20, 4: 50, 8: 100}
"""Milliseconds of a write and a search (median) that were aimed at, on a quiet machine."""
MIX: Final = ("server", "crew", "visitor", "visitor", "visitor")


def measure(bench: Bench) -> Figures:
    """Fill a store, and run each number of busy processes, and the mix, in both arms."""
    size, seconds, passes = (1_000, 1.5, 1) if bench.quick else (10_000, 4.0, 3)
    counts = (1, 4) if bench.quick else COUNTS
    runs: dict[str, dict[str, list[Any]]] = {f"busy {count}": {arm: [] for arm in ARMS} for count in counts}
    runs["mix"] = {arm: [] for arm in ARMS}
    with tempfile.TemporaryDirectory(prefix="memanto-bench-") as folder:
        store = Path(folder, "store")
        _fill(store, size, bench.seed)
        for turn in range(passes):
            for name, arms in runs.items():
                roles = MIX if name == "mix" else ("busy",) * int(name.split()[1])
                for arm in ARMS[:: 1 if turn % 2 == 0 else -1]:
                    seed = bench.seed + 1_000 * turn + 100 * ARMS.index(arm) + 10_000 * len(roles)
                    arms[arm].append(_run(store, roles, arm, 2 * seconds if name == "mix" else seconds, seed))
            bench.say(f"pass {turn + 1} of {passes}")
    return {
        "memories": size,
        "seconds_each": seconds,
        "passes": passes,
        "busy": {str(count): {arm: _busy(runs[f"busy {count}"][arm], seconds) for arm in ARMS} for count in counts},
        "mix": {arm: _kinds(runs["mix"][arm]) for arm in ARMS},
        "mix_turns": {arm: sum(run["turns"] for run in runs["mix"][arm]) for arm in ARMS},
    }


def _fill(store: Path, size: int, seed: int) -> None:
    from memanto import Draft

    rng = random.Random(seed)
    memory = process_worker.opened(store, relay=False)
    for begin in range(0, size, 1_000):
        count = min(1_000, size - begin)
        memory.remember_many([Draft(content=process_worker.text(rng), type="fact") for _ in range(count)])
    memory.close()


def _run(store: Path, roles: Sequence[str], arm: str, seconds: float, seed: int) -> dict[str, Any]:
    """Run processes of these roles together; return their seconds by kind, turns, and the load meanwhile."""
    module = [sys.executable, "-m", "tests.benchmarks.process_worker"]
    started = [
        subprocess.Popen(
            [*module, role, str(store), arm, str(seconds), str(seed + number)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )
        for number, role in enumerate(roles)
    ]  # fmt: skip
    try:
        for process in started:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("a worker did not start")
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        outputs = [process.communicate(timeout=600)[0] for process in started]
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.communicate()
    found = [json.loads(output) for output in outputs]
    kinds: dict[str, list[float]] = {}
    for each in found:
        for kind, taken in each["seconds"].items():
            kinds.setdefault(kind, []).extend(taken)
    return {"seconds": kinds, "turns": sum(each["turns"] for each in found), "load": os.getloadavg()[0]}


def _busy(runs: Sequence[dict[str, Any]], seconds: float) -> dict[str, Any]:
    pairs = [taken for run in runs for taken in run["seconds"]["pair"]]
    return {
        **_spread(pairs),
        "pairs_per_s": round(len(pairs) / (seconds * len(runs)), 1),
        "turns": sum(run["turns"] for run in runs),
        "load_1m": round(max(run["load"] for run in runs), 1),
    }


def _kinds(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    kinds = sorted({kind for run in runs for kind in run["seconds"]})
    return {kind: _spread([t for run in runs for t in run["seconds"].get(kind, ())]) for kind in kinds}


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    values = {"p50_ms": 0.5, "p95_ms": 0.95, "max_ms": 1.0}
    return {name: round(percentile(seconds, part) * 1e3, 1) for name, part in values.items()} | {"count": len(seconds)}


def render(result: Result) -> str:
    """Render the page."""
    figures = result.figures
    alone = figures["busy"]["1"]["relay"]["p50_ms"] or 1.0
    busy = [
        (
            count, arm, row["p50_ms"], row["p95_ms"], row["max_ms"], f"{row['p50_ms'] / alone:.1f}",
            row["pairs_per_s"], row["turns"], GOALS[int(count)], row["load_1m"],
        )
        for count, arms in figures["busy"].items()
        for arm, row in arms.items()
    ]  # fmt: skip
    kinds = sorted({kind for arms in figures["mix"].values() for kind in arms})
    mix = [
        (kind, *(f"{figures['mix'][arm][kind][part]}" for arm in ARMS for part in ("p50_ms", "p95_ms")))
        for kind in kinds
        if all(kind in figures["mix"][arm] for arm in ARMS)
    ]
    heading = ("processes", "arm", "p50 ms", "p95 ms", "max ms", "times alone", "pairs/s", "loads", "goal ms", "load")
    columns = ("operation", *(f"{arm} {part} ms" for arm in ARMS for part in ("p50", "p95")))
    return "\n".join(
        [
            "# Several processes on one store",
            "",
            f"{figures['memories']:,} memories in one namespace. A *pair* is one `remember` and one `recall` through",
            "the public API, with an embedder that costs next to nothing. `turns`: processes hand the store over to",
            "one another; `relay`: the one that has it open works for the others (the default). *Loads* counts how",
            "often a process opened the shard. The goal was set for a quiet machine: compare *times alone*, the",
            "median over that of one process in the same run. A median flatters turns, since most operations fall",
            "into a process's own turn; the waiting shows in p95, max and pairs/s.",
            "",
            "## Busy processes: write and search without a pause",
            "",
            table(heading, busy),
            "",
            "## The mix: a server, a crew that writes, three short-lived processes one after the other",
            "",
            table(columns, mix),
            "",
            provenance(result),
        ]
    )


register(Suite(name="processes", about="Several processes on one embedded store", run=measure, page=render))
