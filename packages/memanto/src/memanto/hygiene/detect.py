"""Finding conflicts among all memories of an agent: new ones since the last run, resumable, with progress."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memanto.embedding.port import Reranker
from memanto.engine.bm25 import encode_query
from memanto.engine.codec import decode
from memanto.filters import NumberRange, TimeRange
from memanto.hygiene.candidates import Pair, judge, record
from memanto.hygiene.compare import comparable
from memanto.hygiene.conflict import Conflict
from memanto.hygiene.gates import REACH, RELATED
from memanto.hygiene.journal import Journal, value_of
from memanto.hygiene.statements import read, sentence_about
from memanto.hygiene.words import fold, telling, telling_stem, weight
from memanto.memory.namespace import Meta, Namespace, vector_name
from memanto.memory.remember import SIMILAR
from memanto.memory.visibility import live
from memanto.models import Decision, Memory
from memanto.times import from_rfc3339, to_rfc3339

RULES_VERSION: Final = 1
"""Raised when the rules change, so that everything is looked at anew."""

BATCH: Final = 100
"""Memories between two marks; an interrupted run loses at most these."""

_PART: Final = NumberRange("part", gte=1)
_WORD: Final = re.compile(r"\w+")
_KIND: Final = "detection"
_NAME: Final = "mark"
_JUDGED: Final = 300
"""Characters of a sentence that the cross-encoder reads."""
_QUERY: Final = 12
"""Telling words of a text that look for others."""
_SHARED: Final = 2
"""Beginnings of telling words that two texts must share to be read at all; every rule needs as much."""
_BEGINNING: Final = 4

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What comparing needs of a memory; `gist` are the beginnings of its telling words."""

    memory: Memory
    vector: npt.NDArray[np.float32] | None
    gist: frozenset[str]


@dataclass(slots=True)
class _Tally:
    examined: int = 0
    compared: int = 0
    conflicts: dict[str, Conflict] = field(default_factory=dict)


def telling_words(text: str, most: int) -> list[str]:
    """Return the first words of a text that tell something, each once."""
    words = dict.fromkeys(
        word for word in _WORD.findall(fold(text)) if telling(word) and weight(telling_stem(word)) == 1
    )
    return list(words)[:most]


def gist(text: str) -> frozenset[str]:
    """Return the beginnings of a text's telling words, the same for most of their forms."""
    return frozenset(telling_stem(word)[:_BEGINNING] for word in _WORD.findall(fold(text)) if telling(word))


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
        self._seen: dict[UUID, _Seen] = {}

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
    def _examine(self, ids: Sequence[UUID], meta: Meta, tally: _Tally) -> None:
        vectors = vector_name(meta.space) if meta.space is not None else None
        pairs: list[Pair] = []
        for one in self._look_up(ids, vectors).values():
            if one.memory.parts:
                continue
            near = list(self._neighbours(one, vectors))
            tally.examined += 1
            tally.compared += len(near)
            pairs += judge(self._journal.log, one.memory, near, meta.space.name if meta.space else None)
        unique = {(pair.older.id, pair.newer.id): pair for pair in pairs}
        for conflict in record(self._journal, self._related(list(unique.values())), actor=self._actor):
            tally.conflicts[conflict.id] = conflict

    def _look_up(self, ids: Sequence[UUID], vectors: str | None) -> dict[UUID, _Seen]:
        """Return what is needed of these versions; each is read once, since neighbours meet again and again."""
        unknown = [point_id for point_id in ids if point_id not in self._seen]
        found = self._engine.get(self._namespace.name, unknown, vectors=True)
        for point_id, point in found.items():
            memory = decode(self._namespace.name, point.payload)
            dense = point.dense.get(vectors) if vectors is not None else None
            vector = None if dense is None else np.asarray(dense, np.float32)
            self._seen[point_id] = _Seen(memory=memory, vector=vector, gist=gist(memory.content))
        return {point_id: self._seen[point_id] for point_id in ids if point_id in self._seen}

    def _neighbours(self, one: _Seen, vectors: str | None) -> Iterator[tuple[Memory, float | None]]:
        """Yield the memories near one that may be about the same, each with its cosine where there are vectors."""
        name, where = self._namespace.name, live((), self._now)
        ids: dict[UUID, None] = {}
        if vectors is not None and one.vector is not None:
            found = self._engine.search_dense(name, vectors, one.vector.tolist(), where, REACH + 1, fields=())
            ids |= dict.fromkeys(hit.id for hit in found)
        query = encode_query(" ".join(telling_words(one.memory.content, _QUERY)))
        words = self._engine.search_lexical(name, query, where, REACH + 1, fields=())
        ids |= dict.fromkeys(hit.id for hit in words[: REACH + 1])
        for other in self._look_up(list(ids), vectors).values():
            if comparable(one.memory, other.memory) and len(one.gist & other.gist) >= min(_SHARED, len(one.gist)):
                measured = one.vector is not None and other.vector is not None
                yield other.memory, float(one.vector @ other.vector) if measured else None  # type: ignore[operator]

    def _related(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the pairs that are about the same for sure, or related by the cross-encoder where it is asked."""
        least = None if self._reranker is None else RELATED.get(self._reranker.name)
        if self._reranker is None or least is None:
            return list(pairs)
        return [
            pair
            for pair in pairs
            if (pair.cosine or 0.0) >= SIMILAR or self._reranker.score(*_sentences(pair))[0] >= least
        ]


def _sentences(pair: Pair) -> tuple[str, list[str]]:
    """Return the sentences that differ, as the cross-encoder takes them: whole texts are slower and less sure."""
    older = sentence_about(read(pair.older.content), pair.finding.older)[:_JUDGED]
    newer = sentence_about(read(pair.newer.content), pair.finding.newer)[:_JUDGED]
    return older, [newer]
