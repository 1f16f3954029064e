"""The page `docs/benchmarks/speed.md`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.benchmarks.harness import Result, provenance, table

_INTRO: Final = """\
# Speed beside other stores

What one search, one write, one restart cost through memanto's public API, beside the engine it is built on and beside
other stores that run in a process without a server. Every store is a process of its own with its own packages, and all
are asked in turns within one run: twenty searches of one, then twenty of the next. The unit is *qdrant-edge alone*:
the engine with one index on the type and nothing around it. Compare the ratios; milliseconds depend on the day. Wall
time is the median of several passes; beside it stands the processor time of the store's process, since a busy machine
stretches whatever takes longer than a time slice, and processor time leaves out waiting for the disk. All numeric
libraries run with one thread. Before each twenty, three searches are not counted: they wake what slept while others
were asked (memanto closes its store after five seconds without a call, so that other processes get it).

Vectors are random, of 384 dimensions, keyed by the text's hash and computed before the clock starts. 200 queries, each
a stored text, ten results; *typed* asks for one of 13 types. Where the memory itself came back, among the first ten,
for less than every query, the table says so. memanto does more per search than the others: BM25 beside the vectors,
fusion, recency, confidence, near copies, and a filter for what is current and still true; and per write it checks,
redacts, looks for the same text and for similar ones, and reads back what it stored.
"""

_DURABILITY: Final = """\
## What a write survives

*process*: the store was killed, what it acknowledged is there. *power cut*: what it acknowledged was synced to the
disk. Seen with `strace` over ten single writes into 500 memories: syncs per write were 8 for Chroma, 8 for mem0 (two
databases), 4 for qdrant-client's local mode, 1 for FAISS with SQLite at `synchronous = FULL` and none at `NORMAL`; none
for LanceDB, nor for memanto and the bare engine by default; LangGraph's InMemoryStore keeps nothing. memanto flushes
half a second after the last call, and every five seconds while calls go on; `durability="full"` does before each
receipt.
"""


def page(result: Result) -> str:
    """Render the page."""
    figures = result.figures
    parts = [_INTRO]
    for size, arms in figures["sizes"].items():
        parts += [f"## {int(size):,} memories\n", _times(arms, figures["arms"]), _rest(arms), _misses(arms)]
    parts += [_DURABILITY, _remembering(figures["remember with embedding"]), provenance(result)]
    return "\n".join(part for part in parts if part)


def _times(arms: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    rows = []
    for name, found in arms.items():
        row = [name]
        for label in ("plain", "typed", "write"):
            row += [_ratio(found, f"{label}_cpu_ratio"), f"{found[f'{label}_cpu_ms']:.2f}"]
            middle, worst = found[f"{label}_p50_ms"], found[f"{label}_p95_ms"]
            row += [_ratio(found, f"{label}_ratio"), f"{middle:.2f}", f"{worst:.1f}"]
        rows.append((*row, about[name]["survives"]))
    columns = ("CPU, ratio", "ms", "wall, ratio", "p50 ms", "p95 ms")
    header = ["store", *(f"{label} {column}" for label in ("plain", "typed", "write") for column in columns)]
    return table([*header, "a write survives"], rows) + "\n"


def _ratio(found: Mapping[str, Any], key: str) -> str:
    return f"**{found[key]:.1f}**" if key in found else ""


def _rest(arms: Mapping[str, Any]) -> str:
    rows = []
    for name, found in arms.items():
        memory = found.get("memory", {})
        sizes = [_megabytes(memory.get(kind)) for kind in ("rss", "private", "anonymous")]
        opened = f"{found['open_s'] * 1e3:.0f}" if "open_s" in found else "keeps nothing"
        built = f"{found['settle_s']:.1f}" if "settle_s" in found else ""
        rows.append((name, f"{found['add_per_s']:,}", built, opened, _megabytes(found.get("disk_bytes")), *sizes))
    header = (
        "store", "stored/s in batches of 500", "index built s", "open and first search ms", "disk MB", "RSS MB",
        "private MB", "anonymous MB",
    )  # fmt: skip
    return table(header, rows) + "\n"


def _megabytes(count: int | None) -> str:
    return "" if count is None else f"{count / 1e6:.0f}"


def _misses(arms: Mapping[str, Any]) -> str:
    said = [
        f"{name} {found[f'{label}_found']:.0%} of {label} queries"
        for name, found in arms.items()
        for label in ("plain", "typed")
        if found[f"{label}_found"] < 1
    ]
    if not said:
        return "Every query found its own memory in every store.\n"
    return f"Found its own memory for less than every query: {', '.join(said)}.\n"


def _remembering(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return ""
    tokens, others = found["tokens"], found["stored before"]
    return (
        "## Remembering with the offline model\n\n"
        f"{found['per_s']:.0f} memories a second in batches of {found['batch']} beside {others:,} others, embedding "
        f"included;\ntexts of {tokens['mean']:.0f} tokens on average and {tokens['longest']} at most. The model alone "
        f"takes {found['model_share']:.0%} of that time.\n"
    )
