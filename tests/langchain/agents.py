"""Chat models and tools for tests of agents: scripted, offline."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from pydantic import PrivateAttr

_NUMBERS = itertools.count()


class Script(FakeMessagesListChatModel):
    """Says its responses one after the other and keeps what it was sent."""

    _sent: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def sent(self) -> list[list[BaseMessage]]:
        return self._sent

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[Any, AIMessage]:  # type: ignore[override]
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self._sent.append(messages)
        return super()._generate(messages, *args, **kwargs)


def call(*calls: tuple[str, dict[str, Any]]) -> AIMessage:
    """Return a model's message that calls these tools at once, each under an id of its own."""
    named = [{"name": name, "args": args, "id": f"{name}-{next(_NUMBERS)}"} for name, args in calls]
    return AIMessage("", tool_calls=named)


def says(text: str, tokens: int = 0) -> AIMessage:
    usage = {"input_tokens": tokens, "output_tokens": 0, "total_tokens": tokens}
    return AIMessage(text, usage_metadata=usage if tokens else None)  # type: ignore[arg-type]


@tool
def pull(table: str) -> str:
    """Pull a table of the ledger."""
    if table == "stale":
        raise TimeoutError("the ledger pull timed out after 30 s")
    return f"pulled {table}"


@tool
def read_page(number: int) -> str:
    """Read a page."""
    return f"page {number}: " + "many words of no interest " * 300
