"""What is left of a model's reply once its citations are checked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memanto.loop.citations import Checked, check_reply

SOURCES = {
    1: "The ledger database is PostgreSQL 17 behind PgBouncer",
    2: "Ledger pulls lag the source by about 5 minutes",
    3: "Die Abrechnung startet um 01:50 Uhr",
}
QUESTION = "Which database holds the ledger, and how far does it lag?"


def checked(reply: str) -> Checked:
    return check_reply(reply, SOURCES, QUESTION)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("The ledger database is PostgreSQL 17 [1].", "The ledger database is PostgreSQL 17. [1]"),
        ("The ledger database is PostgreSQL 17. [1]", "The ledger database is PostgreSQL 17. [1]"),
        ("It lags by 5 minutes [2][1].", "It lags by 5 minutes. [2][1]"),
        ("It lags by 5 minutes [2, 1].", "It lags by 5 minutes. [2][1]"),
        ("- Postgres holds it [1]\n- It lags by minutes [2]", "- Postgres holds it [1]\n- It lags by minutes [2]"),
        ("Die Abrechnung startet um 01:50 Uhr [3].", "Die Abrechnung startet um 01:50 Uhr. [3]"),
    ],
)
def test_a_claim_that_its_citation_carries_is_kept(reply: str, text: str) -> None:
    result = checked(reply)
    assert result.text == text
    assert (result.unknown, result.uncited, result.unsupported) == ((), 0, 0)


def test_citations_of_what_was_not_sent_are_dropped_and_named() -> None:
    result = checked("The ledger database is PostgreSQL 17 [1][9]. It lags by 5 minutes [12].")
    assert result.text == "The ledger database is PostgreSQL 17. [1]"
    assert result.unknown == (9, 12)
    assert result.cited == (1,)
    assert result.uncited == 1


@pytest.mark.parametrize(
    "lie",
    [
        "The ledger database is Oracle 17 [1].",
        "The ledger database is PostgreSQL 16 [1].",
        "It lags by 45 minutes [2].",
        "Penguins sleep standing up near rivers [1].",
        "The ledger database was chosen by MegaCorp [1].",
    ],
)
def test_a_number_or_a_name_that_no_source_holds_is_left_out(lie: str) -> None:
    result = checked(f"{lie} It lags by 5 minutes [2].")
    assert result.text == "It lags by 5 minutes. [2]"
    assert result.unsupported == 1


def test_claims_without_a_citation_are_left_out() -> None:
    result = checked("Sure, here is the answer. The ledger database is PostgreSQL 17 [1]. Hope this helps!")
    assert result.text == "The ledger database is PostgreSQL 17. [1]"
    assert result.uncited == 2


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (
            "The ledger database is PostgreSQL 17 behind PgBouncer.",
            "The ledger database is PostgreSQL 17 behind PgBouncer. [1]",
        ),
        (
            "The database that holds the ledger is PostgreSQL 17.",
            "The database that holds the ledger is PostgreSQL 17. [1]",
        ),
        ("About 5 minutes", "About 5 minutes [2]"),
        ("PgBouncer", "PgBouncer [1]"),
    ],
)
def test_a_sentence_that_repeats_one_memory_is_given_its_citation(reply: str, text: str) -> None:
    result = checked(reply)
    assert (result.text, result.attributed, result.uncited) == (text, 1, 0)


@pytest.mark.parametrize(
    "reply",
    [
        "The source is 5 minutes away.",
        "Ledger pulls never lag the source by about 5 minutes.",
        "PostgreSQL 17 lags by 5 minutes.",
        "Source.",
        "The ledger database is PostgreSQL 17 behind PgBouncer [9].",
    ],
)
def test_a_sentence_that_no_single_memory_says_is_not_given_one(reply: str) -> None:
    result = checked(reply)
    assert (result.text, result.attributed, result.uncited) == ("", 0, 1)


def test_a_sentence_that_only_repeats_a_question_for_something_is_left_out() -> None:
    result = checked("The ledger database holds the ledger [1]. It lags by 5 minutes [2].")
    assert (result.text, result.echoes) == ("It lags by 5 minutes. [2]", 1)
    assert checked("How far does the ledger database lag?").text == ""


def test_a_yes_in_the_words_of_the_question_is_an_answer() -> None:
    result = check_reply("Yes, ledger pulls lag the source [2].", SOURCES, "Do ledger pulls lag the source?")
    assert (result.text, result.echoes) == ("Yes, ledger pulls lag the source. [2]", 0)


@pytest.mark.parametrize("refusal", ["I'm sorry, I cannot help with that.", "I don't know.", "As an AI model I won't."])
def test_a_refusal_is_recognised(refusal: str) -> None:
    assert checked(refusal).refused
    assert checked(refusal).text == ""


@given(st.text(max_size=200))
def test_whatever_a_model_says_only_what_was_sent_is_cited(reply: str) -> None:
    result = checked(reply)
    assert set(result.cited) <= set(SOURCES)
    assert not set(result.unknown) & set(SOURCES)
    assert bool(result.text) == bool(result.cited)


@given(
    st.lists(st.sampled_from(["[1]", "[2]", "[9]", "Ledger pulls lag", "by 5 minutes", ".", "\n", " "]), max_size=25)
)
def test_every_sentence_that_is_kept_ends_in_a_citation(pieces: list[str]) -> None:
    for line in checked("".join(pieces)).text.split("\n"):
        assert line == "" or line.endswith("]")
