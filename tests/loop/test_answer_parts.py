"""How a question is split into parts, and what each is taken to ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.acceptance.course import CHECK, CHECKLIST, PLANNING

from memanto.loop.parts import MAX_PARTS, PartKind, split_question


def kinds(question: str) -> list[str]:
    return [part.kind.value for part in split_question(question)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (CHECK, ["goal", "run", "failure"]),
        (PLANNING, ["path", "failure"]),
        (CHECKLIST, ["path", "failure"]),
        ("What is the current goal and plan?", ["goal", "plan"]),
        ("What durable facts about this environment are stored?", ["fact"]),
        ("what did we decide about stale ledger pulls", ["decision"]),
        ("Which database holds the ledger? Who owns it?", ["open", "open"]),
        ("Wer betreibt den Abgleich, und wann startet er?", ["open", "open"]),
        ("¿Qué base de datos usamos y cuándo empezó?", ["open", "open"]),
    ],
)
def test_a_question_with_parts_is_split_and_each_part_has_its_kind(question: str, expected: list[str]) -> None:
    assert kinds(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "When integration tests fail with 'relation does not exist', what do I run first?",
        "Japanese amounts are much too large; where does this come from?",
        "After total destruction of our data, how quickly could we be back, and what would be missing?",
        "What is the error budget of the gateway?",
        "What happened to the salt and pepper service?",
        "数据库在哪里?",
    ],
)
def test_what_is_one_question_stays_whole(question: str) -> None:
    [part] = split_question(question)
    assert part.text == question
    assert part.kind is PartKind.OPEN


def test_a_part_knows_its_own_subject_and_the_topic_of_the_whole() -> None:
    path, failure = split_question(
        "what is the fastest known path to reconcile the ledger, and what mistakes to avoid?"
    )
    assert [term.word for term in path.subject] == ["reconcile", "ledger"]
    assert path.query == "how to reconcile the ledger"
    assert failure.subject == ()
    assert failure.topic == "reconcile ledger"


def test_a_part_that_leans_on_the_one_before_is_looked_up_with_its_topic() -> None:
    _, owner = split_question("Which team runs the reconciler, and who owns it?")
    assert "reconciler" in owner.query


@given(st.text(max_size=300))
def test_any_text_has_between_one_part_and_the_most(text: str) -> None:
    parts = split_question(text)
    assert 1 <= len(parts) <= MAX_PARTS


@given(st.lists(st.sampled_from(["what is the goal", "who owns it", "where is x", "and", ",", "?", " "]), max_size=40))
def test_no_word_of_a_question_gets_lost_below_the_most_parts(pieces: list[str]) -> None:
    question = " ".join(pieces)
    parts = split_question(question)
    if len(parts) < MAX_PARTS:
        kept = " ".join(part.text for part in parts)
        for word in ("goal", "owns", "where"):
            assert kept.count(word) == question.count(word)
