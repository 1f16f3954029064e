"""A sub-agent's memory, apart: it may write what it likes, and one conclusion comes back.

The scratch is a throw-away store of its own. Nothing of it is visible in the parent, and nothing stays: when the block
ends, the conclusion becomes one `learning` of the parent's; when it ends in an exception, nothing does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Protocol, Self

from memanto.errors import InvalidInputError
from memanto.loop.port import Verbs
from memanto.memory.fencing import refuse_fenced
from memanto.memory.recall import tokens
from memanto.models import MemoryType, Provenance, Receipt

MAX_CONCLUSION: Final = 2_000
"""Tokens that come back from a sub-agent at most."""


class ScratchMemory(Verbs, Protocol):
    """A memory that opens its store when it is first used, and can be closed."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Conclusion:
    text: str
    confidence: float | None
    provenance: Provenance | str | None


class Scratch:
    """What a sub-agent works with; made by `Memanto.isolate`.

    Attributes:
        task: What the sub-agent was asked to do.
        memory: Its memory, a complete one; gone when the block ends.
        receipt: Of the learning in the parent, once the block has ended; `None` where nothing was concluded.
    """

    def __init__(
        self, parent: Verbs, task: str, make: Callable[[], ScratchMemory], *, run_id: str | None, source: str | None
    ) -> None:
        if not task.strip():
            raise InvalidInputError("a sub-agent needs a task", hint="say in a few words what it is to find out")
        self.task = task
        self.receipt: Receipt | None = None
        self._parent = parent
        self._make = make
        self._memory: ScratchMemory | None = None
        self._conclusion: _Conclusion | None = None
        self._run_id = run_id
        self._source = source

    @property
    def memory(self) -> ScratchMemory:
        """The sub-agent's memory.

        Raises:
            InvalidInputError: The block has not begun or is over.
        """
        if self._memory is None:
            raise InvalidInputError("the scratch is closed", hint="use it inside its `with` block")
        return self._memory

    def __enter__(self) -> Self:
        self._memory = self._make()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        scratch, self._memory = self._memory, None
        if scratch is not None:
            scratch.close()
        if kind is None and self._conclusion is not None:
            self.receipt = self._carry_back(self._conclusion)

    def conclude(
        self, text: str, *, confidence: float | None = None, provenance: Provenance | str | None = None
    ) -> None:
        """Say what comes back; it is stored when the block ends without an exception.

        Raises:
            InvalidInputError: It is blank, longer than 2,000 tokens, or the second one.
        """
        self.memory  # noqa: B018 - refuses outside the block
        if self._conclusion is not None:
            raise InvalidInputError("this sub-agent has concluded already", hint="one learning comes back, no more")
        size = tokens(text)
        if size > MAX_CONCLUSION:
            raise InvalidInputError(
                f"the conclusion takes about {size:,} tokens; at most {MAX_CONCLUSION:,} come back",
                hint="distil it, and keep what is long as an artifact in the parent",
            )
        if not text.strip():
            raise InvalidInputError("the conclusion is blank", hint="leave it out where nothing was found")
        refuse_fenced(text)
        self._conclusion = _Conclusion(text, confidence, provenance)

    def _carry_back(self, conclusion: _Conclusion) -> Receipt:
        fields: dict[str, Any] = {"confidence": conclusion.confidence, "provenance": conclusion.provenance}
        return self._parent.remember(
            conclusion.text,
            type=MemoryType.LEARNING,
            run_id=self._run_id,
            source=self._source,
            metadata={"isolated": {"task": self.task[:500]}},
            **fields,
        )
