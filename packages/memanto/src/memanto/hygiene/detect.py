"""Finding conflicts among all memories of an agent: new ones since the last run, resumable, with progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from memanto.embedding.port import Reranker
from memanto.engine.schema import LEXICAL_VECTOR
from memanto.filters import HasVector, TimeRange
from memanto.hygiene.candidates import Pair, judge, of_wholes, record
from memanto.hygiene.compare import whole_id
from memanto.hygiene.conflict import Conflict
from memanto.hygiene.gates import RELATED
from memanto.hygiene.journal import Journal, value_of
from memanto.hygiene.model_judge import Judging
from memanto.hygiene.neighbours import Neighbours
from memanto.hygiene.statements import read, sentence_about
from memanto.hygiene.words import fold
from memanto.ids import version_point_id
from memanto.memory.namespace import Namespace, vector_name
from memanto.memory.remember import SIMILAR
from memanto.memory.visibility import live
from memanto.models import Decision
from memanto.times import from_rfc3339, to_rfc3339

RULES_VERSION: Final = 2
"""Raised when the rules change, so that everything is looked at anew."""

BATCH: Final = 100
"""Memories between two marks; an interrupted run loses at most these."""

_KIND: Final = "detection"
_NAME: Final = "mark"
_JUDGED: Final = 160
"""Characters of a sentence that the cross-encoder reads: of the pairs that rules flag wrongly it lets a fifth fewer
pass than with 300, of the right ones one in forty, and takes a quarter less time."""
_WORKERS: Final = 4
"""Threads that ask the cross-encoder, at most one a core."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What a run of detection did.

    Attributes:
        examined: Memories that were compared with their neighbours.
        compared: Pairs that were near enough to be compared.
        conflicts: Conflicts among them that are open, in the order they were found.
        beyond: Pairs that wait, for their older memory has three open conflicts already; they come up as these are
            decided.
        since: Only memories recorded later were examined; `None` when all were.
        judged: Whether the cross-encoder was asked.
        judging: What came of asking a language model, or `None` where none was to be asked.
    """

    examined: int
    compared: int
    conflicts: tuple[Conflict, ...]
    since: datetime | None
    judged: bool
    beyond: int = 0
    judging: Judging | None = None


@dataclass(slots=True)
class _Tally:
    examined: set[str] = field(default_factory=set)
    compared: int = 0
    beyond: int = 0
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
        self._space = namespace.meta().space
        self._logits: dict[tuple[str, str], float] = {}

    def run(self, *, everything: bool = False, progress: Progress | None = None) -> Detection:
        """Examine what was recorded since the last run, or everything.

        Where it got is marked after each batch, so that a run that was interrupted goes on from there.
        """
        since = None if everything else self._mark()
        where = live((), self._now).also(HasVector(LEXICAL_VECTOR))  # of a text that was split, its parts
        if since is not None:
            where = where.also(TimeRange("recorded_at", gt=to_rfc3339(since)))
        points = self._engine.scan(
            self._namespace.name, where, order_by="recorded_at", descending=False, fields=["recorded_at"]
        )
        neighbours, tally = self._neighbours(), _Tally()
        neighbours.expect(len(points))
        for start in range(0, len(points), BATCH):
            batch = points[start : start + BATCH]
            self._examine([point.id for point in batch], neighbours, tally)
            self._set_mark(from_rfc3339(batch[-1].payload["recorded_at"]))
            if progress is not None:
                progress(min(start + BATCH, len(points)), len(points))
        return Detection(
            examined=len(tally.examined),
            compared=tally.compared,
            conflicts=tuple(tally.conflicts.values()),
            since=since,
            judged=self._reranker is not None,
            beyond=tally.beyond,
        )

    def look_again(self, memory_id: str) -> None:
        """Examine one memory, and the parts of a split one, whenever it was recorded."""
        head = self._journal.log.head(memory_id)
        versions = self._journal.log.parts(head.id) if head.parts else [head]
        ids = [version_point_id(self._namespace.name, one.id, one.version) for one in versions]
        self._examine(ids, self._neighbours(), _Tally())

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
    def _neighbours(self) -> Neighbours:
        vectors = None if self._space is None else vector_name(self._space)
        return Neighbours(self._namespace, vectors, self._now)

    def _examine(self, ids: Sequence[UUID], neighbours: Neighbours, tally: _Tally) -> None:
        batch = neighbours.look_up(ids).values()
        neighbours.prepare(list(batch))
        pairs: list[Pair] = []
        for one in batch:
            near = list(neighbours.near(one))
            tally.examined.add(whole_id(one.memory))
            tally.compared += len(near)
            pairs += judge(self._journal.log, one.memory, near, self._space.name if self._space else None)
        found = of_wholes(self._journal.log, self._related(pairs))
        recorded = record(self._journal, found, actor=self._actor)
        tally.conflicts |= {conflict.id: conflict for conflict in recorded.conflicts}
        tally.beyond += len(recorded.beyond)

    def _related(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the pairs that are about the same for sure, or related by the cross-encoder where it is asked."""
        least = None if self._reranker is None else RELATED.get(self._reranker.name)
        if self._reranker is None or least is None:
            return list(pairs)
        unsure = {i: _sentences(pair) for i, pair in enumerate(pairs) if (pair.cosine or 0.0) < SIMILAR}
        if unknown := [texts for texts in dict.fromkeys(unsure.values()) if texts not in self._logits]:
            self._weigh(self._reranker, unknown)
        return [pair for i, pair in enumerate(pairs) if i not in unsure or self._logits[unsure[i]] >= least]

    def _weigh(self, reranker: Reranker, pairs: Sequence[tuple[str, str]]) -> None:
        """Ask the cross-encoder about pairs of sentences, on several cores: it works outside of Python's lock."""

        def logit(pair: tuple[str, str]) -> float:
            return reranker.score(pair[0], [pair[1]])[0]

        with ThreadPoolExecutor(min(_WORKERS, os.cpu_count() or 1)) as pool:
            self._logits |= dict(zip(pairs, pool.map(logit, pairs), strict=True))


def _sentences(pair: Pair) -> tuple[str, str]:
    """Return the sentences that differ, as the cross-encoder takes them: whole texts are slower and less sure."""
    older, newer = pair.finding.older, pair.finding.newer
    return _about(pair.older.content, older), _about(pair.newer.content, newer)


def _about(text: str, words: Sequence[str]) -> str:
    """Return the sentence that holds most of these words; of a long one what stands around the first of them."""
    sentence = sentence_about(read(text), words)
    place = fold(sentence).find(words[0]) if words else 0
    start = max(0, min(place - _JUDGED // 2, len(sentence) - _JUDGED))
    return sentence[start : start + _JUDGED]
