"""What is known of a graph's run while it goes on."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

from langgraph.errors import GraphBubbleUp

from memanto.loop.fence import neutralised

if TYPE_CHECKING:
    from memanto import Run


@dataclass(slots=True, kw_only=True)
class Work:
    """One run of a graph.

    Attributes:
        root: LangChain's id of it.
        thread: Name of its thread, or `None`.
        run: Its record, once begun.
        nodes: Names of the nodes at work, by LangChain's id.
        tools: Tool calls under way, in words, by LangChain's id.
        inside: LangChain's ids of everything that ran inside it.
        paused: Whether an interrupt paused it.
    """

    root: UUID
    thread: str | None
    run: Run | None = None
    nodes: dict[UUID, str] = field(default_factory=dict)
    tools: dict[UUID, str] = field(default_factory=dict)
    inside: list[UUID] = field(default_factory=list)
    paused: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)
    _errors: list[BaseException] = field(default_factory=list)
    _calls: int = 0
    _tokens: int = 0

    def count(self, *, calls: int = 0, tokens: int = 0) -> None:
        """Add to what the next step took."""
        with self.lock:
            self._calls += calls
            self._tokens += tokens

    def taken(self) -> tuple[int, int | None]:
        """Return the tool calls and tokens since it was asked last; no tokens where no model told of any."""
        with self.lock:
            taken = self._calls, self._tokens or None
            self._calls = self._tokens = 0
            return taken

    def is_new(self, error: BaseException, *, passed_on: bool = False) -> bool:
        """Return whether something raised is a failure that was not noted before; interrupts are none.

        Args:
            error: What was raised.
            passed_on: It may come from inside. Then an equal one that was noted counts as the same: asyncio hands on
                some exceptions as copies.
        """
        if isinstance(error, GraphBubbleUp) or not isinstance(error, Exception):
            return False
        with self.lock:
            for known in self._errors:
                if error is known or error.__cause__ is known or (passed_on and _alike(error, known)):
                    return False
            self._errors.append(error)
            return True


def _alike(error: Exception, known: BaseException) -> bool:
    if type(error) is not type(known):
        return False
    try:
        return bool(error.args == known.args)
    except Exception:  # noqa: BLE001 - arguments of any kind, arrays too, which do not compare
        return False


def line(text: str, limit: int) -> str:
    """Return a text on one line of at most `limit` characters, in which nothing reads as a mark around memories."""
    told = " ".join(neutralised(text).split())
    return told if len(told) <= limit else f"{told[: limit - 1]}…"
