"""The page `docs/benchmarks/crewai.md`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.benchmarks.harness import Result, provenance, table

_INTRO: Final = """\
# CrewAI's memories

One text saved and one query recalled through CrewAI's `Memory` at {records:,} records, {passes} times, every memory in
its turn. All embed with the same deterministic embedder of 384 dimensions, so that the memory is measured and not a
model, and none asks a language model: scope, categories and importance are given, nothing is consolidated, recall is
shallow. A ratio says how many times MemantoMemory's time another took in the same pass, as the median over the passes:
above 1 it took longer. On a busy machine that differs from the ratio of the median times, which may even point the
other way; compare ratios. *Found* is the share of the queries (six words of a text that is stored) whose text was among
the ten results.

"""

_NOTE: Final = """
MemantoMemory gets the words of a query and answers by words and vectors; CrewAI's own `Memory` hands its storage a
vector. It runs a flow for each save, which is most of what a save on MemantoStorage takes. That the slowest saves of
MemantoMemory are so much slower than its median is likely the flush in the background, which some of them wait for;
that was not shown.
"""


def page(result: Result) -> str:
    """Render the page."""
    figures = result.figures
    intro = _INTRO.format(records=figures["records"], passes=figures["passes"])
    return intro + _table(figures["arms"]) + "\n" + _NOTE + "\n" + provenance(result)


def _table(arms: Mapping[str, Mapping[str, Any]]) -> str:
    rows = [
        (
            name,
            *(f"{one[act][key]:.2f}" for act in ("save", "recall") for key in ("ratio", "p50_ms", "p95_ms")),
            f"{one['found']:.2f}",
        )
        for name, one in arms.items()
    ]
    header = (
        "memory", "save, ratio (lower is faster)", "ms (median)", "ms (95 %)",
        "recall, ratio (lower is faster)", "ms (median)", "ms (95 %)", "found",
    )  # fmt: skip
    return table(header, rows)
