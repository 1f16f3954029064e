"""memanto for CrewAI: memory and storage for crews, tools, a listener, a hook, and CrewAI models for `answer`.

Importing this package does no work and loads no part of CrewAI; names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0+qdrant"

_HOMES = {
    "AnswerTool": "tools_ask",
    "BriefTool": "tools_loop",
    "CheckTool": "tools_ask",
    "CrewModel": "llm",
    "FeedbackTool": "tools_loop",
    "GuardHook": "hook",
    "GuardTool": "tools_loop",
    "HandoffTool": "tools_loop",
    "MemantoListener": "listener",
    "MemantoMemory": "memory",
    "MemantoStorage": "storage",
    "MemoryTool": "tool",
    "RecallTool": "tools_ask",
    "RecordFailureTool": "tools_loop",
    "RememberTool": "tools_ask",
    "ShowTool": "tools_ask",
    "VectorDimensionError": "storage",
    "memory_tools": "tools",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - a list of the names above

if TYPE_CHECKING:
    from crewai_memanto.hook import GuardHook as GuardHook
    from crewai_memanto.listener import MemantoListener as MemantoListener
    from crewai_memanto.llm import CrewModel as CrewModel
    from crewai_memanto.memory import MemantoMemory as MemantoMemory
    from crewai_memanto.storage import MemantoStorage as MemantoStorage
    from crewai_memanto.storage import VectorDimensionError as VectorDimensionError
    from crewai_memanto.tool import MemoryTool as MemoryTool
    from crewai_memanto.tools import memory_tools as memory_tools
    from crewai_memanto.tools_ask import AnswerTool as AnswerTool
    from crewai_memanto.tools_ask import CheckTool as CheckTool
    from crewai_memanto.tools_ask import RecallTool as RecallTool
    from crewai_memanto.tools_ask import RememberTool as RememberTool
    from crewai_memanto.tools_ask import ShowTool as ShowTool
    from crewai_memanto.tools_loop import BriefTool as BriefTool
    from crewai_memanto.tools_loop import FeedbackTool as FeedbackTool
    from crewai_memanto.tools_loop import GuardTool as GuardTool
    from crewai_memanto.tools_loop import HandoffTool as HandoffTool
    from crewai_memanto.tools_loop import RecordFailureTool as RecordFailureTool


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'crewai_memanto' has no attribute {name!r}")
    return getattr(import_module(f"crewai_memanto.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
