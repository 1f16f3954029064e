"""`MemantoMemory`: an agent's memory as the memory of a crew, an agent or a flow."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar

from crewai.events.base_events import BaseEvent
from crewai.events.event_bus import crewai_event_bus
from crewai.events.types import memory_events as events
from crewai.memory.types import MemoryMatch, MemoryRecord
from crewai.memory.unified_memory import Memory
from crewai.memory.utils import join_scope_paths
from pydantic import Field, PrivateAttr

from crewai_memanto.distil import distil
from crewai_memanto.listener_work import said
from crewai_memanto.memory_work import HandleRecords, Question, Work
from crewai_memanto.origin import origin
from crewai_memanto.records import Kept, Style, record_of
from crewai_memanto.scopes import listed, scope_of
from memanto import Memanto, MemoryType, Provenance
from memanto.adapter import Failsafe, as_sync
from memanto.errors import InvalidInputError

if TYPE_CHECKING:
    from memanto import AsyncMemanto

_T = TypeVar("_T")
_NAME: Final = "unified_memory"
"""What CrewAI's events call the memory they speak of."""
_NO_EMBEDDER: Final = {"provider": "memanto"}
_NO_MODEL: Final = "memanto/none"
"""What CrewAI does not know: a plain `Memory` that it makes of the fields asks nobody and stores nothing elsewhere."""


class MemantoMemory(Memory):
    """Memory of a crew in a memanto store: `Crew(…, memory=MemantoMemory(Memanto("my-crew")))`.

    Before each task CrewAI recalls by the task's words, and memory answers by words and meaning; the model sees the
    memories fenced, each with its type, date and provenance. After each task a few sentences of the output are kept as
    findings. None of it asks a language model or needs a key. The memories are those that every other surface of the
    agent reads and writes.

    **What is stored.** A text is one memory; said again in the same scope it stays one. Crew, task, agent and run are
    kept with it. What a model made is a claim, so its provenance is `inferred` and its type mostly `learning`: what its
    words surely say, but never a fact, a goal or an instruction (see `memanto.adapter.claim_type`). It is recalled as
    inferred, takes no trusted memory's place, and stays out of briefs until somebody verifies it.

    **Scopes.** The root is the agent's whole memory, also what other surfaces wrote. A scope below it is a path that
    the store filters by before ranking: `/a` holds `/a` and `/a/x`, not `/ab`. What another surface gives the tag `/a`
    is in it, too. Categories are tags. A private record is seen by its own source only. `list_records`, `info`,
    `forget` and `reset` are about what came through CrewAI.

    **When memory fails,** the crew goes on: `recall` is empty, `remember` returns `None`, the log says so once, and
    `failures` counts. `strict` raises instead. What a program asks for itself (`forget`, `update`, `list_records`, …)
    always raises.

    Writes are done when a call returns. May be used from several threads, and by several crews at once. Copies share
    the store. CrewAI's checkpoints and `Agent.copy` keep the fields of a memory and no store: give a restored crew its
    memory again, and pass it to the crew rather than to an agent where `kickoff_for_each` is used.

    Attributes:
        memory: A `Memanto` or `AsyncMemanto`, which stays its owner's to close, or an agent id in the configured store,
            which `close` lets go of.
        type: Of everything stored; by `claim_type` when missing.
        provenance: Of everything stored.
        source: Who writes, 1..64 of `[A-Za-z0-9._-]`.
        max_findings: Findings kept of one output at most.
        rerank: Whether a deep recall asks the cross-encoder (about 0.3 s).
        strict: Raise when memory fails.
        root_scope: Scope in which all others lie.
        read_only: Store nothing.
        default_importance: Of what states none, 0..1.
        importance_weight: How much importance counts: a record of importance 1 gets that much more of its score, one of
            0 that much less.
    """

    memory: Any = Field(exclude=True, repr=False)
    type: MemoryType | None = Field(default=None, exclude=True)
    provenance: Provenance = Field(default=Provenance.INFERRED, exclude=True)
    source: str = Field(default="crewai", exclude=True)
    max_findings: int = Field(default=8, ge=0, le=100, exclude=True)
    rerank: bool = Field(default=False, exclude=True)
    strict: bool = Field(default=False, exclude=True)
    embedder: Any = Field(default_factory=lambda: dict(_NO_EMBEDDER), repr=False)
    llm: Any = Field(default=_NO_MODEL, repr=False)

    _memanto: Memanto = PrivateAttr()
    _failsafe: Failsafe = PrivateAttr()
    _work: Work = PrivateAttr()

    def __init__(self, memory: Memanto | AsyncMemanto | str, **fields: Any) -> None:
        unknown = sorted(fields.keys() - type(self).model_fields.keys())
        if unknown:
            raise InvalidInputError(
                f"MemantoMemory has no {', '.join(unknown)}",
                hint=f"it takes {', '.join(sorted(type(self).model_fields))}",
            )
        super().__init__(**{"memory": memory, **fields})

    def model_post_init(self, context: Any, /) -> None:
        """Check what was given."""
        if (self.embedder, self.llm) != (_NO_EMBEDDER, _NO_MODEL):
            raise InvalidInputError(
                "MemantoMemory takes no embedder and no llm: it asks no language model",
                hint='an embedder is the memory\'s own: Memanto("my-crew", embedder=…)',
            )
        named = isinstance(self.memory, str)
        self._memanto = as_sync(Memanto(self.memory) if named else self.memory)
        self._failsafe = Failsafe("MemantoMemory", strict=self.strict)
        style = Style(type=self.type, provenance=self.provenance, source=self.source)
        self._work = Work(self._memanto, style, self._failsafe)
        # The base class works with these, and opens no store of its own. Checkpoints hold the field.
        records: Any = HandleRecords(self._memanto, owned=named)
        field, self.storage = self.storage, records
        super().model_post_init(context)
        self.storage = field

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return a copy on the same store: a store is not copied."""
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what can be opened again.

        Raises:
            InvalidInputError: It was given an open memory.
        """
        if not isinstance(self.memory, str):
            raise InvalidInputError(
                "a memory with an open store cannot be pickled", hint='name the agent: MemantoMemory("my-crew")'
            )
        fields = {name: getattr(self, name) for name in self.model_fields_set if name != "memory"}
        return functools.partial(type(self), self.memory, **fields), ()

    @property
    def memanto(self) -> Memanto:
        """The memory underneath."""
        return self._memanto

    @property
    def failures(self) -> int:
        """How many calls memory has failed."""
        return self._failsafe.failures

    # -- writing ------------------------------------------------------------------------------------
    def remember(  # noqa: PLR0917 - CrewAI's signature
        self,
        content: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> MemoryRecord | None:
        """Store one text and return its record, or `None` when nothing was stored.

        Args:
            content: What to remember. More than 10,000 characters are split.
            scope: Below `root_scope`; the root when missing.
            categories: At most 11.
            metadata: Plain values.
            importance: 0..1.
            source: Whose it is.
            private: Only that source may see it.
            agent_role: Who remembers.
            root_scope: In place of the memory's own.
        """
        if self.read_only:
            return None
        kept = self._kept(
            self._path(scope, root_scope),
            agent_role,
            importance,
            categories=listed("categories", categories),
            metadata=metadata or {},
            source=source,
            private=private,
        )
        stored = self._store([content], kept, told=content, alone=True)
        return stored[0] if stored else None

    def remember_many(  # noqa: PLR0917 - CrewAI's signature
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> list[MemoryRecord]:
        """Store several texts with the same arguments as `remember`, and return the records of those stored.

        A text that cannot be kept does not keep the others from it.
        """
        if self.read_only or not listed("contents", contents):
            return []
        kept = self._kept(
            self._path(scope, root_scope),
            agent_role,
            importance,
            categories=listed("categories", categories),
            metadata=metadata or {},
            source=source,
            private=private,
        )
        return self._store(contents, kept, told=f"{len(contents)} memories")

    def extract_memories(self, content: str) -> list[str]:
        """Return the findings of an output: whole sentences, at most `max_findings`, chosen without a model."""
        return list(distil(content, self.max_findings))

    def update(  # noqa: PLR0917 - CrewAI's signature
        self,
        record_id: str,
        content: str | None = None,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
    ) -> MemoryRecord:
        """Append a version with other contents, and return its record.

        Raises:
            NotFoundError: There is no such record. (A `LookupError`.)
            InvalidInputError: It did not come through CrewAI.
        """
        if self.read_only:
            return record_of(self._memanto.show(record_id), own_id=False)
        return self._work.update(
            record_id,
            content,
            scope=None if scope is None else self._path(scope, None),
            categories=None if categories is None else listed("categories", categories),
            metadata=metadata,
            importance=importance,
        )

    # -- reading ------------------------------------------------------------------------------------
    def recall(  # noqa: PLR0917 - CrewAI's signature
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """Return what memory has on a query, best first; it asks no language model at any depth.

        Args:
            query: Words and meanings count; the first 10,000 characters.
            scope: Below `root_scope`: there and below.
            categories: Any of these.
            limit: At most 100.
            depth: `"deep"` asks the cross-encoder where `rerank` is set; else both are the same.
            source: Who asks: private records of this source are shown.
            include_private: Show those of all sources.
        """
        question = Question(
            query=query,
            scope=self._path(scope, None),
            categories=listed("categories", categories),
            limit=limit,
            seen_by=source,
            everybody=include_private,
            rerank=self.rerank and depth == "deep",
            importance_weight=self.importance_weight,
        )

        def act() -> list[MemoryMatch]:
            begun = time.perf_counter()
            matches = self._work.found(question)
            self._emit(
                events.MemoryQueryCompletedEvent(
                    query=query,
                    results=matches,
                    limit=limit,
                    query_time_ms=(time.perf_counter() - begun) * 1e3,
                    source_type=_NAME,
                )
            )
            return matches

        def failed(error: str) -> BaseEvent:
            return events.MemoryQueryFailedEvent(query=query, limit=limit, error=error, source_type=_NAME)

        nothing: list[MemoryMatch] = []
        self._emit(events.MemoryQueryStartedEvent(query=query, limit=limit, source_type=_NAME))
        return self._watched("recall", act, failed, nothing)

    async def aextract_memories(self, content: str) -> list[str]:
        """Do as `extract_memories` does."""
        return self.extract_memories(content)

    async def aremember(self, *args: Any, **options: Any) -> MemoryRecord | None:
        """Do as `remember` does, in a thread."""
        return await asyncio.to_thread(self.remember, *args, **options)

    async def aremember_many(self, *args: Any, **options: Any) -> list[MemoryRecord]:
        """Do as `remember_many` does, in a thread."""
        return await asyncio.to_thread(self.remember_many, *args, **options)

    async def arecall(self, *args: Any, **options: Any) -> list[MemoryMatch]:
        """Do as `recall` does, in a thread."""
        return await asyncio.to_thread(self.recall, *args, **options)

    # -- parts --------------------------------------------------------------------------------------
    def _path(self, scope: str | None, root: str | None) -> str:
        """Return a scope below the root scope, in normal form."""
        return scope_of(join_scope_paths(self.root_scope if root is None else root, scope))

    def _kept(self, scope: str, agent: str | None, importance: float | None, **rest: Any) -> Kept:
        """Return what is kept beside a text, with where the caller is."""
        where = origin()
        return Kept(
            scope=scope,
            importance=self.default_importance if importance is None else importance,
            origin=replace(where, agent=agent or where.agent),
            **rest,
        )

    def _store(self, contents: Sequence[str], kept: Kept, told: str, *, alone: bool = False) -> list[MemoryRecord]:
        """Store texts, tell CrewAI's listeners, and return the records."""

        def act() -> list[MemoryRecord]:
            begun = time.perf_counter()
            records = self._work.store(contents, kept, usual=self.default_importance, alone=alone)
            self._emit(
                events.MemorySaveCompletedEvent(
                    value=told,
                    metadata=dict(kept.metadata),
                    agent_role=kept.origin.agent,
                    save_time_ms=(time.perf_counter() - begun) * 1e3,
                    source_type=_NAME,
                )
            )
            return records

        def failed(error: str) -> BaseEvent:
            return events.MemorySaveFailedEvent(
                value=told, metadata=dict(kept.metadata), error=error, source_type=_NAME
            )

        nothing: list[MemoryRecord] = []
        self._emit(events.MemorySaveStartedEvent(value=told, metadata=dict(kept.metadata), source_type=_NAME))
        return self._watched("remember", act, failed, nothing)

    def _watched(self, doing: str, act: Callable[[], _T], failed: Callable[[str], BaseEvent], otherwise: _T) -> _T:
        """Return what an act returns; one that fails is told, and stood in for unless the caller made the mistake."""
        try:
            return act()
        except Exception as error:  # a fault of memory, whatever it is, must not fail the crew
            self._emit(failed(said(error)))
            if self.strict or isinstance(error, InvalidInputError):
                raise
            self._failsafe.note(doing, error)
            return otherwise

    def _emit(self, event: BaseEvent) -> None:
        # The bus refuses what comes after it was shut down, as a process ends.
        with suppress(RuntimeError):
            crewai_event_bus.emit(self, event)
