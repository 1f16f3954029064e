"""Retrieval metrics over ranked places, and what separates answerable from unanswerable."""

from __future__ import annotations

import random
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.benchmarks.harness import latencies

CUTS = (5, 10)


def recall_at(ranked: Sequence[object], gold: Collection[object], k: int) -> float:
    """Return the share of `gold` within the first `k`."""
    return len(set(ranked[:k]) & set(gold)) / len(set(gold))


def reciprocal_rank(ranked: Sequence[object], gold: Collection[object]) -> float:
    """Return 1 / rank of the first of `gold`, or 0 when none is there."""
    return next((1 / rank for rank, item in enumerate(ranked, 1) if item in gold), 0.0)


@dataclass(slots=True)
class Tally:
    """Scores of one arm, question by question."""

    recall: dict[int, list[float]] = field(default_factory=lambda: {cut: [] for cut in CUTS})
    found: dict[int, list[float]] = field(default_factory=lambda: {cut: [] for cut in CUTS})
    reciprocal: list[float] = field(default_factory=list)
    tokens: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(
        self, ranked: Sequence[int], gold: Collection[int], *, tokens: int | None = None, seconds: float | None = None
    ) -> None:
        """Count one question; MRR looks at the first ten only."""
        for cut in CUTS:
            self.recall[cut].append(recall_at(ranked, gold, cut))
            self.found[cut].append(float(any(place in gold for place in ranked[:cut])))
        self.reciprocal.append(reciprocal_rank(ranked[:10], gold))
        if tokens is not None:
            self.tokens.append(tokens)
        if seconds is not None:
            self.seconds.append(seconds)

    def extend(self, other: Tally) -> None:
        """Take over another tally's questions."""
        for cut in CUTS:
            self.recall[cut] += other.recall[cut]
            self.found[cut] += other.found[cut]
        self.reciprocal += other.reciprocal
        self.tokens += other.tokens
        self.seconds += other.seconds

    def figures(self) -> dict[str, float]:
        """Return the means (recall, any, MRR, tokens) and latency percentiles."""
        if not self.reciprocal:
            return {"n": 0}
        result: dict[str, float] = {"n": len(self.reciprocal)}
        for cut in CUTS:
            result[f"recall@{cut}"] = round(statistics.fmean(self.recall[cut]), 4)
        for cut in CUTS:
            result[f"any@{cut}"] = round(statistics.fmean(self.found[cut]), 4)
        result["mrr"] = round(statistics.fmean(self.reciprocal), 4)
        if self.tokens:
            result["tokens"] = round(statistics.fmean(self.tokens))
        return result | (latencies(self.seconds) if self.seconds else {})


def auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the chance that a random positive scores above a random negative; ties count half."""
    merged = sorted([(score, 1) for score in positive] + [(score, 0) for score in negative])
    ranks, index = 0.0, 0
    while index < len(merged):
        end = index
        while end < len(merged) and merged[end][0] == merged[index][0]:
            end += 1
        ranks += sum(label for _, label in merged[index:end]) * (index + 1 + end) / 2
        index = end
    n, m = len(positive), len(negative)
    return (ranks - n * (n + 1) / 2) / (n * m) if n and m else 0.5


def curve(positive: Sequence[float], negative: Sequence[float], points: int = 41) -> list[tuple[float, float, float]]:
    """Return (threshold, share of negatives answered, share of positives answered) at spread thresholds."""
    scores = sorted({*positive, *negative})
    chosen = sorted({scores[round(i * (len(scores) - 1) / (points - 1))] for i in range(points)})
    return [(t, _share_from(negative, t), _share_from(positive, t)) for t in chosen]


def _share_from(values: Sequence[float], threshold: float) -> float:
    return sum(value >= threshold for value in values) / len(values)


def interval(
    one: Sequence[float], other: Sequence[float], *, seed: int, rounds: int = 2_000
) -> tuple[float, float, float]:
    """Return the mean of the paired differences `one - other` with its 95 % bootstrap interval."""
    differences = [a - b for a, b in zip(one, other, strict=True)]
    draw = random.Random(seed)
    means = sorted(statistics.fmean(draw.choices(differences, k=len(differences))) for _ in range(rounds))
    return statistics.fmean(differences), means[int(0.025 * rounds)], means[int(0.975 * rounds) - 1]


def halves(texts: Iterable[str]) -> Mapping[str, bool]:
    """Return for each text whether it is in the half that choices are made on, by a hash of the text."""
    import hashlib

    return {text: hashlib.sha256(text.encode("utf-8")).digest()[0] % 2 == 0 for text in texts}
