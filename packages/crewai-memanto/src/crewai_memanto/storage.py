"""`MemantoStorage`: a storage for CrewAI's own memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
from crewai.memory.types import MemoryRecord

from crewai_memanto.origin import origin
from crewai_memanto.record_store import RecordStore, has_metadata
from crewai_memanto.records import Kept, Style, kept_of, zoned
from crewai_memanto.scopes import category_tag, scope_of, scope_tag, slot_of, tags_of
from crewai_memanto.vectors import GIVEN, HandedVectors
from memanto import Memanto, Memory, Provenance, Status
from memanto.errors import ConfigurationError, EmbedderMismatchError, InvalidInputError, NotFoundError
from memanto.loop.fence import whole
from memanto.models import MAX_CONTENT, MAX_LIMIT
from memanto.times import utc_now

if TYPE_CHECKING:
    from memanto import Embedded, Embedder, InMemory, Server

_WORDLESS: Final = "?"
"""A query in which no word counts, so that the vector alone decides."""
_POOL: Final = 50
"""Memories whose likeness is always compared; a search by recall orders as many by more than likeness."""


class VectorDimensionError(EmbedderMismatchError, EmbeddingDimensionMismatchError):
    """A vector has another dimension than those that are stored.

    Attributes:
        stored_dim: Of those that are stored.
        new_dim: Of this one.
    """

    def __init__(self, stored_dim: int, new_dim: int, agent: str) -> None:
        EmbeddingDimensionMismatchError.__init__(self, stored_dim, new_dim)
        self.message = f"agent {agent!r} holds vectors of {stored_dim} dimensions, not of {new_dim}"
        self.hint = "give CrewAI's memory the embedder that it had, or the storage another agent"


class MemantoStorage(RecordStore):
    """Keeps the records of CrewAI's own `Memory` as typed, versioned memories, found by the vectors CrewAI makes.

    `Memory(storage=MemantoStorage("my-crew"), embedder=…)`. CrewAI hands its storages vectors and no query, so a search
    compares vectors alone; `MemantoMemory` also gets the words. With `embedder` the vectors are memanto's own, so the
    agent is shared in full with every other surface, and nothing is called on the network:
    `Memory(storage=storage, embedder=storage.embedder)`. Without it the agent belongs to this storage: others find its
    records by their words (`words_only`).

    A record is one memory: updating appends a version, deleting erases. Its type is told from its text; what a model
    made of the text is a claim, so the provenance is `inferred`. Whoever made the storage closes it, or CrewAI's memory
    does with its own `close`; the next call opens it again. All methods may be called from any thread.

    Args:
        agent: The agent id.
        store: As for `Memanto`.
        embedder: Makes the vectors: an `Embedder`, `"default"` for the configured one, `None` where CrewAI's own does.
        provenance: Of all records.
        source: Who writes, 1..64 of `[A-Za-z0-9._-]`.
        clock: Tells the time (aware); for tests.
    """

    def __init__(
        self,
        agent: str,
        *,
        store: Embedded | InMemory | Server | None = None,
        embedder: Embedder | Literal["default"] | None = None,
        provenance: Provenance | str = Provenance.INFERRED,
        source: str = "crewai",
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        if isinstance(embedder, str) and embedder != "default":
            raise InvalidInputError(f"embedder {embedder!r} is not known", hint='"default", an Embedder, or none')
        self._style = Style(provenance=_provenance(provenance), source=source)
        self._vectors = HandedVectors(None if embedder is None else lambda: _chosen(embedder))
        memory = Memanto(
            agent, store=store, embedder=self._vectors, reranker=None, llm=None, source=source, clock=clock
        )
        super().__init__(memory, own_id=True)

    @property
    def memory(self) -> Memanto:
        """The memory underneath."""
        return self._memory

    @property
    def embedder(self) -> HandedVectors:
        """What CrewAI's memory is to embed with, where the storage was given an embedder."""
        return self._vectors

    # -- writing ------------------------------------------------------------------------------------
    def save(self, records: Sequence[MemoryRecord]) -> None:
        """Store records; one whose id is known already gets a new version.

        Raises:
            InvalidInputError: A record has no vector, or more than 10,000 characters. Those before it are stored.
            VectorDimensionError: A vector is of another dimension than those that are stored.
        """
        for record in records:
            self._save(record)

    def _save(self, record: MemoryRecord) -> None:
        if not record.embedding:
            raise InvalidInputError(f"record {record.id!r} has no vector", hint="save it through CrewAI's Memory")
        if len(record.content) > MAX_CONTENT:
            raise InvalidInputError(
                f"record {record.id!r} has {len(record.content):,} characters; at most {MAX_CONTENT:,} are kept",
                hint="store what is worth remembering of it",
            )
        draft = _kept(record).draft(record.content, self._style, key=slot_of("record", record.id))
        with self._handing(record.embedding):
            receipt = self._memory.remember(draft)
        if receipt.duplicate:  # the same text, perhaps under another scope or with other metadata
            self._memory.edit(
                receipt.id,
                reason="saved again through CrewAI",
                tags=draft.tags,
                metadata=draft.metadata,
                type=draft.type,
            )

    def update(self, record: MemoryRecord) -> None:
        """Append a version of the record with this id, or store it where there is none."""
        known = self._find(record.id)
        if known is None:
            self._save(record)
            return
        before = kept_of(known)
        kept = _kept(record, before=before)
        changes: dict[str, Any] = {"tags": tags_of(kept.scope, kept.categories), "metadata": kept.packed()}
        if whole(record.content) == known.content:
            self._memory.edit(known.id, reason="updated through CrewAI", **changes)
            return
        if not record.embedding:
            raise InvalidInputError(f"record {record.id!r} has no vector", hint="update it through CrewAI's Memory")
        draft = kept.draft(record.content, self._style, key=known.key)
        changes |= {"content": draft.content, "type": draft.type, "provenance": draft.provenance}
        with self._handing(record.embedding):
            self._memory.edit(known.id, reason="updated through CrewAI", **changes)

    async def asave(self, records: Sequence[MemoryRecord]) -> None:
        """Do as `save` does, in a thread."""
        await asyncio.to_thread(self.save, records)

    # -- reading ------------------------------------------------------------------------------------
    def search(  # noqa: PLR0917 - CrewAI's signature
        self,
        query_embedding: Sequence[float],
        scope_prefix: str | None = None,
        categories: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Return the records most like a vector with their cosines, best first, equal ones latest first.

        Scope and categories are applied before ranking; metadata is applied to the best 100.

        Args:
            query_embedding: Of the dimension that is stored.
            scope_prefix: A scope and those below it.
            categories: Any of these.
            metadata_filter: All of these names with these values.
            limit: At most 100 are returned.
            min_score: Cosine from which a record counts, above 0; at 0 all count.

        Raises:
            VectorDimensionError: The vector is of another dimension than those that are stored.
        """
        if limit < 1:
            return []
        prefix = scope_of(scope_prefix)
        with self._handing(query_embedding):
            try:
                hits = self._memory.recall(
                    _WORDLESS,
                    tags=[scope_tag(prefix)],
                    any_tags=[category_tag(one) for one in categories or ()],
                    limit=MAX_LIMIT if metadata_filter else min(MAX_LIMIT, max(limit, _POOL)),
                )
            except NotFoundError:  # nothing was ever written
                return []
        found: list[tuple[Memory, float]] = []
        for hit in hits:
            score, kept = hit.why.dense_score, kept_of(hit.memory)
            if score is None or (min_score > 0 and score < min_score) or not self._is_mine(hit.memory):
                continue
            if kept.is_in(prefix, categories or ()) and has_metadata(kept.metadata, metadata_filter):
                found.append((hit.memory, score))
        found.sort(key=lambda pair: (pair[1], pair[0].recorded_at), reverse=True)
        return [(self._record(memory), score) for memory, score in found[:limit]]

    async def asearch(  # noqa: PLR0917 - CrewAI's signature
        self,
        query_embedding: Sequence[float],
        scope_prefix: str | None = None,
        categories: Sequence[str] | None = None,
        metadata_filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Do as `search` does, in a thread."""
        return await asyncio.to_thread(
            self.search, query_embedding, scope_prefix, categories, metadata_filter, limit, min_score
        )

    def close(self) -> None:
        """Let go of the store; the next call opens it again."""
        self._memory.close()

    # -- parts --------------------------------------------------------------------------------------
    def _find(self, record_id: str) -> Memory | None:
        try:
            [*found] = self._memory.recall(key=slot_of("record", record_id), status=_STANDING, limit=1)
        except NotFoundError:  # nothing was ever written
            return None
        return found[0].memory if found else None

    @contextmanager
    def _handing(self, vector: Sequence[float]) -> Iterator[None]:
        try:
            with self._vectors.handing(vector):
                yield
        except EmbedderMismatchError as error:
            stored = self._memory.status().embedder or ""
            size = stored.removeprefix(GIVEN)
            if not size.isdigit():
                raise
            raise VectorDimensionError(int(size), len(vector), self._memory.agent) from error


_STANDING: Final = (Status.ACTIVE, Status.QUARANTINED, Status.EXPIRED, Status.SUPERSEDED)


def _kept(record: MemoryRecord, *, before: Kept | None = None) -> Kept:
    """Return what is kept of a record beside its text; `before` is what is stored of it."""
    return Kept(
        scope=scope_of(record.scope),
        categories=tuple(record.categories),
        importance=record.importance,
        source=record.source,
        private=record.private,
        metadata=record.metadata,
        record=record.id,
        created_at=zoned(record.created_at),
        accessed_at=zoned(record.last_accessed),
        origin=origin() if before is None else before.origin,
    )


def _provenance(value: Provenance | str) -> Provenance:
    try:
        return Provenance(value)
    except ValueError as error:
        known = ", ".join(one.value for one in Provenance)
        raise InvalidInputError(f"provenance {value!r} is not known", hint=f"one of {known}") from error


def _chosen(embedder: Embedder | str) -> Embedder:
    """Return the embedder itself, or the configured one.

    Raises:
        ConfigurationError: None is configured.
    """
    if not isinstance(embedder, str):
        return embedder
    from memanto.composition import configured_embedder

    choice = configured_embedder()
    if choice.model is None:
        raise ConfigurationError(f"there is no embedder: {choice.reason}", hint="install the offline model")
    return choice.model


__all__ = ["MemantoStorage", "VectorDimensionError"]
