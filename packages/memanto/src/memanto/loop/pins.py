"""What must survive every window: the goal, the plan, and the constraints that are pinned.

The goal is a `goal` memory in the slot `loop/goal`, the plan a `context` memory in `loop/plan`; a new one is the
slot's next version. A plain `remember "Goal: …" --type goal` counts while no goal was set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from memanto.loop.port import Verbs
from memanto.loop.trust import directs
from memanto.memory.recall import tokens
from memanto.models import MAX_LIMIT, Memory, MemoryType, Provenance, Receipt, Recollection, Status

GOAL_KEY: Final = "loop/goal"
PLAN_KEY: Final = "loop/plan"
TAG: Final = "pin"
_FEW: Final = 20
"""The newest memories that are looked through for a goal or plan without its tag."""
_LABEL: Final = re.compile(r"^\s*(?:goal|plan|constraint)\s*:\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """What leads every brief, baton and prompt, and is never cut.

    Attributes:
        goal: The current goal, or `None`.
        plan: The current plan summary, or `None`.
        constraints: What else is pinned, oldest first.
    """

    goal: Memory | None = None
    plan: Memory | None = None
    constraints: tuple[Memory, ...] = ()

    @property
    def memories(self) -> tuple[Memory, ...]:
        """All of them: goal, plan, constraints."""
        return tuple(one for one in (self.goal, self.plan) if one is not None) + self.constraints

    def lines(self) -> list[str]:
        """Return one paragraph each, led by what it is."""
        named = (("Goal", self.goal), ("Plan", self.plan), *(("Constraint", one) for one in self.constraints))
        return [f"{label}: {without_label(memory.content)}" for label, memory in named if memory is not None]

    @property
    def tokens(self) -> int:
        """About how many tokens the lines take."""
        return sum(map(tokens, self.lines()))


def set_goal(verbs: Verbs, text: str, *, source: str | None, provenance: Provenance | str | None) -> Receipt:
    """Make this the current goal."""
    return _set(verbs, text, MemoryType.GOAL, GOAL_KEY, source=source, provenance=provenance)


def set_plan(verbs: Verbs, text: str, *, source: str | None, provenance: Provenance | str | None) -> Receipt:
    """Make this the current plan summary."""
    return _set(verbs, text, MemoryType.CONTEXT, PLAN_KEY, source=source, provenance=provenance)


def _set(verbs: Verbs, text: str, kind: MemoryType, key: str, **fields: Any) -> Receipt:
    return verbs.remember(text, type=kind, key=key, tags=(TAG, key), **fields)


def current_goal(verbs: Verbs, *, as_of: datetime | None = None) -> Memory | None:
    """Return the goal in its slot, else the newest plain goal that may direct."""
    slot = _in_slot(verbs.recall(tags=[GOAL_KEY], limit=_FEW, as_of=as_of), GOAL_KEY, verbs)
    if slot is not None:
        return slot
    goals = verbs.recall(types=[MemoryType.GOAL], limit=_FEW, as_of=as_of)
    plain = next((one.memory for one in goals if one.memory.key is None and directs(one.memory)), None)
    return _in_slot(goals, GOAL_KEY, verbs) or plain


def current_plan(verbs: Verbs, *, as_of: datetime | None = None) -> Memory | None:
    """Return the plan in its slot."""
    found = verbs.recall(tags=[PLAN_KEY], limit=_FEW, as_of=as_of)
    if not found:  # written with its key alone
        found = verbs.recall(types=[MemoryType.CONTEXT], limit=_FEW, as_of=as_of)
    return _in_slot(found, PLAN_KEY, verbs)


def read_pins(verbs: Verbs, *, as_of: datetime | None = None) -> Pins:
    """Return goal, plan and pinned constraints; only what may direct."""
    goal, plan = current_goal(verbs, as_of=as_of), current_plan(verbs, as_of=as_of)
    shown = {memory.id for memory in (goal, plan) if memory is not None}
    pinned = verbs.recall(pinned=True, limit=MAX_LIMIT, as_of=as_of)
    constraints = [one.memory for one in reversed(pinned) if one.memory.id not in shown and directs(one.memory)]
    return Pins(goal=goal, plan=plan, constraints=tuple(constraints))


def without_label(text: str) -> str:
    """Return a pin's text without a leading "Goal:", "Plan:" or "Constraint:"."""
    return _LABEL.sub("", text)


def _in_slot(found: Iterable[Recollection], key: str, verbs: Verbs) -> Memory | None:
    """Return the newest value of a slot that may direct; an untrusted later one does not hide it."""
    for memory in (one.memory for one in found if one.memory.key == key):
        if directs(memory):
            return memory
        for earlier in reversed(verbs.history(memory.id)[: memory.version - 1]):
            if earlier.status is not Status.ACTIVE:
                break  # it had been given up before
            if directs(earlier):
                return earlier
    return None
