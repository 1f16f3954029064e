"""Compounding: does work of one kind get shorter and less repetitive, and through which delivery of memory?

An environment of our own with hidden traps that does not run out: situations (an operation, in a system, under a
condition) each have one right action of six, which only trying shows. Each run brings eight new situations and
sixteen drawn from the older ones; one in five situations drifts: what is right there changes now and then. The
agent is scripted and stands for a model that follows what it is told: it tries the action of the best rule it was
given if the rule's words fit, then the others in an order that is its habit, so without memory it repeats itself.

Arms: `off` (nothing kept, nothing delivered), `placebo` (as many rules as guard would give, but others), `start`
(brief before the run), `at-action` (guard before each situation), `on` (both). Figures come from the run ledger.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from statistics import fmean
from typing import Any, Final

from tests.benchmarks import plot
from tests.benchmarks.harness import Bench, Figures, table

from memanto import InMemory, Memanto
from memanto.loop.compounding import METRICS
from memanto.loop.failures import rule_of
from memanto.loop.run import Run
from memanto.loop.runs import RunFailure, RunRecord
from memanto.loop.statistics import Estimate, mean, trend
from memanto.memory.recall import tokens
from memanto.models import Memory
from memanto.testing import FixedClock

ARMS: Final = ("off", "placebo", "start", "at-action", "on")
RUNS: Final = 20
SEEDS: Final = 8
WORKERS: Final = 4  #: arms played at once; what they find does not depend on it
NEW: Final = 8
KNOWN: Final = 16
POOL: Final = 60
LATER: Final = 10  #: the runs at the end that means are taken over
PROMPT: Final = 900  #: tokens of a try beside what memory adds
PRICE: Final = 3e-6  #: per token; of our choice, as is the next
CALL: Final = 0.002  #: per tool call

TASK: Final = "night operations"
_FITS: Final = 0.6
"""Share of a rule's words that a situation must have for the agent to follow it."""
_SAME: Final = 0.85
"""Share from which the agent takes a rule that failed for one about this very situation, and replaces it."""

_OPERATIONS: Final = (
    "posting refunds", "closing the batch", "importing invoices", "rotating the signing key", "merging customers",
    "exporting statements", "replaying webhooks", "archiving orders", "recounting stock", "syncing prices",
)  # fmt: skip
_SYSTEMS: Final = (
    "Kestrel", "Halyard", "Orchard", "Basalt", "Lantern", "Meridian", "Quill", "Thicket", "Saffron", "Pylon",
    "Tundra", "Cobalt",
)  # fmt: skip
_CONDITIONS: Final = (
    ("the replica lags", "reads come from a lagging replica"),
    ("the nightly lock is held", "someone holds the nightly lock"),
    ("a quota is nearly used up", "the quota is almost exhausted"),
    ("the schema was migrated today", "a migration changed the schema today"),
    ("the currency is not euro", "amounts are in a foreign currency"),
    ("the tenant is archived", "it belongs to an archived tenant"),
    ("two jobs overlap", "another job overlaps"),
    ("the feed is truncated", "the feed arrived truncated"),
    ("the clock moved an hour", "the clock was moved by an hour"),
    ("the sandbox flag is set", "it runs with the sandbox flag"),
)
_ACTIONS: Final = (
    "retry with the idempotency key", "pause the consumer first", "dry-run and compare totals", "use the primary only",
    "split into batches of fifty", "ask the owner to approve",
)  # fmt: skip
_NOISE: Final = (
    "Asked by the billing desk.", "Ticket {n}.", "The on-call engineer wants it before six.", "Third in the queue.",
    "Reported by the importer at 0{d}:1{d}.", "Nothing unusual in the dashboard.",
)  # fmt: skip
_WORD: Final = re.compile(r"[a-z]{3,}")
_PLAIN: Final = frozenset(
    {"the", "and", "while", "with", "from", "for", "into", "not", "its", "was", "are", "has", "been"}
)


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a trap may lie; its number names it in the ledger, never to the agent."""

    number: int
    operation: str
    system: str
    conditions: tuple[str, str]
    drifts: bool


class Environment:
    """Situations, what is right in them, and which of them each run meets."""

    def __init__(self, seed: int, runs: int) -> None:
        self._chance = random.Random(f"environment {seed}")
        triples = [(o, s, c) for o in _OPERATIONS for s in _SYSTEMS for c in _CONDITIONS]
        chosen = self._chance.sample(triples, POOL + NEW * runs)
        self._all = [Situation(i, *triple, self._chance.random() < 0.2) for i, triple in enumerate(chosen)]
        self._right = [self._chance.randrange(len(_ACTIONS)) for _ in self._all]

    def run(self, number: int) -> Iterator[tuple[Situation, str, str]]:
        """Yield a run's situations as (situation, how it is told this time, right action); all arms get the same."""
        pool = self._all[: POOL + NEW * number]
        new = self._all[POOL + NEW * number : POOL + NEW * (number + 1)]
        queue = [*self._chance.sample(pool, KNOWN), *new]
        self._chance.shuffle(queue)
        for one in pool:
            if one.drifts and self._chance.random() < 0.15:
                self._right[one.number] = self._chance.randrange(len(_ACTIONS))
        for one in queue:
            yield one, self._told(one), _ACTIONS[self._right[one.number]]

    def _told(self, one: Situation) -> str:
        noise = self._chance.choice(_NOISE).format(n=self._chance.randrange(1000, 9999), d=self._chance.randrange(1, 6))
        return f"About to start {one.operation} in {one.system} while {self._chance.choice(one.conditions)}. {noise}"


def habit(one: Situation) -> list[str]:
    """Return the actions in the order in which the agent tries them in this situation when it is told nothing."""
    return random.Random(f"habit {one.operation} {one.system} {one.conditions[0]}").sample(_ACTIONS, len(_ACTIONS))


# -- the agent --------------------------------------------------------------------------------------
def words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - _PLAIN


def best_rule(told: str, rules: Sequence[Memory]) -> tuple[Memory, float, str] | None:
    """Return the rule the agent follows, how well it fits, and its action; by the rules' text alone."""
    here = words(told)
    fitting = []
    for place, memory in enumerate(rules):
        rule = rule_of(memory)
        wanted = words(rule.when)
        share = len(wanted & here) / max(len(wanted), 1)
        action = next((one for one in _ACTIONS if one in rule.do), None)
        if action is not None and share >= _FITS:
            fitting.append((share, -place, memory, action))
    if not fitting:
        return None
    share, _, memory, action = max(fitting, key=lambda one: one[:2])
    return memory, share, action


class Agent:
    """Works through the queue of a run in one arm."""

    def __init__(self, memory: Memanto, arm: str, seed: int) -> None:
        self._memory, self._arm = memory, arm
        self._chance = random.Random(f"placebo {seed}")
        self._rules: list[str] = []

    def work(self, queue: Sequence[tuple[Situation, str, str]]) -> None:
        run = self._memory.start_run(TASK, arm=self._arm)
        carried = self._brief(run, [told for _, told, _ in queue])
        for situation, told, right in queue:
            shown = [*carried, *self._at_action(run, told)]
            self._handle(run, situation, told, right, shown)
        run.end(f"{len(queue)} situations handled")

    def _brief(self, run: Run, queue: Sequence[str]) -> list[Memory]:
        if self._arm not in ("start", "on"):
            return []
        subjects = "; ".join(told.partition(" while ")[0].removeprefix("About to start ") for told in queue)
        return [bullet.memory for bullet in run.brief(f"work through the queue: {subjects}").bullets]

    def _at_action(self, run: Run, told: str) -> list[Memory]:
        if self._arm in ("at-action", "on"):
            return [trigger.memory for trigger in run.guard(told)]
        if self._arm != "placebo" or not self._rules:
            return []
        meant = {trigger.memory.id for trigger in self._memory.guard(told)}
        others = [one for one in self._rules if one not in meant]
        chosen = self._chance.sample(others, min(len(meant), len(others)))
        run.delivered(*chosen)
        return [self._memory.show(one) for one in chosen]

    def _handle(self, run: Run, situation: Situation, told: str, right: str, shown: Sequence[Memory]) -> None:
        """Try until it works: first as the best rule says, then by habit."""
        followed = best_rule(told, shown)
        order = [*([followed[2]] if followed else []), *habit(situation)]
        added = sum(tokens(memory.content) for memory in shown)
        for tried in dict.fromkeys(order):
            used = [followed[0].id] if followed and tried == followed[2] else []
            wrong = tried != right
            run.step(
                f"{tried}: {'refused' if wrong else 'done'}",
                tool_calls=1,
                tokens=PROMPT + added,
                cost=(PROMPT + added) * PRICE + CALL,
                failure=RunFailure(text=f"{tried} refused", key=f"{situation.number}/{tried}") if wrong else None,
                used=used,
            )
            if not wrong:
                break
        if order[0] != right and self._arm != "off":
            self._learn(run, told, order[0], right, followed)

    def _learn(self, run: Run, told: str, tried: str, right: str, followed: tuple[Memory, float, str] | None) -> None:
        """Record the failure; a rule that was followed and wrong is replaced or called irrelevant here."""
        situation = told.partition(". ")[0].removeprefix("About to start ")
        receipt = self._memory.record_failure(
            f"When {situation}, {right}", task_type=TASK, attempted=tried, wrong="refused", run_id=run.id
        )
        if receipt.id not in self._rules:
            self._rules.append(receipt.id)
        if followed is None or followed[0].id == receipt.id or followed[0].id not in self._rules:
            return  # no rule was followed, or it was replaced earlier in this run
        memory, share, _ = followed
        if share >= _SAME:
            self._memory.supersede(memory.id, receipt.id, reason="it was refused here")
            self._rules.remove(memory.id)
        else:
            self._memory.feedback(memory.id, "irrelevant")


# -- measuring --------------------------------------------------------------------------------------
def play(arm: str, seed: int, runs: int) -> list[RunRecord]:
    """Return the ledger of one arm, oldest run first."""
    environment, clock = Environment(seed, runs), FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    with Memanto(f"{arm}-{seed}", store=InMemory(), embedder=None, clock=clock) as memory:
        agent = Agent(memory, arm, seed)
        for number in range(runs):
            clock.advance(86_400)
            agent.work(list(environment.run(number)))
        return memory.runs(TASK)[::-1]


def measure(bench: Bench) -> Figures:
    """Return per arm the runs' figures, trends and later means, and how the arms differ from `off`."""
    runs, seeds = (
        (8, [bench.seed, bench.seed + 1]) if bench.quick else (RUNS, list(range(bench.seed, bench.seed + SEEDS)))
    )
    ledger: dict[str, dict[int, list[RunRecord]]] = {}
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        playing = {arm: {seed: pool.submit(play, arm, seed, runs) for seed in seeds} for arm in ARMS}
        for arm, one in playing.items():
            ledger[arm] = {seed: played.result() for seed, played in one.items()}
            steps = fmean(record.steps for records in ledger[arm].values() for record in records[-LATER:])
            bench.say(f"compounding, {arm}: {steps:.1f} steps per later run")
    return {
        "runs": runs,
        "later": min(LATER, runs),
        "seeds": seeds,
        "arms": {arm: _arm(ledger[arm]) for arm in ARMS},
        "against off": {arm: _against(ledger[arm], ledger["off"]) for arm in ARMS if arm != "off"},
    }


def _arm(by_seed: Mapping[int, list[RunRecord]]) -> Figures:
    figures: Figures = {}
    for name, value in METRICS.items():
        per_seed = [[value(record) for record in records] for records in by_seed.values()]
        figures[name] = {
            "later mean": _numbers(mean([fmean(one[-LATER:]) for one in per_seed])),
            "trend per run": _numbers(mean([trend(one).value for one in per_seed])),
            "per run": [round(fmean(column), 4) for column in zip(*per_seed, strict=True)],
        }
    failures = [sum(r.failed_steps for r in records[1:]) for records in by_seed.values()]
    repeats = [sum(r.repeats for r in records[1:]) for records in by_seed.values()]
    figures["repeat rate"] = _numbers(mean([r / f if f else 0.0 for r, f in zip(repeats, failures, strict=True)]))
    return figures


def _against(by_seed: Mapping[int, list[RunRecord]], off: Mapping[int, list[RunRecord]]) -> Figures:
    """Return the differences of later means, paired by seed: both arms met the same situations."""

    def later(records: list[RunRecord], value: Callable[[RunRecord], float]) -> float:
        return fmean(value(record) for record in records[-LATER:])

    return {
        name: _numbers(mean([later(by_seed[seed], value) - later(off[seed], value) for seed in off]))
        for name, value in METRICS.items()
    }


def _numbers(found: Estimate) -> list[float]:
    return [round(one, 4) for one in (found.value, found.low, found.high)]


# -- the page ---------------------------------------------------------------------------------------
_SHOWN: Final = ("steps", "repeat_failures", "tokens", "cost")


def section(found: Mapping[str, Any]) -> str:
    """Render the figures as a section of the page."""
    arms = found["arms"]
    header = ["arm", *(name.replace("_", " ") for name in _SHOWN), "repeat rate"]
    means = [
        [arm, *(_cell(figures[name]["later mean"]) for name in _SHOWN), _cell(figures["repeat rate"])]
        for arm, figures in arms.items()
    ]
    trends = [[arm, *(_cell(figures[name]["trend per run"]) for name in _SHOWN)] for arm, figures in arms.items()]
    differences = [
        [arm, *(_cell(figures[name], sign=True) for name in _SHOWN)] for arm, figures in found["against off"].items()
    ]
    picked = sorted({1, 2, 5, 10, found["runs"]} & set(range(1, found["runs"] + 1)))
    course = [
        [arm, *(f"{figures['steps']['per run'][run - 1]:.1f}" for run in picked)] for arm, figures in arms.items()
    ]
    return _TEXT.format(
        course=table(["arm", *(f"run {run}" for run in picked)], course),
        runs=found["runs"],
        later=found["later"],
        seeds=len(found["seeds"]),
        first=found["seeds"][0],
        means=table(header, means),
        trends=table(header[:-1], trends),
        differences=table(header[:-1], differences),
        claim=claims(found),
    )


def claims(found: Mapping[str, Any]) -> str:
    """Render, for each arm, only what its interval against `off` shows."""
    lines = []
    for arm, figures in found["against off"].items():
        said = []
        for name in _SHOWN:
            value, low, high = figures[name]
            if low > 0 or high < 0:
                less, more = ("lower", "higher") if name == "cost" else ("fewer", "more")
                said.append(f"{less if value < 0 else more} {name.replace('_', ' ')}")
        undecided = [name.replace("_", " ") for name in _SHOWN if figures[name][1] <= 0 <= figures[name][2]]
        told = ", ".join(said) if said else "no difference that these runs show"
        lines.append(
            f"- *{arm}*: {told}" + (f"; undecided: {', '.join(undecided)}" if said and undecided else "") + "."
        )
    return "\n".join(lines)


def _cell(numbers: Sequence[float], *, sign: bool = False) -> str:
    mark, numbers = "+" if sign else "", [one + 0.0 for one in numbers]  # -0.0 + 0.0 is 0.0
    value, low, high = (f"{one:{mark},.0f}" if abs(numbers[0]) >= 1000 else f"{one:{mark}.3g}" for one in numbers)
    return f"{value} ({low} to {high})"


_TEXT: Final = """\
A scripted agent works through {runs} runs of 24 situations each, 8 of them new. In every situation one action of six
is right, which only trying shows; in one situation of five that changes now and then. The agent follows the best rule
it was given if the rule's words fit, and tries the other actions by habit. The same situations come in every arm;
{seeds} environments, seeds from {first} on. In brackets: 95 % intervals, by bootstrap over the environments. Tokens and
cost follow from assumed constants (900 tokens a try beside what memory adds, 3 per million tokens, 0.002 a call).

Means of the last {later} runs, from the ledger:

{means}

Steps in single runs, means over the environments:

{course}

Change from run to run over all {runs} (Theil-Sen):

{trends}

Difference from *off*, paired by environment, last {later} runs:

{differences}

![Steps per run, by arm](loop-steps.svg)

![Repeated failures per run, by arm](loop-repeat-failures.svg)

What the arms show:

{claim}

What they do not show: the agent obeys and reads words only. A language model may overlook a rule it was given, or
need none. The number of situations grows with every run, so a share of each run is new to everybody. Words alone were
searched; no model was loaded.
"""


def plots(found: Mapping[str, Any]) -> dict[str, str]:
    """Draw steps and repeated failures per run, means over the environments."""
    pictures = {}
    for name, title in (("steps", "Steps per run"), ("repeat_failures", "Repeated failures per run")):
        series = {
            arm: [(number, value) for number, value in enumerate(figures[name]["per run"], start=1)]
            for arm, figures in found["arms"].items()
        }
        across, up = plot.Axis("run", 1, found["runs"]), plot.Axis(name.replace("_", " "), 0)
        pictures[f"loop-{name.replace('_', '-')}.svg"] = plot.lines(title, across, up, series)
    return pictures
