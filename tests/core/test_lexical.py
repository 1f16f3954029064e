"""The pre-pass: what the word tokenizer gets to see."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memanto.embedding.lexical import lexical_form


def words(text: str) -> set[str]:
    return set(lexical_form(text).split())


def test_plain_english_passes_unchanged() -> None:
    text = "The ledger lags, by ~5 minutes; don't re-pull it (well-known)."
    assert lexical_form(text) == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("café", "cafe"),
        ("cafe\u0301", "café"),
        ("Zürich", "Zurich"),
        ("ёлка", "елка"),
        ("Ελλάδα", "Ελλαδα"),
        ("\uff11\uff12\uff13\uff21\uff22\uff23", "123ABC"),
        ("٤٨٢", "482"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("ﬁle", "file"),
        ("مُحَمَّد", "محمد"),
        ("שָׁלוֹם", "שלום"),
        ("co\u00adoperate", "cooperate"),
        ("한국", "한국"),
    ],
)
def test_one_spelling_for_one_thing(one: str, other: str) -> None:
    assert lexical_form(one) == lexical_form(other)


def test_a_run_without_spaces_becomes_characters_and_pairs() -> None:
    assert words("東京都") == {"東", "京", "都", "東京", "京都"}
    assert words("서울에서") == {"서", "울", "에", "서울", "울에", "에서"}


def test_a_run_ends_where_another_script_begins() -> None:
    assert words("新しいAPIキー") == {"新", "し", "い", "新し", "しい", "API", "キ", "ー", "キー"}


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("parseConfigFile", {"parse", "Config", "File"}),
        ("HTTPServer", {"HTTP", "Server"}),
        ("OAuth2Token", {"O", "Auth2", "Token"}),
        ("PROJ482", {"PROJ", "482"}),
        ("100ms", {"100", "ms"}),
        ("1,250,000", {"1250000"}),
    ],
)
def test_parts_are_added_to_the_whole(name: str, parts: set[str]) -> None:
    assert words(name) == {name} | parts


@pytest.mark.parametrize("name", ["1.2.3", "PROJ-482", "max_retry_count", "index.ts", "2026-06-01"])
def test_an_identifier_earns_one_token_that_no_other_text_has(name: str) -> None:
    (whole,) = words(name) - {name}
    assert whole.isalnum()
    assert whole not in words(name.replace("-", " ").replace("_", " ").replace(".", " "))


def test_hyphenated_prose_earns_no_token_of_its_own() -> None:
    assert words("dairy-free") == {"dairy-free"}


def test_long_words_are_not_taken_apart() -> None:
    blob = "aGVsbG8" * 20
    assert words(blob) == {blob}


def test_lone_surrogates_separate_words() -> None:
    assert words("left\ud800right") == {"left", "right"}


@pytest.mark.parametrize(
    "text",
    ["e" + "\u0301" * 250_000 + "\u0327" * 250_000, "aA" * 250_000, "a." * 250_000, "1," * 250_000, "東" * 250_000],
    ids=["marks out of order", "capitals", "dots", "commas", "Han"],
)
def test_hostile_text_costs_no_more_than_its_length(text: str) -> None:
    """A quadratic step would need minutes to hours here, so that the test would never end."""
    assert len(lexical_form(text)) <= 6 * len(text)


@given(st.text(st.characters(codec=None), max_size=200))
def test_any_text_has_a_form_that_can_be_encoded(text: str) -> None:
    form = lexical_form(text)
    assert form.encode("utf-8").decode("utf-8") == form


@given(st.text(st.characters(codec="ascii"), max_size=100))
def test_ascii_text_stays_the_start_of_its_form(text: str) -> None:
    assert lexical_form(text).startswith(text)
