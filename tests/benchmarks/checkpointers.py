"""Checkpointers of langgraph beside each other: steps a second, reading back, and what a checkpoint takes on the disk.

Every arm is a process of its own that is asked in turns: one run of the graph of one, one of the next. The graph
has fifty steps and a state of about 10 KB: a plan of 2 KB that stays, a text of 8 KB that each step writes anew, and
a growing list. The text is hexadecimal words, which no compressor brings below half.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.checkpointers_page import page
from tests.benchmarks.environments import NoEnvironmentError, python_for
from tests.benchmarks.harness import ROOT, Bench, Figures, Suite, percentile, register

REFERENCE: Final = "SqliteSaver"
PRODUCT: Final = "MemantoSaver"
LIMIT: Final = "InMemorySaver"
POSTGRES: Final = "MEMANTO_BENCH_POSTGRES"
STEPS: Final = 50
SCRIPT: Final = Path(__file__).resolve().parent / "rivals" / "checkpointing.py"


@dataclass(frozen=True, slots=True)
class Arm:
    """One saver: the name its script knows it by, and whether it runs in the rivals' environment."""

    script: str
    rival: bool = True


ARMS: Final[Mapping[str, Arm]] = {
    LIMIT: Arm("memory"),
    REFERENCE: Arm("sqlite"),
    "AsyncSqliteSaver": Arm("sqlite-async"),
    "PostgresSaver": Arm("postgres"),
    PRODUCT: Arm("memanto", rival=False),
    f"{PRODUCT}, asynchronous": Arm("memanto-async", rival=False),
}


class Worker:
    """The process of an arm."""

    def __init__(self, python: Path, script: str, folder: Path) -> None:
        packages = os.pathsep.join(str(path) for path in sorted(ROOT.glob("packages/*/src")))
        self._process = subprocess.Popen(
            [str(python), str(SCRIPT), script, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": packages},
        )

    def ask(self, name: str, *arguments: Any) -> Any:
        """Return what the arm answers."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, *arguments]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process ended with status {self._process.wait()} at {name!r}")
        return json.loads(line)

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.communicate()


def measure(bench: Bench) -> Figures:
    """Measure all arms that can run here."""
    passes, sizes, reads = (3, (100, 300), 20) if bench.quick else (15, (100, 1_000, 10_000), 50)
    with _workers(bench) as workers:
        return {
            "steps": STEPS,
            "graph": run_graphs(workers, passes, bench),
            "thread": {name: fill_thread(worker, sizes, reads, name, bench) for name, worker in workers.items()},
        }


def run_graphs(workers: Mapping[str, Worker], passes: int, bench: Bench) -> dict[str, dict[str, Any]]:
    """Return steps a second and bytes of a checkpoint for each arm, from runs in turns."""
    for worker in workers.values():
        worker.ask("run")  # the first run of a process loads and compiles
    before = {name: worker.ask("size") for name, worker in workers.items()}
    names = list(workers)
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for turn in range(passes):
        bench.say(f"graph, pass {turn + 1} of {passes}")
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            runs[name].append(workers[name].ask("run"))
    found: dict[str, dict[str, Any]] = {}
    for name, worker in workers.items():
        after, number = worker.ask("size"), worker.ask("checkpoints")
        seconds = statistics.median(run["seconds"] for run in runs[name])
        found[name] = {
            "steps_per_s": round(STEPS / seconds, 1),
            "ms_per_step": round(seconds / STEPS * 1e3, 3),
            "cpu_ms_per_step": round(statistics.median(run["cpu"] for run in runs[name]) / STEPS * 1e3, 3),
            "checkpoints_per_run": number,
            "bytes_per_checkpoint": None if after is None else round((after - before[name]) / passes / number),
        }
    for name, figures in found.items():
        # A pass hits all arms alike: the ratio of each pass means more than that of the medians.
        ratios = [other["seconds"] / run["seconds"] for run, other in zip(runs[name], runs[REFERENCE], strict=True)]
        figures["ratio"] = round(statistics.median(ratios), 2)
    return found


def fill_thread(worker: Worker, sizes: tuple[int, ...], reads: int, name: str, bench: Bench) -> dict[str, Any]:
    """Return milliseconds of writing and reading a thread as it grows, by its number of checkpoints."""
    found: dict[str, Any] = {}
    for size in sizes:
        bench.say(f"a thread of {size} checkpoints: {name}")
        put = worker.ask("fill", size)
        found[str(size)] = {"put_ms": _p50(put)} | {
            f"{kind}_ms": _p50(taken) for kind, taken in worker.ask("read", reads).items()
        }
    return found


def _p50(seconds: list[float]) -> float:
    return round(percentile(seconds, 0.5) * 1e3, 3)


@contextmanager
def _workers(bench: Bench) -> Iterator[dict[str, Worker]]:
    """Yield the processes of the arms that can run here; their stores and processes are gone afterwards."""
    root = Path(tempfile.mkdtemp(prefix="memanto-bench-"))
    workers: dict[str, Worker] = {}
    try:
        for name, arm in ARMS.items():
            if arm.script == "postgres" and POSTGRES not in os.environ:
                bench.skip(name, f"no PostgreSQL server: {POSTGRES} names one, such as postgresql://localhost/bench")
                continue
            folder = root / arm.script
            folder.mkdir()
            try:
                python = python_for("checkpointers") if arm.rival else Path(sys.executable)
            except NoEnvironmentError as error:
                bench.skip(name, str(error))
                continue
            workers[name] = Worker(python, arm.script, folder)
        yield workers
        for worker in workers.values():
            worker.ask("close")
    finally:
        for worker in workers.values():
            worker.end()
        shutil.rmtree(root, ignore_errors=True)


register(Suite(name="checkpointers", about="Checkpointers of LangGraph beside each other", run=measure, page=page))
