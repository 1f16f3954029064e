"""Validation: a value is kept exactly, or refused with its name, its value and a way out."""

from __future__ import annotations

import enum
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memanto.errors import InvalidInputError
from memanto.memory.validation import (
    MAX_METADATA_DEPTH,
    check_confidence,
    check_draft,
    check_id_prefix,
    check_limit,
    check_query,
    check_source,
    coerce_provenance,
    coerce_status,
    coerce_type,
    unfilled_template,
)
from memanto.models import MAX_METADATA, MAX_QUERY, MAX_TEXT, Draft, MemoryType, Provenance, Status
from memanto.times import MAX_TIME, MIN_TIME


def draft(**fields: Any) -> Draft:
    return check_draft(Draft(**{"content": "the ledger lags", **fields}))


def refusal(**fields: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        draft(**fields)
    return caught.value.message


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\x00", "\u200b\ufeff", "\u2028 \xa0\u3000", "\x1b\x7f"])
def test_blank_content_and_queries_are_refused(blank: str) -> None:
    assert "content" in refusal(content=blank)
    assert "is blank" in refusal(content=blank)
    with pytest.raises(InvalidInputError, match=r"query .* is blank"):
        check_query(blank)


@pytest.mark.parametrize(
    "text", ["a\x00b\x1b[31m\r\n", "  padded \n", "e\u0301 and é", "👩\u200d💻", "\ud7ff\ue000", "x" * MAX_TEXT]
)
def test_content_is_kept_exactly(text: str) -> None:
    assert draft(content=text).content == text


def test_a_lone_surrogate_is_refused_with_its_position() -> None:
    message = refusal(content="ab\udc80c")
    assert "'\\udc80'" in message
    assert "position 2" in message
    for field in ("title", "source_ref", "key", "run_id", "actor"):
        assert field in refusal(**{field: "\ud800"})
    assert "tag" in refusal(tags=("\ud800",))
    assert "metadata['a'][1]" in refusal(metadata={"a": [1, "\ud800"]})
    assert "metadata" in refusal(metadata={"\ud800": 1})


@pytest.mark.parametrize(
    "fields",
    [
        {"content": "x" * (MAX_TEXT + 1)},
        {"content": b"bytes"},
        {"content": None},
        {"title": "t" * 101},
        {"title": 5},
        {"tags": "ops"},
        {"tags": 5},
        {"tags": {"a": 1}},
        {"tags": [""]},
        {"tags": ["\u200b"]},
        {"tags": ["t" * 65]},
        {"tags": ["a\nb"]},
        {"tags": [str(n) for n in range(10_000)]},
        {"tags": [None]},
        {"confidence": float("nan")},
        {"confidence": float("inf")},
        {"confidence": -0.1},
        {"confidence": 1.000001},
        {"confidence": True},
        {"confidence": "0.9"},
        {"source": ""},
        {"source": "s" * 65},
        {"source": "a/b"},
        {"source": "é"},
        {"source": 7},
        {"source_ref": ""},
        {"source_ref": "r" * 513},
        {"key": ""},
        {"key": " "},
        {"key": "k" * 257},
        {"key": "a\x00b"},
        {"run_id": "a\tb"},
        {"actor": "a" * 257},
        {"pinned": 1},
        {"type": "facts"},
        {"provenance": 3},
        {"valid_from": "2026-01-01"},
        {"valid_from": datetime(2026, 1, 1)},  # noqa: DTZ001
        {"valid_to": MAX_TIME + timedelta(microseconds=1)},
        {"valid_from": MIN_TIME.replace(tzinfo=timezone(timedelta(hours=1)))},
        {"valid_from": MAX_TIME, "valid_to": MIN_TIME},
        {"valid_from": MIN_TIME, "valid_to": MIN_TIME},
        {"metadata": [1]},
        {"metadata": {1: "a"}},
        {"metadata": {"a": float("nan")}},
        {"metadata": {"a": [float("-inf")]}},
        {"metadata": {"a": 2**63}},
        {"metadata": {"a": {1, 2}}},
        {"metadata": {"a": datetime(2026, 1, 1, tzinfo=UTC)}},
        {"metadata": {"a": "é" * (MAX_METADATA // 2)}},
    ],
    ids=lambda fields: "+".join(f"{name}={str(value)[:20]}" for name, value in fields.items()),
)
def test_what_breaks_a_limit_is_refused_by_the_name_of_its_field(fields: dict[str, Any]) -> None:
    message = refusal(**fields)
    assert any(name.rstrip("s") in message for name in fields)
    assert len(message) < 300


def test_a_title_loses_line_breaks_and_outer_space_and_a_blank_one_is_none() -> None:
    assert draft(title=" one \r\n two\u2028three  ").title == "one two three"
    assert draft(title=" \n ").title is None
    assert draft(title="t" * 100 + "\n").title == "t" * 100


def test_tags_are_stripped_normalised_and_counted_once() -> None:
    assert draft(tags=[" ops ", "cafe\u0301", "café", "Ops", "ops"]).tags == ("ops", "café", "Ops")
    assert len(draft(tags=[str(n) for n in range(20)] * 500).tags) == 20


def test_confidence_is_rounded_to_six_decimals() -> None:
    assert check_confidence(1 / 3) == 0.333333
    assert str(check_confidence(-0.0)) == "0.0"
    assert isinstance(check_confidence(1), float)


@pytest.mark.parametrize("written", ["claude code", "claude_code", "claude-code", "Claude", " Claude  Code "])
def test_the_ways_to_write_claude_code_are_one_author(written: str) -> None:
    assert check_source(written) == "claude_code"
    assert draft(source=written).source == "claude_code"


def test_other_sources_keep_their_spelling_but_for_spaces() -> None:
    assert check_source("Nightly reconciler-2.1") == "Nightly_reconciler-2.1"
    assert check_source("claude-3") == "claude-3"


def test_times_become_utc() -> None:
    start = datetime(2026, 6, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert draft(valid_from=start).valid_from == datetime(2026, 6, 1, tzinfo=UTC)
    assert draft(valid_from=start).valid_from.tzinfo is UTC  # type: ignore[union-attr]
    assert draft(valid_from=MIN_TIME, valid_to=MAX_TIME).valid_to == MAX_TIME


def test_metadata_becomes_plain_json_of_its_own() -> None:
    inner = [1, (2, 3.5)]
    given_metadata = {"a": inner, "b": Status.ACTIVE, "c": None, "d": True, "e": "\x00", "f": -(2**63)}
    checked = draft(metadata=given_metadata).metadata
    inner.append(4)
    assert checked == {"a": [1, [2, 3.5]], "b": "active", "c": None, "d": True, "e": "\x00", "f": -(2**63)}
    assert type(checked["b"]) is str


def test_metadata_may_be_nested_to_its_limit_and_no_deeper() -> None:
    def nested(depth: int) -> dict[str, Any]:
        return {"a": 1} if depth == 1 else {"a": nested(depth - 1)}

    assert draft(metadata=nested(MAX_METADATA_DEPTH - 1)).metadata == nested(MAX_METADATA_DEPTH - 1)
    assert "deeper" in refusal(metadata=nested(500))


@pytest.mark.parametrize(
    ("coerce", "written", "member"),
    [
        (coerce_type, "fact", MemoryType.FACT),
        (coerce_type, " Fact ", MemoryType.FACT),
        (coerce_type, MemoryType.ERROR, MemoryType.ERROR),
        (coerce_provenance, "explicit statement", Provenance.EXPLICIT_STATEMENT),
        (coerce_provenance, "Explicit-Statement", Provenance.EXPLICIT_STATEMENT),
        (coerce_status, "ACTIVE", Status.ACTIVE),
    ],
)
def test_names_of_closed_sets_are_read_leniently(
    coerce: Callable[[str], enum.StrEnum], written: str, member: enum.StrEnum
) -> None:
    assert coerce(written) is member


@pytest.mark.parametrize(
    ("coerce", "written", "nearest"),
    [
        (coerce_type, "facts", "fact"),
        (coerce_type, "prefrence", "preference"),
        (coerce_provenance, "explicit", "explicit_statement"),
        (coerce_status, "superceded", "superseded"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(
    coerce: Callable[[str], enum.StrEnum], written: str, nearest: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        coerce(written)
    assert f"{written!r}; did you mean {nearest!r}?" in caught.value.message
    assert nearest in caught.value.hint


def test_a_name_like_no_other_lists_those_there_are() -> None:
    with pytest.raises(InvalidInputError) as caught:
        coerce_type("zzz" * 100)
    assert "did you mean" not in caught.value.message
    assert all(kind.value in caught.value.hint for kind in MemoryType)


def test_limits_are_whole_numbers_from_1_to_100() -> None:
    assert (check_limit(1), check_limit(100)) == (1, 100)
    for value in (0, 101, -1, True, 1.0, "5", None):
        with pytest.raises(InvalidInputError, match="limit"):
            check_limit(value)  # type: ignore[arg-type]


def test_queries_have_a_longest_length() -> None:
    assert check_query("x" * MAX_QUERY)
    with pytest.raises(InvalidInputError, match="10,001"):
        check_query("x" * (MAX_QUERY + 1))


def test_an_id_prefix_gets_the_hyphens_of_a_uuid() -> None:
    full = "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071"
    assert check_id_prefix(full.upper()) == full
    assert check_id_prefix(full.replace("-", "")) == full
    assert check_id_prefix(" 0197a3c45d ") == "0197a3c4-5d"
    assert check_id_prefix("0197a3c4-") == "0197a3c4"
    for length in range(6, 37):
        assert full.startswith(check_id_prefix(full[:length]))


@pytest.mark.parametrize("value", ["", "019", "xyz1", "0" * 33, "----", None, 12345, "٠١٩٧"])
def test_what_cannot_begin_an_id_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="memory id"):
        check_id_prefix(value)


@pytest.mark.parametrize(
    "text",
    [
        "<distilled finding>",
        "<distilled finding ",
        "SESSION HANDOFF | Goal: <the goal | Done: <what is done> | Next: write the report",
        "When <trigger, in words> run <the fix>",
        "first line <what was learned\nsecond line",
    ],
)
def test_a_placeholder_left_in_a_text_is_noticed(text: str) -> None:
    assert unfilled_template(text)


@pytest.mark.parametrize(
    "text",
    [
        "Ledger pulls lag by ~5 minutes",
        "deploy <env> with <b>care</b>, List<string> and Map<K, V>",
        "if a < b and c > d, or lag <5 min and rising > 10",
        '<a href="https://example.com">link</a>',
        "std::cout << value << other thing",
        "x<y and more",
        "<b>",
        "<https://example.com/page>",
        "when load <max and lag <max, scale down: x > y",
    ],
)
def test_markup_code_and_comparisons_are_no_placeholders(text: str) -> None:
    assert not unfilled_template(text)


labels = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).filter(
    lambda t: t.isprintable() and t.strip()
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(labels, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(
    content=labels,
    title=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    tags=st.lists(labels, max_size=8),
    confidence=st.none() | st.floats(0, 1),
    key=st.none() | labels,
    metadata=st.dictionaries(labels, json_values, max_size=3),
)
def test_a_checked_draft_passes_unchanged(**fields: Any) -> None:
    once = draft(**fields)
    assert check_draft(once) == once
    assert once.metadata == fields["metadata"]
    assert once.content == fields["content"]


@given(st.text())
def test_any_text_is_accepted_or_invalid_input(text: str) -> None:
    for field in ("content", "title", "source", "source_ref", "key"):
        try:
            draft(**{field: text})
        except InvalidInputError as error:
            assert field in error.message
