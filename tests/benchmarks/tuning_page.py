"""The page `docs/benchmarks/tuning.md`."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from tests.benchmarks.harness import Result, provenance, table
from tests.benchmarks.tuning_variants import JUDGED, PLAIN, SHIPPED, SHIPPED_JUDGED

_INTRO = """\
# Ways to find more

What was tried on top of what is shipped: other ways to order the candidates that `recall` gathers, all offline. The
questions are parted: choices are made on one part (three of LoCoMo's conversations, and half of the other sets'
questions by a hash of their text) and shown on the other. Figures are differences to what is shipped, in points of
a hundred; recall@10 on the shown part comes with its 95 % interval (paired bootstrap). *Neighbours* means that a
candidate gains by what was said just before and after it in the same session, where that is a candidate, too.
"""


def page(result: Result) -> str:
    """Render the page."""
    sets = result.figures
    parts = [_INTRO]
    if sets:
        parts += ["## Without the cross-encoder\n", _choice(sets, list(PLAIN), SHIPPED)]
        parts += [_shown(sets, list(PLAIN), SHIPPED)]
        judged = {name: found for name, found in sets.items() if SHIPPED_JUDGED in found["shown"]}
        if judged:
            parts += ["## With the cross-encoder\n", _choice(judged, list(JUDGED), SHIPPED_JUDGED)]
            parts += [_shown(judged, list(JUDGED), SHIPPED_JUDGED)]
    return "\n".join([*parts, provenance(result)])


def _choice(sets: Mapping[str, Any], variants: list[str], shipped: str) -> str:
    """Render the part that chooses: the mean over the public sets."""
    chosen = {name: found["choice"] for name, found in sets.items() if name != "own corpus"} or {
        name: found["choice"] for name, found in sets.items()
    }
    rows = []
    for variant in variants:
        measures = [
            statistics.fmean(100 * (part[variant][m] - part[shipped][m]) for part in chosen.values())
            for m in ("recall@5", "recall@10", "mrr")
        ]
        rows.append((variant, *(f"{value:+.1f}" for value in measures), f"{statistics.fmean(measures):+.1f}"))
    head = ("where choices are made", "recall@5", "recall@10", "MRR", "mean")
    return f"Mean over {', '.join(chosen)}:\n\n{table(head, rows)}\n"


def _shown(sets: Mapping[str, Any], variants: list[str], shipped: str) -> str:
    """Render the part that shows, set by set."""
    rows = []
    for variant in variants:
        cells = []
        for found in sets.values():
            part = found["shown"]
            mean, low, high = found["interval of recall@10"][variant]
            first, mrr = (100 * (part[variant][m] - part[shipped][m]) for m in ("recall@5", "mrr"))
            cells.append(f"{first:+.1f}, {mean:+.1f} ({low:+.1f} to {high:+.1f}), {mrr:+.1f}")
        rows.append((variant, *cells))
    head = ("where they are shown", *(f"{name} ({found['shown'][shipped]['n']})" for name, found in sets.items()))
    return f"recall@5, recall@10 with its interval, MRR:\n\n{table(head, rows)}\n"
