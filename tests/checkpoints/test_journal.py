"""The journal keeps what was appended, in order, up to whatever a crash cut off."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memanto.engine.journal import Journal

TEXTS = ["", "plain", "naïve\x00 日本\U0001f600"]
values = st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=6)


def read(path: Path) -> list[Any]:
    journal = Journal(path)
    try:
        return [value for value, texts in journal.entries() if texts == TEXTS]
    finally:
        journal.close()


def write(path: Path, *entries: Any) -> None:
    journal = Journal(path)
    for entry in entries:
        journal.append(entry, TEXTS)
    journal.close()


@given(st.lists(values, max_size=6), st.lists(values, max_size=3))
@settings(max_examples=40, deadline=None)
def test_entries_come_back_in_order(
    tmp_path_factory: pytest.TempPathFactory, first: list[Any], later: list[Any]
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal"
    write(path, *first)
    assert read(path) == first
    write(path, *later)
    assert read(path) == [*first, *later]


def test_a_log_that_was_cut_off_anywhere_holds_the_whole_entries_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    entries = [["put", n, "x" * n] for n in range(12)]
    write(path, *entries)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        kept = read(path)
        assert kept == entries[: len(kept)]
        write(path, "later")
        assert read(path) == [*kept, "later"]
    assert len(kept) == len(entries) - 1


def test_a_flipped_bit_ends_the_log(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    write(path, "one", "two", "three")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    assert read(path) == ["one"]


def test_what_was_taken_back_or_flushed_is_gone(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    journal.append("kept", TEXTS)
    position = journal.append("undone", [])
    journal.undo(position)
    journal.append("later", TEXTS)
    journal.sync()
    assert list(journal.entries()) == [("kept", TEXTS), ("later", TEXTS)]
    journal.clear()
    journal.append("anew", TEXTS)
    assert list(journal.entries()) == [("anew", TEXTS)]
    journal.close()


def test_a_write_that_fails_half_way_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "journal")
    journal.append("kept", TEXTS)
    real = os.write

    def half(file: int, data: bytes) -> int:
        if len(data) > 20:
            return real(file, data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="No space"):
        journal.append("x" * 15, TEXTS)
    monkeypatch.undo()
    journal.append("later", TEXTS)
    assert list(journal.entries()) == [("kept", TEXTS), ("later", TEXTS)]
    journal.close()


def test_the_file_is_for_its_user_alone(tmp_path: Path) -> None:
    write(tmp_path / "journal", "secret")
    if os.name == "posix":
        assert (tmp_path / "journal").stat().st_mode & 0o777 == 0o600
