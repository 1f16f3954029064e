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

_RULES = """\
## Rules

Each rule's threshold is the highest that lets nine in ten questions through whose answer is among the first five
results, on the half of the questions chosen by a hash of their text, every set counting the same. Shown on the other
half: how many of these it lets through, and how many it refuses of those where the answer is not there (of which the
unanswerable). *All* signals are weighed by a logistic model fitted on the first half.
"""

_ANSWER = """\
## What `answer` decides

`answer` weighs the cosine, the share of the question's words that a memory holds and the cross-encoder's logit. Here it
is asked the same questions, as it is shipped and with a floor that a memory must reach besides, at the thresholds
above. *Answered* and *right* are shares of the answerable questions, right where a text that answers is cited;
*refused* is the share of the unanswerable. Only the half that the thresholds were not chosen on is shown.
"""


def page(result: Result) -> str:
    """Render the page."""
    sets = {name: found for name, found in result.figures.items() if name != "rules"}
    if not sets:
        return _INTRO + "\n" + provenance(result)
    parts = [_INTRO, _aucs(sets, "auc answerable"), _FOUND, _aucs(sets, "auc found")]
    rules = result.figures.get("rules", {})
    if rules:
        parts += [_RULES, *(_rule(label, found) for label, found in rules.items())]
        parts += ["![Found let through against not found let through](abstention.svg)\n"]
    parts += [_ANSWER, _answer(sets)]
    return "\n".join([*parts, provenance(result)])


def _aucs(sets: Mapping[str, Any], which: str) -> str:
    signals = list(dict.fromkeys(name for found in sets.values() for name in found[which]))
    header = ("signal", *(f"{name} ({found['answerable']} + {found['unanswerable']})" for name, found in sets.items()))
    rows = [
        (signal, *(share(found[which][signal]) if signal in found[which] else "" for found in sets.values()))
        for signal in signals
    ]
    return table(header, rows) + "\n"


def _answer(sets: Mapping[str, Any]) -> str:
    rows = []
    for name, found in sets.items():
        for rule, one in found["answer"].items():
            shares = ("" if one[key] is None else share(one[key]) for key in ("answered", "right", "refused"))
            rows.append((f"{name}: {rule}", *one["n"], *shares))
    return table(("set: rule", "answerable", "unanswerable", "answered", "right", "refused"), rows) + "\n"


def _rule(label: str, found: dict[str, Any]) -> str:
    weights = found["weights"]
    terms = " ".join(f"{weight:+.3f} x {name}" for name, weight in weights.items() if name != "bias")
    formula = f"{weights['bias']:.3f} {terms}" if len(weights) > 2 else label
    names = ("found let through", "not found refused", "unanswerable refused")
    rows = [
        (name, *one["n"], share(one["auc found"]), *("" if one[key] is None else share(one[key]) for key in names))
        for name, one in found["shown on the other half"].items()
    ]
    header = ("set", "found", "not found", "unanswerable", "AUC", *names)
    return f"### {label.capitalize()}\n\n`{formula} >= {found['threshold']:.3f}`\n\n{table(header, rows)}\n"


def plots(result: Result) -> dict[str, str]:
    """Draw the curves of the cross-encoder's logit where it was asked, else of the nearest cosine."""
    rules = result.figures.get("rules", {})
    label = next((name for name in ("cross-encoder logit", "nearest cosine") if name in rules), None)
    if label is None:
        return {}
    series = {
        name: sorted((lost, kept) for _, lost, kept in one["curve"])
        for name, one in rules[label]["shown on the other half"].items()
        if one["curve"]
    }
    across = plot.Axis("let through where the answer is not there", 0, 1)
    up = plot.Axis("let through where it is", 0, 1)
    return {"abstention.svg": plot.lines(f"Abstention by {label}", across, up, series)}
