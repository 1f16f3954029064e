"""The benchmark of conflicts counts what it says, on cases small enough to check by hand."""

from __future__ import annotations

import pytest
from tests.benchmarks.conflict_pairs import Nearest, Pair
from tests.benchmarks.conflicts import scores
from tests.benchmarks.conflicts_page import page
from tests.benchmarks.harness import Result

MANIFEST = {
    "commit": {"id": "abc", "changed_files": []}, "versions": {"python": "3.11"}, "load_1m": {"before": 0, "after": 0},
    "machine": {"cores": 2, "cpu": "x", "memory_gb": 1, "system": "y"}, "seconds": 1, "seed": 7, "timing_note": "",
    "data_sha256": {}, "skipped": {},
}  # fmt: skip


def test_precision_and_recall_are_counted_over_pairs_and_duplicates_are_no_conflicts() -> None:
    pairs = [
        Pair("Retries are enabled", "Retries are disabled", True, 0),
        Pair("The user likes tea", "The user is fond of coffee", True, 0),  # no rule finds this
        Pair("The deploy step requires approval", "The deploy step does not require approval", False, 0),
        Pair("Ledger pulls lag by five minutes", "By five minutes ledger pulls lag", False, 0),
    ]
    found = scores(pairs)
    assert (found["conflicts"], found["others"]) == (2, 2)
    assert (found["precision"], found["recall"], found["f1"]) == (0.5, 0.5, 0.5)


def test_the_nearest_text_shares_the_rarest_words() -> None:
    texts = ["the ledger lags", "a cat sleeps", "the ledger and the cat", "nothing here"]
    assert Nearest(texts).order("cat sleeps long")[:2] == [1, 2]


@pytest.mark.parametrize("times", [False, True])
def test_the_page_shows_the_half_that_was_not_chosen_on(times: bool) -> None:
    half = {"conflicts": 3, "others": 9, "precision": 0.5, "recall": 0.25, "f1": 0.333, "us per pair": 9.0}
    figures: dict[str, object] = {
        "pairs": {"SICK": {"chosen on": half | {"f1": 0.9}, "reported on": half, "both": half | {"f1": 0.6}}},
        "false alarms": {
            "pairs": 10_000, "from": ["own corpus", "LoCoMo"], "by rules alone": 20, "behind the gate": 2, "gate": 0.65,
        },
    }  # fmt: skip
    if times:
        detection = {"memories": 10, "compared": 9, "conflicts": 1, "seconds": 2.0, "judged": True}
        write = {arm: {"p50_ms": 1.0, "p95_ms": 2.0} for arm in ("with", "without")}
        figures["times"] = {"embedder": "e", "summary": {"memories": 5, "seconds": 0.1}, "write": write,
                            "detection": detection, "detection again": {"memories": 0, "seconds": 0.01}}  # fmt: skip
    text = page(Result(suite="conflicts", manifest=MANIFEST, figures=figures))
    assert "| SICK | 3 / 9 | 50.0 | 25.0 | 0.333 | 0.900 | 0.600 | 9.0 |" in text
    assert "| behind the gate | 2 | 0.020 |" in text
    assert ("## What it costs" in text) is times
