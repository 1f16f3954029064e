"""Compounding: trends, comparisons and pictures from runs, and no number from too few of them (our decisions)."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memanto import Memanto, Server
from memanto.cli.main import run as memanto
from memanto.errors import InvalidInputError, MissingDependencyError
from memanto.loop.compounding import METRICS, MIN_RUNS, Compounding, TooFewRuns, compounding
from memanto.loop.plotting import bars, save_plot
from memanto.loop.runs import RunRecord, with_repeats
from memanto.loop.statistics import NEWEST, Estimate, difference, mean, trend
from memanto.testing import FixedClock

START = datetime(2026, 1, 1, tzinfo=UTC)


def record(number: int, *, arm: str = "memory", task_type: str = "pull", **fields: object) -> RunRecord:
    values: dict[str, object] = {
        "id": f"{arm}-{number}",
        "memory_id": f"{arm}-{number:04}",
        "version": 2,
        "task_type": task_type,
        "arm": arm,
        "state": "success",
        "started_at": START + timedelta(hours=number),
        "tool_calls": 0,
        "tokens": 0,
        "cost": 0.0,
        **fields,
    }
    return RunRecord(**values)  # type: ignore[arg-type]


def falling(count: int, arm: str = "memory", step: int = 1) -> list[RunRecord]:
    return [record(number, arm=arm, steps=40 - step * number, cost=0.5) for number in range(count)]


# -- estimates --------------------------------------------------------------------------------------
def test_a_straight_line_has_its_slope_and_no_doubt() -> None:
    assert trend([10 - 0.5 * number for number in range(12)]) == Estimate(-0.5, -0.5, -0.5)


def test_one_outlier_does_not_turn_a_trend() -> None:
    found = trend([20, 19, 18, 17, 900, 15, 14, 13, 12, 11, 10, 9])
    assert found.value == pytest.approx(-1, abs=0.2)
    assert found.high < 0


def test_values_that_never_change_have_slope_zero() -> None:
    assert trend([3.0] * 9) == Estimate(0, 0, 0)


def test_the_interval_of_a_trend_holds_the_true_slope_as_often_as_it_says() -> None:
    chance = random.Random(1)
    held = 0
    for _ in range(300):
        found = trend([0.3 * number + chance.gauss(0, 2) for number in range(14)])
        held += found.low <= 0.3 <= found.high
    assert 0.92 <= held / 300 <= 0.99


def test_the_interval_of_a_difference_holds_the_true_one_about_as_often_as_it_says() -> None:
    chance = random.Random(2)
    held = 0
    for _ in range(60):
        found = difference([chance.expovariate(1) + 1 for _ in range(20)], [chance.expovariate(1) for _ in range(20)])
        held += found.low <= 1 <= found.high
    assert held / 60 >= 0.85


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_an_estimate_lies_within_its_interval(values: list[float]) -> None:
    for found in (trend(values), mean(values)):
        slack = 1e-6 * (1 + abs(found.value))
        assert found.low - slack <= found.value <= found.high + slack


def test_a_trend_looks_at_the_newest_observations() -> None:
    assert trend([0.0] * 1000 + [float(number) for number in range(NEWEST)]).value == pytest.approx(1)


def test_the_same_observations_give_the_same_interval() -> None:
    assert difference([1, 5, 2, 8], [3, 9, 4]) == difference([1, 5, 2, 8], [3, 9, 4])


# -- runs that add up -------------------------------------------------------------------------------
def test_a_task_that_gets_shorter_shows_it_per_run_and_against_the_arm_without_memory() -> None:
    found = compounding([*falling(10, step=2), *falling(10, arm="off", step=0)])
    [task] = found.tasks
    memory, off = task.arms
    assert (memory.name, memory.runs, off.name) == ("memory", 10, "off")
    assert memory.metric("steps").trend == Estimate(-2, -2, -2)
    assert off.metric("steps").trend == Estimate(0, 0, 0)
    [comparison] = task.comparisons
    steps = comparison.differences["steps"]
    assert isinstance(steps, Estimate)
    assert steps.value == pytest.approx(-9)
    assert steps.excludes_zero


@pytest.mark.parametrize("count", [1, MIN_RUNS - 1])
def test_too_few_runs_give_no_number(count: int) -> None:
    [task] = compounding([*falling(count), *falling(20, arm="off")]).tasks
    memory = task.arms[0]
    assert {metric.trend for metric in memory.metrics} == {TooFewRuns(count, MIN_RUNS)}
    assert set(task.comparisons[0].differences.values()) == {TooFewRuns(count, MIN_RUNS)}


def test_the_minimum_can_be_lowered_but_not_to_where_an_interval_means_nothing() -> None:
    [task] = compounding(falling(4), min_runs=4).tasks
    assert isinstance(task.arms[0].metric("steps").trend, Estimate)
    for bad in (3, 0, True, 8.5):
        with pytest.raises(InvalidInputError, match="min_runs"):
            compounding([], min_runs=bad)  # type: ignore[arg-type]


def test_runs_that_have_not_ended_are_counted_apart() -> None:
    runs = [*falling(8), record(8, state="unfinished", steps=400)]
    [task] = compounding(runs).tasks
    assert (task.arms[0].runs, task.arms[0].unfinished) == (8, 1)
    assert 400 not in task.arms[0].metric("steps").values


def test_the_repeat_rate_leaves_out_the_first_run_which_cannot_repeat() -> None:
    runs = with_repeats(
        [record(0, failures={"a": 5}), record(1, failures={"a": 1, "b": 1}), record(2, failures={"b": 2})]
    )
    [task] = compounding(runs).tasks
    assert task.arms[0].metric("repeat_failures").values == (0, 1, 2)
    assert task.arms[0].repeat_rate == pytest.approx(3 / 4)
    [clean] = compounding([record(0), record(1)]).tasks
    assert clean.arms[0].repeat_rate is None


@pytest.mark.parametrize("name", ["tool_calls", "tokens", "cost"])
def test_what_a_run_did_not_report_is_unknown_and_not_0(name: str) -> None:
    told = [record(number, **{name: 90 - number if number % 2 else None}) for number in range(2 * MIN_RUNS)]
    silent = [record(number, arm="off", **{name: None}) for number in range(MIN_RUNS)]
    [task] = compounding([*told, *silent]).tasks
    memory, off = task.arms
    assert memory.metric(name).values == tuple(range(89, 89 - 2 * MIN_RUNS, -2))
    assert memory.metric(name).trend == Estimate(-2, -2, -2)
    assert (off.metric(name).mean, off.metric(name).trend) == (None, TooFewRuns(0, MIN_RUNS))
    assert task.comparisons[0].differences[name] == TooFewRuns(0, MIN_RUNS)
    assert off.metric("steps").mean == 0


def test_task_types_are_kept_apart_and_without_a_baseline_nothing_is_compared() -> None:
    found = compounding([*falling(8), *(record(n, task_type="push", arm="b") for n in range(8))])
    assert [task.task_type for task in found.tasks] == ["pull", "push"]
    assert all(task.comparisons == () for task in found.tasks)
    [pull, _] = compounding([*falling(8), *falling(8, arm="b")], against="b").tasks, None
    assert [one.arm for one in pull[0].comparisons] == ["memory"]


def test_compounding_reads_the_ledger() -> None:
    clock = FixedClock()
    with Memanto("tester", store=Server(":memory:"), embedder=None, clock=clock) as memory:
        for number in range(MIN_RUNS):
            clock.advance(60)
            run = memory.start_run("pull")
            for step in range(10 - number):
                run.step(f"did {step}", tool_calls=1)
            run.end("done")
        [task] = memory.compounding("pull").tasks
        assert task.arms[0].metric("tool_calls").trend == Estimate(-1, -1, -1)
        assert memory.compounding("push") == Compounding(tasks=(), min_runs=MIN_RUNS)


# -- pictures ---------------------------------------------------------------------------------------
def test_bars_are_as_high_as_the_values() -> None:
    assert bars([0, 1, 4, 8]) == "▁▂▅█"
    assert bars([0, 0]) == "▁▁"
    assert bars([]) == ""
    assert len(bars(range(200))) == 40


@pytest.mark.parametrize(("ending", "mark"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_a_picture_is_drawn_the_same_each_time(ending: str, mark: bytes, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
    found = compounding([*falling(9), *falling(9, arm="off", step=0)])
    path = save_plot(found, tmp_path / f"runs{ending}")
    first = path.read_bytes()
    assert first.startswith(mark)
    assert save_plot(found, path).read_bytes() == first


def test_a_picture_needs_an_ending_a_folder_and_a_run(tmp_path: Path) -> None:
    found = compounding(falling(9))
    with pytest.raises(InvalidInputError, match=r"cannot draw 'runs\.gif'"):
        save_plot(found, tmp_path / "runs.gif")
    with pytest.raises(InvalidInputError, match="no folder"):
        save_plot(found, tmp_path / "none" / "runs.png")
    with pytest.raises(InvalidInputError, match="no run has ended"):
        save_plot(compounding([]), tmp_path / "runs.png")


def test_without_matplotlib_the_error_names_the_extra_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("memanto.loop.plotting.importlib.import_module", missing)
    with pytest.raises(MissingDependencyError) as caught:
        save_plot(compounding(falling(9)), tmp_path / "runs.png")
    assert "packages/memanto[plot]" in caught.value.hint
    assert not (tmp_path / "runs.png").exists()


# -- the command line -------------------------------------------------------------------------------
@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.setenv("MEMANTO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMANTO_OFFLINE", "1")
    monkeypatch.setenv("MEMANTO_AGENT", "tester")
    monkeypatch.delenv("MEMANTO_RUN", raising=False)
    monkeypatch.setattr("memanto.client.Memanto._get_embedder", lambda _: None)
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


class Shell:
    """Runs commands and returns what they print."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self("agent", "create", "tester")

    def __call__(self, *arguments: str, exit: int = 0) -> str:  # noqa: A002
        status = memanto(arguments)
        out, err = self._capsys.readouterr()
        assert status == exit, err
        return out if exit == 0 else err

    def json(self, *arguments: str) -> dict[str, object]:
        value: dict[str, object] = json.loads(self(*arguments, "--json"))
        return value


def test_a_run_on_the_command_line_leaves_its_event(shell: Shell) -> None:
    assert "run r1 of nightly begun" in shell("run", "start", "nightly", "--id", "r1", "--goal", "all matched")
    assert "is unfinished" in shell("recall", "prior runs of nightly", "--type", "event")
    step = shell.json(
        "run", "step", "--outcome", "pulled", "--tool-calls", "3", "--failure", "timeout", "--failure-key", "pull"
    )
    assert (step["number"], step["tool_calls"], step["failure"]) == (1, 3, {"text": "timeout", "key": "pull"})
    ended = shell.json("run", "end", "--outcome", "all matched", "--conclusion", "the ledger lags")
    assert (ended["state"], ended["steps"]) == ("success", 1)
    assert "Concluded: the ledger lags." in shell("recall", "prior runs of nightly", "--type", "event")
    shown = shell("run", "show", "r1")
    assert "1  3 calls  pulled  failed: timeout" in shown
    assert "nightly  success  1 step  3 calls  1 failed" in shell("runs")


def test_commands_find_their_run_by_option_variable_or_as_the_only_one(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("r1", "r2"):
        shell("run", "start", "nightly", "--id", name)
    assert "2 runs are unfinished" in shell("run", "step", "--outcome", "x", exit=2)
    shell("run", "step", "--run", "r1", "--outcome", "x")
    monkeypatch.setenv("MEMANTO_RUN", "r2")
    shell("run", "step", "--outcome", "y")
    shell("run", "end", "--failed", "--outcome", "gave up")
    assert [one["state"] for one in shell.json("runs")["runs"]] == ["failure", "unfinished"]  # type: ignore[attr-defined]
    assert "no run 'r9'" in shell("run", "show", "r9", exit=3)
    assert "needs --failure" in shell("run", "step", "--run", "r1", "--outcome", "x", "--failure-key", "k", exit=2)


def test_compounding_on_the_command_line_draws_bars_and_refuses_a_number_from_too_few(
    shell: Shell, tmp_path: Path
) -> None:
    with Memanto("tester") as memory:
        for number in range(4):
            with memory.run("nightly") as run:
                run.step("x", tool_calls=8 - 2 * number)
    assert "too few runs (4 of 8)" in shell("compounding")
    told = shell("compounding", "--min-runs", "4", "--task-type", "nightly")
    assert "tool calls  5     -2 per run (-2 to -2)" in told
    assert "█▆▅▃" in told
    value = shell.json("compounding")
    arm = value["tasks"][0]["arms"][0]  # type: ignore[index]
    assert arm["metrics"]["steps"]["trend"] == {"too_few_runs": 4, "needed": 8}
    assert set(arm["metrics"]) == set(METRICS)
    assert "cannot draw" in shell("compounding", "--plot", str(tmp_path / "x.bmp"), exit=2)
    assert "no runs yet" in shell("compounding", "--task-type", "other")


def test_compounding_names_what_no_run_reported_and_counts_those_that_did(shell: Shell) -> None:
    for number in range(2):
        shell("run", "start", "nightly", "--id", f"r{number}")
        shell("run", "step", "--outcome", "x", *(["--tokens", "0"] if number else []))
        assert "(0 failures)" in shell("run", "end")
    told = shell("compounding")
    assert "not reported: tool calls, cost" in told
    metrics = shell.json("compounding")["tasks"][0]["arms"][0]["metrics"]  # type: ignore[index]
    assert (metrics["tokens"]["values"], metrics["tokens"]["reported"]) == ([0.0], 1)
    assert (metrics["cost"]["mean"], metrics["cost"]["reported"]) == (None, 0)
    steps = [shell.json("run", "show", f"r{number}")["steps"][0] for number in range(2)]  # type: ignore[index]
    assert [(one["tokens"], one["cost"]) for one in steps] == [(None, None), (0, None)]
