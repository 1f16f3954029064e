"""Recall shows the newer statement of an open update and marks contradictions (our decision)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.acceptance.cli_kit import Cli

from memanto import Memanto
from memanto.testing import FixedClock

VALUES = ["Postgres", "MySQL", "Oracle", "Aurora"]


def text(value: str) -> str:
    return f"The primary database is now {value}"


def write(memory: Memanto, clock: FixedClock, *values: str, **fields: object) -> list[str]:
    ids = []
    for value in values:
        ids.append(memory.remember(text(value), type="fact", **fields).id)  # type: ignore[arg-type]
        clock.advance(timedelta(days=1))
    return ids


def test_the_newest_of_a_chain_of_updates_stands_for_all(on_each_engine: Memanto, clock: FixedClock) -> None:
    memory = on_each_engine
    ids = write(memory, clock, *VALUES)
    [hit] = memory.recall("primary database")
    assert hit.memory.id == ids[-1]
    assert [one.memory.content for one in hit.folded] == [text(value) for value in reversed(VALUES[:-1])]
    known = {one.id for one in memory.conflicts()}
    assert {one.conflict for one in hit.folded} <= known


def test_everything_unfolds(memory: Memanto, clock: FixedClock) -> None:
    ids = write(memory, clock, *VALUES)
    hits = memory.recall("primary database", everything=True)
    assert {hit.memory.id for hit in hits} == set(ids)
    assert not any(hit.folded for hit in hits)


def test_the_newer_one_is_found_although_only_the_older_one_ranks_in_the_limit(
    memory: Memanto, clock: FixedClock
) -> None:
    write(memory, clock, "Postgres")
    newer = memory.remember(f"{text('MySQL')}. Nothing else moved.", type="fact").id
    assert memory.conflicts()
    [hit] = memory.recall(text("Postgres"), limit=1)
    assert hit.memory.id == newer
    assert [one.memory.content for one in hit.folded] == [text("Postgres")]


def test_a_contradiction_shows_both_and_marks_them(memory: Memanto, clock: FixedClock) -> None:
    one = memory.remember("Retries are enabled in the worker", type="fact")
    clock.advance(60)
    other = memory.remember("Retries are disabled in the worker", type="fact")
    hits = memory.recall("retries in the worker")
    assert {hit.memory.id for hit in hits} == {one.id, other.id}
    assert {hit.conflicts for hit in hits} == {(other.conflicts[0].id,)}


def test_an_earlier_answer_is_not_changed_by_what_was_found_or_decided_later(
    on_each_engine: Memanto, clock: FixedClock
) -> None:
    memory = on_each_engine
    write(memory, clock, *VALUES[:3])
    moments = [clock() - timedelta(days=n, hours=12) for n in range(3)]

    def answers() -> list[list[tuple[str, list[str], float]]]:
        return [
            [
                (hit.memory.id, [one.memory.id for one in hit.folded], hit.score)
                for hit in memory.recall("primary database", as_of=moment)
            ]
            for moment in moments
        ]

    before = answers()
    assert [len(found) for found in before] == [1, 1, 1]
    assert [len(found[0][1]) for found in before] == [2, 1, 0]
    write(memory, clock, "Aurora")
    [first, *_] = memory.conflicts()
    memory.resolve_conflict(first.id, "keep-old")
    memory.detect_conflicts(everything=True)
    memory.undo_conflict(first.id)
    assert answers() == before


def test_once_decided_nothing_is_folded_any_more(memory: Memanto, clock: FixedClock) -> None:
    write(memory, clock, *VALUES[:2])
    [conflict] = memory.conflicts()
    memory.resolve_conflict(conflict.id, "keep-both")
    hits = memory.recall("primary database")
    assert [hit.folded for hit in hits] == [(), ()]


def test_a_less_trusted_statement_hides_nothing(memory: Memanto, clock: FixedClock) -> None:
    """A tool's output must not push out what a person said."""
    (stated,) = write(memory, clock, "Postgres")
    observed = memory.remember(text("MySQL"), type="fact", provenance="observed")
    assert observed.conflicts
    assert {hit.memory.id for hit in memory.recall("primary database")} == {stated, observed.id}


def test_what_the_filter_leaves_out_folds_nothing(memory: Memanto, clock: FixedClock) -> None:
    older, newer = memory.remember(text("Postgres"), type="fact", tags=["a"]), None
    clock.advance(60)
    newer = memory.remember(text("MySQL"), type="fact", tags=["b"])
    assert newer.conflicts
    [hit] = memory.recall("primary database", tags=["a"])
    assert (hit.memory.id, hit.folded) == (older.id, ())


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    monkeypatch.chdir(tmp_path)
    cli = Cli(tmp_path / "home", monkeypatch)
    cli.done("agent", "create", "tester")
    yield cli


def test_the_command_line_names_what_is_folded_and_all_unfolds(cli: Cli) -> None:
    cli.remember(text("Postgres"), "--type", "fact")
    cli.remember(text("MySQL"), "--type", "fact")
    shown = cli.done("recall", "primary database").out
    assert shown.count("\n1. ") + shown.startswith("1. ") == 1
    assert "before" in shown
    assert text("Postgres") in shown
    assert "--all unfolds" in shown
    assert len(cli.recalled("primary database", "--all")) == 2
    assert len(cli.recalled("primary database")) == 1
