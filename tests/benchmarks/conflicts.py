"""Conflicts: how many are found and how many found are right, false alarms, and what finding them costs."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from datetime import date
from typing import Any, Final

from tests.benchmarks import conflict_pairs, datasets
from tests.benchmarks.conflict_pairs import Pair
from tests.benchmarks.conflicts_page import page
from tests.benchmarks.harness import Bench, Figures, Suite, latencies, register
from tests.benchmarks.models import RememberingEmbedder, offline_models

from memanto import Draft, Embedded, Memanto, MemoryType
from memanto.composition import configured_reranker
from memanto.corpus import load_log
from memanto.hygiene.compare import Kind, compare_texts
from memanto.hygiene.gates import least_cosine
from memanto.testing import FixedClock, HashEmbedder

UNRELATED: Final = 10_000
MEMORIES: Final = 10_000
DAY: Final = 2_000
_QUICK: Final = 50
_BATCH: Final = 500


def measure(bench: Bench) -> Figures:
    """Measure rules on pairs, false alarms, and the time of writing, detection and a summary."""
    embedder, _ = offline_models(bench.cache)
    sets = conflict_pairs.load(bench)
    figures: Figures = {"pairs": {name: _both_halves(pairs) for name, pairs in sets.items()}}
    bench.say("pairs done")
    figures["false alarms"] = _false_alarms(bench, None if bench.quick else embedder)
    bench.say("false alarms done")
    if bench.quick:
        bench.skip("times", "quick run")
        return figures
    texts = _texts(bench)
    if len(texts) < DAY:
        bench.skip("times", "the data folder holds too few texts")
        return figures
    figures["times"] = _times(bench, texts[:MEMORIES], embedder)
    return figures


# -- pairs ------------------------------------------------------------------------------------------
def _both_halves(pairs: Sequence[Pair]) -> Figures:
    """Return the figures on the half the rules were chosen on, on the other half, and on both."""
    return {
        "chosen on": scores([pair for pair in pairs if pair.half == 0]),
        "reported on": scores([pair for pair in pairs if pair.half == 1]),
        "both": scores(pairs),
    }


def scores(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return precision, recall and F1 of the rules on pairs, by number of pairs; a duplicate is no conflict."""
    counts = {True: [0, 0], False: [0, 0]}
    begun = time.process_time()
    for pair in pairs:
        counts[pair.conflicts][is_conflict(pair.older, pair.newer)] += 1
    taken = time.process_time() - begun
    missed, hit = counts[True]
    _, wrong = counts[False]
    precision, recall = hit / max(1, hit + wrong), hit / max(1, hit + missed)
    return {
        "conflicts": hit + missed,
        "others": sum(counts[False]),
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "f1": round(2 * precision * recall / max(1e-9, precision + recall), 4),
        "us per pair": round(taken / max(1, len(pairs)) * 1e6, 1),
    }


def is_conflict(older: str, newer: str) -> bool:
    """Return whether the rules call two texts an update or a contradiction."""
    found = compare_texts(older, newer)
    return found is not None and found.kind is not Kind.DUPLICATE


# -- false alarms -----------------------------------------------------------------------------------
def _false_alarms(bench: Bench, embedder: RememberingEmbedder | None) -> Figures:
    """Return how many of 10,000 random pairs are flagged, by the rules alone and behind the gate of the embedder."""
    pools = {"own corpus": [line.content for line in load_log() if line.content]}
    if bench.available("false alarms on LoCoMo", datasets.LOCOMO):
        pools["LoCoMo"] = [text for pool in datasets.locomo(bench) for text in pool.texts]
    dice = random.Random(bench.seed)
    number = (_QUICK if bench.quick else UNRELATED) // len(pools)
    pairs = [tuple(dice.sample(texts, 2)) for texts in pools.values() for _ in range(number)]
    flagged = [pair for pair in pairs if is_conflict(*pair)]
    figures: Figures = {"pairs": len(pairs), "from": list(pools), "by rules alone": len(flagged)}
    if embedder is not None:
        least = least_cosine(embedder.identity.name)
        figures["behind the gate"] = sum(_cosine(embedder, *pair) >= least for pair in flagged)
        figures["gate"] = least
    return figures


def _cosine(embedder: RememberingEmbedder, one: str, other: str) -> float:
    first, second = embedder.embed_documents([one, other])
    return float(first @ second)


# -- times ------------------------------------------------------------------------------------------
def _texts(bench: Bench) -> list[str]:
    """Return different texts of the conversation sets, in an order drawn once."""
    texts: dict[str, None] = {}
    if bench.has(datasets.LOCOMO):
        texts |= {text: None for pool in datasets.locomo(bench) for text in pool.texts}
    if bench.has(datasets.LONGMEMEVAL):
        texts |= dict.fromkeys(datasets.longmemeval(bench).texts)
    for name, file in datasets.BEAM.items():
        if bench.has(file):
            texts |= {text: None for pool in datasets.beam(bench, name) for text in pool.texts}
    found = [text for text in texts if len(text) < 2_000]
    random.Random(bench.seed).shuffle(found)
    return found


def _times(bench: Bench, texts: Sequence[str], embedder: RememberingEmbedder | None) -> Figures:
    import tempfile

    reranker = configured_reranker().model  # not one that remembers: its time is measured

    model = embedder if embedder is not None and bench.cache is not None else HashEmbedder(384)
    clock = FixedClock()
    figures: Figures = {"embedder": model.identity.name}
    with (
        tempfile.TemporaryDirectory() as folder,
        Memanto("bench", store=Embedded(folder), embedder=model, reranker=reranker, clock=clock) as memory,
    ):
        for start in range(0, len(texts), _BATCH):
            clock.advance(60)
            drafts = [Draft(content=text, type=MemoryType.OBSERVATION) for text in texts[start : start + _BATCH]]
            memory.remember_many(drafts)
            if start + _BATCH == DAY:
                begun = time.perf_counter()
                items = len(memory.daily_summary(date(2026, 1, 1)).items)
                figures["summary"] = {"memories": items, "seconds": round(time.perf_counter() - begun, 2)}
                bench.say(f"summary of {items} done")
        figures["write"] = _writes(memory, clock, texts)
        bench.say("writes done")
        begun, worked = time.perf_counter(), time.process_time()
        found = memory.detect_conflicts()
        figures["detection"] = {
            "memories": found.examined,
            "compared": found.compared,
            "conflicts": len(found.conflicts),
            "beyond": found.beyond,
            "judged": found.judged,
            "cpu seconds": round(time.process_time() - worked, 1),
            "seconds": round(time.perf_counter() - begun, 1),
        }
        begun = time.perf_counter()
        again = memory.detect_conflicts()
        figures["detection again"] = {"memories": again.examined, "seconds": round(time.perf_counter() - begun, 2)}
    return figures


def _writes(memory: Memanto, clock: FixedClock, texts: Sequence[str]) -> Figures:
    """Return CPU milliseconds of a `remember` with and without the look at conflicts, in turns."""
    judge = memory._write_judge
    spent: dict[str, list[float]] = {"with": [], "without": []}
    for number, text in enumerate(texts[:200]):
        clock.advance(1)
        arm = ("with", "without")[number % 2]
        memory._write_judge = judge if arm == "with" else lambda namespace: None  # type: ignore[method-assign,assignment]
        begun = time.process_time()
        memory.remember(f"{text} (said again, {number})", type="observation")
        spent[arm].append(time.process_time() - begun)
    memory._write_judge = judge  # type: ignore[method-assign]
    return {arm: latencies(seconds) for arm, seconds in spent.items()}


register(
    Suite(name="conflicts", about="what cannot both hold: found, found rightly, at which cost", run=measure, page=page)
)
