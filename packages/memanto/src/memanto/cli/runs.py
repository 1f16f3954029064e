"""`memanto run`, `runs` and `compounding`: the ledger of runs, and what they add up to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memanto.cli.bounded import MOST, decimal, whole
from memanto.cli.session import Session
from memanto.cli.style import Palette, columns
from memanto.cli.text import stamp
from memanto.cli.verb import verb
from memanto.counted import counted
from memanto.errors import InvalidInputError

if TYPE_CHECKING:
    from memanto.loop.compounding import Arm, Comparison, Compounding, TaskCompounding, TooFewRuns
    from memanto.loop.runs import RunRecord, Step
    from memanto.loop.statistics import Estimate

RUN_VARIABLE = "MEMANTO_RUN"

RunOption = Annotated[
    str | None,
    typer.Option(
        "--run", metavar="ID", show_default=False, help=f"The run's id; else ${RUN_VARIABLE}, else the unfinished one."
    ),
]
TaskTypeOption = Annotated[
    str | None, typer.Option("--task-type", metavar="TYPE", help="Only this kind of work.", show_default=False)
]
OutcomeOption = Annotated[
    str, typer.Option("--outcome", "-o", metavar="TEXT", help="What came of it, in one line.", show_default=False)
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="Record a run: its steps and how it ended.")
    for command in (start, step, end, show):
        verb(group, command.__name__)(command)
    app.add_typer(group, name="run")
    verb(app, "runs")(runs)
    verb(app, "compounding")(compounding)


# -- recording --------------------------------------------------------------------------------------
def start(
    session: Session,
    task_type: Annotated[str, typer.Argument(metavar="TASK-TYPE", help="What kind of work it is.", show_default=False)],
    run_id: Annotated[str | None, typer.Option("--id", metavar="ID", help="Its id.", show_default=False)] = None,
    goal: Annotated[str | None, typer.Option("--goal", help="What it is to reach.", show_default=False)] = None,
    arm: Annotated[str, typer.Option("--arm", help="Its condition, for comparing: 'memory', 'off', …")] = "memory",
) -> None:
    """Begin a run and print its id.

    It stays visible as unfinished until `run end`, also when its process dies.
    """
    with session.memory() as memory:
        record = memory.start_run(task_type, run_id=run_id, goal=goal, arm=arm).record
    began = "run {} of {} begun"
    session.emit(
        record,
        lambda paint: (
            [record.id] if session.quiet else [began.format(paint("id", record.id), paint.safe(record.task_type))]
        ),
    )


def step(
    session: Session,
    *,
    outcome: OutcomeOption,
    run: RunOption = None,
    tool_calls: Annotated[
        int | None,
        typer.Option(
            "--tool-calls", metavar="N", parser=whole(0, MOST, such_as=3), show_default=False,
            help="Calls of tools it took; unknown when left out, as are the next two.",
        ),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(
            "--tokens", metavar="N", parser=whole(0, MOST, such_as=900), help="Tokens it took.", show_default=False
        ),
    ] = None,
    cost: Annotated[
        float | None,
        typer.Option(
            "--cost", metavar="AMOUNT", parser=decimal(0, MOST, such_as=0.05), help="What it cost.", show_default=False
        ),
    ] = None,
    failure: Annotated[str | None, typer.Option("--failure", help="What went wrong.", show_default=False)] = None,
    failure_key: Annotated[
        str | None, typer.Option("--failure-key", help="Names that failure exactly.", show_default=False)
    ] = None,
    delivered: Annotated[
        str, typer.Option("--delivered", metavar="IDS", help="Memories that were shown.", show_default=False)
    ] = "",
    used: Annotated[
        str, typer.Option("--used", metavar="IDS", help="Memories that were acted on.", show_default=False)
    ] = "",
) -> None:  # fmt: skip
    """Record a finished piece of work of a run as one line.

    Ids are separated by commas. Memories that were delivered and used are credited when the run ends well.
    """
    from memanto.loop.runs import RunFailure

    if failure_key is not None and failure is None:
        raise InvalidInputError(f"--failure-key {failure_key!r} needs --failure", hint="say what went wrong")
    with session.memory() as memory:
        stored = memory.step(
            _named(run),
            outcome,
            tool_calls=tool_calls,
            tokens=tokens,
            cost=cost,
            failure=None if failure is None else RunFailure(text=failure, key=failure_key),
            delivered=_ids(delivered),
            used=_ids(used),
        )
    number = str(stored.number)
    session.emit(stored, lambda paint: [number if session.quiet else f"step {number}: {paint.safe(stored.outcome)}"])


def end(
    session: Session,
    outcome: OutcomeOption = "",
    run: RunOption = None,
    failed: Annotated[bool, typer.Option("--failed", help="It did not reach what it was to reach.")] = False,
    conclusion: Annotated[str, typer.Option("--conclusion", help="What it found out.", show_default=False)] = "",
) -> None:
    """End a run and remember it as an event.

    Without an outcome that of its last step is taken.
    """
    with session.memory() as memory:
        record = memory.end_run(_named(run), outcome, success=not failed, conclusion=conclusion)
        text = memory.show(record.memory_id).content
    session.emit(
        record,
        lambda paint: [record.memory_id] if session.quiet else [f"{paint('id', record.memory_id)}  {paint.safe(text)}"],
    )


def show(
    session: Session,
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id.", show_default=False)],
) -> None:
    """Show a run with its steps."""
    with session.memory() as memory:
        ledger = memory.runs()
        steps = memory.run_steps(run)
    record = next((one for one in ledger if one.id == run), None)
    value = {"run": record, "steps": steps}
    session.emit(value, lambda paint: _run_lines(session, record, steps, paint))


def _run_lines(session: Session, record: RunRecord | None, steps: Sequence[Step], paint: Palette) -> Iterator[str]:
    if record is not None:
        yield from columns([_summary(session, record, paint)])
        for name, text in (
            ("goal", record.goal),
            ("outcome", record.outcome),
            ("conclusion", record.conclusion),
            ("interrupted", record.interrupted),
        ):
            if text:
                yield f"  {paint('faint', name)}  {paint.safe(text)}"
    rows = []
    for one in steps:
        figures = ((one.tool_calls, "call"), (one.tokens, "token"))
        took = [counted(number, noun) for number, noun in figures if number]
        wrong = paint("bad", f"failed: {one.failure.text}") if one.failure else ""
        rows.append([str(one.number), ", ".join(took), f"{paint.safe(one.outcome)}  {wrong}".rstrip()])
    yield from columns(rows, indent="  ")


def runs(
    session: Session,
    task_type: TaskTypeOption = None,
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Only those that have not ended.")] = False,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", parser=whole(1, such_as=20), help="At most so many.")
    ] = 20,
) -> None:
    """List runs, the latest first."""
    with session.memory() as memory:
        found = memory.runs(task_type, state="unfinished" if unfinished else None, limit=limit)
    session.emit({"runs": found}, lambda paint: columns(_summary(session, record, paint) for record in found))
    if not found:
        session.note("no runs")


def _summary(session: Session, record: RunRecord, paint: Palette) -> list[str]:
    kind = {"success": "good", "failure": "bad", "unfinished": "warn"}[record.state]
    failures = f"{record.failed_steps} failed" + (f" ({record.repeats} again)" if record.repeats else "")
    return [
        paint("id", record.id),
        stamp(record.started_at, session.zone),
        paint.safe(record.task_type) + ("" if record.arm == "memory" else f" [{record.arm}]"),
        paint(kind, record.state),
        counted(record.steps, "step"),
        "" if record.tool_calls is None else counted(record.tool_calls, "call"),
        failures if record.failures else "",
    ]


def _named(run: str | None) -> str | None:
    return run if run is not None else os.environ.get(RUN_VARIABLE) or None


def _ids(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


# -- adding up --------------------------------------------------------------------------------------
def compounding(
    session: Session,
    task_type: TaskTypeOption = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw it too: .png or .svg.", show_default=False)
    ] = None,
    min_runs: Annotated[
        int | None,
        typer.Option(
            "--min-runs",
            metavar="N",
            parser=whole(4, such_as=8),
            help="Fewer finished runs give no number (default 8).",
            show_default=False,
        ),
    ] = None,
    against: Annotated[str, typer.Option("--against", help="The arm that others are compared with.")] = "off",
) -> None:
    """Show whether runs of one kind get shorter.

    Slopes are per run, with their 95 % interval; runs that have not ended do not count.
    """
    with session.memory() as memory:
        found = memory.compounding(task_type, min_runs=min_runs, against=against)
    drawn = None
    if plot is not None:
        from memanto.loop.plotting import save_plot

        drawn = save_plot(found, plot)
    session.emit({**_value(found), "plot": drawn}, lambda paint: _compounding_lines(found, paint))
    if drawn is not None:
        session.note(f"drew {drawn}")


def _value(found: Compounding) -> dict[str, object]:
    """Return the JSON value: an estimate has `value`, `low`, `high`; what is missing has `too_few_runs`."""
    from memanto.loop.statistics import Estimate

    def number(one: Estimate | TooFewRuns) -> object:
        return one if isinstance(one, Estimate) else {"too_few_runs": one.runs, "needed": one.needed}

    def arm(one: Arm) -> dict[str, object]:
        return {
            "arm": one.name,
            "runs": one.runs,
            "unfinished": one.unfinished,
            "repeat_rate": one.repeat_rate,
            "metrics": {
                metric.name: {
                    "mean": metric.mean, "trend": number(metric.trend), "values": metric.values,
                    "reported": len(metric.values),
                }
                for metric in one.metrics
            },
        }  # fmt: skip

    def comparison(one: Comparison) -> dict[str, object]:
        differences = {name: number(value) for name, value in one.differences.items()}
        return {"arm": one.arm, "against": one.against, "differences": differences}

    tasks = [
        {
            "task_type": task.task_type,
            "arms": [arm(one) for one in task.arms],
            "comparisons": [comparison(one) for one in task.comparisons],
        }
        for task in found.tasks
    ]
    return {"tasks": tasks, "min_runs": found.min_runs}


def _compounding_lines(found: Compounding, paint: Palette) -> Iterator[str]:
    if not found.tasks:
        yield "no runs yet: `memanto run start TASK-TYPE` begins one"
    for task in found.tasks:
        yield paint("strong", task.task_type)
        for arm in task.arms:
            yield from _arm_lines(arm, paint)
        yield from _comparison_lines(task, paint)


def _arm_lines(arm: Arm, paint: Palette) -> Iterator[str]:
    from memanto.loop.plotting import bars

    rest = f", {arm.unfinished} unfinished" if arm.unfinished else ""
    again = "" if arm.repeat_rate is None else f", {arm.repeat_rate:.0%} of failures had happened before"
    yield f"  arm {paint('strong', arm.name)}: {counted(arm.runs, 'run')}{rest}{again}"
    rows = []
    for metric in arm.metrics:
        if metric.mean is not None and (any(metric.values) or metric.name == "success"):
            some = f"  in {len(metric.values)} of {arm.runs} runs" if len(metric.values) < arm.runs else ""
            trend = _told(metric.trend, " per run")
            rows.append([_words(metric.name), f"{metric.mean:.4g}", trend, f"{bars(metric.values)}{some}"])
    yield from columns([[paint("faint", one) for one in ("", "mean", "trend", "")], *rows], indent="    ")
    if lacking := [_words(metric.name) for metric in arm.metrics if arm.runs and not metric.values]:
        yield f"    {paint('faint', 'not reported')}: {', '.join(lacking)}"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _comparison_lines(task: TaskCompounding, paint: Palette) -> Iterable[str]:
    for one in task.comparisons:
        yield f"  {paint('strong', one.arm)} compared with {paint('strong', one.against)}"
        rows = [[_words(name), _told(value, "")] for name, value in one.differences.items() if _tells(value)]
        yield from columns(rows, indent="    ")


def _tells(value: Estimate | TooFewRuns) -> bool:
    from memanto.loop.statistics import Estimate

    if isinstance(value, Estimate):
        return (value.value, value.low, value.high) != (0, 0, 0)
    return value.runs > 0


def _told(value: Estimate | TooFewRuns, unit: str) -> str:
    from memanto.loop.statistics import Estimate

    if not isinstance(value, Estimate):
        return f"too few runs ({value.runs} of {value.needed})"
    clear = "" if value.excludes_zero else ", no clear change"
    shown = [f"{one:+.3g}" if one else "0" for one in (value.value, value.low, value.high)]
    return f"{shown[0]}{unit} ({shown[1]} to {shown[2]}{clear})"
