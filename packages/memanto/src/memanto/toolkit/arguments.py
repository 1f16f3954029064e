"""What each tool takes from a model: no key, no pin and no metadata, and no provenance that would make it trusted."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AwareDatetime, BaseModel, BeforeValidator, Field

from memanto.adapter import zoned
from memanto.models import MAX_CONTENT, MAX_QUERY, MAX_SOURCE_REF, MAX_TAG, MAX_TAGS

Kind: TypeAlias = Literal[
    "instruction", "fact", "decision", "goal", "commitment", "preference", "relationship", "context", "event",
    "learning", "observation", "artifact", "error",
]  # fmt: skip
"""The types of memory, spelled out for a schema."""

Moment: TypeAlias = Annotated[AwareDatetime, BeforeValidator(zoned)]
"""A time with a zone; a bare number is none."""

Tag = Annotated[str, Field(min_length=1, max_length=MAX_TAG)]
Text = Annotated[str, Field(max_length=MAX_QUERY)]
Id = Annotated[str, Field(min_length=4, max_length=36, description="The memory's id, or the unique beginning of it.")]
Lane = Annotated[str, Field(min_length=1, max_length=50, description="The line of work.")]


class RememberArgs(BaseModel):
    """What `remember` takes from a model."""

    content: str = Field(min_length=1, max_length=MAX_CONTENT, description="One self-contained statement.")
    type: Kind = Field(
        description="instruction: rule or runbook. fact: verified. decision: with its reason. learning: a lesson. "
        "artifact: path, URL or id. observation: a pattern, a dead end. event: what happened. context: the situation."
    )
    provenance: Literal["observed", "inferred"] = Field(
        description="'observed' if a tool's result or a document says so, 'inferred' if you concluded it yourself."
    )
    source_ref: str | None = Field(
        default=None,
        max_length=MAX_SOURCE_REF,
        description="Where it can be looked up: URL, file:line, command, or who said it. A fact needs it.",
    )
    tags: list[Tag] = Field(default_factory=list, max_length=MAX_TAGS, description="A few words to find it by.")
    confidence: float | None = Field(default=None, ge=0, le=1, description="How sure you are, 0 to 1.")


class StatedArgs(RememberArgs):
    """What `remember` takes where a model may also pass on what a person said."""

    provenance: Literal["observed", "inferred", "explicit_statement"] = Field(  # type: ignore[assignment]
        description="'explicit_statement' if the user said so, 'observed' if a tool's result or a document says so, "
        "'inferred' if you concluded it yourself."
    )


class RecallArgs(BaseModel):
    """What `recall` takes."""

    query: Text | None = Field(default=None, description="What to look for; the newest without.")
    types: list[Kind] = Field(default_factory=list, max_length=13, description="Only these types.")
    tags: list[Tag] = Field(default_factory=list, max_length=MAX_TAGS, description="Only what has all of these tags.")
    limit: int = Field(default=5, ge=1, le=20, description="How many at most.")
    as_of: Moment | None = Field(default=None, description="What was believed then (ISO 8601 with zone).")


class ShowArgs(BaseModel):
    """What `show` takes."""

    id: Id
    page: int = Field(default=1, ge=1, description="Which page of a long memory.")


class AnswerArgs(BaseModel):
    """What `answer` takes."""

    question: str = Field(min_length=1, max_length=MAX_QUERY, description="May have several parts.")
    types: list[Kind] = Field(default_factory=list, max_length=13, description="Look only among these types.")


class HandoffArgs(BaseModel):
    """What `handoff` takes; the fields are for `write`."""

    action: Literal["write", "take", "ack", "show"] = Field(
        description="'write' leaves a baton, 'take' claims the one that waits, 'ack' says it was read, 'show' looks."
    )
    goal: Text = Field(default="", description="The overall objective; the current goal without.")
    done: list[Text] = Field(default_factory=list, description="Finished steps.")
    state: Text = Field(default="", description="Where things stand.")
    next: list[Text] = Field(default_factory=list, description="What to do next.")
    blockers: list[Text] = Field(default_factory=list, description="What is unresolved.")
    artifacts: list[Text] = Field(default_factory=list, description="Paths and ids of what was made.")
    do_not_redo: list[Text] = Field(default_factory=list, description="Steps that must not be done again.")
    lane: Lane = "main"


class RecordFailureArgs(BaseModel):
    """What `record_failure` takes."""

    provenance: Literal["observed", "inferred"] = Field(
        description="'observed' if it was seen to go wrong, 'inferred' if you concluded that it would."
    )
    attempted: Text = Field(default="", description="The action that was tried.")
    wrong: Text = Field(default="", description="What was seen to go wrong.")
    cause: Text = Field(default="", description="The root cause, once it is known.")
    fix: Text = Field(default="", description="What to do instead.")
    trigger: Text = Field(default="", description="'When X, do Y', or just X: the situation to be warned in.")
    task_type: str = Field(default="", max_length=60, description="What kind of task it was.")


class GuardArgs(BaseModel):
    """What `guard` takes."""

    situation: Text = Field(default="", description="What you are about to do, or what is going on.")
    tool: str | None = Field(default=None, max_length=200, description="The tool you are about to call.")
    args: dict[str, Any] | None = Field(default=None, description="Its arguments.")
    lane: Lane = "main"


class BriefArgs(BaseModel):
    """What `brief` takes."""

    task: Text | None = Field(default=None, description="What is to be done.")
    task_type: str | None = Field(default=None, max_length=60, description="Only prior runs of this kind.")
    budget_tokens: int = Field(default=600, ge=50, le=10_000, description="Bound on the whole.")


class CheckArgs(BaseModel):
    """What `check` takes."""

    task_type: str | None = Field(default=None, max_length=60, description="What runs and failures are asked about.")
    questions: dict[str, str] | None = Field(
        default=None, description="Question to a text its answer must hold; four standard questions without."
    )


class FeedbackArgs(BaseModel):
    """What `feedback` takes."""

    id: Id
    verdict: Literal["helped", "wrong", "irrelevant"] = Field(description="What became of it.")
    reason: str = Field(default="", max_length=500, description="Why, in a sentence.")
