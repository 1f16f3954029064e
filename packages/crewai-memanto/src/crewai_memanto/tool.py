"""What the tools share: a memory, two ways to run, and what a model is told when something goes wrong."""

from __future__ import annotations

import asyncio
import functools
from typing import Any, ClassVar, Final

from crewai.tools import BaseTool
from crewai.tools.memory_tools import RecallMemoryTool, RememberTool
from crewai.tools.structured_tool import CrewStructuredTool
from crewai.tools.tool_failure import ToolFailure, ToolFailurePolicy
from pydantic import BaseModel, Field, PrivateAttr

from crewai_memanto.listener_work import said
from crewai_memanto.origin import checked_source, origin
from memanto import Agent, Memanto
from memanto.adapter import Failsafe, as_sync
from memanto.errors import InvalidInputError, MemantoError, NotFoundError
from memanto.toolkit import VERBS, Author, Verb

OURS: Final = "memanto"
"""Marks a failure of a tool of memory, so that nothing is learned from it about the crew's own work."""


def never(_arguments: Any = None, _result: Any = None) -> bool:
    """Say that a result is not to be kept: memory changes, and every write counts."""
    return False


class MemoryTool(BaseTool):
    """A verb of memory as a tool.

    A mistake of the model (an unknown id, a value out of range) comes back as a `ToolFailure` that it can act on. When
    memory itself fails, the model is told so, the failure is logged once and counted, and the crew goes on; `strict`
    ends the crew's work instead. Recalled text stands between marks that it cannot forge. Results are never cached.

    Attributes:
        memory: A `Memanto` or an `AsyncMemanto`; who opened it closes it. It is no part of a checkpoint: a tool that
            comes back from one takes it from `bind`.
        source: Who writes, 1..64 of `[A-Za-z0-9._-]`.
        strict: End the crew's work when memory fails. A model's mistake is then told as plain text.
    """

    memory: Any = Field(default=None, exclude=True, repr=False)
    source: str = "crewai"
    strict: bool = False
    cache_function: Any = Field(default=never, exclude=True)

    verb: ClassVar[str]
    """Which of `memanto.toolkit.VERBS` it is."""

    _memory: Memanto | None = PrivateAttr(default=None)
    _failsafe: Failsafe = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Check the memory that was given, and take the arguments from the verb, also where a checkpoint tells them."""
        super().model_post_init(context)
        checked_source(self.source)
        self.args_schema = self._arguments()
        self.cache_function = never
        self._failsafe = Failsafe(f"the tool {self.name!r}", strict=self.strict)
        if self.strict and self.tool_failure_policy is None:
            self.tool_failure_policy = ToolFailurePolicy.RAISE
        if self.memory is not None:
            self.bind(self.memory)

    def bind(self, memory: object) -> None:
        """Use a memory from now on, for a tool that comes back from a checkpoint.

        Raises:
            InvalidInputError: It is no memory.
        """
        self._memory = as_sync(memory)
        self.memory = memory

    @property
    def failures(self) -> int:
        """How many calls memory has failed."""
        return self._failsafe.failures

    def to_structured_tool(self) -> CrewStructuredTool:
        """Return the tool as agents hold it."""
        held = super().to_structured_tool()
        ours = _Held(**{name: getattr(held, name) for name in CrewStructuredTool.model_fields})
        ours._original_tool = self  # noqa: SLF001 - as the base class does
        return ours

    @property
    def _verb(self) -> Verb:
        return VERBS[self.verb]

    def _arguments(self) -> type[BaseModel]:
        return self._verb.arguments

    def _run(self, *plain: Any, **arguments: Any) -> Any:
        """Do what the verb does; returns what the model reads, or a `ToolFailure`.

        A plain text that it is called with is its first argument.
        """
        if self._memory is None:
            return self._mistake(_unbound())
        given = {**dict(zip(self.args_schema.model_fields, plain, strict=False)), **arguments}
        try:
            return self._verb.act(self._memory, self._author(), **given)[0]
        except NotFoundError as error:
            return self._mistake(error) if self._is_written(self._memory) else "memory is empty so far"
        except InvalidInputError as error:
            return self._mistake(error)
        except Exception as error:  # a fault of memory, whatever it is, must not fail the crew
            if self.strict:
                raise
            self._failsafe.note("do its work", error)
            return _failure(f"memory failed; go on without it. {said(error)}", error)

    async def _arun(self, *plain: Any, **arguments: Any) -> Any:
        return await asyncio.to_thread(functools.partial(self._run, *plain, **arguments))

    def _author(self) -> Author:
        where = origin()
        return Author(source=self.source, run_id=where.run_id, metadata=where.metadata())

    def _is_written(self, memory: Memanto) -> bool:
        known: list[Agent] = self._failsafe.call("look for its agent", memory.agents, otherwise=[])
        return any(one.id == memory.agent for one in known)

    def _mistake(self, error: MemantoError) -> ToolFailure | str:
        """Return an error that the model can act on."""
        return str(error) if self.strict else _failure(str(error), error)


class _Held(CrewStructuredTool):
    """A tool as agents hold it, which knows in an async crew, too, for whom it works."""

    async def ainvoke(self, input: str | dict[str, Any], config: dict[str, Any] | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Invoke it in a thread that has the caller's context; the framework's own has none."""
        return await asyncio.to_thread(self.invoke, input, config, **kwargs)


def is_of_memory(tool: object) -> bool:
    """Return whether a tool is one of memory itself, ours or CrewAI's."""
    return isinstance(tool, MemoryTool | RecallMemoryTool | RememberTool)


def is_ours(failure: ToolFailure) -> bool:
    """Return whether a failure is one of a tool of memory."""
    return bool(failure.details.get(OURS))


def _failure(message: str, error: Exception) -> ToolFailure:
    known = error if isinstance(error, MemantoError) else None
    return ToolFailure(
        message=message,
        code=type(error).__name__ if known is None else known.code,
        retryable=known is not None and known.retryable,
        details={OURS: True},
    )


def _unbound() -> InvalidInputError:
    return InvalidInputError(
        "this tool has no memory", hint="a checkpoint does not hold it; call bind(memory) on the tool"
    )
