"""The page `docs/benchmarks/tuning.md`."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from tests.benchmarks.harness import Result, provenance, table
from tests.benchmarks.tuning_variants import BASE, BASE_JUDGED

_MEASURES = ("recall@5", "recall@10", "mrr")

_INTRO = """\
# Ways to find more

What was tried on top of plain fusion: other ways to order the candidates that `recall` gathers, all offline. The
questions are parted: choices are made on one part (three of LoCoMo's conversations, and half of the other sets'
questions by a hash of their text) and shown on the other. Figures are differences to plain fusion, in points of
a hundred; recall@10 on the shown part comes with its 95 % interval (paired bootstrap).

*Neighbours* means that a candidate gains by what was said just before and after it in the same session, where that is
a candidate, too; *nearest candidates* are those that no other candidate of the session parts from it. What is shipped
is described in [how recall ranks](../explanation/ranking.md).
"""


def page(result: Result) -> str:
    """Render the page."""
    sets = result.figures
    parts = [_INTRO]
    for heading, base in (("Without", BASE), ("With", BASE_JUDGED)):
        measured = {name: found for name, found in sets.items() if base in found["shown"]}
        if measured:
            names = list(next(iter(measured.values()))["shown"])
            middle = names.index(BASE_JUDGED) if BASE_JUDGED in names else len(names)
            variants = names[:middle] if base == BASE else names[middle:]
            parts += [f"## {heading} the cross-encoder\n", _choice(measured, variants, base)]
            parts += [_shown(measured, variants, base)]
    return "\n".join([*parts, provenance(result)])


def _choice(sets: Mapping[str, Any], variants: list[str], base: str) -> str:
    """Render the part that chooses: the mean over the public sets, and our own corpus beside it."""
    own = sets["own corpus"]["choice"]
    chosen = {name: found["choice"] for name, found in sets.items() if name != "own corpus"} or {"own corpus": own}
    rows = []
    for variant in variants:
        means = [statistics.fmean(_gain(part, variant, base, m) for part in chosen.values()) for m in _MEASURES]
        mine = [_gain(own, variant, base, m) for m in _MEASURES]
        rows.append((variant, *(f"{value:+.1f}" for value in (*means, statistics.fmean(means), *mine))))
    ours = (f"own corpus ({own[base]['n']}): recall@5", "recall@10", "MRR")
    head = ("where choices are made", "recall@5", "recall@10", "MRR", "mean", *ours)
    return f"Mean over {', '.join(chosen)}, and the project's own corpus:\n\n{table(head, rows)}\n"


def _gain(part: Mapping[str, Any], variant: str, base: str, measure: str) -> float:
    return 100 * float(part[variant][measure] - part[base][measure])


def _shown(sets: Mapping[str, Any], variants: list[str], base: str) -> str:
    """Render the part that shows, set by set."""
    rows = []
    for variant in variants:
        cells = []
        for found in sets.values():
            part = found["shown"]
            mean, low, high = found["interval of recall@10"][variant]
            first, mrr = (_gain(part, variant, base, m) for m in ("recall@5", "mrr"))
            cells.append(f"{first:+.1f}, {mean:+.1f} ({low:+.1f} to {high:+.1f}), {mrr:+.1f}")
        rows.append((variant, *cells))
    head = ("where they are shown", *(f"{name} ({found['shown'][base]['n']})" for name, found in sets.items()))
    return f"recall@5, recall@10 with its interval, MRR:\n\n{table(head, rows)}\n"
