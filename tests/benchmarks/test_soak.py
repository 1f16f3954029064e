"""The soak judges curves as it says, and a short one runs to its end."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.benchmarks import soak, soak_page
from tests.benchmarks.harness import Bench, run_suite, suites


def curve(per_sample: float, noise: float, count: int = 120) -> list[dict[str, float]]:
    """Return samples whose measures all rise by so much from one to the next, with seeded noise around it."""
    rng = random.Random(5)
    return [
        {"t": 15.0 * n} | {name: 1_000 + per_sample * n + rng.gauss(0, noise) for name in soak.MEASURES}
        for n in range(1, count + 1)
    ]


def test_a_curve_that_goes_nowhere_is_flat() -> None:
    assert all(found["flat"] and found["within_noise"] for found in soak.trends(curve(0, 30)).values())


def test_a_curve_that_rises_is_not_flat_also_under_noise() -> None:
    found = soak.trends(curve(2, 20))["disk"]
    assert not found["flat"]
    assert found["rise"] == pytest.approx(2 * 39, rel=0.4)
    assert found["rise_low"] > 0


def test_a_rise_too_small_to_matter_is_flat_though_it_is_no_noise() -> None:
    found = soak.trends(curve(0.1, 0))
    assert not found["private"]["within_noise"]
    assert found["private"]["flat"], "0.4 % of the level"
    assert not found["threads"]["flat"], "four threads more are a leak"


def test_a_curve_that_falls_is_flat() -> None:
    assert all(found["flat"] for found in soak.trends(curve(-3, 1)).values())


def test_too_few_samples_are_not_judged() -> None:
    assert soak.trends(curve(0, 1, count=5)) == {}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs /proc")
def test_a_short_soak_runs_to_its_end_and_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(soak.SECONDS, "12")
    result = run_suite(suites()["soak"], Bench())
    figures = result.figures
    assert figures["exit_statuses"] == [0] * soak.PROCESSES
    assert soak_page.faults(figures) == []
    assert set(figures["trends"]) == set(soak.MEASURES)
    assert figures["samples"][-1]["private"] > 0
    text = soak_page.page(result)
    assert "Flat at the end" in text
    assert all(name in text for name in soak.MEASURES)
    assert set(soak_page.plots(result)) == {"soak-bytes.svg", "soak-counts.svg"}
