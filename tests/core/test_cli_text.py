"""What a person reads: ids that can be copied, whole texts, and nothing that steers the terminal."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memanto.cli.style import Palette, columns, width
from memanto.cli.text import SHORT_ID, history_lines, memory_lines, result_lines, short_ids, stamp
from memanto.models import Decision, Memory, MemoryType, Recollection, Status, Why

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
PLAIN = Palette()


def memory(content: str = "The ledger lags", **fields: object) -> Memory:
    values: dict[str, object] = {
        "id": "0197a6e2-1f3c-7a01-8d4c-000000000001",
        "version": 1,
        "namespace": "loop",
        "type": MemoryType.FACT,
        "content": content,
        "title": "",
        "recorded_at": NOON,
    }
    return Memory(**(values | fields))  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 2**128 - 1), max_size=20), st.integers(0, 2**16))
def test_short_ids_are_unique_prefixes_however_close_the_ids(numbers: list[int], near: int) -> None:
    ids = {str(uuid.UUID(int=n)) for one in numbers for n in (one, (one + near) % 2**128)}
    shown = short_ids(ids)
    assert set(shown) == ids
    for one, prefix in shown.items():
        assert len(prefix) >= SHORT_ID
        assert [other for other in ids if other.startswith(prefix)] == [one]


@given(st.text())
def test_stored_text_cannot_steer_a_terminal(text: str) -> None:
    shown = Palette(terminal=True).safe(text)
    assert not set(shown) & {"\x1b", "\r", "\x07", "\x9b", "\x00", "\u202e"}
    assert Palette(terminal=False).safe(text) == text


def test_colours_are_written_only_when_asked_for() -> None:
    assert Palette(colour=True, terminal=True)("id", "abc") == "\x1b[36mabc\x1b[0m"
    assert PLAIN("id", "abc") == "abc"


def test_columns_line_up_with_wide_characters_and_colours() -> None:
    painted = Palette(colour=True, terminal=True)("id", "ab")
    lines = columns([["数据", "1"], [painted, "2"], ["é", "3"], ["e\u0301", "4"]])
    assert {width(line.rstrip("1234")) for line in lines} == {6}


def test_a_result_shows_its_whole_text_and_what_its_reader_must_know() -> None:
    text = "x" * 5_000 + "\nlast line"
    found = memory(text, status=Status.QUARANTINED, type_guessed=True, confidence=0.72, source="codex", tags=("db",))
    shown = "\n".join(result_lines([Recollection(memory=found, score=1.0, why=Why())], UTC, PLAIN))
    assert "x" * 5_000 in shown
    assert "   last line" in shown
    for part in (
        "fact (guessed)",
        "2026-06-01 12:00",
        "confidence 0.72",
        "codex",
        "quarantined",
        "#db",
        found.id[:SHORT_ID],
    ):
        assert part in shown


def test_an_ordinary_result_does_not_mention_its_status() -> None:
    assert "active" not in "\n".join(result_lines([Recollection(memory=memory(), score=1.0, why=Why())], UTC, PLAIN))


def test_history_says_who_did_what_when_and_why() -> None:
    decided = Decision(actor="ops", action="edit", reason="measured again")
    versions = [memory("lag 5 minutes", retired_at=NOON), memory("lag 7 minutes", version=2, decision=decided)]
    shown = "\n".join(history_lines(versions, UTC, PLAIN))
    assert "remember by user" in shown
    assert "edit by ops: measured again" in shown
    assert shown.index("lag 5 minutes") < shown.index("lag 7 minutes")


def test_a_forgotten_memory_is_shown_as_such() -> None:
    assert "no text is left" in "\n".join(memory_lines(memory("", status=Status.FORGOTTEN), UTC, PLAIN))


def test_the_ends_of_the_calendar_can_be_shown_in_every_zone() -> None:
    from zoneinfo import ZoneInfo

    assert stamp(datetime(9999, 12, 31, 23, 59, tzinfo=UTC), ZoneInfo("Asia/Tokyo")) == "9999-12-31 23:59"
    assert stamp(datetime(1, 1, 1, tzinfo=UTC), ZoneInfo("America/New_York")) == "0001-01-01 00:00"
