"""The page `docs/benchmarks/abstention.md` and its picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.benchmarks import plot
from tests.benchmarks.harness import Result, provenance, share, table

_INTRO = """\
# Abstention

Whether the results of a `recall` tell that nothing stored answers the question. Unanswerable are LoCoMo's category 5
(asks for something that was said, of another person), LongMemEval's questions without evidence, BEAM's abstention
questions and those of the project's own corpus that have no answer.

AUC is the chance that a random answerable question scores above a random unanswerable one; .500 is guessing.
"""

_FOUND = """\
The same signals against another question: whether a text that answers is among the first five results, so that a
refusal where recall failed counts as right, too.
"""

_COMBINED = """\
## A rule

A logistic rule over the signals, fitted on the half of the questions chosen by a hash of their text, with the
threshold that lets nine in ten answerable questions of that half through; shown on the other half.
"""


def page(result: Result) -> str:
    """Render the page."""
    sets = {name: found for name, found in result.figures.items() if name != "combined"}
    if not sets:
        return _INTRO + "\n" + provenance(result)
    parts = [_INTRO, _aucs(sets, "auc answerable"), _FOUND, _aucs(sets, "auc found")]
    combined = result.figures.get("combined", {})
    if combined:
        parts += [_COMBINED, *(_rule(label, found) for label, found in combined.items())]
        parts += ["![Answerable let through against unanswerable let through](abstention.svg)\n"]
    return "\n".join([*parts, provenance(result)])


def _aucs(sets: Mapping[str, Any], which: str) -> str:
    signals = list(dict.fromkeys(name for found in sets.values() for name in found[which]))
    header = ("signal", *(f"{name} ({found['answerable']} + {found['unanswerable']})" for name, found in sets.items()))
    rows = [
        (signal, *(share(found[which][signal]) if signal in found[which] else "" for found in sets.values()))
        for signal in signals
    ]
    return table(header, rows) + "\n"


def _rule(label: str, found: dict[str, Any]) -> str:
    weights = found["weights"]
    terms = " ".join(f"{weight:+.3f} x {name}" for name, weight in weights.items() if name != "bias")
    rows = [
        (
            name,
            *one["n"],
            share(one["auc answerable"]),
            share(one["auc found"]),
            share(one["answerable let through"]),
            share(one["unanswerable refused"]),
        )
        for name, one in found["shown on the other half"].items()
    ]
    header = ("set", "answerable", "not", "AUC", "AUC found", "answerable let through", "unanswerable refused")
    formula = f"score = {weights['bias']:.3f} {terms}; answer from {found['threshold']:.3f} on"
    return f"### {label.capitalize()}\n\n`{formula}`\n\n{table(header, rows)}\n"


def plots(result: Result) -> dict[str, str]:
    """Draw the curves of the richest rule: one line per set."""
    combined = result.figures.get("combined", {})
    if not combined:
        return {}
    label, found = list(combined.items())[-1]
    series = {
        name: sorted((refused, kept) for _, refused, kept in one["curve"])
        for name, one in found["shown on the other half"].items()
    }
    across = plot.Axis("unanswerable questions let through", 0, 1)
    up = plot.Axis("answerable questions let through", 0, 1)
    return {"abstention.svg": plot.lines(f"Abstention {label}", across, up, series)} if series else {}
