"""Tools of the loop: handoff, record_failure, guard, brief, feedback."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.tools.base import ArgsSchema
from pydantic import BaseModel, Field

from langchain_memanto.tool import MemoryTool, Told, told_of
from memanto.loop.fence import NOTICE, fence_one

if TYPE_CHECKING:
    from memanto import Trigger


class HandoffArgs(BaseModel):
    """What `handoff` takes; the fields are for `write`."""

    action: Literal["write", "take", "ack", "show"] = Field(
        description="'write' leaves a baton, 'take' claims the one that waits, 'ack' says it was read, 'show' looks."
    )
    goal: str = Field(default="", description="The overall objective; the current goal without.")
    done: list[str] = Field(default_factory=list, description="Finished steps.")
    state: str = Field(default="", description="Where things stand.")
    next: list[str] = Field(default_factory=list, description="What to do next.")
    blockers: list[str] = Field(default_factory=list, description="What is unresolved.")
    artifacts: list[str] = Field(default_factory=list, description="Paths and ids of what was made.")
    do_not_redo: list[str] = Field(default_factory=list, description="Steps that must not be done again.")
    lane: str = Field(default="main", description="The line of work.")


class HandoffTool(MemoryTool):
    """Leaves a baton for the next session, or takes the one that waits.

    What a session says of its own work is stated: the next one takes the baton unasked.
    """

    name: str = "handoff"
    description: str = (
        "Hand work over between sessions. Take and acknowledge the baton when you begin, write one before you stop."
    )
    args_schema: ArgsSchema | None = HandoffArgs

    def _act(self, *, action: str, lane: str = "main", **fields: Any) -> Told:
        if action == "write":
            receipt = self._memory.write_handoff(**fields, lane=lane, source=self.source).receipt
            return told_of(receipt, "left the baton")
        if action == "ack":
            done = self._memory.ack_handoff(lane=lane, by=self.source)
            return f"acknowledged the baton {done.memory.id}", {"ids": [done.memory.id]}
        if action == "take":
            taken = self._memory.take_handoff(lane=lane, by=self.source)
            found = [] if taken is None else [taken]
        else:
            found = self._memory.show_handoff(lane=lane)
        if not found:
            return f"no baton waits in lane {lane!r}", {"ids": []}
        pins = self._memory.pins().memories
        shown = [NOTICE, *map(fence_one, pins)]
        for one in found:
            by = f" by {one.by}" if one.by else ""
            shown.append(f"baton of lane {one.lane!r}, {one.state}{by}{'' if one.confirmed else ', unconfirmed'}:")
            shown.append(fence_one(one.memory))
        return "\n".join(shown), {"ids": [one.memory.id for one in found]}


class RecordFailureArgs(BaseModel):
    """What `record_failure` takes."""

    attempted: str = Field(default="", description="The action that was tried.")
    wrong: str = Field(default="", description="What was seen to go wrong.")
    cause: str = Field(default="", description="The root cause, once it is known.")
    fix: str = Field(default="", description="What to do instead.")
    trigger: str = Field(default="", description="'When X, do Y', or just X: the situation to be warned in.")
    task_type: str = Field(default="", description="What kind of task it was.")


class RecordFailureTool(MemoryTool):
    """Records a failure as a trigger, so that `guard` speaks up before it is repeated."""

    name: str = "record_failure"
    description: str = "Record what went wrong, why, and what to do instead, so that no later session repeats it."
    args_schema: ArgsSchema | None = RecordFailureArgs

    def _act(self, **fields: Any) -> Told:
        return told_of(self._memory.record_failure(**fields, source=self.source), "recorded as")


class GuardArgs(BaseModel):
    """What `guard` takes."""

    situation: str = Field(default="", description="What you are about to do, or what is going on.")
    tool: str | None = Field(default=None, description="The tool you are about to call.")
    args: dict[str, Any] | None = Field(default=None, description="Its arguments.")
    lane: str = Field(default="main", description="The line of work.")


class GuardTool(MemoryTool):
    """Says what recorded failures and finished steps speak against an action."""

    name: str = "guard"
    description: str = "Before a risky action: returns recorded failures and steps not to be redone that match it."
    args_schema: ArgsSchema | None = GuardArgs

    def _act(
        self, *, situation: str = "", tool: str | None = None, args: dict[str, Any] | None = None, lane: str = "main"
    ) -> Told:
        triggers = self._memory.guard(situation, tool=tool, args=args, lane=lane)
        kept = [{"id": one.memory.id, "kind": one.kind, "confirmed": one.confirmed} for one in triggers]
        return warned(triggers) or "nothing speaks against it", kept


def warned(triggers: Sequence[Trigger]) -> str:
    """Return triggers for a prompt, fenced; `""` for none."""
    if not triggers:
        return ""
    return "\n".join([NOTICE, *(line for one in triggers for line in _trigger(one))])


def _trigger(trigger: Trigger) -> Iterable[str]:
    what = "recorded failure" if trigger.kind == "failure" else "step not to be redone"
    yield f"{what}{'' if trigger.confirmed else ', unconfirmed'} ({trigger.why_matched}):"
    yield fence_one(trigger.memory, text=None if trigger.kind == "failure" else trigger.when)


class BriefArgs(BaseModel):
    """What `brief` takes."""

    task: str | None = Field(default=None, description="What is to be done.")
    task_type: str | None = Field(default=None, description="Only prior runs of this kind.")
    budget_tokens: int = Field(default=600, ge=50, le=10_000, description="Bound on the whole.")


class BriefTool(MemoryTool):
    """Says what to know before planning: goal, plan, constraints, then a few cited lines."""

    name: str = "brief"
    description: str = "Before planning: goal, plan, constraints, prior runs, known failures and facts in brief."
    args_schema: ArgsSchema | None = BriefArgs

    def _act(self, *, task: str | None = None, task_type: str | None = None, budget_tokens: int = 600) -> Told:
        brief = self._memory.brief(task, task_type=task_type, budget_tokens=budget_tokens)
        hidden = sum(map(len, brief.left_out.values()))
        told = brief.fenced() or "memory has nothing on this"
        if hidden:
            told += f"\n{hidden} more matched; recall finds them"
        return told, [memory.id for memory in brief.memories]


class FeedbackArgs(BaseModel):
    """What `feedback` takes."""

    id: str = Field(description="The memory's id.")
    verdict: Literal["helped", "wrong", "irrelevant"] = Field(description="What became of it.")
    reason: str = Field(default="", description="Why, in a sentence.")


class FeedbackTool(MemoryTool):
    """Says whether a memory helped; its confidence moves by a stated rule."""

    name: str = "feedback"
    description: str = "Say whether a recalled memory helped, was wrong, or was irrelevant."
    args_schema: ArgsSchema | None = FeedbackArgs

    def _act(self, *, id: str, verdict: Literal["helped", "wrong", "irrelevant"], reason: str = "") -> Told:  # noqa: A002
        return told_of(self._memory.feedback(id, verdict, reason=reason), "noted on")
