"""Bare words on the command line that complete the value of the option before them (our decision)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memanto.cli.words import join_bare_words
from memanto.errors import InvalidInputError

KNOWN = {"claude", "claude code", "last month", "last 7 days", "explicit statement"}


def complete(words: Sequence[str]) -> str | None:
    text = " ".join(words)
    return text if text in KNOWN else None


def joined(*arguments: str, positionals: int = 1) -> list[str]:
    return join_bare_words(
        arguments,
        valued={"--source", "-s", "--type"},
        complete={"--source": complete, "-s": complete},
        positionals=positionals,
    )[0]


def test_a_word_that_completes_a_known_value_is_joined() -> None:
    assert joined("text", "--source", "claude", "code") == ["text", "--source", "claude code"]


def test_the_longest_known_value_wins() -> None:
    assert joined("text", "-s", "last", "7", "days") == ["text", "-s", "last 7 days"]


def test_a_value_that_is_incomplete_alone_takes_its_words_even_where_a_positional_could_stand() -> None:
    assert joined("--source", "explicit", "statement") == ["--source", "explicit statement"]


def test_a_value_that_is_complete_alone_leaves_the_text_alone() -> None:
    assert joined("--source", "claude", "code") == ["--source", "claude", "code"]


def test_a_value_given_with_an_equals_sign_is_joined_too() -> None:
    assert joined("text", "--source=claude", "code", "--type", "fact") == [
        "text",
        "--source=claude code",
        "--type",
        "fact",
    ]


def test_what_was_joined_is_told() -> None:
    _, told = join_bare_words(
        ["text", "--source", "claude", "code"], valued={"--source"}, complete={"--source": complete}, positionals=1
    )
    assert [(one.option, one.words, one.value) for one in told] == [("--source", ("claude", "code"), "claude code")]


def test_a_stray_word_after_a_value_is_named() -> None:
    with pytest.raises(InvalidInputError, match="'shell'"):
        joined("text", "--source", "claude", "shell")


def test_a_stray_word_after_the_text_is_named() -> None:
    with pytest.raises(InvalidInputError, match="'world'"):
        joined("hello", "world")


def test_words_after_two_dashes_are_never_joined() -> None:
    assert joined("--source", "claude", "--", "code") == ["--source", "claude", "--", "code"]


@given(
    st.lists(
        st.sampled_from(["--source", "-s", "--type", "--flag", "claude", "code", "last", "7", "days", "x", "--", "-"])
    )
)
def test_joining_keeps_every_word_in_its_order_or_refuses(arguments: list[str]) -> None:
    try:
        result = joined(*arguments, positionals=2)
    except InvalidInputError:
        return
    assert " ".join(result) == " ".join(arguments)


def test_a_word_after_an_unknown_option_is_left_to_the_parser_which_names_the_option() -> None:
    assert joined("text", "--bogus", "value") == ["text", "--bogus", "value"]
