"""Before planning: what to carry forward, in a few cited lines within a budget.

Four retrievals in one call (prior runs, durable facts, matching failures, the runbook), led by the pins. Every line
names the memory it comes from; what matched and is not shown is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from memanto.errors import InvalidInputError
from memanto.loop.compress import shortened
from memanto.loop.failures import task_tag, task_type_of
from memanto.loop.fence import NOTICE, fence_one
from memanto.loop.guard import is_confirmed, matching_failures
from memanto.loop.handoff import Handoff, live
from memanto.loop.pins import Pins, read_pins
from memanto.loop.port import Verbs
from memanto.loop.trust import directs, informs
from memanto.loop.words import spellings, terms
from memanto.memory.recall import tokens
from memanto.models import MAX_QUERY, Memory, MemoryType, Provenance, Recollection

BUDGET: Final = 600
"""Tokens of a brief unless the caller says otherwise. Our choice: a hundred for each line and for the pins."""
MAX_BULLETS: Final = 20
LINE: Final = 90
"""Tokens a bullet's text takes at most; the whole is one `show` away."""
RELEVANT: Final = 0.68
"""Cosine from which a memory counts as relevant although it shares no word with the task. For bge-small, other facts
about the same subject lie below .73 and unrelated ones below .6."""
_FOUND: Final = 8

Section = Literal["run", "fact", "failure", "runbook"]
SECTIONS: Final[Mapping[Section, tuple[MemoryType, ...]]] = {
    "failure": (MemoryType.ERROR,),
    "runbook": (MemoryType.INSTRUCTION,),
    "run": (MemoryType.EVENT,),
    "fact": (
        MemoryType.FACT, MemoryType.DECISION, MemoryType.LEARNING, MemoryType.PREFERENCE, MemoryType.RELATIONSHIP,
        MemoryType.COMMITMENT, MemoryType.OBSERVATION, MemoryType.ARTIFACT,
    ),
}  # fmt: skip
"""The four retrievals, in the order in which they fill the bullets."""

_LABELS: Final[Mapping[Section, str]] = {
    "failure": "avoid", "runbook": "runbook", "run": "prior run", "fact": "known",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Bullet:
    """One line to carry forward.

    Attributes:
        section: Which of the four retrievals found it.
        text: One line, cut between words where the memory is longer.
        memory: What it cites.
        confirmed: Whether it was stated, checked, or recorded by the loop itself; what a tool's result said or another
            store brought is shown as unconfirmed.
        matched: `False` for a failure that is shown for being of the same kind of task, without its trigger matching.
    """

    section: Section
    text: str
    memory: Memory
    confirmed: bool
    matched: bool = True

    def line(self) -> str:
        """Return the bullet for a person: what it is, its text, date and the beginning of its id."""
        label = (_LABELS[self.section] if self.matched else "failed before") + (
            "" if self.confirmed else ", unconfirmed"
        )
        return f"- {label}: {self.text} [{self.memory.id[:18]}, {self.memory.recorded_at:%Y-%m-%d}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What to know before planning.

    Attributes:
        task: What was asked for, or `None`.
        pins: Goal, plan and constraints; whole, whatever the budget.
        bullets: Cited lines.
        left_out: Ids of memories that matched and are not shown, by section.
        tokens: About how many tokens `lines` take.
        budget_tokens: The bound that the bullets keep to; only the pins may go beyond it.
        waiting: The handoff that waits in the main lane, or `None`. It is named, where the budget allows a line, and
            not told: whoever takes it up takes it.
    """

    task: str | None
    pins: Pins
    bullets: tuple[Bullet, ...]
    left_out: Mapping[Section, tuple[str, ...]]
    tokens: int
    budget_tokens: int
    waiting: Handoff | None = None

    @property
    def memories(self) -> tuple[Memory, ...]:
        """Everything it shows: pins, then what the bullets cite."""
        return self.pins.memories + tuple(bullet.memory for bullet in self.bullets)

    def lines(self) -> list[str]:
        """Return it for a person, pins first."""
        handoff = [] if self.waiting is None else [waits(self.waiting)]
        return [*self.pins.lines(), *handoff, *(bullet.line() for bullet in self.bullets)]

    def fenced(self) -> str:
        """Return it for a prompt: every memory as data between marks it cannot forge."""
        shown = [fence_one(memory) for memory in self.pins.memories]
        if self.waiting is not None:
            shown.append(fence_one(self.waiting.memory, text=waits(self.waiting)))
        shown += [fence_one(bullet.memory, text=bullet.text) for bullet in self.bullets]
        return "\n".join([NOTICE, *shown]) if shown else ""


def waits(handoff: Handoff) -> str:
    """Return the line that names a waiting handoff: what is next, its id and when it was left."""
    told = "; ".join(handoff.baton.next) or handoff.baton.state or handoff.baton.goal
    return f"Handoff waits: {shortened(told, LINE)} [{handoff.memory.id[:18]}, {handoff.offered_at:%Y-%m-%d}]"


def brief(
    verbs: Verbs,
    task: str | None = None,
    *,
    task_type: str | None = None,
    budget_tokens: int = BUDGET,
    bullets: int = 5,
    as_of: datetime | None = None,
    words_only: bool = False,
) -> Brief:
    """Return pins and the best cited lines for a task.

    Args:
        verbs: The memory.
        task: What is to be done; without it the newest of each section are shown.
        task_type: Only runs of this kind, and its failures also where their trigger does not match.
        budget_tokens: Bound on the whole; only the pins, which are never cut, may go beyond it.
        bullets: 1..20 lines.
        as_of: What a brief would have said then; failures are then matched among what was known.
        words_only: Leave meaning out, so that no model is loaded.

    Raises:
        InvalidInputError: A number is out of range.
    """
    if budget_tokens < 1:
        raise InvalidInputError(f"budget {budget_tokens!r} is not valid", hint="a number of tokens from 1 on")
    if not 1 <= bullets <= MAX_BULLETS:
        raise InvalidInputError(f"bullets {bullets!r} is not valid", hint=f"1 to {MAX_BULLETS}")
    asked = task if task is not None and task.strip() else None
    pins = read_pins(verbs, as_of=as_of)
    pinned = {memory.id for memory in pins.memories}
    found: dict[Section, list[Bullet]] = {}
    for section in SECTIONS:
        lines = _retrieved(verbs, section, asked, task_type, as_of, words_only=words_only)
        found[section] = [line for line in lines if line.memory.id not in pinned]
    spent = pins.tokens
    handoff = next((one for one in live(verbs, as_of=as_of) if one.confirmed and one.state == "offered"), None)
    if handoff is not None and spent + (cost := tokens(waits(handoff))) <= budget_tokens:
        spent += cost
    else:
        handoff = None
    chosen: list[Bullet] = []
    for bullet in _in_turn(found):
        cost = tokens(bullet.line())
        if len(chosen) < bullets and spent + cost <= budget_tokens:
            chosen.append(bullet)
            spent += cost
    return Brief(
        task=asked,
        pins=pins,
        bullets=tuple(chosen),
        left_out=_left_out(found, chosen),
        tokens=spent,
        budget_tokens=budget_tokens,
        waiting=handoff,
    )


def _retrieved(
    verbs: Verbs, section: Section, task: str | None, task_type: str | None, as_of: datetime | None, *, words_only: bool
) -> list[Bullet]:
    if section == "failure" and task is not None and as_of is None:
        triggers = matching_failures(verbs, task[:MAX_QUERY], spellings(task))
        matched = [_bullet(section, one.memory) for one in triggers if informs(one.memory)][:_FOUND]
        return matched + _of_kind(verbs, task, task_type, {one.memory.id for one in matched}, words_only=words_only)
    query = task if task is not None or section != "run" else task_type
    options = {} if query is None else {"words_only": words_only}
    results = verbs.recall(query, types=SECTIONS[section], limit=_FOUND, as_of=as_of, **options)
    kept = list(_usable(results, task))
    if section == "run" and task_type is not None:
        typed = verbs.recall(
            query, types=[MemoryType.EVENT], tags=[f"run:{task_type}"], limit=_FOUND, as_of=as_of, **options
        )
        kept = [one.memory for one in typed if informs(one.memory)]
        kept.sort(key=_is_unfinished)  # the present run is one, and has concluded nothing
    if section == "failure" and task_type is not None:
        kept.sort(key=lambda memory: task_type_of(memory) != task_type)
    return [_bullet(section, memory) for memory in kept]


def _of_kind(
    verbs: Verbs, task: str, task_type: str | None, shown: AbstractSet[str], *, words_only: bool
) -> list[Bullet]:
    """Return the failures recorded for this kind of task whose trigger does not match its words."""
    if task_type is None or (tag := task_tag(task_type)) is None:
        return []
    found = verbs.recall(task, types=[MemoryType.ERROR], tags=[tag], limit=_FOUND, words_only=words_only)
    others = (memory for memory in _usable(found, None) if memory.id not in shown)
    return [replace(_bullet("failure", memory), matched=False) for memory in others]


def _usable(results: Iterable[Recollection], task: str | None) -> Iterator[Memory]:
    """Yield what may be shown.

    A runbook and a pointer must be able to direct, for they are followed. The rest must be more than an inference.
    """
    wanted = terms(task) if task is not None else frozenset()
    for result in results:
        memory = result.memory
        followed = memory.type in {MemoryType.INSTRUCTION, MemoryType.ARTIFACT}
        allowed = directs(memory) if followed else informs(memory) and (directs(memory) or not memory.type_guessed)
        near = result.why.dense_score is not None and result.why.dense_score >= RELEVANT
        if allowed and (task is None or near or wanted & terms(f"{memory.title} {memory.content}")):
            yield memory


def _bullet(section: Section, memory: Memory) -> Bullet:
    recorded = memory.provenance is Provenance.OBSERVED and "run" in memory.metadata
    confirmed = is_confirmed(memory) if section == "failure" else directs(memory) or (section == "run" and recorded)
    return Bullet(section=section, text=shortened(memory.content, LINE), memory=memory, confirmed=confirmed)


def _is_unfinished(memory: Memory) -> bool:
    kept = memory.metadata.get("run")
    return isinstance(kept, Mapping) and kept.get("state") == "unfinished"


def _in_turn(found: Mapping[Section, Sequence[Bullet]]) -> Iterator[Bullet]:
    """Yield the best of each section, then the second best of each, and so on."""
    for place in range(max(map(len, found.values()), default=0)):
        for bullets in found.values():
            if place < len(bullets):
                yield bullets[place]


def _left_out(found: Mapping[Section, Sequence[Bullet]], chosen: Sequence[Bullet]) -> dict[Section, tuple[str, ...]]:
    shown = {bullet.memory.id for bullet in chosen}
    hidden = {
        section: tuple(one.memory.id for one in bullets if one.memory.id not in shown)
        for section, bullets in found.items()
    }
    return {section: ids for section, ids in hidden.items() if ids}
