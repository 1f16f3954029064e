"""How open, write, recall, point-in-time recall, disk and memory grow with the store, with and without `optimize`.

One store grows from size to size; at each it is closed and measured in a new process, and a copy of it is optimised
and measured too. Vectors are random and cost nothing (see `speed`). What was measured is kept in the cache folder
after every size, and the store with it, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.arms import Arm, Rival, disk_bytes, start
from tests.benchmarks.environments import cache_folder
from tests.benchmarks.growth_page import page, plots
from tests.benchmarks.harness import Bench, Figures, Suite, commit, percentile, register

ARM: Final = Arm(name="memanto", script="memanto_growth", survives="process")
SIZES: Final = (1_000, 10_000, 100_000, 300_000, 1_000_000)
QUICK: Final = (1_000, 10_000)
LARGEST: Final = "MEMANTO_BENCH_LARGEST"
"""Environment variable: sizes above it are left out."""
LARGEST_GRAPH: Final = "MEMANTO_BENCH_LARGEST_GRAPH"
"""Environment variable: no graph is built above this size; the one of 100,000 takes minutes, of 300,000 hours."""

_CHUNK: Final = 500
_LAST: Final = 5_000
"""Memories whose storing counts for the write rate at a size."""
_QUERIES: Final = 60
_WRITES: Final = 40


def measure(bench: Bench) -> Figures:
    """Measure each size that is asked for; a full run keeps its store between runs."""
    if bench.quick:
        sizes: Sequence[int] = QUICK
    else:
        largest = int(os.environ.get(LARGEST, "100000"))
        sizes = [size for size in SIZES if size <= largest]
        for size in SIZES[len(sizes) :]:
            bench.skip(f"{size} memories", f"takes long; `{LARGEST}={size} make bench` goes on to it")
    base = (bench.cache or cache_folder()) / ("growth-quick" if bench.quick else "growth")
    if bench.quick:
        shutil.rmtree(base, ignore_errors=True)
    try:
        return {"sizes": grow(base, sizes, bench)}
    finally:
        if bench.quick:
            shutil.rmtree(base, ignore_errors=True)


def grow(base: Path, sizes: Sequence[int], bench: Bench) -> dict[str, Any]:
    """Return figures by size, taking those already kept in `base`."""
    notes = _Notes(base / "progress.json")
    folder = base / "store"
    folder.mkdir(parents=True, exist_ok=True)
    for size in sizes:
        if str(size) in notes.figures and "optimised" in notes.figures[str(size)]:
            continue
        if str(size) not in notes.figures:
            bench.say(f"growing to {size}")
            rate = _fill(folder, size, {other // 2 for other in sizes}, notes, bench)
            figures = _measure(folder, size, notes.moments[size // 2], writes=size)
            notes.add(size, {**figures, **rate, "commit": commit()["id"]})
        if size > int(os.environ.get(LARGEST_GRAPH, "100000")):
            bench.skip(f"{size} memories, optimised", f"takes long; `{LARGEST_GRAPH}={size} make bench` does it")
            continue
        bench.say(f"optimising a copy of {size}")
        notes.add(size, {"optimised": _optimised(base, folder, size, notes)})
    return {str(size): notes.figures[str(size)] for size in sizes}


class _Notes:
    """What is kept between runs: figures by size, how many are stored, and when each half was reached."""

    def __init__(self, path: Path) -> None:
        self._path = path
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self.figures: dict[str, dict[str, Any]] = kept.get("figures", {})
        self.stored: int = kept.get("stored", 0)
        self.moments: dict[int, str] = {int(count): text for count, text in kept.get("moments", {}).items()}

    def add(self, size: int, figures: Mapping[str, Any]) -> None:
        self.figures.setdefault(str(size), {}).update(figures)
        self.save()

    def save(self) -> None:
        kept = {"figures": self.figures, "stored": self.stored, "moments": self.moments}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_suffix(".new")
        temporary.write_text(json.dumps(kept), encoding="utf-8")
        temporary.replace(self._path)


def _fill(folder: Path, size: int, halves: set[int], notes: _Notes, bench: Bench) -> dict[str, Any]:
    """Store up to `size`, note when the halves are reached, and return the rate of the last few thousand."""
    rates: list[float] = []
    cpu: list[float] = []
    rival = start(ARM, folder, Path(sys.executable))
    try:
        rival.ask("open")
        while notes.stored < size:
            stop = min(notes.stored + _CHUNK, size, *(half for half in halves if half > notes.stored))
            answer = rival.ask("add", first=notes.stored, stop=stop)
            rates.append((stop - notes.stored) / answer["seconds"])
            cpu.append(answer["cpu"] / (stop - notes.stored) * 1e3)
            notes.stored = stop
            if stop in halves or stop == size:
                notes.moments[stop] = datetime.now(UTC).isoformat()
            if stop % 10_000 == 0:
                notes.save()
                bench.say(f"{stop} stored, {rates[-1]:.0f}/s")
    finally:
        rival.stop()
        notes.save()
    if not rates:
        return {}
    last = -(-_LAST // _CHUNK)
    return {
        "batch_per_s": round(statistics.median(rates[-last:])),
        "batch_cpu_ms": round(statistics.median(cpu[-last:]), 3),
    }


def _measure(folder: Path, size: int, moment: str, *, writes: int | None) -> dict[str, Any]:
    """Measure a store in a process of its own.

    Args:
        folder: The store.
        size: Memories in it.
        moment: When it held half of them.
        writes: Number of the first memory to write one by one, or `None` not to write.
    """
    rival = start(ARM, folder, Path(sys.executable))
    try:
        opened = rival.ask("open", probe=0)
        everywhere = list(range(0, size, max(1, size // _QUERIES)))[:_QUERIES]
        early = [number // 2 for number in everywhere]
        figures: dict[str, Any] = {"open_ms": round(opened["seconds"] * 1e3, 1)}
        figures |= _timed("plain", lambda: rival.ask("search", numbers=everywhere, typed=False))
        figures |= _timed("typed", lambda: rival.ask("search", numbers=everywhere, typed=True))
        figures |= _timed("as_of", lambda: rival.ask("each", method="as_of", numbers=early, moment=moment))
        figures |= _timed("recent", lambda: rival.ask("each", method="recent", numbers=everywhere))
        figures["memory"] = rival.ask("memory")
        if writes is not None:
            # Beyond every size, so that growing on meets none of them.
            first = SIZES[-1] + writes
            figures |= _timed("write", lambda: rival.ask("write", first=first, stop=first + _WRITES))
    finally:
        rival.stop()
    figures["disk_bytes"] = disk_bytes(folder)
    return figures


def _timed(label: str, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Ask twice and keep the second, when what had to be read from the disk is there."""
    if label != "write":
        ask()
    answer = ask()
    return {
        f"{label}_p50_ms": round(statistics.median(answer["seconds"]) * 1e3, 3),
        f"{label}_p95_ms": round(percentile(answer["seconds"], 0.95) * 1e3, 3),
        f"{label}_cpu_ms": round(statistics.fmean(answer["cpu"]) * 1e3, 3),
        **({f"{label}_found": answer["found"] / len(answer["seconds"])} if "found" in answer else {}),
    }


def _optimised(base: Path, folder: Path, size: int, notes: _Notes) -> dict[str, Any]:
    """Optimise a copy of the store and measure it."""
    copy = base / "optimised"
    shutil.rmtree(copy, ignore_errors=True)
    # Sparse files stay sparse; what only a running process needs (sockets) is not copied.
    subprocess.run(["cp", "-a", "--sparse=always", str(folder), str(copy)], check=True)
    try:
        rival: Rival = start(ARM, copy, Path(sys.executable))
        try:
            rival.ask("open")
            seconds = rival.ask("settle")["seconds"]
        finally:
            rival.stop()
        return {"optimize_s": round(seconds, 1), **_measure(copy, size, notes.moments[size // 2], writes=None)}
    finally:
        shutil.rmtree(copy, ignore_errors=True)


register(Suite(name="growth", about="Curves from 1,000 to 1,000,000 memories", run=measure, page=page, plots=plots))
