"""The page `docs/benchmarks/checkpointers.md`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.benchmarks.harness import Result, provenance, table

_INTRO: Final = """\
# Checkpointers

A LangGraph graph of {steps} steps with a state of about 10 KB: a plan of 2 KB that stays, a text of 8 KB that each step
writes anew, and a list that grows. The text is random hexadecimal words, which no compressor brings below half. Each
checkpoint is stored before the next step begins (`durability="sync"`). Every saver is a process of its own, asked in
turns; the ratio is the median over the passes of SqliteSaver's time by the saver's own in the same pass: above 1 the
saver is faster. On a busy machine that differs from the ratio of the median times; compare ratios. InMemorySaver keeps
nothing: it is what the graph itself costs. Bytes are what the files take on the disk after a flush, beyond those of a
first run.
"""

_THREAD: Final = """\
## A thread that grows

One thread, a checkpoint of the same state after the other, in milliseconds (median). *Latest, first* is the first
reading of the latest checkpoint after it was put, *again* another one with nothing put in between: MemantoSaver
remembers what it read as long as it can be sure that nobody wrote. *Ten* is `list(limit=10)`.
"""


def page(result: Result) -> str:
    """Render the page."""
    figures = result.figures
    parts = [_INTRO.format(steps=figures["steps"]), _graph(figures["graph"]), _THREAD, _threads(figures["thread"])]
    return "\n".join([*parts, provenance(result)])


def _graph(found: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [
        (
            name,
            f"{one['ratio']:.2f}",
            f"{one['steps_per_s']:,.0f}",
            f"{one['ms_per_step']:.2f}",
            f"{one['cpu_ms_per_step']:.2f}",
            "" if one["bytes_per_checkpoint"] is None else f"{one['bytes_per_checkpoint']:,}",
        )
        for name, one in found.items()
    ]
    header = ("saver", "ratio (higher is faster)", "steps a second", "ms a step", "CPU ms a step", "bytes a checkpoint")
    return table(header, rows) + "\n"


def _threads(found: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    rows = [
        (name, f"{int(size):,}", *(f"{one[key]:.3f}" for key in ("put_ms", "fresh_ms", "again_ms", "ten_ms")))
        for name, sizes in found.items()
        for size, one in sizes.items()
    ]
    return table(("saver", "checkpoints", "put", "latest, first", "again", "ten"), rows) + "\n"
