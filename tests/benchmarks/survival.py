"""Survival: 500 steps through a window of N tokens, with the process killed again and again.

The work is a crawl. Doing a unit shows which others there are, so what is done and what is open is known only to
who remembers it; units come in classes, and how a class is treated is chosen once, by the agent, at its whim, and
must be kept to. The agent is a pure function of the text in its window (`decide`): it knows nothing else. The world
notes every act in a file that only the judge reads. A session is a process that dies by `os._exit` at a place drawn
beforehand, between any two of its writes; whatever it was about to do is written down first, so the next session may
look (not act) at that one unit.

Arms: `memory` (this project: each prompt is pins, baton, open units, recalled decisions, last outcomes), `transcript`
(all of it, saved and read again), `window` (its newest N tokens, saved too), `window, unsaved` (what the process held).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from tests.benchmarks import plot
from tests.benchmarks.harness import ROOT, Bench, Figures, table

from memanto import Embedded, Memanto
from memanto.loop.run import Run
from memanto.loop.statistics import trend
from memanto.memory.recall import tokens

STEPS: Final = 500
WINDOW: Final = 4_000
MEAN_LIFE: Final = 25  #: steps a session lives on average
SHIFT: Final = 120  #: steps after which a session that still lives hands over
ARMS: Final = ("memory", "transcript", "window", "window, unsaved")
TASK: Final = "crawl"
WORKERS: Final = 4  #: loops played at once; what becomes of them does not depend on it

_CLASSES: Final = (
    "alder", "ash", "beech", "birch", "cedar", "cherry", "elm", "fir", "hazel", "holly", "juniper", "larch", "linden",
    "maple", "oak", "olive", "pear", "pine", "plane", "poplar", "rowan", "spruce", "walnut", "willow",
)  # fmt: skip
_WORDS: Final = (
    "the", "page", "lists", "invoices", "by", "quarter", "and", "names", "a", "supplier", "whose", "terms", "changed",
    "in", "spring", "two", "rows", "were", "merged", "after", "review", "totals", "agree", "with", "ledger", "except",
    "for", "rounding", "which", "is", "noted",
)  # fmt: skip
_DID: Final = re.compile(r"did (\d+) (\w+) ([AB])")
_LINKS: Final = re.compile(r"links (.*)$", re.MULTILINE)
_OPEN: Final = re.compile(r"(?:open|links|,) (\d+) (\w+)")
_DECIDED: Final = re.compile(r"class (\w+) is treated ([AB])")


# -- the world --------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Result:
    """What doing a unit shows: a note, and other units with their classes."""

    unit: int
    kind: str
    treatment: str
    note: str
    links: tuple[tuple[int, str], ...]

    def line(self) -> str:
        links = ", ".join(f"{unit} {kind}" for unit, kind in self.links)
        return f"did {self.unit} {self.kind} {self.treatment} :: {self.note} :: links {links}"


class World:
    """Units that link to one another, and a file of every act."""

    def __init__(self, size: int, seed: int, acts: Path) -> None:
        chance = random.Random(f"world {size} {seed}")
        names = chance.sample(range(10 * size), size)
        children: dict[int, list[int]] = {unit: [] for unit in range(size)}
        for unit in range(1, size):  # a tree, so that all are reached; recent units branch more
            children[chance.randrange(max(0, unit - 12), unit)].append(unit)
        self._kinds = {name: chance.choice(_CLASSES) for name in names}
        self._links: dict[int, tuple[int, ...]] = {}
        for unit, own in children.items():
            linked = [*own, *(chance.randrange(size) for _ in range(2))]
            chance.shuffle(linked)
            self._links[names[unit]] = tuple(names[one] for one in dict.fromkeys(linked))
        self._notes = {name: " ".join(chance.choices(_WORDS, k=70)) for name in names}
        self.start = (names[0], self._kinds[names[0]])
        self._acts = acts

    def act(self, unit: int, treatment: str) -> Result:
        """Do a unit: an effect that cannot be taken back."""
        with self._acts.open("a") as file:
            file.write(f"{unit} {treatment}\n")
        return self._result(unit, treatment)

    def look(self, unit: int) -> Result | None:
        """Return what doing a unit had shown, or `None` when it was not done; for what was being done at a crash."""
        done = [treatment for one, treatment in self.acts() if one == unit]
        return self._result(unit, done[-1]) if done else None

    def acts(self) -> list[tuple[int, str]]:
        """Return all acts so far; for the judge."""
        lines = self._acts.read_text().splitlines() if self._acts.exists() else []
        return [(int(unit), treatment) for unit, treatment in map(str.split, lines)]

    def kind(self, unit: int) -> str:
        return self._kinds[unit]

    def _result(self, unit: int, treatment: str) -> Result:
        links = tuple((one, self._kinds[one]) for one in self._links[unit])
        return Result(unit, self._kinds[unit], treatment, self._notes[unit], links)


# -- the agent --------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Action:
    """What the agent does next; `chosen` when the window held no decision for the class."""

    unit: int
    kind: str
    treatment: str
    chosen: bool


def decide(window: str, whim: str) -> Action:
    """Return what the agent does on seeing this text and nothing else.

    The newest unit mentioned as open and not as done; when it sees none, the one the work begins with. Its class is
    treated as the text says, else at the agent's whim.
    """
    done = {int(unit) for unit, _, _ in _DID.findall(window)}
    opened = [(int(unit), kind) for unit, kind in _OPEN.findall(window) if int(unit) not in done]
    begins = re.search(r"begins with (\d+) (\w+)", window)
    assert begins is not None
    unit, kind = opened[-1] if opened else (int(begins[1]), begins[2])
    decided = {kind: treatment for _, kind, treatment in _DID.findall(window)}
    decided.update(dict(_DECIDED.findall(window)))
    if kind in decided:
        return Action(unit, kind, decided[kind], chosen=False)
    return Action(unit, kind, "AB"[hashlib.blake2b(whim.encode()).digest()[0] % 2], chosen=True)


def goal_text(world: World, size: int) -> str:
    unit, kind = world.start
    return f"Do each of {size} units once; the work begins with {unit} {kind}. Treat all of a class alike."


# -- sessions ---------------------------------------------------------------------------------------
@dataclass(slots=True)
class Life:
    """What a session is told: which it is, and how many more writes it lives for."""

    number: int
    seed: int
    left: int
    prompts: Path
    steps: int = 0

    def risk(self) -> None:
        """Die here, when the time has come."""
        self.left -= 1
        if self.left <= 0:
            os._exit(9)

    def prompt(self, window: str) -> Action:
        """Note the size of a prompt and return what the agent makes of it."""
        with self.prompts.open("a") as file:
            file.write(f"{tokens(window)}\n")
        self.steps += 1
        return decide(window, f"{self.seed} {self.number} {self.steps}")


def with_transcript(world: World, size: int, life: Life, saved: Path | None, window: int | None) -> None:
    """Work from the transcript, or from the newest part of it that fits the window."""
    goal = f"Goal: {goal_text(world, size)}"
    lines = saved.read_text().splitlines() if saved is not None and saved.exists() else []

    def write(line: str) -> None:
        lines.append(line)
        if saved is not None:
            with saved.open("a") as file:
                file.write(f"{line}\n")

    if lines and lines[-1].startswith("doing "):
        found = world.look(int(lines[-1].split()[1]))
        if found is not None:
            write(found.line())
    while len(world.acts()) < size:
        action = life.prompt("\n".join([goal, *newest(lines, window, tokens(goal))]))
        write(f"doing {action.unit}")
        life.risk()
        result = world.act(action.unit, action.treatment)
        life.risk()
        write(result.line())
        life.risk()


def newest(lines: list[str], window: int | None, taken: int) -> list[str]:
    """Return the last lines that fit a window of so many tokens beside what is taken."""
    if window is None:
        return lines
    left, kept = window - taken, []
    for line in reversed(lines):
        left -= tokens(f"{line}\n")
        if left < 0:
            break
        kept.append(line)
    return kept[::-1]


class Remembering:
    """A session with memory: everything it knows is asked for anew at each step, in a prompt of bounded size."""

    def __init__(self, memory: Memanto, world: World, size: int, life: Life) -> None:
        self._memory, self._world, self._life = memory, world, life
        self._size = size
        self._run = self._begin()
        self._baton = self._take()
        self._settle_doubt()

    def _begin(self) -> Run:
        if not self._memory.create_agent() and self._memory.runs(TASK, state="unfinished"):
            return self._memory.resume_run()
        self._memory.set_goal(goal_text(self._world, self._size))
        self._memory.set_plan("Do the newest open unit; note what it opens, then that it is done.")
        unit, kind = self._world.start
        self._open(unit, kind)
        return self._memory.start_run(TASK, goal=goal_text(self._world, self._size))

    def _take(self) -> str:
        taken = self._memory.take_handoff(by=f"session {self._life.number}")
        if taken is None:
            return ""
        self._life.risk()
        self._memory.ack_handoff(by=f"session {self._life.number}")
        return taken.baton.text()

    def _settle_doubt(self) -> None:
        for hit in self._memory.recall(tags=["doing"]):
            unit = int(hit.memory.content.split()[1])
            found = self._world.look(unit)
            if found is not None:
                self._note(found)
            else:
                self._write(unit, f"open {unit} {self._world.kind(unit)}", "open")

    def work(self) -> None:
        while len(self._world.acts()) < self._size:
            action = self._life.prompt(self._window())
            if action.chosen:
                text = f"Every unit of class {action.kind} is treated {action.treatment}"
                self._run.remember(text, type="decision", key=f"class/{action.kind}")
                self._life.risk()
            self._write(action.unit, f"doing {action.unit}", "doing")
            self._life.risk()
            result = self._world.act(action.unit, action.treatment)
            self._life.risk()
            self._note(result)
            if self._life.steps == SHIFT:
                self._hand_over(result)
                return
        self._run.end(f"{self._size} units done")

    def _window(self) -> str:
        opened = [hit.memory.content for hit in reversed(self._memory.recall(tags=["open"], limit=5))]
        kind = opened[-1].split()[2] if opened else self._world.start[1]
        asked = self._run.recall(f"how is a unit of class {kind} treated", types=["decision"], limit=3)
        decisions = [hit.memory.content for hit in asked]
        outcomes = [step.outcome for step in self._run.steps[-3:]]
        return "\n".join([*self._memory.pins().lines(), self._baton, *outcomes, *decisions, *opened])

    def _note(self, result: Result) -> None:
        """Note what a unit opened, then that it is done, then the step."""
        for unit, kind in result.links:
            if not self._memory.recall(key=f"unit/{unit}", limit=1):
                self._open(unit, kind)
                self._life.risk()
        self._write(result.unit, f"did {result.unit} {result.kind} {result.treatment}", "done")
        self._life.risk()
        self._run.step(f"did {result.unit} {result.kind} {result.treatment}", tool_calls=1)
        self._life.risk()

    def _open(self, unit: int, kind: str) -> None:
        self._write(unit, f"open {unit} {kind}", "open")

    def _write(self, unit: int, text: str, state: str) -> None:
        self._memory.remember(text, type="observation", key=f"unit/{unit}", tags=[state])

    def _hand_over(self, last: Result) -> None:
        waiting = [hit.memory.content for hit in self._memory.recall(tags=["open"], limit=3)]
        self._memory.write_handoff(
            state=f"session {self._life.number} ends after {SHIFT} steps",
            next=waiting,
            do_not_redo=f"unit {last.unit}",
            run_id=self._run.id,
        )


def child(arguments: argparse.Namespace) -> None:
    """Be one session."""
    folder = arguments.folder
    world = World(arguments.size, arguments.seed, folder / "acts")
    life = Life(arguments.number, arguments.seed, arguments.left, folder / "prompts")
    if arguments.arm == "memory":
        with Memanto("crawler", store=Embedded(folder / "store"), embedder=None) as memory:
            Remembering(memory, world, arguments.size, life).work()
        return
    saved = None if arguments.arm == "window, unsaved" else folder / "transcript"
    window = None if arguments.arm == "transcript" else arguments.window
    with_transcript(world, arguments.size, life, saved, window)


# -- the judge --------------------------------------------------------------------------------------
@dataclass(slots=True)
class Outcome:
    """What became of the work in one arm."""

    acts: list[tuple[int, str]] = field(default_factory=list)
    contradicted: int = 0
    sessions: int = 0
    kills: int = 0
    prompts: list[int] = field(default_factory=list)

    def figures(self) -> Figures:
        counts = Counter(unit for unit, _ in self.acts)
        slope = trend([float(size) for size in self.prompts])
        return {
            "acts": len(self.acts),
            "units done": len(counts),
            "done twice": len(self.acts) - len(counts),
            "contradicted": self.contradicted,
            "sessions": self.sessions,
            "kills": self.kills,
            "prompt tokens": {
                "mean": round(fmean(self.prompts)),
                "largest": max(self.prompts),
                "per 100 steps": [round(100 * one, 2) for one in (slope.value, slope.low, slope.high)],
                "all": sum(self.prompts),
            },
            "series": self.prompts[:: max(1, len(self.prompts) // 50)],
        }


def play(arm: str, size: int, seed: int, *, window: int = WINDOW) -> Outcome:
    """Let sessions of one arm work, killing them, until there were as many acts as units."""
    chance = random.Random(f"kills {seed} {size}")
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        world = World(size, seed, folder / "acts")
        while len(world.acts()) < size:
            outcome.sessions += 1
            left = 3 + int(chance.expovariate(1 / (MEAN_LIFE * (5 if arm == "memory" else 3))))
            options = {"arm": arm, "size": size, "seed": seed, "number": outcome.sessions, "left": left}
            command = [f"--{key}={value}" for key, value in {**options, "folder": folder, "window": window}.items()]
            status = subprocess.run([sys.executable, "-m", __name__, *command], cwd=ROOT, check=False).returncode
            if status not in (0, 9):
                raise RuntimeError(f"session {outcome.sessions} of arm {arm!r} failed with status {status}")
            outcome.kills += status == 9
        outcome.acts = world.acts()
        first: dict[str, str] = {}
        for unit, treatment in outcome.acts:
            outcome.contradicted += first.setdefault(world.kind(unit), treatment) != treatment
        outcome.prompts = [int(line) for line in (folder / "prompts").read_text().split()]
    return outcome


def measure(bench: Bench) -> Figures:
    """Return each arm's outcome per seed."""
    size = 80 if bench.quick else STEPS
    seeds = [bench.seed] if bench.quick else [bench.seed + number for number in range(3)]
    arms: dict[str, dict[str, Figures]] = {}
    with ThreadPoolExecutor(WORKERS) as pool:  # the work is done by processes of their own
        playing = {arm: {seed: pool.submit(play, arm, size, seed) for seed in seeds} for arm in ARMS}
        for arm, one in playing.items():
            arms[arm] = {str(seed): played.result().figures() for seed, played in one.items()}
            bench.say(f"survival, {arm}: {'; '.join(map(_brief, arms[arm].values()))}")
    return {"steps": size, "window": WINDOW, "mean life": MEAN_LIFE, "seeds": seeds, "arms": arms}


def _brief(found: Mapping[str, Any]) -> str:
    return f"{found['units done']} done, {found['done twice']} twice, {found['contradicted']} contradicted"


# -- the page ---------------------------------------------------------------------------------------
def section(found: Mapping[str, Any]) -> str:
    """Render the figures as a section of the page."""
    size, window = found["steps"], found["window"]

    def cells(runs: Mapping[str, Any], pick: Callable[[Mapping[str, Any]], object]) -> str:
        values = [str(pick(one)) for one in runs.values()]
        return values[0] if len(set(values)) == 1 else ", ".join(values)

    rows = [
        [
            arm,
            cells(runs, lambda one: one["units done"]),
            cells(runs, lambda one: one["done twice"]),
            cells(runs, lambda one: one["contradicted"]),
            cells(runs, lambda one: one["kills"]),
            cells(runs, lambda one: one["prompt tokens"]["mean"]),
            cells(runs, lambda one: one["prompt tokens"]["largest"]),
            cells(runs, lambda one: f"{one['prompt tokens']['per 100 steps'][0]:+.1f}"),
        ]
        for arm, runs in found["arms"].items()
    ]
    header = [
        "arm",
        "units done",
        "done twice",
        "contradicted",
        "kills",
        "mean prompt",
        "largest",
        "growth per 100 steps",
    ]
    return _TEXT.format(size=size, window=f"{window:,}", life=found["mean life"], table=table(header, rows))


_TEXT: Final = """\
A scripted agent has {size} units of work and {size} acts to do them in. Doing a unit shows which others there are;
how a class of units is treated is chosen by the agent once and must be kept to. The agent is a pure function of the
text in its window, and its process dies by `os._exit` after {life} steps on average, between any two writes. Where
seeds differ, each one's value is given. Prompts are counted in tokens of four bytes; the window holds {window}.

{table}

![Prompt tokens per step, by arm](loop-survival.svg)

- *memory*: each prompt is made of pins, baton, the newest open units, what recall finds on how to treat the class of
  the newest, and the last outcomes. Words alone are searched; no model is loaded. *transcript*: all that happened,
  saved to disk and read again, whatever its size. *window*: the newest part of that which fits. *window, unsaved*: the
  same, held by the process alone.
- All arms write down what they are about to do, and may look at that one unit after a crash.
- A window that forgets does not know what it has done. It goes round in old units, and treats a class it met
  before as new.
- What this does not show: how well a language model uses what its prompt says. The agent here never overlooks a line.
"""


def plots(found: Mapping[str, Any]) -> dict[str, str]:
    """Draw prompt tokens per step of the first seed."""
    series = {}
    for arm, runs in found["arms"].items():
        sizes = next(iter(runs.values()))["series"]
        series[arm] = [(found["steps"] * index / len(sizes), size) for index, size in enumerate(sizes)]
    across, up = plot.Axis("step", 0, found["steps"]), plot.Axis("prompt tokens", 50, log=True)
    return {"loop-survival.svg": plot.lines("Prompt tokens per step", across, up, series)}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Be one session of the survival benchmark; used by `play`.")
    parser.add_argument("--arm", choices=ARMS, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    for name in ("size", "seed", "number", "left", "window"):
        parser.add_argument(f"--{name}", type=int, required=True)
    return parser


if __name__ == "__main__":
    child(_parser().parse_args())
