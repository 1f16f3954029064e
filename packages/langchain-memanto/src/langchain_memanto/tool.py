"""What the tools share: a memory, two ways to run, and what a model is told when something goes wrong."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import Any, ClassVar, Literal

from langchain_core.tools import BaseTool, ToolException
from pydantic import Field, PrivateAttr

from memanto import Memanto
from memanto.adapter import Failsafe, as_sync
from memanto.errors import InvalidInputError, NotFoundError
from memanto.toolkit import VERBS, Author, Told


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

    verb: ClassVar[str]
    """Which of `memanto.toolkit.VERBS` it is."""

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

    def _act(self, *_: Any, **arguments: Any) -> Told:
        """Do what the tool is for."""
        return VERBS[self.verb].act(self._memory, Author(source=self.source), **arguments)

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
