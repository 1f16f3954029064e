"""What the tools share: a memory, two ways to run, and what a model is told when something goes wrong."""

from __future__ import annotations

import asyncio
import functools
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal

from langchain_core.tools import BaseTool, ToolException
from pydantic import Field, PrivateAttr

from memanto import Memanto, Receipt
from memanto.adapter import Failsafe, as_sync
from memanto.errors import InvalidInputError, NotFoundError

Told = tuple[str, Any]
"""What a model reads, and what a program may use beside it."""


class MemoryTool(BaseTool):
    """A verb of memory as a tool.

    A mistake of the model (an unknown id, a value out of range) comes back as an error it can act on. When memory
    itself fails, the model is told so, the failure is logged once and counted, and the agent goes on; `strict` raises
    instead. Recalled text stands between marks that it cannot forge.

    Attributes:
        memory: A `Memanto` or an `AsyncMemanto`; who opened it closes it.
        source: Who writes, 1..64 of `[A-Za-z0-9._-]`.
        strict: Raise when memory fails.
    """

    memory: Any = Field(exclude=True, repr=False)
    source: str = "langchain"
    strict: bool = False
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: bool | str | Callable[[ToolException], str] | None = True

    _memory: Memanto = PrivateAttr()
    _failsafe: Failsafe = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Check the memory that was given."""
        super().model_post_init(context)
        self._memory = as_sync(self.memory)
        self._failsafe = Failsafe(f"the tool {self.name!r}", strict=self.strict)

    @property
    def failures(self) -> int:
        """How many calls memory has failed."""
        return self._failsafe.failures

    @abstractmethod
    def _act(self, *_: Any, **arguments: Any) -> Told:
        """Do what the tool is for."""

    def _run(self, *plain: Any, **arguments: Any) -> Told:
        """Do what the tool is for; a plain text that it is invoked with is its first argument."""
        try:
            return self._act(**dict(zip(self.args, plain, strict=False)), **arguments)
        except (InvalidInputError, NotFoundError) as error:
            raise ToolException(str(error)) from error
        except Exception as error:  # a fault of memory, whatever it is, must not fail the agent
            if self.strict:
                raise
            self._failsafe.note("do its work", error)
            raise ToolException(f"memory failed; go on without it. {error}") from error

    async def _arun(self, *plain: Any, **arguments: Any) -> Told:
        return await asyncio.to_thread(functools.partial(self._run, *plain, **arguments))


def told_of(receipt: Receipt, what: str) -> Told:
    """Return what a model is told of a write, and the receipt as plain values."""
    lines = [f"{what} {receipt.id} (version {receipt.version}, {receipt.type.value}, {receipt.status.value})"]
    if receipt.duplicate:
        lines.append("it was known already; nothing was added")
    lines += receipt.warnings
    if receipt.redactions:
        lines.append(f"secrets were removed: {', '.join(sorted({one.kind for one in receipt.redactions}))}")
    for one in receipt.conflicts:
        lines.append(f"it may not go together with memory {one.other} ({one.kind})")
    if receipt.similar:
        lines.append(f"similar memories: {', '.join(receipt.similar)}")
    kept = {
        "id": receipt.id,
        "version": receipt.version,
        "status": receipt.status.value,
        "type": receipt.type.value,
        "duplicate": receipt.duplicate,
        "similar": list(receipt.similar),
        "conflicts": [one.other for one in receipt.conflicts],
    }
    return "\n".join(lines), kept
