"""memanto for LangChain: a retriever, tools, agent middleware, and chat models for `answer`.

Importing this package does no work and loads no part of LangChain; names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0+qdrant"

_HOMES = {
    "AnswerTool": "tools_ask",
    "BriefTool": "tools_loop",
    "ChatModel": "chat_model",
    "CheckTool": "tools_ask",
    "CitedReply": "citing",
    "FeedbackTool": "tools_loop",
    "GuardTool": "tools_loop",
    "HandoffTool": "tools_loop",
    "MemantoMiddleware": "middleware",
    "MemantoRetriever": "retriever",
    "MemoryTool": "tool",
    "RecallTool": "tools_ask",
    "RecordFailureTool": "tools_loop",
    "RememberTool": "tools_ask",
    "ShowTool": "tools_ask",
    "cite": "citing",
    "memory_tools": "tools",
    "numbered": "citing",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - a list of the names above

if TYPE_CHECKING:
    from langchain_memanto.chat_model import ChatModel as ChatModel
    from langchain_memanto.citing import CitedReply as CitedReply
    from langchain_memanto.citing import cite as cite
    from langchain_memanto.citing import numbered as numbered
    from langchain_memanto.middleware import MemantoMiddleware as MemantoMiddleware
    from langchain_memanto.retriever import MemantoRetriever as MemantoRetriever
    from langchain_memanto.tool import MemoryTool as MemoryTool
    from langchain_memanto.tools import memory_tools as memory_tools
    from langchain_memanto.tools_ask import AnswerTool as AnswerTool
    from langchain_memanto.tools_ask import CheckTool as CheckTool
    from langchain_memanto.tools_ask import RecallTool as RecallTool
    from langchain_memanto.tools_ask import RememberTool as RememberTool
    from langchain_memanto.tools_ask import ShowTool as ShowTool
    from langchain_memanto.tools_loop import BriefTool as BriefTool
    from langchain_memanto.tools_loop import FeedbackTool as FeedbackTool
    from langchain_memanto.tools_loop import GuardTool as GuardTool
    from langchain_memanto.tools_loop import HandoffTool as HandoffTool
    from langchain_memanto.tools_loop import RecordFailureTool as RecordFailureTool


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'langchain_memanto' has no attribute {name!r}")
    return getattr(import_module(f"langchain_memanto.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
