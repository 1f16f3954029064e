"""Finding conflicts among all memories of an agent: new ones since the last run, resumable, with progress."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from memanto.embedding.port import Reranker
from memanto.engine.bm25 import encode_query
from memanto.engine.codec import decode
from memanto.engine.port import Point
from memanto.filters import NumberRange, TimeRange
from memanto.hygiene.candidates import Pair, judge, record
from memanto.hygiene.compare import comparable
from memanto.hygiene.conflict import Conflict
from memanto.hygiene.gates import REACH, RELATED
from memanto.hygiene.journal import Journal, value_of
from memanto.hygiene.statements import read, sentence_about
from memanto.memory.namespace import Meta, Namespace, vector_name
from memanto.memory.visibility import live
from memanto.models import Decision, Memory
from memanto.times import from_rfc3339, to_rfc3339

RULES_VERSION: Final = 1
"""Raised when the rules change, so that everything is looked at anew."""

BATCH: Final = 100
"""Memories between two marks; an interrupted run loses at most these."""

_PART: Final = NumberRange("part", gte=1)
_KIND: Final = "detection"
_NAME: Final = "mark"
_JUDGED: Final = 300
"""Characters of a sentence that the cross-encoder reads."""
_QUERY: Final = 400
"""Characters of a text whose words look for others."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What a run of detection did.

    Attributes:
        examined: Memories that were compared with their neighbours.
        compared: Pairs that were near enough to be compared.
        conflicts: Conflicts among them that are open, in the order they were found.
        since: Only memories recorded later were examined; `None` when all were.
        judged: Whether the cross-encoder was asked.
    """

    examined: int
    compared: int
    conflicts: tuple[Conflict, ...]
    since: datetime | None
    judged: bool


@dataclass(slots=True)
class _Tally:
    examined: int = 0
    compared: int = 0
    conflicts: dict[str, Conflict] = field(default_factory=dict)


def last_detection(namespace: Namespace) -> datetime | None:
    """Return when conflicts were last looked for, or `None`."""
    head = Journal(namespace).read(_KIND, _NAME)
    return None if head is None else head.recorded_at


class Detector:
    """Compares memories with their neighbours by meaning and by words.

    Args:
        namespace: The agent's memories.
        reranker: The second gate, or `None`.
        actor: Who asks.
        now: Decides what is still true.
    """

    def __init__(self, namespace: Namespace, *, reranker: Reranker | None, actor: str, now: datetime) -> None:
        self._namespace = namespace
        self._engine = namespace.engine
        self._reranker = reranker
        self._actor = actor
        self._now = now
        self._journal = Journal(namespace)
        self._seen: dict[str, Memory] = {}

    def run(self, *, everything: bool = False, progress: Progress | None = None) -> Detection:
        """Examine what was recorded since the last run, or everything.

        Where it got is marked after each batch, so that a run that was interrupted goes on from there.
        """
        since = None if everything else self._mark()
        where = live((), self._now).without(_PART)
        if since is not None:
            where = where.also(TimeRange("recorded_at", gt=to_rfc3339(since)))
        points = self._engine.scan(
            self._namespace.name, where, order_by="recorded_at", descending=False, fields=["recorded_at"]
        )
        meta, tally = self._namespace.meta(), _Tally()
        for start in range(0, len(points), BATCH):
            batch = points[start : start + BATCH]
            self._examine([point.id for point in batch], meta, tally)
            self._set_mark(from_rfc3339(batch[-1].payload["recorded_at"]))
            if progress is not None:
                progress(min(start + BATCH, len(points)), len(points))
        return Detection(
            examined=tally.examined,
            compared=tally.compared,
            conflicts=tuple(tally.conflicts.values()),
            since=since,
            judged=self._reranker is not None,
        )

    # -- where it got -------------------------------------------------------------------------------
    def _mark(self) -> datetime | None:
        head = self._journal.read(_KIND, _NAME)
        if head is None or value_of(head).get("rules") != RULES_VERSION:
            return None
        return from_rfc3339(str(value_of(head)["through"]))

    def _set_mark(self, through: datetime) -> None:
        value = {"through": to_rfc3339(through), "rules": RULES_VERSION}
        text = f"Conflicts were looked for in what was recorded until {value['through']}."
        decision = Decision(actor=self._actor, action="detect-conflicts")
        self._journal.put(_KIND, _NAME, text, value, decision=decision)

    # -- comparing ----------------------------------------------------------------------------------
    def _examine(self, ids: Sequence[object], meta: Meta, tally: _Tally) -> None:
        name = self._namespace.name
        found = self._engine.get(name, list(ids), vectors=True)  # type: ignore[arg-type]
        pairs: list[Pair] = []
        for point in found.values():
            memory = decode(name, point.payload)
            if memory.parts:
                continue
            near = [(other, cosine) for other, cosine in self._neighbours(memory, point, meta)]
            tally.examined += 1
            tally.compared += len(near)
            pairs += judge(self._journal.log, memory, near, meta.space.name if meta.space else None)
        unique = {(pair.older.id, pair.newer.id): pair for pair in pairs}
        for conflict in record(self._journal, self._related(list(unique.values())), actor=self._actor):
            tally.conflicts[conflict.id] = conflict

    def _neighbours(self, memory: Memory, point: Point, meta: Meta) -> list[tuple[Memory, float | None]]:
        """Return the memories near one that may be about the same, each with its cosine where there are vectors."""
        name, where = self._namespace.name, live((), self._now)
        cosines: dict[object, float | None] = {}
        payloads = {}
        vectors = vector_name(meta.space) if meta.space is not None else None
        vector = point.dense.get(vectors) if vectors is not None else None
        if vectors is not None and vector is not None:
            for hit in self._engine.search_dense(name, vectors, vector, where, REACH + 1):
                cosines[hit.id], payloads[hit.id] = hit.score, hit.payload
        words = encode_query(memory.content[:_QUERY])
        unmeasured = []
        for hit in self._engine.search_lexical(name, words, where, REACH + 1)[: REACH + 1]:
            if hit.id not in payloads:
                payloads[hit.id] = hit.payload
                unmeasured.append(hit.id)
        if vectors is not None and vector is not None and unmeasured:
            for point_id, other in self._engine.get(name, unmeasured, vectors=True).items():
                dense = other.dense.get(vectors)
                cosines[point_id] = None if dense is None else sum(map(operator.mul, dense, vector))
        others = ((decode(name, payload), cosines.get(point_id)) for point_id, payload in payloads.items())
        return [(other, cosine) for other, cosine in others if comparable(memory, other)]

    def _related(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the pairs that the cross-encoder calls related, or all of them where it is not asked."""
        least = None if self._reranker is None else RELATED.get(self._reranker.name)
        if self._reranker is None or least is None:
            return list(pairs)
        return [pair for pair in pairs if self._reranker.score(*_sentences(pair))[0] >= least]


def _sentences(pair: Pair) -> tuple[str, list[str]]:
    """Return the sentences that differ, as the cross-encoder takes them: whole texts are slower and less sure."""
    older = sentence_about(read(pair.older.content), pair.finding.older)[:_JUDGED]
    newer = sentence_about(read(pair.newer.content), pair.finding.newer)[:_JUDGED]
    return older, [newer]
