"""All tools of one memory at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from crewai.tools import BaseTool

from crewai_memanto.tool import MemoryTool
from crewai_memanto.tools_ask import AnswerTool, CheckTool, RecallTool, RememberTool, ShowTool
from crewai_memanto.tools_loop import BriefTool, FeedbackTool, GuardTool, HandoffTool, RecordFailureTool
from memanto import Memanto
from memanto.adapter import as_sync
from memanto.toolkit import chosen

if TYPE_CHECKING:
    from memanto import AsyncMemanto

TOOLS: Final[Mapping[str, type[MemoryTool]]] = {
    "remember": RememberTool,
    "recall": RecallTool,
    "show": ShowTool,
    "answer": AnswerTool,
    "handoff": HandoffTool,
    "record_failure": RecordFailureTool,
    "guard": GuardTool,
    "brief": BriefTool,
    "check": CheckTool,
    "feedback": FeedbackTool,
}
"""The tools by the names they have for a model."""


def memory_tools(
    memory: Memanto | AsyncMemanto,
    include: Iterable[str] = tuple(TOOLS),
    *,
    prefix: str = "",
    source: str = "crewai",
    allow_stated: bool = False,
    strict: bool = False,
) -> list[BaseTool]:
    """Return tools on one memory, in the order named.

    Args:
        memory: Who opened it closes it.
        include: Which of `remember`, `recall`, `show`, `answer`, `handoff`, `record_failure`, `guard`, `brief`,
            `check`, `feedback`.
        prefix: Put before each name, for example `"memory_"` beside tools of the same names.
        source: Who writes.
        allow_stated: Let a model claim that a person said so; see `RememberTool`.
        strict: End the crew's work when memory fails.

    Raises:
        InvalidInputError: A name is unknown, or `include` is a text.
    """
    as_sync(memory)
    made: list[BaseTool] = []
    for name in chosen(include):
        options: dict[str, Any] = {"allow_stated": allow_stated} if name == "remember" else {}
        made.append(TOOLS[name](memory=memory, name=f"{prefix}{name}", source=source, strict=strict, **options))
    return made
