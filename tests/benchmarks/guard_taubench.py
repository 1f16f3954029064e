"""Does a failure that was recorded once warn of its own repetition, and of nothing else? On tau-bench airline runs.

50 tasks were each run four times by an agent. From the first trial alone the failures are recorded (what the customer
said first as the condition, the gold actions as the correction), and the runs that went well as runs. Then `guard`
and `brief` are asked on the later trials with the customer's first two turns.

- Hit: on a task that had failed, its own failure is among the three that are shown.
- False alarm: on a task that had not failed, any failure is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from tests.benchmarks.harness import Bench, Figures, Result, Suite, register

FILE: Final = "taubench_airline_gpt4o.json.xz"
TASK_TYPE: Final = "airline"
TURNS: Final = 2
"""Turns of the customer that a later trial is asked with."""
CONDITION: Final = 3
"""Turns of the customer that a failure is recorded with."""
GRIDS: Final = {
    "failures only": ("EVIDENCE", (4.0, 6.0, 8.0, 10.0)),
    "failures and successes": ("BETTER", (0.9, 1.0, 1.1, 1.2, 1.4)),
}
"""The threshold that matters in each arm, from the most to the least sensitive value."""
ALARMS: Final = 0.10
"""Share of false alarms that a threshold may lead to on the half it is chosen on."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One later trial: its task, whether the task had failed, and what was shown for it."""

    task: int
    failed: bool
    hit: bool
    alarm: bool


def measure(bench: Bench) -> Figures:
    """Ask guard and brief on every later trial; choose thresholds on one half of the tasks for the other."""
    if not bench.available("tau-bench airline", FILE):
        return {}
    trials: dict[int, dict[int, Mapping[str, Any]]] = {}
    for run in bench.load(FILE):
        trials.setdefault(run["task_id"], {})[run["trial"]] = run
    figures: Figures = {"tasks": len(trials), "failed_first": sum(_failed(one[0]) for one in trials.values())}
    for arm, successes in (("failures only", False), ("failures and successes", True)):
        with _memory(trials, successes=successes) as (memory, owners):
            figures[arm] = _arm(memory, owners, trials, *GRIDS[arm])
        bench.say(f"{arm}: {figures[arm]['guard']['all']}")
    return figures


def _arm(
    memory: Any, owners: Mapping[str, int], trials: Mapping[int, Any], name: str, values: Sequence[float]
) -> Figures:
    shipped = _ask_guard(memory, owners, trials)
    found: Figures = {"guard": _shares(shipped), "brief": _shares(_ask_brief(memory, owners, trials))}
    swept = []
    for value in values:
        with _threshold(name, value):
            swept.append((value, _ask_guard(memory, owners, trials)))
    found["chosen"] = {}
    held_out: list[Asked] = []
    for label, half in (("even", 0), ("odd", 1)):
        value, asked = max(swept, key=lambda one: _worth(_figures([a for a in one[1] if a.task % 2 == half])))
        other = [a for a in asked if a.task % 2 != half]
        found["chosen"][label] = {"threshold": name, "value": value, "on_the_other_half": _figures(other)}
        held_out += other
    found["held_out"] = _figures(held_out)
    return found


def _worth(figures: Mapping[str, Any]) -> float:
    """Return what a threshold is chosen by: most hits within the alarms allowed; of equals the most sensitive."""
    return float(figures["hits"] if figures["alarms"] <= ALARMS else -figures["alarms"])


@contextmanager
def _threshold(name: str, value: float) -> Iterator[None]:
    from memanto.loop import guard

    before = getattr(guard, name)
    setattr(guard, name, value)
    try:
        yield
    finally:
        setattr(guard, name, before)


@contextmanager
def _memory(trials: Mapping[int, Any], *, successes: bool) -> Iterator[tuple[Any, dict[str, int]]]:
    from memanto import InMemory, Memanto

    with Memanto("taubench", store=InMemory(), embedder=None) as memory:
        owners: dict[str, int] = {}
        for task, runs in sorted(trials.items()):
            said = " ".join(_turns(runs[0])[:CONDITION])
            if _failed(runs[0]):
                gold = "; ".join(f"{one['name']} {one['kwargs']}" for one in runs[0]["info"]["task"]["actions"])
                fix = gold or "refuse: no action is allowed here"
                owners[memory.record_failure(said, task_type=TASK_TYPE, fix=fix[:6_000]).id] = task
            elif successes:
                memory.start_run(TASK_TYPE).end(said[:500])
        yield memory, owners


def _ask_guard(memory: Any, owners: Mapping[str, int], trials: Mapping[int, Any]) -> list[Asked]:
    return [
        _asked(task, trials, [owners[one.memory.id] for one in memory.guard(said, limit=3)])
        for task, said in _later(trials)
    ]


def _ask_brief(memory: Any, owners: Mapping[str, int], trials: Mapping[int, Any]) -> list[Asked]:
    asked = []
    for task, said in _later(trials):
        brief = memory.brief(said, task_type=TASK_TYPE, bullets=20, budget_tokens=4_000)
        # All tasks are of one task type here, so that a failure shown for its type alone would say nothing.
        shown = [owners[one.memory.id] for one in brief.bullets if one.section == "failure" and one.matched]
        asked.append(_asked(task, trials, shown[:3]))
    return asked


def _asked(task: int, trials: Mapping[int, Any], shown: Sequence[int]) -> Asked:
    return Asked(task, _failed(trials[task][0]), task in shown, bool(shown))


def _later(trials: Mapping[int, Any]) -> Iterator[tuple[int, str]]:
    for task, runs in sorted(trials.items()):
        for trial in sorted(runs)[1:]:
            yield task, " ".join(_turns(runs[trial])[:TURNS])


def _turns(run: Mapping[str, Any]) -> list[str]:
    said = [turn["content"] for turn in run["traj"] if turn["role"] == "user"]
    return [text for text in said if "###STOP###" not in text]


def _failed(run: Mapping[str, Any]) -> bool:
    return bool(run["reward"] < 1)


def _shares(asked: Sequence[Asked]) -> Figures:
    halves = {name: [one for one in asked if one.task % 2 == half] for name, half in (("even", 0), ("odd", 1))}
    return {"all": _figures(asked), **{name: _figures(half) for name, half in halves.items()}}


def _figures(asked: Sequence[Asked]) -> dict[str, Any]:
    failed = [one for one in asked if one.failed]
    others = [one for one in asked if not one.failed]
    return {
        "hits": round(sum(one.hit for one in failed) / max(1, len(failed)), 4),
        "of": len(failed),
        "alarms": round(sum(one.alarm for one in others) / max(1, len(others)), 4),
        "of_others": len(others),
    }


def page(result: Result) -> str:
    """Render the page."""
    figures = result.figures
    lines = [
        "# Guard on tau-bench airline",
        "",
        (__doc__ or "").partition("\n\n")[2].strip(),
        "",
    ]
    if not figures:
        return "\n".join([*lines, "Not measured: no data folder was given.", ""])
    lines += [
        "| memory holds | asked | tasks | hit in the first three | false alarms |",
        "| --- | --- | --- | --- | --- |",
    ]
    arms = {name: value for name, value in figures.items() if isinstance(value, dict)}
    for arm, found in arms.items():
        for verb in ("guard", "brief"):
            for part, shares in found[verb].items():
                lines.append(_row(arm, f"`{verb}`", part, shares))
        for half, chosen in found["chosen"].items():
            label = f"`guard`, {chosen['threshold']} {chosen['value']:g} chosen on {half} tasks"
            lines.append(_row(arm, label, "the other half", chosen["on_the_other_half"]))
        lines.append(_row(arm, "`guard`, each half with the threshold of the other", "all", found["held_out"]))
    lines += [
        "",
        "Six of the 21 tasks that had not failed share user and reservation with one that had. Failures alone cannot",
        "tell them apart; knowing what went well can.",
        "",
        "All misses of the second arm are on odd tasks. Two of the six requests name neither customer nor reservation.",
        "In the other four, a run that went well had opened with the same request, in the same words or more of them.",
        "Speaking there too would raise three to six times the false alarms.",
        "",
    ]
    return "\n".join(lines)


def _row(arm: str, verb: str, part: str, shares: Mapping[str, Any]) -> str:
    hits, alarms = f"{shares['hits']:.1%} of {shares['of']}", f"{shares['alarms']:.1%} of {shares['of_others']}"
    return f"| {arm} | {verb} | {part} | {hits} | {alarms} |"


register(Suite(name="guard", about="Warnings of recorded failures on tau-bench airline", run=measure, page=page))
