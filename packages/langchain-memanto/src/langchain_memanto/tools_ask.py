"""Tools to write and read: remember, recall, show, answer, check."""

from __future__ import annotations

from typing import Any, ClassVar

from langchain_core.tools.base import ArgsSchema

from langchain_memanto.tool import MemoryTool
from memanto.toolkit import VERBS
from memanto.toolkit.arguments import StatedArgs


class RememberTool(MemoryTool):
    """Stores one memory.

    A model states how it knows; it can claim what was observed or inferred. A fact that names no place to look it up
    is inferred. `allow_stated=True` lets it also claim that a person said so, which makes its memories trusted: only
    where nothing but the user's words reaches it.

    Attributes:
        allow_stated: Whether `explicit_statement` may be claimed.
    """

    verb: ClassVar[str] = "remember"
    name: str = verb
    description: str = VERBS[verb].description
    args_schema: ArgsSchema | None = VERBS[verb].arguments
    allow_stated: bool = False

    def model_post_init(self, context: Any, /) -> None:
        """Choose which provenances may be claimed."""
        super().model_post_init(context)
        if self.allow_stated and self.args_schema is VERBS[self.verb].arguments:
            self.args_schema = StatedArgs


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
