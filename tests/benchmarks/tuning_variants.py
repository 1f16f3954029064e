"""Ways to order the candidates that the product's two searches return."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from tests.benchmarks.datasets import Pool
from tests.benchmarks.models import RememberingEmbedder, RememberingReranker
from tests.benchmarks.stores import FilledStore

from memanto.embedding.lexical import lexical_form
from memanto.engine.bm25 import encode_document, encode_query
from memanto.memory.neighbours import LENDERS, NEIGHBOURHOOD, REACH, SHARE
from memanto.memory.ranking import RERANK_POOL, RRF_K, STRONG_WORDS, WEAK_WORDS

Scored = list[tuple[int, float]]
"""Places with scores, best first."""
Scores = dict[int, float]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the variants know of a pool besides the product's lists."""

    pool: Pool
    same: dict[int, int]
    vectors: npt.NDArray[np.float32]
    terms: tuple[frozenset[int], ...]
    idf: dict[int, float]
    flat: _Words
    pairs: _Words

    @classmethod
    def of(cls, pool: Pool, store: FilledStore, embedder: RememberingEmbedder) -> Prepared:
        """Compute it."""
        terms = tuple(frozenset(encode_document(text).indices) for text in pool.texts)
        counts: dict[int, int] = {}
        for one in terms:
            for term in one:
                counts[term] = counts.get(term, 0) + 1
        idf = {term: _idf(len(terms), count) for term, count in counts.items()}
        vectors = embedder.embed_documents(pool.texts)
        flat, pairs = _Words(pool.texts, lexical_form, b=0.0), _Words(pool.texts, _with_pairs, b=0.75)
        return cls(pool, store.canonical(), vectors, terms, idf, flat, pairs)


@dataclass(frozen=True, slots=True)
class Case:
    """One question with the candidates by meaning and by words."""

    query: str
    prepared: Prepared
    dense: Scored
    lexical: Scored
    vector: npt.NDArray[np.float32]
    again: Scored
    judge: Callable[[Sequence[int]], list[float]] | None

    @classmethod
    def of(
        cls,
        query: str,
        prepared: Prepared,
        store: FilledStore,
        embedder: RememberingEmbedder,
        reranker: RememberingReranker | None,
    ) -> Case:
        """Search once as the product does, and once more by the words of the best result."""
        dense, lexical = store.lists(query)
        best = _top(_rrf(dense, lexical), 1)
        again = store.lists(prepared.pool.texts[best[0]][:1_000])[1] if best else []
        texts = prepared.pool.texts

        def judge(places: Sequence[int]) -> list[float]:
            assert reranker is not None
            return reranker.score(query, [texts[place] for place in places])

        vector = embedder.embed_query(query)
        return cls(query, prepared, dense, lexical, vector, again, judge if reranker else None)


def _top(scores: Scores, number: int = 10) -> list[int]:
    return sorted(scores, key=lambda place: (-scores[place], place))[:number]


def _positions(listed: Scored) -> list[int]:
    """Return 0-based positions, equal scores all at the last of their group, as the product counts."""
    positions = list(range(len(listed)))
    for index in range(len(listed) - 2, -1, -1):
        if listed[index][1] == listed[index + 1][1]:
            positions[index] = positions[index + 1]
    return positions


def _rrf(
    dense: Scored,
    lexical: Scored,
    *,
    k: float = RRF_K,
    meaning: float = 1.0,
    words: Callable[[int, float], float] | None = None,
) -> Scores:
    scores: Scores = {}
    for (place, _), position in zip(dense, _positions(dense), strict=True):
        scores[place] = meaning / (k + position)
    for (place, score), position in zip(lexical, _positions(lexical), strict=True):
        weight = 1.0 if words is None else words(place, score)
        scores[place] = scores.get(place, 0.0) + weight / (k + position)
    return scores


def _spread(listed: Scored) -> Scores:
    """Return scores from 0 (the last of the list) to 1 (the first)."""
    if not listed:
        return {}
    low, high = listed[-1][1], listed[0][1]
    return {place: (score - low) / (high - low) if high > low else 1.0 for place, score in listed}


def _mixed(case: Case, *, meaning: float = 0.45, ranks: float = 0.4) -> Scores:
    """Mix the spread scores of both lists, and a share of the fusion by ranks."""
    dense, lexical, fused = _spread(case.dense), _spread(case.lexical), _rrf(case.dense, case.lexical)
    return {
        place: meaning * dense.get(place, 0.0) + (1 - meaning) * lexical.get(place, 0.0) + ranks * by_rank
        for place, by_rank in fused.items()
    }


def _with_neighbours(case: Case, scores: Scores, *, before: float = 0.2, after: float = 0.2) -> Scores:
    """Give each candidate a share of the scores of what was said just before and after it, candidates only."""
    sessions = case.prepared.pool.sessions
    result = dict(scores)
    for place, score in scores.items():
        for neighbour, part in ((place + 1, after), (place - 1, before)):
            if neighbour in scores and sessions[neighbour] == sessions[place]:
                result[neighbour] += part * score
    return result


def _lent(
    case: Case,
    scores: Scores,
    *,
    lenders: int = LENDERS,
    reach: int = REACH,
    among: int = NEIGHBOURHOOD,
    share: float = SHARE,
    sessions: Sequence[str] = (),
) -> Scores:
    """Let the best lend to the nearest candidates of their session, as the product does with runs."""
    names = sessions or case.prepared.pool.sessions
    best = _top(scores, among)
    groups: dict[str, list[int]] = {}
    for place in sorted(best):
        groups.setdefault(names[place], []).append(place)
    result = dict(scores)
    for lender in best[:lenders]:
        told = groups[names[lender]]
        at = told.index(lender)
        for place in (*told[max(0, at - reach) : at], *told[at + 1 : at + 1 + reach]):
            result[place] += share * scores[lender]
    return result


def _covered(case: Case, place: int) -> float:
    """Return the share of the query's idf that a text's words cover."""
    idf = case.prepared.idf
    unseen = _idf(len(case.prepared.terms), 0)
    terms = encode_query(case.query).indices
    total = sum(idf.get(term, unseen) for term in terms)
    held = sum(idf[term] for term in terms if term in case.prepared.terms[place])
    return held / total if total else 0.0


def _weak_list(case: Case) -> Scores:
    """Let the words' list count less as a whole the less of the query its best three cover."""
    best = max((_covered(case, place) for place, _ in case.lexical[:3]), default=0.0)
    weight = 0.25 + 0.75 * min(1.0, best / 0.6)
    return _rrf(case.dense, case.lexical, words=lambda _place, _score: weight)


def _strength(case: Case, *, floor: float = WEAK_WORDS, full: float = STRONG_WORDS) -> Scores:
    """Let the words' list count as a whole by its best BM25 score per term of the query, which needs no statistics."""
    terms = len(encode_query(case.query).indices)
    best = case.lexical[0][1] / terms if case.lexical else 0.0
    weight = round(floor + (1 - floor) * min(1.0, best / full), 2)
    return _rrf(case.dense, case.lexical, words=lambda _place, _score: weight)


def _share_of_best(case: Case) -> Scores:
    best = case.lexical[0][1] if case.lexical else 1.0
    return _rrf(case.dense, case.lexical, words=lambda _place, score: score / best)


def _moved_vector(case: Case) -> Scores:
    """Search by meaning once more with the query moved towards the best result."""
    first = _top(_rrf(case.dense, case.lexical), 1)
    moved = case.vector + 0.3 * case.prepared.vectors[first].mean(axis=0)
    scores = case.prepared.vectors @ moved
    nearest = [(int(place), float(scores[place])) for place in np.argsort(-scores)[:50]]
    return _rrf(nearest, case.lexical)


def _words_again(case: Case) -> Scores:
    """Add a third list: the words of the best result as a query, at a third of the weight."""
    scores = _rrf(case.dense, case.lexical)
    for (place, _), position in zip(case.again, _positions(case.again), strict=True):
        scores[place] = scores.get(place, 0.0) + 0.33 / (RRF_K + position)
    return scores


def _judged(
    case: Case, scores: Scores, *, pool: int = RERANK_POOL, trust: float = 0.9, neighbours: float = 0.0
) -> list[int]:
    """Order the best candidates by the cross-encoder, mixed with what they had before."""
    assert case.judge is not None
    places = _top(scores, pool)
    judged = {
        place: trust / (1 + math.exp(-logit / 2)) + (1 - trust) * min(1.0, scores[place])
        for place, logit in zip(places, case.judge(places), strict=True)
    }
    return _top(_with_neighbours(case, judged, before=neighbours, after=neighbours) if neighbours else judged)


class _Words:
    """BM25 over texts with another pre-pass or length normalisation than the product's."""

    def __init__(self, texts: Sequence[str], prepass: Callable[[str], str], *, b: float) -> None:
        import qdrant_edge

        config = qdrant_edge.Bm25Config(tokenizer=qdrant_edge.TokenizerType.Word, ascii_folding=True, b=b)
        self._model: Any = qdrant_edge.Bm25(config)
        self._prepass = prepass
        self._size = len(texts)
        self._found: dict[int, Scored] = {}
        for place, text in enumerate(texts):
            vector = self._model.embed_document(prepass(text))
            for term, weight in zip(vector.indices, vector.values, strict=True):
                self._found.setdefault(term, []).append((place, weight))

    def search(self, query: str) -> Scored:
        scores: Scores = {}
        for term in self._model.embed_query(self._prepass(query)).indices:
            found = self._found.get(term, [])
            for place, weight in found:
                scores[place] = scores.get(place, 0.0) + _idf(self._size, len(found)) * weight
        return [(place, round(scores[place], 5)) for place in _top(scores, 50)]


def _with_pairs(text: str) -> str:
    """Add each pair of neighbouring words as one word."""
    form = lexical_form(text)
    words = "".join(c if c.isalnum() else " " for c in form.lower()).split()
    return " ".join([form, *(f"{one}\u1427{other}" for one, other in itertools.pairwise(words))])


def _idf(size: int, count: int) -> float:
    return math.log(1 + (size - count + 0.5) / (count + 0.5))


BASE: Final = "RRF, k = 2"
"""What the others are compared with."""

BASE_JUDGED: Final = "cross-encoder on 30, 0.9"

SHIPPED: Final = "the best 5 lend 0.15 to 2, of the best 30 (as shipped)"
SHIPPED_JUDGED: Final = "the same, the best 5 lend 0.15 to 2 (as shipped)"

PLAIN: Final[dict[str, Callable[[Case], list[int]]]] = {
    BASE: lambda c: _top(_rrf(c.dense, c.lexical)),
    "RRF, k = 1": lambda c: _top(_rrf(c.dense, c.lexical, k=1)),
    "RRF, k = 5": lambda c: _top(_rrf(c.dense, c.lexical, k=5)),
    "RRF, k = 60": lambda c: _top(_rrf(c.dense, c.lexical, k=60)),
    "meaning counts 0.7": lambda c: _top(_rrf(c.dense, c.lexical, meaning=0.7)),
    "meaning counts 1.4": lambda c: _top(_rrf(c.dense, c.lexical, meaning=1.4)),
    "20 candidates a list": lambda c: _top(_rrf(c.dense[:20], c.lexical[:20])),
    "words weighted by the idf they cover": lambda c: _top(
        _rrf(c.dense, c.lexical, words=lambda place, _: _covered(c, place))
    ),
    "words weighted by the list's coverage": lambda c: _top(_weak_list(c)),
    "words weighted by the best score per term": lambda c: _top(_strength(c)),
    "words weighted by score / best score": lambda c: _top(_share_of_best(c)),
    "scores, 0.45 meaning": lambda c: _top(_mixed(c, ranks=0.0)),
    "scores, 0.6 meaning": lambda c: _top(_mixed(c, meaning=0.6, ranks=0.0)),
    "scores and ranks": lambda c: _top(_mixed(c)),
    "second query: vector moved to the best": lambda c: _top(_moved_vector(c)),
    "second query: words of the best": lambda c: _top(_words_again(c)),
    "BM25 without length (b = 0)": lambda c: _top(_rrf(c.dense, c.prepared.flat.search(c.query))),
    "pre-pass with pairs of words": lambda c: _top(_rrf(c.dense, c.prepared.pairs.search(c.query))),
    "RRF, neighbours 0.2": lambda c: _top(_with_neighbours(c, _rrf(c.dense, c.lexical))),
    "scores and ranks, neighbours 0.2": lambda c: _top(_with_neighbours(c, _mixed(c))),
    "best score per term, neighbours 0.1": lambda c: _top(_with_neighbours(c, _strength(c), before=0.1, after=0.1)),
    "best score per term, neighbours 0.2": lambda c: _top(_with_neighbours(c, _strength(c))),
    "nearest candidates: all lend 0.2 to 1 on either side": lambda c: _top(
        _lent(c, _strength(c), lenders=100, reach=1, among=100, share=0.2)
    ),
    "nearest candidates: the best 5 lend 0.2 to 1": lambda c: _top(
        _lent(c, _strength(c), reach=1, among=100, share=0.2)
    ),
    "nearest candidates: the best 5 lend 0.2 to 2": lambda c: _top(_lent(c, _strength(c), among=100, share=0.2)),
    "nearest candidates: the best 5 lend 0.2 to 3": lambda c: _top(
        _lent(c, _strength(c), reach=3, among=100, share=0.2)
    ),
    "the best 5 lend 0.15 to 2, of all": lambda c: _top(_lent(c, _strength(c), among=100)),
    "the best 5 lend 0.15 to 2, of the best 50": lambda c: _top(_lent(c, _strength(c), among=50)),
    SHIPPED: lambda c: _top(_lent(c, _strength(c))),
    "the best 5 lend 0.15 to 2 of the best 30, anywhere": lambda c: _top(
        _lent(c, _strength(c), sessions=("",) * len(c.prepared.pool.texts))
    ),
}
"""Orders without the cross-encoder, by what they change."""

JUDGED: Final[dict[str, Callable[[Case], list[int]]]] = {
    BASE_JUDGED: lambda c: _judged(c, _rrf(c.dense, c.lexical)),
    "cross-encoder on 20": lambda c: _judged(c, _rrf(c.dense, c.lexical), pool=20),
    "cross-encoder alone (1.0)": lambda c: _judged(c, _rrf(c.dense, c.lexical), trust=1.0),
    "cross-encoder at 0.7": lambda c: _judged(c, _rrf(c.dense, c.lexical), trust=0.7),
    "cross-encoder on scores and ranks": lambda c: _judged(c, _mixed(c)),
    "cross-encoder on best score per term": lambda c: _judged(c, _strength(c)),
    "the same with neighbours 0.2": lambda c: _judged(c, _with_neighbours(c, _strength(c))),
    "the same, and neighbours 0.1 after it": lambda c: _judged(c, _with_neighbours(c, _strength(c)), neighbours=0.1),
    SHIPPED_JUDGED: lambda c: _judged(c, _lent(c, _strength(c))),
}
"""Orders with it."""
