"""Abstention, measured: what is answered of the project's log, and what is not (pins the figures of the how-to).

113 questions: 63 that the log answers, a third of which share no rare word with their answer, and 50 that it does not.
The thresholds were fitted to one half; the figures are those of the other (of words alone, which need no model).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, time
from pathlib import Path

import pytest

from memanto import InMemory, Memanto
from memanto.corpus import QuestionKind, load_questions
from memanto.corpus.replay import replay
from memanto.testing import FixedClock

pytestmark = pytest.mark.slow

MORE = Path(__file__).with_name("answerable.jsonl")


@pytest.fixture(scope="module")
def log() -> Iterator[tuple[Memanto, dict[str, str]]]:
    """The replayed log, words only."""
    clock = FixedClock()
    with Memanto("log", store=InMemory(), embedder=None, reranker=None, llm=None, clock=clock) as memory:
        yield memory, replay(memory, clock)


def questions() -> list[tuple[str, tuple[str, ...], datetime | None]]:
    """Return every question with the refs that answer it, and the time it asks about."""
    asked = [
        (one.question, one.expected, one.as_of and datetime.combine(one.as_of, time.max, tzinfo=UTC))
        for one in load_questions()
        if one.kind is not QuestionKind.VALID_AT
    ]
    more = [json.loads(line) for line in MORE.read_text("utf-8").splitlines()]
    return asked + [(one["question"], tuple(one["expected"]), None) for one in more]


def held_out(*, answerable: bool) -> list[tuple[str, tuple[str, ...], datetime | None]]:
    """Return the half that the thresholds were not fitted to."""
    return sorted((one for one in questions() if bool(one[1]) is answerable), key=lambda one: one[0])[1::2]


def test_by_words_alone_most_of_what_is_unanswerable_is_left_unanswered(log: tuple[Memanto, dict[str, str]]) -> None:
    memory, _ = log
    wrong = [question for question, _, _ in held_out(answerable=False) if not memory.answer(question).abstained]
    assert len(wrong) <= 2, wrong


def test_by_words_alone_what_is_answered_is_answered_right(log: tuple[Memanto, dict[str, str]]) -> None:
    memory, ids = log
    answered = right = 0
    for question, refs, as_of in held_out(answerable=True):
        answer = memory.answer(question, as_of=as_of)
        answered += not answer.abstained
        right += bool({one.id for one in answer.citations} & {ids[ref] for ref in refs})
    assert answered >= 17
    assert right >= answered - 4
