"""What runs add up to: whether work of one kind gets shorter, cheaper and less repetitive, and against what.

Only runs that have ended count. A run that fails early is short and cheap, so success is shown beside the rest.
Fewer than `MIN_RUNS` runs give no number but `TooFewRuns`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from memanto.errors import InvalidInputError
from memanto.loop.runs import OFF_ARM, RunRecord
from memanto.loop.statistics import Estimate, difference, trend

MIN_RUNS: Final = 8
"""Runs per arm below which nothing is estimated, unless the caller sets another minimum. Our choice: with fewer,
Sen's interval hardly excludes anything and a bootstrap of means is too narrow."""
LEAST_MIN_RUNS: Final = 4

METRICS: Final[Mapping[str, Callable[[RunRecord], float | None]]] = {
    "steps": lambda run: float(run.steps),
    "tool_calls": lambda run: run.tool_calls,
    "failures": lambda run: float(run.failed_steps),
    "repeat_failures": lambda run: float(run.repeats),
    "tokens": lambda run: run.tokens,
    "cost": lambda run: run.cost,
    "success": lambda run: 1.0 if run.state == "success" else 0.0,
}
"""What is followed, per run; `None` where the run did not report it, which is not 0."""


@dataclass(frozen=True, slots=True)
class TooFewRuns:
    """Stands where a number would say more than the runs do.

    Attributes:
        runs: Runs there are.
        needed: Runs there must be.
    """

    runs: int
    needed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric of one arm.

    Attributes:
        name: One of `METRICS`.
        values: Per run that reported it, in the order they began.
        mean: Mean of the values, or `None` without any.
        trend: Change per run that reported it, or that there are too few.
    """

    name: str
    values: tuple[float, ...]
    mean: float | None
    trend: Estimate | TooFewRuns


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """Runs of one task type under one condition.

    Attributes:
        name: The arm.
        runs: Runs that have ended.
        unfinished: Runs that have not; they are not counted.
        repeat_rate: Share (0..1) of all failures after the first run that an earlier run had recorded, or `None`
            when nothing failed there.
        metrics: In the order of `METRICS`.
    """

    name: str
    runs: int
    unfinished: int
    repeat_rate: float | None
    metrics: tuple[Metric, ...]

    def metric(self, name: str) -> Metric:
        """Return one metric by its name."""
        return next(metric for metric in self.metrics if metric.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How far an arm's mean lies from another arm's, per metric."""

    arm: str
    against: str
    differences: Mapping[str, Estimate | TooFewRuns]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCompounding:
    """What the runs of one task type add up to; arms by name, comparisons with the arm `against`."""

    task_type: str
    arms: tuple[Arm, ...]
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compounding:
    """What runs add up to, per task type by name.

    Attributes:
        tasks: One entry per task type.
        min_runs: Runs per arm below which nothing was estimated.
    """

    tasks: tuple[TaskCompounding, ...]
    min_runs: int


def compounding(records: Sequence[RunRecord], *, min_runs: int = MIN_RUNS, against: str = OFF_ARM) -> Compounding:
    """Estimate trends and differences from runs, whose repeated failures are counted already.

    Raises:
        InvalidInputError: `min_runs` is below 4.
    """
    if isinstance(min_runs, bool) or not isinstance(min_runs, int) or min_runs < LEAST_MIN_RUNS:
        raise InvalidInputError(
            f"min_runs {min_runs!r} is not a whole number from {LEAST_MIN_RUNS}",
            hint="an interval from fewer runs than that means nothing",
        )
    by_type: dict[str, list[RunRecord]] = {}
    for record in sorted(records, key=lambda one: (one.started_at, one.memory_id)):
        by_type.setdefault(record.task_type, []).append(record)
    tasks = tuple(_task(name, by_type[name], min_runs, against) for name in sorted(by_type))
    return Compounding(tasks=tasks, min_runs=min_runs)


def _task(name: str, records: Sequence[RunRecord], min_runs: int, against: str) -> TaskCompounding:
    by_arm: dict[str, list[RunRecord]] = {}
    for record in records:
        by_arm.setdefault(record.arm, []).append(record)
    arms = {arm: _arm(arm, by_arm[arm], min_runs) for arm in sorted(by_arm)}
    base = arms.get(against)
    others = [arm for arm in arms.values() if arm is not base] if base is not None else []
    compared = tuple(_compare(arm, base, min_runs) for arm in others if base is not None)
    return TaskCompounding(task_type=name, arms=tuple(arms.values()), comparisons=compared)


def _arm(name: str, records: Sequence[RunRecord], min_runs: int) -> Arm:
    ended = [record for record in records if record.is_over]
    later = ended[1:]
    failures = sum(record.failed_steps for record in later)
    return Arm(
        name=name,
        runs=len(ended),
        unfinished=len(records) - len(ended),
        repeat_rate=sum(record.repeats for record in later) / failures if failures else None,
        metrics=tuple(_metric(metric, ended, min_runs) for metric in METRICS),
    )


def _metric(name: str, records: Sequence[RunRecord], min_runs: int) -> Metric:
    told = (METRICS[name](record) for record in records)
    values = tuple(float(value) for value in told if value is not None)
    few = len(values) < min_runs
    return Metric(
        name=name,
        values=values,
        mean=fmean(values) if values else None,
        trend=TooFewRuns(len(values), min_runs) if few else trend(values),
    )


def _compare(arm: Arm, base: Arm, min_runs: int) -> Comparison:
    return Comparison(
        arm=arm.name,
        against=base.name,
        differences={
            name: _difference(arm.metric(name).values, base.metric(name).values, min_runs) for name in METRICS
        },
    )


def _difference(values: Sequence[float], others: Sequence[float], min_runs: int) -> Estimate | TooFewRuns:
    fewest = min(len(values), len(others))
    return difference(values, others) if fewest >= min_runs else TooFewRuns(fewest, min_runs)
