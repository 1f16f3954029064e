"""Rules that decide from results whether to answer, chosen on one half of the questions, shown on the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from tests.benchmarks.abstention_answer import Decision
from tests.benchmarks.harness import Figures
from tests.benchmarks.metrics import auc, curve, halves

KEPT: Final = 0.9
"""Share of the questions whose answer was found that a threshold must let through, on the half it is chosen on."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its signals.

    Attributes:
        question: Its text.
        answerable: Whether anything stored answers it.
        found: Whether an answering text is among the first five results.
        signals: By name.
        decisions: What `answer` decides, by rule.
    """

    question: str
    answerable: bool
    found: bool
    signals: Mapping[str, float]
    decisions: Mapping[str, Decision] = field(default_factory=dict)


Weighed = Sequence[tuple[Asked, float]]
"""Questions with how much each counts."""


def compare(sets: Mapping[str, Sequence[Asked]], plain: Iterable[str], judged: str) -> Figures:
    """Return each rule's threshold and what it does to the half that it was not chosen on.

    The rules are the two best single signals, and logistic sums of all signals, without and with the
    cross-encoder. All are chosen to tell whether the answer is among the first five results, since a refusal is
    right, too, where recall failed.
    """
    names = list(plain)
    kinds = {"nearest cosine": names[:1], "all but the cross-encoder": names}
    kinds |= {judged: [judged], "all signals": [*names, judged]}
    figures: Figures = {}
    for label, signals in kinds.items():
        usable = {name: rows for name, rows in sets.items() if all(set(signals) <= row.signals.keys() for row in rows)}
        if usable:
            figures[label] = _shown(usable, signals)
    return figures


def _shown(sets: Mapping[str, Sequence[Asked]], names: Sequence[str]) -> Figures:
    first = halves(row.question for rows in sets.values() for row in rows)
    chosen = _weighed({name: [row for row in rows if first[row.question]] for name, rows in sets.items()})
    rule = Rule.single(names[0]) if len(names) == 1 else Rule.fit(chosen, names)
    threshold = rule.threshold(chosen)
    shown = {}
    for name, rows in sets.items():
        other = [row for row in rows if not first[row.question]]
        shown[name] = _effect(rule, threshold, other)
    return {"weights": rule.as_figures(), "threshold": round(threshold, 4), "shown on the other half": shown}


def _effect(rule: Rule, threshold: float, rows: Sequence[Asked]) -> Figures:
    found = [rule(row) for row in rows if row.found]
    lost = [rule(row) for row in rows if not row.found]
    nothing = [rule(row) for row in rows if not row.answerable]
    return {
        "n": [len(found), len(lost), len(nothing)],
        "auc found": round(auc(found, lost), 4),
        "found let through": _share([score >= threshold for score in found]),
        "not found refused": _share([score < threshold for score in lost]),
        "unanswerable refused": _share([score < threshold for score in nothing]),
        "curve": [[round(value, 4) for value in point] for point in curve(found, lost)] if found and lost else [],
    }


def _share(values: Sequence[bool]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


def _weighed(sets: Mapping[str, Sequence[Asked]]) -> list[tuple[Asked, float]]:
    """Return the questions of all sets; every set and both answers count the same."""
    weighed: list[tuple[Asked, float]] = []
    for rows in sets.values():
        for found in (True, False):
            chosen = [row for row in rows if row.found is found]
            weighed += [(row, 1 / len(chosen)) for row in chosen]
    return weighed


@dataclass(frozen=True, slots=True)
class Rule:
    """A weighted sum of standardised signals: higher means that the answer is more likely there."""

    names: tuple[str, ...]
    mean: tuple[float, ...]
    spread: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    @classmethod
    def single(cls, name: str) -> Rule:
        """Return the rule that is one signal as it is."""
        return cls((name,), (0.0,), (1.0,), (1.0,), 0.0)

    @classmethod
    def fit(cls, rows: Weighed, names: Sequence[str], *, rounds: int = 3_000) -> Rule:
        """Fit a logistic model of `found` by gradient descent with a little ridge."""
        signals = np.array([[row.signals[name] for name in names] for row, _ in rows])
        labels = np.array([row.found for row, _ in rows], float)
        counts = np.array([weight for _, weight in rows])
        counts /= counts.sum()
        mean, spread = signals.mean(axis=0), signals.std(axis=0) + 1e-9
        inputs = (signals - mean) / spread
        slopes, bias = np.zeros(len(names)), 0.0
        for _ in range(rounds):
            error = counts * (1 / (1 + np.exp(-(inputs @ slopes + bias))) - labels)
            slopes -= 0.5 * (inputs.T @ error + 0.005 * slopes)
            bias -= 0.5 * float(error.sum())
        return cls(tuple(names), tuple(map(float, mean)), tuple(map(float, spread)), tuple(map(float, slopes)), bias)

    def __call__(self, row: Asked) -> float:
        """Return the score of a question."""
        scaled = zip(self.names, self.mean, self.spread, self.weights, strict=True)
        return self.bias + sum(w * (row.signals[name] - mean) / spread for name, mean, spread, w in scaled)

    def threshold(self, rows: Weighed) -> float:
        """Return the highest threshold that lets `KEPT` of the found through, by weight."""
        scored = sorted(((self(row), weight) for row, weight in rows if row.found), reverse=True)
        left = KEPT * sum(weight for _, weight in scored)
        for score, weight in scored:
            left -= weight
            if left <= 1e-9:
                return score
        return scored[-1][0]

    def as_figures(self) -> dict[str, float]:
        """Return the rule in terms of the raw signals: score = bias + sum of weight x signal."""
        raw = {name: w / s for name, s, w in zip(self.names, self.spread, self.weights, strict=True)}
        bias = self.bias - sum(raw[name] * mean for name, mean in zip(self.names, self.mean, strict=True))
        return {"bias": round(bias, 4)} | {name: round(weight, 4) for name, weight in raw.items()}
