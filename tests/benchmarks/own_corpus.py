"""The project's own log replayed, and its 40 questions, point-in-time ones and unanswerable ones among them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta

from tests.benchmarks.harness import Figures
from tests.benchmarks.metrics import Tally
from tests.benchmarks.models import RememberingEmbedder, RememberingReranker

from memanto import InMemory, Memanto
from memanto.corpus import Question, QuestionKind, load_log, load_questions
from memanto.corpus.replay import Asked, replay
from memanto.models import Recollection
from memanto.testing import FixedClock


@contextmanager
def replayed(
    embedder: RememberingEmbedder | None, reranker: RememberingReranker | None
) -> Iterator[tuple[Memanto, dict[str, str]]]:
    """Yield a memory that holds the whole log, at a moment just after its last line, and the id of each ref."""
    clock = FixedClock()
    with Memanto("bench", store=InMemory(), embedder=embedder, reranker=reranker, clock=clock) as memory:
        ids = replay(memory, clock)
        clock.set(load_log()[-1].recorded_at + timedelta(hours=1))
        yield memory, ids


def recall(memory: Memanto, question: Question, *, limit: int = 10, rerank: bool = False) -> list[Recollection]:
    """Ask a question as it says: among its type, at the end of its day, or of what was true at its noon."""
    return memory.recall(
        question.question,
        types=[question.type] if question.type else [],
        as_of=_moment(question.as_of, time.max),
        valid_at=_moment(question.valid_at, time(12)),
        limit=limit,
        rerank=rerank,
    )


def measure(embedder: RememberingEmbedder | None, reranker: RememberingReranker | None, seed: int) -> Figures:
    """Return by arm and kind of question: the right memory first, in the first five, with the right value."""
    del seed  # nothing is drawn
    arms: dict[str, tuple[RememberingEmbedder | None, bool]] = {"BM25": (None, False)}
    if embedder is not None:
        arms["hybrid"] = (embedder, False)
    if embedder is not None and reranker is not None:
        arms["hybrid + cross-encoder"] = (embedder, True)
    return {"questions": _kinds(), "arms": {arm: _arm(*how, reranker) for arm, how in arms.items()}}


def _arm(embedder: RememberingEmbedder | None, rerank: bool, reranker: RememberingReranker | None) -> Figures:
    figures: Figures = {}
    with replayed(embedder, reranker) as (memory, ids):
        for kind in QuestionKind:
            if kind is QuestionKind.NONE:
                continue
            tally, right = Tally(), []
            for question in load_questions():
                if question.kind is not kind:
                    continue
                hits = recall(memory, question, rerank=rerank)
                expected = tuple(ids[ref] for ref in question.expected)
                order = {
                    id_: place for place, id_ in enumerate(dict.fromkeys([h.memory.id for h in hits] + [*expected]))
                }
                tally.add([order[hit.memory.id] for hit in hits], {order[id_] for id_ in expected})
                right.append(Asked(question=question, hits=tuple(hits[:5]), expected_ids=expected).right_value)
            first = sum(value == 1 for value in tally.reciprocal)
            figures[kind.value] = {"first": first, **tally.figures(), "right value": sum(right)}
    return figures


def _kinds() -> dict[str, int]:
    kinds = [question.kind.value for question in load_questions()]
    return {kind.value: kinds.count(kind.value) for kind in QuestionKind}


def _moment(day: date | None, at: time) -> datetime | None:
    return None if day is None else datetime.combine(day, at, tzinfo=UTC)
