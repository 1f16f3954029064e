"""Pictures of how runs change: PNG and SVG through matplotlib where it is installed, and bars of text without."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from memanto.errors import InvalidInputError, MissingDependencyError
from memanto.loop.compounding import Compounding, TaskCompounding
from memanto.loop.statistics import Estimate

FORMATS: Final = (".png", ".svg")
PANELS: Final = ("steps", "repeat_failures", "tokens", "cost")
"""Metrics that get a panel, where any run has a value other than 0."""

_BARS: Final = "▁▂▃▄▅▆▇█"
_WIDTH: Final = 40


def save_plot(found: Compounding, path: Path) -> Path:
    """Draw each task type's metrics per run, with a line per trend, and return the path written.

    Args:
        found: What to draw.
        path: Ends in `.png` or `.svg`; an existing file is replaced.

    Raises:
        InvalidInputError: Another ending, a folder that is not there, or no finished run to draw.
        MissingDependencyError: matplotlib is not installed.
    """
    if path.suffix.lower() not in FORMATS:
        raise InvalidInputError(f"cannot draw {path.name!r}", hint=f"end the file's name in {' or '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise InvalidInputError(f"there is no folder {str(path.parent)!r}", hint="make it first")
    tasks = [task for task in found.tasks if any(arm.runs for arm in task.arms)]
    if not tasks:
        raise InvalidInputError("no run has ended yet, so there is nothing to draw", hint="end a run first")
    figure = _figure(tasks)
    kind = path.suffix.lower()[1:]
    undated = {"Date": None} if kind == "svg" else {"Software": None}
    with _matplotlib("matplotlib").rc_context({"svg.hashsalt": "memanto"}):
        figure.savefig(path, format=kind, dpi=120, metadata=undated)
    return path


def _figure(tasks: Sequence[TaskCompounding]) -> Any:
    rows = [(task, [name for name in PANELS if _any_value(task, name)] or ["steps"]) for task in tasks]
    columns = max(len(names) for _, names in rows)
    size = (3.6 * columns + 0.4, 2.9 * len(rows) + 0.3)
    figure = _matplotlib("matplotlib.figure").Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for axes, (task, names) in zip(grid, rows, strict=True):
        for index, panel in enumerate(axes):
            if index < len(names):
                _draw(panel, task, names[index])
            else:
                panel.set_axis_off()
        axes[0].legend(fontsize="small", frameon=False)
    return figure


def _draw(panel: Any, task: TaskCompounding, name: str) -> None:
    for number, arm in enumerate(task.arms):
        metric = arm.metric(name)
        runs = list(range(1, len(metric.values) + 1))
        colour = f"C{number}"
        panel.plot(runs, metric.values, "o", color=colour, markersize=3, label=arm.name)
        if isinstance(metric.trend, Estimate):
            middle = _median(metric.values) - metric.trend.value * _median(runs)
            panel.plot(runs, [middle + metric.trend.value * run for run in runs], "-", color=colour, linewidth=1)
    panel.set_title(f"{task.task_type}: {name.replace('_', ' ')}", fontsize="small")
    panel.set_xlabel("run that reported it" if _partly(task, name) else "run", fontsize="small")
    panel.set_ylim(bottom=0)
    panel.tick_params(labelsize="small")


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _partly(task: TaskCompounding, name: str) -> bool:
    return any(len(arm.metric(name).values) < arm.runs for arm in task.arms)


def _any_value(task: TaskCompounding, name: str) -> bool:
    return any(any(arm.metric(name).values) for arm in task.arms)


def _matplotlib(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            "drawing a picture needs matplotlib, which is not installed",
            hint="in a checkout run `.venv/bin/pip install -c constraints.txt -e 'packages/memanto[plot]'` "
            "(`make setup` makes .venv); without --plot the command draws bars of text",
        ) from error


def bars(values: Sequence[float], *, width: int = _WIDTH) -> str:
    """Return values (at least 0) as a line of bars, the highest a full block; the newest `width` of them."""
    shown = list(values)[-width:]
    top = max(shown, default=0.0)
    if top <= 0:
        return _BARS[0] * len(shown)
    return "".join(_BARS[round(value / top * (len(_BARS) - 1))] for value in shown)
