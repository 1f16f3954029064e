"""Tools of the loop: handoff, record_failure, guard, brief, feedback."""

from __future__ import annotations

from typing import ClassVar

from crewai_memanto.tool import MemoryTool
from memanto.toolkit import VERBS


class HandoffTool(MemoryTool):
    """Leaves a baton for the next session, or takes the one that waits.

    What a session says of its own work is stated: the next one takes the baton unasked.
    """

    verb: ClassVar[str] = "handoff"
    name: str = verb
    description: str = VERBS[verb].description


class RecordFailureTool(MemoryTool):
    """Records a failure as a trigger, so that `guard` speaks up before it is repeated."""

    verb: ClassVar[str] = "record_failure"
    name: str = verb
    description: str = VERBS[verb].description


class GuardTool(MemoryTool):
    """Says what recorded failures and finished steps speak against an action."""

    verb: ClassVar[str] = "guard"
    name: str = verb
    description: str = VERBS[verb].description


class BriefTool(MemoryTool):
    """Says what to know before planning: goal, plan, constraints, then a few cited lines."""

    verb: ClassVar[str] = "brief"
    name: str = verb
    description: str = VERBS[verb].description


class FeedbackTool(MemoryTool):
    """Says whether a memory helped; its confidence moves by a stated rule."""

    verb: ClassVar[str] = "feedback"
    name: str = verb
    description: str = VERBS[verb].description
