"""Arguments that tools share: closed sets spelled out, limits in the schema, a sentence for the model."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AwareDatetime, BeforeValidator, Field

from memanto.adapter import zoned
from memanto.models import MAX_CONTENT, MAX_KEY, MAX_QUERY, MAX_SOURCE_REF, MAX_TAG, MAX_TAGS, MAX_TITLE

Kind: TypeAlias = Literal[
    "instruction", "fact", "decision", "goal", "commitment", "preference", "relationship", "context", "event",
    "learning", "observation", "artifact", "error",
]  # fmt: skip
How: TypeAlias = Literal["explicit_statement", "inferred", "corrected", "validated", "observed", "imported"]

TypeOf = Annotated[
    Kind,
    Field(
        description="instruction: rule or runbook. fact: verified. decision: with its reason. learning: a lesson. "
        "artifact: path, URL or id. observation: a pattern, a dead end. event: what happened. context: the situation."
    ),
]
Provenance = Annotated[
    How,
    Field(
        description="How you know it. explicit_statement: a person said so. observed: seen in a tool's result or a "
        "log. validated: checked against the world. corrected: replaces what was wrong. inferred: your own conclusion."
    ),
]
Content = Annotated[
    str, Field(min_length=1, max_length=MAX_CONTENT, description="One idea, complete in itself, without secrets.")
]
SourceRef = Annotated[
    str | None,
    Field(
        max_length=MAX_SOURCE_REF,
        description="Where it can be looked up: URL, file:line, command, or who said it. A fact without one is "
        "stored as inferred.",
    ),
]
Title = Annotated[str | None, Field(max_length=MAX_TITLE, description="Made from the text when missing.")]
Tag = Annotated[str, Field(min_length=1, max_length=MAX_TAG)]
Tags = Annotated[list[Tag], Field(max_length=MAX_TAGS)]
Confidence = Annotated[float | None, Field(ge=0, le=1, description="0.8 when missing; below 0.5 is a guess.")]
Key = Annotated[
    str | None,
    Field(max_length=MAX_KEY, description="A slot such as 'db/version': its next value takes the place of the last."),
]
Moment = Annotated[AwareDatetime, BeforeValidator(zoned)] | None
Types = Annotated[list[Kind], Field(max_length=13, description="Only these types; all when empty.")]
Limit = Annotated[int, Field(ge=1, le=20, description="How many at most.")]
Text = Annotated[str, Field(max_length=MAX_QUERY)]
Query = Annotated[
    str | None,
    Field(min_length=1, max_length=MAX_QUERY, description="What to look for; the newest memories when missing."),
]
Id = Annotated[str, Field(min_length=4, max_length=36, description="A memory's id, or a unique beginning of it.")]
Lane = Annotated[str, Field(min_length=1, max_length=50, description="The line of work.")]
Items = Annotated[list[Text], Field(max_length=50)]
TaskType = Annotated[str, Field(max_length=60, description="What kind of task, for example 'deploy'.")]
ToolArguments = Annotated[dict[str, Any] | None, Field(description="The arguments it would be called with.")]
