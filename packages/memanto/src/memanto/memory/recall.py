"""Reading memories: filter, candidates, ranking, and what each result says of itself."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeVar
from uuid import UUID

from memanto.embedding.port import Reranker
from memanto.engine.bm25 import encode_query
from memanto.engine.codec import decode
from memanto.engine.port import Candidate, Point, SparseVector, Vector
from memanto.errors import InvalidInputError
from memanto.filters import NumberRange, RecallFilter
from memanto.memory.folding import Folder
from memanto.memory.namespace import Namespace
from memanto.memory.ranking import HALF_LIVES, POOL, Ranked, RankingRule, rank
from memanto.memory.spaces import Space
from memanto.memory.validation import check_limit, check_query
from memanto.memory.versions import VersionLog
from memanto.memory.visibility import ENDING, corpus, value_at, wanted_statuses, where
from memanto.models import Memory, Recollection, Why

BYTES_PER_TOKEN: Final = 4
"""UTF-8 bytes counted as one token against a budget: about right for English, too many for other scripts,
so a budget is kept rather than overrun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One read.

    Attributes:
        query: What to look for, or `None` for the newest first.
        filter: What may be returned.
        limit: 1..100 results.
        min_similarity: Cosine in -1..1 that a result must reach, or `None`.
        budget_tokens: Bound on the results' text, or `None`; results that do not fit are left out.
        reranker: Judges the best candidates, or `None`.
        words_only: Leave meaning out, so that no embedder is needed.
    """

    query: str | None
    filter: RecallFilter
    limit: int
    min_similarity: float | None = None
    budget_tokens: int | None = None
    reranker: Reranker | None = None
    words_only: bool = False


class Reader:
    """Reads one or several namespaces as one.

    Args:
        sources: The namespaces with their vector spaces.
        folder: Puts older statements under the newer ones that update them; `None` shows all.
    """

    def __init__(self, sources: Sequence[tuple[Namespace, Space]], *, folder: Folder | None = None) -> None:
        self._sources = sources
        self._folder = folder

    def recall(self, request: Request, *, now: datetime) -> list[Recollection]:
        """Return the best memories for a query, or the newest ones without a query.

        Everything in the filter is applied by the engine before ranking.

        Raises:
            InvalidInputError: A value is out of its range.
            EmbedderMismatchError: A namespace was built with another embedder.
        """
        check_limit(request.limit)
        if request.filter.as_of is not None and request.filter.as_of >= now:  # one that lies ahead means now
            request = replace(request, filter=replace(request.filter, as_of=None))
        results = self._newest(request, now) if request.query is None else self._best(request, request.query, now)
        return _within_budget(results, request.budget_tokens)

    # -- newest first -------------------------------------------------------------------------------
    def _newest(self, request: Request, now: datetime) -> list[Recollection]:
        memories: list[Memory] = []
        conditions = where(request.filter, now=now).without(NumberRange("part", gte=1))
        for namespace, _ in self._sources:
            log = VersionLog(namespace)
            with namespace.engine.hold(namespace.name):
                limit = request.limit if request.filter.valid_at is None else None
                points = namespace.engine.scan(namespace.name, conditions, order_by="recorded_at", limit=limit)
                points = _surviving(points, self._visible(log, points, request.filter))
                memories.extend(decode(namespace.name, point.payload, as_of=request.filter.as_of) for point in points)
        memories.sort(key=lambda memory: (memory.recorded_at, memory.id), reverse=True)
        return [Recollection(memory=memory, score=0.0, why=Why()) for memory in memories[: request.limit]]

    # -- best first ---------------------------------------------------------------------------------
    def _best(self, request: Request, query: str, now: datetime) -> list[Recollection]:
        check_query(query)
        words = encode_query(query)
        metas = [namespace.meta() for namespace, _ in self._sources]
        vectors = [
            None if request.words_only else space.encode_query(query, meta)
            for (_, space), meta in zip(self._sources, metas, strict=True)
        ]
        owners: dict[int, Namespace] = {}  # of candidates, where there are several namespaces
        dense: list[Candidate] = []
        lexical: list[Candidate] = []
        with ExitStack() as held:
            for (namespace, _), vector in zip(self._sources, vectors, strict=True):
                held.enter_context(namespace.engine.hold(namespace.name))
                by_meaning, by_words = self._candidates(namespace, words, vector, request, now)
                dense += by_meaning
                lexical += by_words
                if len(self._sources) > 1:
                    owners.update((candidate.id.int, namespace) for candidate in (*by_meaning, *by_words))
            if len(self._sources) > 1:
                dense, lexical = (sorted(items, key=lambda c: (-c.score, c.id)) for items in (dense, lexical))

            def owner(point_id: UUID) -> Namespace:
                return owners.get(point_id.int, self._sources[0][0])

            rule = RankingRule(
                now=request.filter.as_of or now,
                terms=len(words.indices),
                half_lives=metas[0].half_lives(request.filter.as_of) or HALF_LIVES,
                home=lambda point_id: owner(point_id).name,
                judge=_judge(request.reranker, query),
            )

            def best(limit: int) -> list[Recollection]:
                ranked = rank(dense, lexical, rule, limit, lambda ids: _payloads(ids, owner))
                return [_recollection(item, owner(item.candidate.id).name, request.filter.as_of) for item in ranked]

            results = best(request.limit)
            contested = any(meta.contested for meta in metas)
            if self._folder is None or request.filter.everything or not contested:
                return results
            return self._folder(results, best, limit=request.limit, as_of=request.filter.as_of)

    def _candidates(
        self,
        namespace: Namespace,
        words: SparseVector,
        vector: tuple[str, Vector] | None,
        request: Request,
        now: datetime,
    ) -> tuple[list[Candidate], list[Candidate]]:
        """Return the candidates by meaning and by words; without payload where ranking can fetch it cheaply."""
        engine, name, selected = namespace.engine, namespace.name, request.filter
        bounded = engine.count(name, ENDING) > 0
        conditions, pool = where(selected, now=now, bounded=bounded), max(POOL, request.limit)
        fields: tuple[str, ...] | None = () if engine.atomic_commit and selected.valid_at is None else None
        dense: list[Candidate] = []
        if vector is not None:
            exact = selected.as_of is not None
            dense = engine.search_dense(name, *vector, conditions, pool, exact=exact, fields=fields)
        lexical = engine.search_lexical(name, words, conditions, pool, corpus=corpus(selected), fields=fields)
        if fields is None:
            visible = self._visible(VersionLog(namespace), [*dense, *lexical], selected)
            dense, lexical = _surviving(dense, visible), _surviving(lexical, visible)
        if request.min_similarity is not None:
            dense, lexical = self._similar_enough(namespace, vector, dense, lexical, request.min_similarity)
        return dense, lexical

    @staticmethod
    def _similar_enough(
        namespace: Namespace,
        vector: tuple[str, Vector] | None,
        dense: list[Candidate],
        lexical: list[Candidate],
        least: float,
    ) -> tuple[list[Candidate], list[Candidate]]:
        """Keep what reaches a cosine; candidates found by words alone are compared too."""
        if vector is None:
            raise InvalidInputError(
                f"min_similarity {least!r} needs vectors, and agent {namespace.name!r} has none",
                hint="install the offline model, then run `memanto reindex`",
            )

        name, query = vector
        scores = {candidate.id: candidate.score for candidate in dense}
        unknown = [candidate.id for candidate in lexical if candidate.id not in scores]
        for point_id, point in namespace.engine.get(namespace.name, unknown, vectors=True).items():
            if name in point.dense:
                scores[point_id] = sum(map(operator.mul, point.dense[name], query))
        kept = {point_id for point_id, score in scores.items() if score >= least}
        return [c for c in dense if c.id in kept], [c for c in lexical if c.id in kept]

    @staticmethod
    def _visible(log: VersionLog, found: Sequence[Candidate | Point], selected: RecallFilter) -> set[object]:
        """Return the ids of those versions that neither a successor nor another value of their slot hides."""
        if selected.valid_at is None:
            return log.not_overtaken(found, as_of=selected.as_of)
        slots = {item.payload["memory_id"] for item in found if "key" in item.payload}
        histories = log.histories(sorted(slots), as_of=selected.as_of)
        statuses = wanted_statuses(selected)
        values = {i: value_at(history, selected.valid_at, statuses) for i, history in histories.items()}
        visible: set[object] = set(
            log.not_overtaken([i for i in found if "key" not in i.payload], as_of=selected.as_of)
        )
        for item in found:
            value = values.get(item.payload["memory_id"]) if "key" in item.payload else None
            if value is not None and value.version == item.payload["version"]:
                visible.add(item.id)
        return visible


_Item = TypeVar("_Item", Candidate, Point)


def _surviving(items: Sequence[_Item], visible: set[object]) -> list[_Item]:
    return [item for item in items if item.id in visible]


def _judge(reranker: Reranker | None, query: str) -> Callable[[Sequence[str]], Sequence[float]] | None:
    return None if reranker is None else lambda texts: reranker.score(query, texts)


def _recollection(item: Ranked, namespace: str, as_of: datetime | None) -> Recollection:
    memory = decode(namespace, item.payload, as_of=as_of)
    return Recollection(memory=memory, score=item.score, why=item.why)


def _payloads(ids: Sequence[UUID], owner: Callable[[UUID], Namespace]) -> dict[UUID, Mapping[str, Any]]:
    by_namespace: dict[str, list[UUID]] = {}
    for point_id in ids:
        by_namespace.setdefault(owner(point_id).name, []).append(point_id)
    payloads: dict[UUID, Mapping[str, Any]] = {}
    for wanted in by_namespace.values():
        namespace = owner(wanted[0])
        points = namespace.engine.get(namespace.name, wanted)
        payloads.update({point_id: point.payload for point_id, point in points.items()})
    return payloads


def _within_budget(results: list[Recollection], budget: int | None) -> list[Recollection]:
    """Return the results whose text fits, in order; one that does not fit is passed over for smaller ones."""
    if budget is None:
        return results
    kept: list[Recollection] = []
    left = budget
    for result in results:
        cost = tokens(result.memory.content)
        if cost <= left:
            kept.append(result)
            left -= cost
    return kept


def tokens(text: str) -> int:
    """Return about how many tokens a text takes: a fourth of its UTF-8 bytes, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)
