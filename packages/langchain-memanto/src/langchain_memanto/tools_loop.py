"""Tools of the loop: handoff, record_failure, guard, brief, feedback."""

from __future__ import annotations

from typing import ClassVar

from langchain_core.tools.base import ArgsSchema
from pydantic import BaseModel, Field

from langchain_memanto.tool import MemoryTool
from memanto.toolkit import VERBS


class HandoffTool(MemoryTool):
    """Leaves a baton for the next session, or takes the one that waits.

    What a session says of its own work is stated: the next one takes the baton unasked.
    """

    verb: ClassVar[str] = "handoff"
    name: str = verb
    description: str = VERBS[verb].description
    args_schema: ArgsSchema | None = VERBS[verb].arguments


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

    verb: ClassVar[str] = "record_failure"
    name: str = verb
    description: str = VERBS[verb].description
    args_schema: ArgsSchema | None = RecordFailureArgs


class GuardTool(MemoryTool):
    """Says what recorded failures and finished steps speak against an action."""

    verb: ClassVar[str] = "guard"
    name: str = verb
    description: str = VERBS[verb].description
    args_schema: ArgsSchema | None = VERBS[verb].arguments


class BriefTool(MemoryTool):
    """Says what to know before planning: goal, plan, constraints, then a few cited lines."""

    verb: ClassVar[str] = "brief"
    name: str = verb
    description: str = VERBS[verb].description
    args_schema: ArgsSchema | None = VERBS[verb].arguments


class FeedbackTool(MemoryTool):
    """Says whether a memory helped; its confidence moves by a stated rule."""

    verb: ClassVar[str] = "feedback"
    name: str = verb
    description: str = VERBS[verb].description
    args_schema: ArgsSchema | None = VERBS[verb].arguments
