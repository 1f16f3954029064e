"""Ranking: from two candidate lists to one order, as a pure function that explains itself.

The same on every engine: it sees only ids, rounded scores and stored fields. Of equal scores the newest comes
first, then the smaller id.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias
from uuid import UUID

from memanto.engine.port import Candidate
from memanto.memory.batons import is_baton
from memanto.memory.neighbours import LENDERS, NEIGHBOURHOOD, has_lenders, lend
from memanto.models import MemoryType, Why
from memanto.times import from_rfc3339

RRF_K: Final = 2
"""Constant of reciprocal-rank fusion, 1 / (k + position) with positions from 0. Qdrant's default; on LoCoMo
k = 60 loses 5 points of recall@10 against it."""

POOL: Final = 50
"""Candidates taken from each list."""

WEAK_WORDS: Final = 0.25
"""Weight of the words' list where it holds next to nothing of the query; a strong one weighs 1, like meaning."""

STRONG_WORDS: Final = 2.0
"""BM25 score of the best, per term of the query, from which the list is strong. Chosen with `WEAK_WORDS` on half of
the questions (docs/benchmarks/tuning.md). Paraphrases gain: what shares but one common word with them weighs less."""

_STEP: Final = 4
"""Candidates looked at beyond those that are certain to matter, per step."""

_DIGITS: Final = 9
"""Decimals of a score, so that the last bit of a float decides nothing."""

RERANK_POOL: Final = 30
"""Candidates the cross-encoder judges (LoCoMo recall@5 .694 with 20, .705 with 30)."""

HALF_LIVES: Final[Mapping[MemoryType, timedelta]] = {
    MemoryType.CONTEXT: timedelta(hours=12),
    MemoryType.EVENT: timedelta(weeks=2),
    MemoryType.OBSERVATION: timedelta(weeks=8),
}
"""Age at which half of the recency bonus is gone. Types that are not named do not age."""

RECENCY_FLOOR: Final = 0.5
"""Factor of a memory of an ageing type that is very old: it still beats one that ranked half as high."""

CONFIDENCE_FLOOR: Final = 0.7
"""Factor of a memory with confidence 0; confidence 1 has factor 1."""

NEAR_COPY: Final = 0.9
"""Share of common words (Jaccard) from which a lower-ranked result is a near copy."""


@dataclass(slots=True)
class Ranked:
    """A candidate with its place in the order and what led to it; `why` tells it in the public words."""

    candidate: Candidate
    payload: Mapping[str, Any]
    dense_rank: int | None = None
    dense_score: float | None = None
    lexical_rank: int | None = None
    lexical_score: float | None = None
    lexical_weight: float = 1.0
    fused: float = 0.0
    neighbours: float = 0.0
    recency: float = 1.0
    confidence: float = 1.0
    rerank_score: float | None = None
    score: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def why(self) -> Why:
        """The reasons for the rank."""
        return Why(
            dense_rank=self.dense_rank,
            dense_score=self.dense_score,
            lexical_rank=self.lexical_rank,
            lexical_score=self.lexical_score,
            lexical_weight=self.lexical_weight,
            fused=self.fused,
            neighbours=self.neighbours,
            recency=self.recency,
            confidence=self.confidence,
            rerank_score=self.rerank_score,
            notes=self.notes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingRule:
    """What the order depends on besides the candidates.

    Attributes:
        now: The moment ages are taken from (the time asked about in a point-in-time read).
        terms: Number of terms that the query was searched by.
        home: Returns the namespace of a candidate.
        half_lives: Per type; types that are missing do not age.
        judge: Logits of a cross-encoder for the texts of the best candidates, or `None`.
    """

    now: datetime
    terms: int
    home: Callable[[UUID], str]
    half_lives: Mapping[MemoryType, timedelta] = field(default_factory=lambda: HALF_LIVES)
    judge: Callable[[Sequence[str]], Sequence[float]] | None = None


Fetch: TypeAlias = Callable[[Sequence[UUID]], Mapping[UUID, Mapping[str, Any]]]
"""Returns the payloads of these points."""


def rank(
    dense: Sequence[Candidate], lexical: Sequence[Candidate], rule: RankingRule, limit: int, fetch: Fetch | None = None
) -> list[Ranked]:
    """Return the best `limit` candidates of both lists, best first.

    score = (RRF(dense rank, lexical rank) + what neighbours lend) x recency x confidence. With a judge, the best
    `RERANK_POOL` are ordered anew by 0.9 x sigmoid(logit / 2) + 0.1 x that sum (at most 1), times the same
    factors, and stay ahead of the rest. Among session handoffs the newest comes first. Near copies go behind
    everything that says something else.

    Args:
        dense: Candidates by meaning, best first.
        lexical: Candidates by words, best first.
        rule: What else counts.
        limit: How many to return.
        fetch: Where candidates come without a payload: asked for the payloads of those that can still be among
            the best, since both factors are at most 1, or can be neighbours of one of the very best.
    """
    while True:
        try:
            return _ranked(_Fused(dense, lexical, words_weight(dense, lexical, rule.terms)), rule, limit, fetch)
        except _GoneError as gone:  # forgotten by another process since the search: as if they had not been found
            dense, lexical = ([one for one in found if one.id not in gone.ids] for found in (dense, lexical))


class _GoneError(Exception):
    """Candidates without a payload that are in the store no more."""

    def __init__(self, ids: set[UUID]) -> None:
        super().__init__(f"candidates are gone: {len(ids)}")
        self.ids = ids


def _ranked(fused: _Fused, rule: RankingRule, limit: int, fetch: Fetch | None) -> list[Ranked]:
    logits: dict[int, float] = {}
    first = max(limit, RERANK_POOL if rule.judge else 0)
    chosen: list[Ranked] = []
    for wanted in (first, len(fused)):
        ranked = _ordered(fused, rule, wanted, fetch)
        if rule.judge is not None:
            ranked = _rejudge(ranked, rule.judge, logits)
        chosen = diversify(newest_batons_first(ranked), limit)
        if len(ranked) == len(fused) or not any(item.notes or is_baton(item.payload["content"]) for item in chosen):
            break  # no handoff and no near copy among them: what ranks lower cannot matter
    return chosen


def _ordered(fused: _Fused, rule: RankingRule, wanted: int, fetch: Fetch | None) -> list[Ranked]:
    """Return at least the `wanted` best in their order, looking at no more candidates than that takes."""
    found = _filled(fused.take(0, max(wanted + _STEP, LENDERS)), fetch)
    if has_lenders(found):
        found += _filled(fused.take(len(found), NEIGHBOURHOOD), fetch)
        lend(found[:NEIGHBOURHOOD], rule.home)
    scored = best_first(_score(item, rule) for item in found)
    while len(scored) < len(fused):
        ceiling = round(fused.score(len(scored)), _DIGITS)  # the most that any other can reach
        if len(scored) >= wanted and scored[wanted - 1].score > ceiling:
            return scored[:wanted]
        more = _filled(fused.take(len(scored), len(scored) + _STEP), fetch)
        scored = best_first([*scored, *(_score(item, rule) for item in more)])
    return scored


def _filled(items: list[Ranked], fetch: Fetch | None) -> list[Ranked]:
    """Return candidates with their payloads, fetched where they came without."""
    missing = [item.candidate.id for item in items if not item.payload]
    if missing and fetch is not None:
        payloads = fetch(missing)
        if gone := set(missing) - payloads.keys():
            raise _GoneError(gone)
        for item in items:
            if not item.payload:
                item.payload = payloads[item.candidate.id]
    return items


def best_first(items: Iterable[Ranked]) -> list[Ranked]:
    """Return candidates by score; of equal ones the newest first, then the smaller id."""
    by_id = sorted(items, key=lambda item: item.candidate.id.int)
    return sorted(by_id, key=lambda item: (item.score, item.payload["recorded_at"]), reverse=True)


def words_weight(dense: Sequence[Candidate], lexical: Sequence[Candidate], terms: int) -> float:
    """Return how much the list by words counts beside the one by meaning, `WEAK_WORDS`..1.

    Its best score per term of the query tells how much of the query it holds, and how rare that is. A list that is
    alone counts 1: there is nothing to weigh it against. Rounded to hundredths, since engines sum in another order
    and their scores may differ in the fifth digit.
    """
    if not dense or not lexical:
        return 1.0
    strength = lexical[0].score / terms / STRONG_WORDS
    return round(WEAK_WORDS + (1 - WEAK_WORDS) * min(1.0, strength), 2)


def _places(candidates: Sequence[Candidate]) -> list[int]:
    """Return 0-based positions; candidates with equal scores all have the last position of their group.

    A tie says nothing about which of them is better, so none of them gains by it, and a hundred memories that
    share one common word stay behind those that were told apart.
    """
    places = list(range(len(candidates)))
    for index in range(len(candidates) - 2, -1, -1):
        if candidates[index].score == candidates[index + 1].score:
            places[index] = places[index + 1]
    return places


class _Fused:
    """The candidates of two lists by reciprocal-rank fusion, best first, ties by id.

    A search finds more than a hundred and shows ten, so only their order is worked out for all of them.
    """

    def __init__(self, dense: Sequence[Candidate], lexical: Sequence[Candidate], words: float) -> None:
        self._dense, self._lexical, self._words = _placed(dense), _placed(lexical), words
        scores = {order: 1 / (RRF_K + place) for order, (place, _) in self._dense.items()}
        for order, (place, _) in self._lexical.items():
            scores[order] = scores.get(order, 0.0) + words / (RRF_K + place)
        self._order = sorted((-score, order) for order, score in scores.items())

    def __len__(self) -> int:
        return len(self._order)

    def score(self, index: int) -> float:
        """Return the fused score of the candidate at this place of the order."""
        return -self._order[index][0]

    def take(self, start: int, stop: int) -> list[Ranked]:
        """Return these places of the order, with what led to them."""
        return [self._ranked(order, -score) for score, order in self._order[start:stop]]

    def _ranked(self, order: int, score: float) -> Ranked:
        dense, lexical = self._dense.get(order), self._lexical.get(order)
        found = dense or lexical
        assert found is not None
        ranked = Ranked(found[1], found[1].payload, lexical_weight=self._words, fused=score)
        if dense is not None:
            ranked.dense_rank, ranked.dense_score = dense[0] + 1, dense[1].score
        if lexical is not None:
            ranked.lexical_rank, ranked.lexical_score = lexical[0] + 1, lexical[1].score
        return ranked


def _placed(candidates: Sequence[Candidate]) -> dict[int, tuple[int, Candidate]]:
    """Return candidates with their places by the number of their id, which hashes in C."""
    return {
        candidate.id.int: (place, candidate) for place, candidate in zip(_places(candidates), candidates, strict=True)
    }


def _score(item: Ranked, rule: RankingRule) -> Ranked:
    payload = item.payload
    item.recency = recency(payload["type"], payload["event_at"], rule)
    item.confidence = CONFIDENCE_FLOOR + (1 - CONFIDENCE_FLOOR) * payload["confidence"]
    item.score = round((item.fused + item.neighbours) * item.recency * item.confidence, _DIGITS)
    return item


def recency(kind: str, event_at: str, rule: RankingRule) -> float:
    """Return the factor for age since `event_at` (RFC 3339): 1 when new, towards `RECENCY_FLOOR` when old.

    It is 1 always for types that do not age.
    """
    half_life = rule.half_lives.get(kind)  # type: ignore[call-overload]  # a StrEnum's member equals its value
    if half_life is None:
        return 1.0
    age = max(0.0, (rule.now - from_rfc3339(event_at)).total_seconds())
    return RECENCY_FLOOR + (1 - RECENCY_FLOOR) * math.pow(0.5, age / half_life.total_seconds())


def _rejudge(
    ranked: list[Ranked], judge: Callable[[Sequence[str]], Sequence[float]], logits: dict[int, float]
) -> list[Ranked]:
    """Order the best anew by the judge's logits, asking it once per candidate."""
    pool, rest = ranked[:RERANK_POOL], ranked[RERANK_POOL:]
    new = [item for item in pool if item.candidate.id.int not in logits]
    if new:
        verdicts = judge([item.payload["content"] for item in new])
        logits.update((item.candidate.id.int, logit) for item, logit in zip(new, verdicts, strict=True))
    for item in pool:
        item.rerank_score = logits[item.candidate.id.int]
        bounded = max(-60.0, min(60.0, item.rerank_score))
        blend = 0.9 / (1 + math.exp(-bounded / 2)) + 0.1 * min(1.0, item.fused + item.neighbours)
        item.score = round(1 + blend * item.recency * item.confidence, _DIGITS)
    return best_first(pool) + rest


def newest_batons_first(ranked: list[Ranked]) -> list[Ranked]:
    """Give the places that session handoffs hold to the same handoffs, newest first."""
    places = [i for i, item in enumerate(ranked) if is_baton(item.payload["content"])]
    if len(places) < 2:
        return ranked
    scores = [ranked[i].score for i in places]
    batons = sorted((ranked[i] for i in places), key=lambda item: str(item.payload["recorded_at"]), reverse=True)
    result = list(ranked)
    for index, score, baton in zip(places, scores, batons, strict=True):
        baton.score = score
        baton.notes += ("newest handoff first",)
        result[index] = baton
    return result


_WORD: Final = re.compile(r"\w+")


def diversify(ranked: list[Ranked], limit: int) -> list[Ranked]:
    """Return the first `limit` results, near copies of a better one only where nothing else is left.

    A near copy shares at least `NEAR_COPY` of the words and every number and negation, so texts that differ
    in a value stay where they are.
    """
    kept: list[Ranked] = []
    copies: list[Ranked] = []
    seen: list[frozenset[str]] = []
    for item in ranked:
        if len(kept) == limit:
            break
        words = frozenset(_WORD.findall(item.payload["content"][:2_000].casefold()))
        if any(_jaccard(words, other) >= NEAR_COPY and _telling(words) == _telling(other) for other in seen):
            item.score = 0.0
            item.notes += ("near copy of a better result",)
            copies.append(item)
        else:
            kept.append(item)
            seen.append(words)
    return (kept + copies)[:limit]


_NEGATIONS: Final = frozenset({"no", "not", "never", "without", "nicht", "kein", "ni", "sin", "sans", "pas"})


def _telling(words: frozenset[str]) -> set[str]:
    """Return the numbers and negations among words."""
    return {word for word in words if word in _NEGATIONS or any(map(str.isdigit, word))}


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    smaller, larger = len(one), len(other)
    if smaller > larger:
        smaller, larger = larger, smaller
    if smaller < NEAR_COPY * larger:
        return 0.0
    shared = len(one & other)
    return shared / (smaller + larger - shared) if larger else 1.0
