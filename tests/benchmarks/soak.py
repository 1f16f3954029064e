"""A soak: mixed use by four processes on one embedded store, and whether anything grows that should not.

What is stored stays the same in amount (see `soak_worker`), so memory, file descriptors, threads and disk have to be
flat. They are sampled from outside, by what the system says of each process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.harness import ROOT, Bench, Figures, Suite, register
from tests.benchmarks.process_worker import opened
from tests.benchmarks.soak_page import page, plots

from memanto.loop.statistics import trend

SECONDS: Final = "MEMANTO_SOAK_SECONDS"
"""Environment variable: how long the soak lasts; half an hour by default."""
PROCESSES: Final = 4
INTERVAL: Final = 15.0
_LAST: Final = 3
"""The last one of so many parts has to be flat."""
_SHARE: Final = 0.01
"""Share of its level that a measure in bytes may rise over the last part; below it a trend means nothing."""
_ONE: Final = 1.0

MEASURES: Final = ("rss", "private", "anonymous", "descriptors", "threads", "disk", "log")
"""What has to be flat: bytes of the four processes together, their descriptors and threads, bytes on the disk in all
and of the write-ahead log."""
_COUNTED: Final = frozenset({"descriptors", "threads"})


def measure(bench: Bench) -> Figures:
    """Let the processes work, sample them, and judge each measure."""
    if not Path("/proc/self/smaps_rollup").exists():
        bench.skip("soak", "the system does not say what its processes take (needs /proc)")
        return {"seconds": 0, "samples": [], "trends": {}}
    seconds = float(os.environ.get(SECONDS, "1800"))
    interval = min(INTERVAL, seconds / 12)
    with tempfile.TemporaryDirectory(prefix="memanto-soak-") as folder:
        place = Path(folder)
        _fill(place / "store")
        started = [_start(place, number, seconds, bench.seed + number) for number in range(PROCESSES)]
        try:
            samples = _watch(place, started, seconds, interval, bench)
            ended = [json.loads(process.communicate(timeout=300)[0]) for process in started]
        finally:
            for process in started:
                if process.poll() is None:
                    process.kill()
                    process.communicate()
        statuses = [process.returncode for process in started]
        faults = _faults(place / "store", ended)
    return {
        "seconds": seconds,
        "interval_s": interval,
        "processes": PROCESSES,
        "exit_statuses": statuses,
        "faults": faults,
        "done": _summed([one["done"] for one in ended]),
        "refused": _summed([one["refused"] for one in ended]),
        "samples": samples,
        "trends": trends(samples),
    }


def _fill(store: Path) -> None:
    """Say every text once, so that the store has its full size from the beginning."""
    from tests.benchmarks.soak_worker import TEXTS, sentence

    from memanto import Draft

    memory = opened(store, relay=False)
    memory.remember_many([Draft(content=sentence(number), type="fact") for number in range(TEXTS)])
    memory.close()


def _start(place: Path, number: int, seconds: float, seed: int) -> subprocess.Popen[str]:
    note = place / f"note-{number}.json"
    arguments = [str(place / "store"), str(number), str(seconds), str(seed), str(note)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.soak_worker", *arguments], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        raise RuntimeError("a worker did not start")
    return process


def _watch(
    place: Path, started: Sequence[subprocess.Popen[str]], seconds: float, interval: float, bench: Bench
) -> list[dict[str, float]]:
    """Return a sample for each interval, the first after one, until the processes end."""
    begun = time.monotonic()
    samples: list[dict[str, float]] = []
    while (due := (len(samples) + 1) * interval) < seconds:
        time.sleep(max(0.0, begun + due - time.monotonic()))
        if any(process.poll() is not None for process in started):
            raise RuntimeError("a worker ended before its time; its error stands above")
        samples.append(_sample(place, [process.pid for process in started], time.monotonic() - begun))
        if len(samples) % 8 == 0:
            now = samples[-1]
            bench.say(f"{now['t']:.0f} s: private {now['private'] / 1e6:.0f} MB, disk {now['disk'] / 1e6:.0f} MB")
    return samples


def _sample(place: Path, pids: Sequence[int], at: float) -> dict[str, float]:
    found: Counter[str] = Counter()
    largest = 0
    for pid in pids:
        memory = memory_of(pid)
        found.update(memory)
        largest = max(largest, memory["private"])
        found["descriptors"] += sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
        found["threads"] += sum(1 for _ in Path(f"/proc/{pid}/task").iterdir())
    notes = [json.loads(path.read_text("utf-8")) for path in sorted(place.glob("note-*.json"))]
    log = sum(allocated(path) for path in (place / "store").glob("namespaces/*/shard-*/wal"))
    return {
        "t": round(at, 1),
        **found,
        "largest_private": largest,
        "disk": allocated(place / "store"),
        "log": log,
        "versions": max((note["versions"] for note in notes), default=0),
        "calls": sum(sum(note["done"].values()) for note in notes),
    }


def allocated(folder: Path) -> int:
    """Return the bytes that a folder's files take on the disk, also while its owners remove some of them."""
    total = 0
    for parent, _, names in os.walk(folder):  # passes over folders that are gone when it comes to them
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(parent, name).lstat().st_blocks * 512
    return total


def memory_of(pid: int) -> dict[str, int]:
    """Return a process's memory in bytes: resident, private (no other process shares it), anonymous (no file)."""
    pairs = [line.split()[:2] for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()[1:]]
    size = {name.rstrip(":"): int(kilobytes) * 1024 for name, kilobytes in pairs}
    private = size["Private_Clean"] + size["Private_Dirty"]
    return {"rss": size["Rss"], "private": private, "anonymous": size["Anonymous"]}


def _faults(store: Path, ended: Sequence[dict[str, Any]]) -> list[str]:
    """Return what is wrong with the store after all: failed checks, and ids that were stored and are not known."""
    memory = opened(store, relay=False)
    try:
        known = {json.loads(line).get("id") for line in memory.export()}
        failed = [f"{check.name}: {check.detail}" for check in memory.doctor() if not check.ok]
        lost = sorted({one for each in ended for one in each["live"]} - known)
        return [*failed, *(f"lost: {one}" for one in lost)]
    finally:
        memory.close()


def _summed(counts: Sequence[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(sorted(total.items()))


def trends(samples: Sequence[dict[str, float]]) -> dict[str, dict[str, Any]]:
    """Return for each measure how it moves over the last third, and whether that is flat.

    The slope is Theil and Sen's, with its 95 % interval. Flat is what does not rise: the interval holds zero or what
    lies below it, or the rise over the whole third is less than 1 % of the level (less than one, for what is counted).
    """
    last = samples[-(len(samples) // _LAST) :] if len(samples) >= _LAST * 2 else []
    if not last:
        return {}
    hours = (last[-1]["t"] - last[0]["t"]) / 3_600
    return {name: _judged([sample[name] for sample in last], hours, name) for name in MEASURES}


def _judged(values: Sequence[float], hours: float, name: str) -> dict[str, Any]:
    slope, steps = trend(values), len(values) - 1
    level = sorted(values)[len(values) // 2]
    rise, low = slope.value * steps, slope.low * steps
    small = _ONE if name in _COUNTED else _SHARE * level
    return {
        "level": level,
        "rise": round(rise, 2),
        "rise_low": round(low, 2),
        "rise_high": round(slope.high * steps, 2),
        "per_hour": round(rise / hours, 2),
        "within_noise": low <= 0,
        "flat": low <= 0 or rise < small,
    }


register(
    Suite(
        name="soak",
        about="Half an hour of mixed use by four processes: does anything grow that should not",
        run=measure,
        page=page,
        plots=plots,
        in_quick=False,
    )
)
