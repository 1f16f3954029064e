"""Tools to write and read: remember, recall, show, answer, check."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal

from langchain_core.tools.base import ArgsSchema
from pydantic import BaseModel, Field

from langchain_memanto.tool import MemoryTool
from memanto import MemoryType
from memanto.models import MAX_CONTENT
from memanto.toolkit import VERBS, Told
from memanto.toolkit.writing import told_of


class RememberArgs(BaseModel):
    """What `remember` takes from a model: no key, no metadata, no provenance that would make it trusted."""

    content: str = Field(min_length=1, max_length=MAX_CONTENT, description="One self-contained statement.")
    type: MemoryType = Field(description="What kind of memory it is.")
    provenance: Literal["observed", "inferred"] = Field(
        description="'observed' if a tool's result or a document says so, 'inferred' if you concluded it yourself."
    )
    tags: list[str] = Field(default_factory=list, description="A few words to find it by.")
    confidence: float | None = Field(default=None, ge=0, le=1, description="How sure you are, 0 to 1.")


class StatedArgs(RememberArgs):
    """What `remember` takes where a model may also pass on what a person said."""

    provenance: Literal["observed", "inferred", "explicit_statement"] = Field(  # type: ignore[assignment]
        description="'explicit_statement' if the user said so, 'observed' if a tool's result or a document says so, "
        "'inferred' if you concluded it yourself."
    )


class RememberTool(MemoryTool):
    """Stores one memory.

    A model states how it knows; it can claim what was observed or inferred. `allow_stated=True` lets it also claim
    that a person said so, which makes its memories trusted: only where nothing but the user's words reaches it.

    Attributes:
        allow_stated: Whether `explicit_statement` may be claimed.
    """

    verb: ClassVar[str] = "remember"
    name: str = verb
    description: str = (
        "Store one finding that later sessions need: a fact, a decision with its reason, a lesson, a pointer. "
        "Never store secrets, or what was recalled from memory."
    )
    args_schema: ArgsSchema | None = RememberArgs
    allow_stated: bool = False

    def model_post_init(self, context: Any, /) -> None:
        """Choose which provenances may be claimed."""
        super().model_post_init(context)
        if self.allow_stated and self.args_schema is RememberArgs:
            self.args_schema = StatedArgs

    def _act(
        self,
        *,
        content: str,
        type: MemoryType,  # noqa: A002 - the word models know it by
        provenance: str,
        tags: Iterable[str] = (),
        confidence: float | None = None,
    ) -> Told:
        receipt = self._memory.remember(
            content, type=type, provenance=provenance, tags=tags, confidence=confidence, source=self.source
        )
        return told_of(receipt, "remembered as")


class RecallTool(MemoryTool):
    """Finds memories by words and meaning, and shows them fenced, best first."""

    verb: ClassVar[str] = "recall"
    name: str = verb
    description: str = VERBS[verb].description
    args_schema: ArgsSchema | None = VERBS[verb].arguments


class ShowTool(MemoryTool):
    """Shows one memory whole, page by page where it is long."""

    verb: ClassVar[str] = "show"
    name: str = verb
    description: str = VERBS[verb].description
    args_schema: ArgsSchema | None = VERBS[verb].arguments


class AnswerTool(MemoryTool):
    """Answers from memory, part by part and cited, or says that memory does not hold the answer."""

    verb: ClassVar[str] = "answer"
    name: str = verb
    description: str = VERBS[verb].description
    args_schema: ArgsSchema | None = VERBS[verb].arguments


class CheckTool(MemoryTool):
    """Asks memory what it should know, and says whether each answer can be relied on."""

    verb: ClassVar[str] = "check"
    name: str = verb
    description: str = VERBS[verb].description
    args_schema: ArgsSchema | None = VERBS[verb].arguments
