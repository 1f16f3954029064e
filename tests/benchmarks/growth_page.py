"""The page `docs/benchmarks/growth.md` and its plots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.benchmarks.harness import Result, provenance, table
from tests.benchmarks.plot import Axis, lines

_INTRO: Final = """\
# Growth

One agent's store from a thousand memories on, through the public API, with vectors that cost nothing (random, 384
dimensions). At each size the store is closed and opened in a new process: *open* is from the constructor to the answer
of the first recall. *Plain* and *typed* are hybrid recalls of ten results; *as of* asks for what was known when the
store held half as much, with exact search; *recent* asks without a query. Writes are single `remember`s; *stored/s* is
in batches of 500. Milliseconds depend on the day and the load, so CPU time stands beside the median.
"""

_BENDS: Final = """\
## Where it bends, and why

- *Plain recall*, and the look for similar memories at each single write, compare the query with every current vector
  while there is no graph: about 0.12 ms of CPU per 1,000 memories up to a million, so what a call costs anyway is
  doubled near 20,000. At 100,000 four fifths of a plain recall are these comparisons and a tenth is BM25. `memanto
  optimize` builds the graph (HNSW), which halves a plain recall at 100,000, and takes minutes of two cores for it.
- *Typed recall* compares only what has the type, graph or not: it grows with the largest type, a third as fast.
- *As of* grows fastest. It is exact at any size, by decision (a graph would miss what a filter on time lets through),
  and every version is held against two times before it is compared.
- *Recent* is flat: it reads an index on time backwards.
- *Batches* are flat: each text's slot is looked up by id, and no vector is compared.
- *Open* bends near 100,000: below it, what a load of the engine takes at least outweighs the tables it reads; above it,
  about 11 ms per 1,000 memories, nearly all inside the engine, which builds its indexes on payloads anew in memory. A
  store of that size belongs to a process that stays, or to a Qdrant server.
- *Disk* per memory falls as the log, which is allocated ahead, is shared by more of them. A memory has 1.5 KB of
  vector; the rest is payload, words, indexes, and the log until it is cut.
- *Private memory* grows by 3.4 KB for each memory (the vector, the id table, eight payload indexes), and passes 600 MB
  near 130,000. Much of it is mapped files, which the system takes back when it needs to; *anonymous* is what it
  cannot.
"""

_COLUMNS: Final = (
    ("open_ms", "open ms"),
    ("plain_p50_ms", "plain p50"),
    ("plain_p95_ms", "p95"),
    ("plain_cpu_ms", "CPU"),
    ("typed_p50_ms", "typed p50"),
    ("typed_p95_ms", "p95"),
    ("typed_cpu_ms", "CPU"),
    ("as_of_p50_ms", "as of p50"),
    ("as_of_cpu_ms", "CPU"),
    ("recent_p50_ms", "recent p50"),
    ("write_p50_ms", "write p50"),
    ("write_cpu_ms", "CPU"),
    ("batch_per_s", "stored/s"),
    ("batch_cpu_ms", "CPU each"),
)


def page(result: Result) -> str:
    """Render the page."""
    sizes = result.figures["sizes"]
    parts = [
        _INTRO,
        "## As it comes\n",
        _table(sizes),
        _resources(sizes),
        "## After `memanto optimize`\n",
        _table(_optimised(sizes)),
        _resources(_optimised(sizes)),
        "![Recall and the size of the store](growth-recall.svg)\n",
        _BENDS,
        provenance(result),
    ]
    return "\n".join(parts)


def plots(result: Result) -> Mapping[str, str]:
    """Render the pictures."""
    sizes, graph = result.figures["sizes"], _optimised(result.figures["sizes"])
    series = {
        "plain": _points(sizes, "plain_cpu_ms"),
        "typed": _points(sizes, "typed_cpu_ms"),
        "as of": _points(sizes, "as_of_cpu_ms"),
        "write": _points(sizes, "write_cpu_ms"),
        "plain, optimised": _points(graph, "plain_cpu_ms"),
        "typed, optimised": _points(graph, "typed_cpu_ms"),
    }
    title = "CPU time of one call by memories in the store"
    picture = lines(title, Axis("memories", log=True), Axis("ms", log=True), {n: p for n, p in series.items() if p})
    return {"growth-recall.svg": picture}


def _optimised(sizes: Mapping[str, Any]) -> dict[str, Any]:
    return {size: found["optimised"] for size, found in sizes.items() if found.get("optimised")}


def _points(sizes: Mapping[str, Any], name: str) -> list[tuple[float, float]]:
    return [(float(size), found[name]) for size, found in sizes.items() if found.get(name)]


def _table(sizes: Mapping[str, Any]) -> str:
    columns = [(key, label) for key, label in _COLUMNS if any(key in found for found in sizes.values())]
    rows = [(f"{int(size):,}", *(_cell(found.get(key)) for key, _ in columns)) for size, found in sizes.items()]
    return table(("memories", *(label for _, label in columns)), rows) + "\n"


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _resources(sizes: Mapping[str, Any]) -> str:
    rows = []
    for size, found in sizes.items():
        memory = [f"{found['memory'][kind] / 1e6:,.0f}" if found["memory"] else "" for kind in _MEMORY]
        disk, per = found["disk_bytes"] / 1e6, found["disk_bytes"] / int(size)
        built = f"{found['optimize_s']:,.1f}" if "optimize_s" in found else ""
        rows.append((f"{int(size):,}", f"{disk:,.1f}", f"{per:,.0f}", *memory, built))
    header = ("memories", "disk MB", "bytes each", "RSS MB", "private MB", "anonymous MB", "optimize s")
    width = 7 if any(row[-1] for row in rows) else 6
    return table(header[:width], [row[:width] for row in rows]) + "\n"


_MEMORY: Final = ("rss", "private", "anonymous")
