"""A pool of texts inside the product, and what its searches return, as places in the pool."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from tests.benchmarks.models import RememberingEmbedder, RememberingReranker

from memanto import Draft, InMemory, Memanto
from memanto.models import MAX_BATCH, MemoryType, Recollection

if TYPE_CHECKING:
    from memanto.engine.port import Candidate, Engine

DEPTH = 50
"""Results asked for where more than the first ten count; within what each candidate list holds by itself."""


@dataclass(frozen=True, slots=True)
class Found:
    """What one search returned.

    Attributes:
        places: Distinct places in the pool, best first.
        hits: The recollections.
        seconds: Wall time, with the model's time for whatever was answered from memory.
        tokens: Of the first ten texts, four bytes of UTF-8 each.
    """

    places: tuple[int, ...]
    hits: tuple[Recollection, ...]
    seconds: float
    tokens: int


class FilledStore:
    """A throw-away store that holds a pool's texts, one memory each, searched through the public API.

    Every text is stored as a fact, a type that does not age: the sets say nothing of how old a statement may
    be, so ages must not decide.

    Args:
        texts: The pool.
        embedder: Of the texts, or `None` for words alone.
        reranker: For searches with `rerank`.
        sessions: The session of each text, stored as the run that wrote it, as an agent would.
    """

    def __init__(
        self,
        texts: Sequence[str],
        embedder: RememberingEmbedder | None,
        reranker: RememberingReranker | None = None,
        sessions: Sequence[str] | None = None,
    ) -> None:
        self._models = [model for model in (embedder, reranker) if model is not None]
        self._store = SpyStore()
        self.memory = Memanto("bench", store=self._store, embedder=embedder, reranker=reranker)
        self._texts = texts
        self._runs: Sequence[str | None] = sessions or [None] * len(texts)
        self._place: dict[str, int] = {}
        self.points: dict[UUID, int] = {}

    def __enter__(self) -> Self:
        self.memory.open()
        for start in range(0, len(self._texts), MAX_BATCH):
            told = zip(self._texts[start : start + MAX_BATCH], self._runs[start : start + MAX_BATCH], strict=True)
            drafts = [Draft(content=text, type=MemoryType.FACT, run_id=run or None) for text, run in told]
            for place, receipt in enumerate(self.memory.remember_many(drafts), start):
                for memory_id in (receipt.id, *receipt.part_ids):
                    # The same text again is the same memory: the first place stands for all.
                    self._place.setdefault(memory_id, place)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.memory.close()

    def canonical(self) -> dict[int, int]:
        """Return, for each place whose text was said before, the place that stands for it."""
        first: dict[str, int] = {}
        return {place: first.setdefault(text, place) for place, text in enumerate(self._texts)}

    def search(self, query: str, *, limit: int = 10, rerank: bool = False) -> Found:
        """Recall, and count what the models would have taken had they not remembered."""
        for model in self._models:
            model.owed = 0.0
        begun = time.perf_counter()
        hits = self.memory.recall(query, limit=limit, rerank=rerank)
        seconds = time.perf_counter() - begun + sum(model.owed for model in self._models)
        return Found(self.places(hits), tuple(hits), seconds, sum(tokens(hit.memory.content) for hit in hits[:10]))

    def places(self, hits: Sequence[Recollection]) -> tuple[int, ...]:
        """Return the distinct places of these hits; a part of a long text stands for the whole."""
        return tuple(dict.fromkeys(self._place[hit.memory.id] for hit in hits))

    def lists(self, query: str) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
        """Return the candidates by meaning and by words with their scores, as the ranking gets them."""
        self._store.lists.clear()
        self.memory.recall(query, limit=1)
        return self._listed("dense"), self._listed("lexical")

    def _listed(self, kind: str) -> list[tuple[int, float]]:
        return [(self._place_of(candidate), candidate.score) for candidate in self._store.lists.get(kind, ())]

    def _place_of(self, candidate: Candidate) -> int:
        assert self._store.engine is not None
        if candidate.id not in self.points:
            payload = candidate.payload or self._store.engine.get("bench", [candidate.id])[candidate.id].payload
            self.points[candidate.id] = self._place[payload["memory_id"]]
        return self.points[candidate.id]


class SpyStore:
    """A throw-away store whose engine notes the candidates that each search returned."""

    def __init__(self) -> None:
        self._inner = InMemory()
        self.engine: Engine | None = None
        self.lists: dict[str, list[Candidate]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect(self, clock: Callable[[], datetime]) -> Engine:
        self.engine = self._inner.connect(clock)
        spied: Any = _Spy(self.engine, self.lists)
        engine: Engine = spied
        return engine

    def release(self) -> None:
        self._inner.release()


class _Spy:
    """Passes every call on to an engine and keeps the newest list of each search."""

    def __init__(self, engine: Engine, lists: dict[str, list[Candidate]]) -> None:
        self._engine = engine
        self._lists = lists

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def search_dense(self, *arguments: Any, **options: Any) -> list[Candidate]:
        self._lists["dense"] = self._engine.search_dense(*arguments, **options)
        return self._lists["dense"]

    def search_lexical(self, *arguments: Any, **options: Any) -> list[Candidate]:
        self._lists["lexical"] = self._engine.search_lexical(*arguments, **options)
        return self._lists["lexical"]


def tokens(text: str) -> int:
    """Return about how many tokens a text takes, as the product counts against a budget."""
    return -(-len(text.encode("utf-8")) // 4)
