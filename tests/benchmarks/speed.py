"""Writes, reads, restarts, disk and memory of the product beside other stores, as ratios within one run.

Every arm is a process of its own that is asked in turns: twenty searches of one, twenty of the next. Vectors are
random, of unit length, keyed by the text's hash and ready before the clock starts. Each query is a stored text, so
that its own memory has to come back.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.arms import BLOCK, Arm, Round, describe, disk_bytes, interpreters, median_ratio, restart, round_of
from tests.benchmarks.environments import cache_folder
from tests.benchmarks.harness import Bench, Figures, Suite, percentile, register
from tests.benchmarks.remembering import measure_remembering
from tests.benchmarks.speed_page import page

PRODUCT: Final = "memanto"
REFERENCE: Final = "qdrant-edge alone"
_TOO_SLOW: Final = "it stores some hundred a second and searches in tenths of a second by then"
_SAME_SEARCH: Final = "it searches like the arm without a flush per write"

ARMS: Final = (
    Arm(name=PRODUCT, script="memanto_log", survives="process"),
    Arm(name="memanto, durability full", script="memanto_full", survives="power cut", largest=10_000,
        reason=_SAME_SEARCH),
    Arm(name=REFERENCE, script="edge", survives="process"),
    Arm(name="qdrant-edge alone, flushed", script="edge_flushed", survives="power cut", largest=10_000,
        reason=_SAME_SEARCH),
    Arm(name="qdrant-edge alone, graph", script="edge_graph", survives="process", largest=10_000,
        reason="building the graph holds two cores for minutes; see the growth curves"),
    Arm(name="Chroma", script="chroma", survives="power cut", requirements="chroma"),
    Arm(name="LanceDB", script="lancedb_table", survives="process", requirements="lancedb"),
    Arm(name="mem0, infer=False", script="mem0_local", survives="power cut", requirements="mem0", largest=10_000,
        reason=_TOO_SLOW),
    Arm(name="LangGraph InMemoryStore", script="langgraph_memory", survives="nothing", requirements="langgraph",
        largest=10_000, reason="a search takes seconds by then"),
    Arm(name="qdrant-client, local", script="qdrant_local", survives="power cut", requirements="qdrant_local",
        largest=10_000, reason=_TOO_SLOW),
    Arm(name="FAISS flat + SQLite", script="faiss_sqlite", survives="process", requirements="faiss"),
    Arm(name="FAISS flat + SQLite, synced", script="faiss_sqlite_full", survives="power cut", requirements="faiss",
        largest=10_000, reason=_SAME_SEARCH),
)  # fmt: skip

_KEPT_S: Final = 12 * 3600
_CHUNK: Final = 500
_WRITES: Final = 100
_QUERIES: Final = 200
_PATIENCE: Final = 8.0
"""Seconds of searching that an arm gets per pass; a slow one answers fewer queries."""


def measure(bench: Bench) -> Figures:
    """Measure all arms at each size, then batches with the offline model."""
    sizes = (1_000,) if bench.quick else (1_000, 10_000, 100_000)
    passes = 3 if bench.quick else 5
    kept = _Kept((bench.cache or cache_folder()) / ("speed-quick.json" if bench.quick else "speed.json"))
    for size in sizes:
        if str(size) not in kept.figures:
            kept.add(compare(ARMS, [size], passes, bench))
    figures = {
        "arms": {arm.name: describe(arm) for arm in ARMS},
        "sizes": {str(size): kept.figures[str(size)] for size in sizes},
        "remember with embedding": measure_remembering(bench),
    }
    kept.clear()
    return figures


class _Kept:
    """Sizes that an interrupted run measured, for the run that goes on within half a day."""

    def __init__(self, path: Path) -> None:
        self._path = path
        fresh = path.exists() and time.time() - path.stat().st_mtime < _KEPT_S
        self.figures: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if fresh else {}

    def add(self, sizes: Mapping[str, Any]) -> None:
        self.figures.update(sizes)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self.figures), encoding="utf-8")

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)


def compare(
    arms: Sequence[Arm], sizes: Sequence[int], passes: int, bench: Bench, queries: int = _QUERIES, writes: int = _WRITES
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return figures by size and arm."""
    pythons = interpreters(arms, bench)
    found = {}
    for size in sizes:
        with round_of(arms, pythons, size, bench) as current:
            bench.say(f"{size} memories: filling {len(current.rivals)} stores")
            _fill(current)
            bench.say(f"{size} memories: opening them in new processes")
            _reopen(current, pythons)
            for typed in (False, True):
                bench.say(f"{size} memories: searching, {'typed' if typed else 'plain'}")
                _search(current, passes, queries, typed=typed)
            for name, rival in current.each():
                with current.tolerated(name):
                    current.note(name, memory=rival.ask("memory"))
            bench.say(f"{size} memories: single writes")
            _write(current, passes, writes)
            found[str(size)] = _with_ratios(current.figures)
    return found


def _fill(current: Round) -> None:
    spent: dict[str, float] = {}
    for name, rival in current.each():
        with current.tolerated(name):
            rival.ask("open")
    for turn, first in enumerate(range(0, current.size, _CHUNK)):
        stop = min(first + _CHUNK, current.size)
        for name, rival in current.each(turn):
            with current.tolerated(name):
                spent[name] = spent.get(name, 0.0) + rival.ask("add", first=first, stop=stop)["seconds"]
    for name, rival in current.each():
        with current.tolerated(name):
            settled = rival.ask("settle")["seconds"]
            current.note(name, add_s=round(spent[name], 3), add_per_s=round(current.size / spent[name]))
            if settled > 0.01:
                current.note(name, settle_s=round(settled, 2))


def _reopen(current: Round, pythons: Mapping[str, Path]) -> None:
    restart(current, pythons)
    for name, rival in current.each():
        with current.tolerated(name):
            if rival.arm.survives != "nothing":
                opened = rival.ask("open", probe=0)
                current.note(name, open_s=round(opened["seconds"], 4), disk_bytes=disk_bytes(rival.folder))


def _search(current: Round, passes: int, queries: int, *, typed: bool) -> None:
    numbers = list(range(0, current.size, max(1, current.size // queries)))[:queries]
    label = "typed" if typed else "plain"
    limits: dict[str, int] = {}
    spread = _Spread(label)
    for turn in range(passes):
        taken: dict[str, list[float]] = {}
        cpu: dict[str, list[float]] = {}
        hits: dict[str, tuple[int, int]] = {}
        for start in range(0, len(numbers), BLOCK):
            for name, rival in current.each(turn + start // BLOCK):
                asked = taken.get(name, ())
                if len(asked) >= limits.get(name, queries) or sum(asked) > _PATIENCE:
                    continue
                with current.tolerated(name):
                    answer = rival.ask("search", numbers=numbers[start : start + BLOCK], typed=typed)
                    taken.setdefault(name, []).extend(answer["seconds"])
                    cpu.setdefault(name, []).extend(answer["cpu"])
                    first, found = hits.get(name, (0, 0))
                    hits[name] = (first + answer["first"], found + answer["found"])
        for name, seconds in taken.items():
            if name not in current.rivals:
                continue
            spread.add(name, seconds, cpu[name])
            limits[name] = max(BLOCK, int(_PATIENCE / statistics.median(seconds)))
            if turn == 0:
                first, found = hits[name]
                current.note(name, **{f"{label}_first": first / len(seconds), f"{label}_found": found / len(seconds)})
    spread.note(current)


def _write(current: Round, passes: int, writes: int) -> None:
    """Single writes into the full store, an equal share in each pass."""
    share = max(1, writes // passes)
    spread = _Spread("write")
    for turn in range(passes):
        first = current.size + turn * share
        for name, rival in current.each(turn):
            with current.tolerated(name):
                answer = rival.ask("write", first=first, stop=first + share)
                spread.add(name, answer["seconds"], answer["cpu"])
    spread.note(current)


class _Spread:
    """What one kind of request took each arm in each pass: wall time and processor time of its process.

    A busy machine stretches the wall time of what takes long more than of what is done within a time slice, so
    both are kept, and the ratio is taken of either.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._passes: dict[str, list[tuple[float, float, float]]] = {}

    def add(self, name: str, seconds: Sequence[float], cpu: Sequence[float]) -> None:
        """Add a pass of an arm."""
        pair = (statistics.median(seconds), percentile(seconds, 0.95), statistics.median(cpu))
        self._passes.setdefault(name, []).append(pair)

    def note(self, current: Round) -> None:
        """Note the medians over passes, and each pass for the ratios."""
        for name in current.rivals:
            middle, worst, cpu = zip(*self._passes[name], strict=True)
            figures = {
                "p50_ms": round(statistics.median(middle) * 1e3, 3),
                "p95_ms": round(statistics.median(worst) * 1e3, 3),
                "cpu_ms": round(statistics.median(cpu) * 1e3, 3),
                "passes": [round(value * 1e3, 4) for value in middle],
                "cpu_passes": [round(value * 1e3, 4) for value in cpu],
            }
            current.note(name, **{f"{self._label}_{key}": value for key, value in figures.items()})


def _with_ratios(figures: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Add each arm's times by those of the reference."""
    reference = figures.get(REFERENCE)
    for found in figures.values() if reference else ():
        for label in ("plain", "typed", "write"):
            if f"{label}_passes" in found and reference is not None:
                for passes, ratio in (("passes", "ratio"), ("cpu_passes", "cpu_ratio")):
                    value = median_ratio(found[f"{label}_{passes}"], reference[f"{label}_{passes}"])
                    found[f"{label}_{ratio}"] = round(value, 2)
    return figures


register(Suite(name="speed", about="Writes, reads, restarts and memory beside other stores", run=measure, page=page))
