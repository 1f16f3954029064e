"""The daily summary: one line per memory by type, the same however often it is asked for (our decision)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tests.acceptance.cli_kit import Cli

from memanto import Draft, Memanto, MemoryType
from memanto.errors import InvalidInputError
from memanto.hygiene.spans import day_span
from memanto.hygiene.summary import HEADINGS
from memanto.hygiene.summary_text import markdown
from memanto.models import Status
from memanto.testing import FixedClock

DAY = date(2026, 1, 1)
OLD, NEW = "The primary database is Postgres", "The primary database is now MySQL"


def lines(memory: Memanto, day: date = DAY, **options: object) -> list[tuple[str, str, str]]:
    summary = memory.daily_summary(day, **options)  # type: ignore[arg-type]
    return [(item.heading, item.line, item.what) for item in summary.items]


def test_every_memory_of_the_day_has_a_line_under_its_heading(on_each_engine: Memanto, clock: FixedClock) -> None:
    memory = on_each_engine
    for kind in MemoryType:
        memory.remember(f"Something about {kind.value} number one", type=kind)
    memory.remember("SESSION HANDOFF | Goal: ship | Next: test", type="context")
    clock.advance(timedelta(days=1))
    memory.remember("Only tomorrow", type="fact")
    summary = memory.daily_summary(DAY)
    assert len(summary.items) == len(MemoryType) + 1
    assert [item.heading for item in summary.items] == sorted(
        (item.heading for item in summary.items), key=list(HEADINGS).index
    )
    assert [item.line for item in summary.items if item.heading == "Handed over"] == [
        "SESSION HANDOFF | Goal: ship | Next: test"
    ]
    assert [item.line for item in memory.daily_summary().items] == ["Only tomorrow"]


def test_an_empty_day_says_so(memory: Memanto) -> None:
    summary = memory.daily_summary(DAY)
    assert (summary.items, summary.counts, summary.backlog) == ((), {}, 0)
    assert "Nothing was recorded." in markdown(summary, UTC)


def test_a_past_day_reads_the_same_whatever_happens_later(memory: Memanto, clock: FixedClock) -> None:
    first = memory.remember(OLD, type="fact")
    second = memory.remember("Chose retries", type="decision")
    clock.advance(timedelta(days=1))
    before = markdown(memory.daily_summary(DAY), UTC)
    memory.edit(first.id, content="The primary database is Oracle")
    memory.expire(second.id)
    memory.detect_conflicts()
    assert markdown(memory.daily_summary(DAY), UTC) == before
    assert markdown(memory.daily_summary(DAY), UTC) == before


def test_what_was_changed_is_told_as_what_it_was(memory: Memanto, clock: FixedClock) -> None:
    ids = [memory.remember(text, type="fact").id for text in ("First thing", "Second thing", "Third thing")]
    clock.advance(timedelta(days=1))
    memory.edit(ids[0], content="First thing, mended")
    memory.expire(ids[1])
    memory.verify(ids[2])
    assert lines(memory, DAY + timedelta(days=1)) == [
        ("Facts", "First thing, mended", "edit"),
        ("Facts", "Second thing", "expire"),
        ("Facts", "Third thing", "verify"),
    ]
    assert [item.status for item in memory.daily_summary().items].count(Status.EXPIRED) == 1


def test_contradictions_with_older_memories_are_flagged(memory: Memanto, clock: FixedClock) -> None:
    older = memory.remember(OLD, type="fact")
    clock.advance(timedelta(days=40))
    newer = memory.remember(NEW, type="fact")
    summary = memory.daily_summary()
    assert [(one.older, one.newer) for one in summary.contradictions] == [(older.id, newer.id)]
    assert (len(summary.conflicts), summary.backlog) == (1, 1)
    page = markdown(summary, UTC)
    assert f"⚠ {NEW}" in page
    assert "## Conflicts (1 open)" in page
    memory.resolve_conflict(summary.conflicts[0].id, "keep-new")
    again = memory.daily_summary()
    assert (again.contradictions, [one.action for one in again.decided], again.backlog) == ((), ["keep-new"], 0)


def test_records_of_upkeep_are_no_items(memory: Memanto) -> None:
    memory.remember(OLD, type="fact")
    memory.detect_conflicts()
    assert len(memory.daily_summary(DAY).items) == 1


def test_what_does_not_fit_the_budget_is_counted(memory: Memanto) -> None:
    memory.remember_many([Draft(content=f"Fact {n} " + "x" * 80, type=MemoryType.FACT) for n in range(10)])
    summary = memory.daily_summary(DAY, budget_tokens=60)
    assert len(summary.items) + summary.left_out["Facts"] == 10
    assert summary.left_out["Facts"] > 0
    assert summary.counts == {"Facts": 10}
    assert f"{summary.left_out['Facts']} more did not fit the budget" in markdown(summary, UTC)


def test_a_long_text_is_cut_visibly_and_its_id_is_shown(memory: Memanto) -> None:
    receipt = memory.remember("word " * 200, type="fact")
    [item] = memory.daily_summary(DAY).items
    assert item.line.endswith("…")
    assert receipt.id in markdown(memory.daily_summary(DAY), UTC)


def test_the_summary_of_a_run_holds_its_memories_and_steps(memory: Memanto) -> None:
    memory.remember("Not of the run", type="fact")
    with memory.run("reconcile") as run:
        run.step("Pulled the ledger")
        memory.remember("Learned to wait", type="learning", run_id=run.id)
    summary = memory.daily_summary(run_id=run.id)
    told = " | ".join(item.line for item in summary.items)
    assert "Pulled the ledger" in told
    assert "Learned to wait" in told
    assert "Not of the run" not in told


def test_a_forgotten_memory_leaves_no_text_in_the_summary(memory: Memanto) -> None:
    receipt = memory.remember("The secret recipe", type="fact")
    memory.forget(receipt.id)
    assert "secret" not in markdown(memory.daily_summary(DAY), UTC)


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)])
def test_a_day_is_a_local_day_also_where_clocks_change(day: str, hours: int) -> None:
    zone = ZoneInfo("Europe/Berlin")
    first, last = day_span(date.fromisoformat(day), zone)
    assert (last - first) == timedelta(hours=hours)
    assert first.astimezone(zone).isoformat().startswith(f"{day}T00:00")


def test_the_local_day_decides_what_belongs_to_it(memory: Memanto, clock: FixedClock) -> None:
    clock.set(datetime(2026, 1, 1, 23, 30, tzinfo=UTC))
    memory.remember("Half past midnight in Berlin", type="event")
    assert lines(memory, DAY, zone=ZoneInfo("Europe/Berlin")) == []
    assert len(lines(memory, DAY + timedelta(days=1), zone=ZoneInfo("Europe/Berlin"))) == 1


def test_a_day_and_a_span_exclude_each_other(memory: Memanto, clock: FixedClock) -> None:
    with pytest.raises(InvalidInputError, match="both a day"):
        memory.daily_summary(DAY, since=clock())
    with pytest.raises(InvalidInputError, match="is empty"):
        memory.daily_summary(since=clock(), until=clock())


def test_a_model_adds_only_sentences_that_cite_what_was_sent(memory: Memanto) -> None:
    memory.remember("Ledger pulls lag five minutes", type="learning")
    reply = "Ledger pulls lag five minutes [1]. The moon is made of cheese [9]. Nobody said that."
    summary = memory.daily_summary(DAY, llm=lambda prompt: reply)
    assert summary.digest == "Ledger pulls lag five minutes. [1]"
    assert list(summary.cited) == [1]
    assert summary.notes


# -- command line -----------------------------------------------------------------------------------
@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    monkeypatch.chdir(tmp_path)
    cli = Cli(tmp_path / "home", monkeypatch)
    cli.done("agent", "create", "tester")
    yield cli


def test_the_command_prints_the_day_and_writes_a_file(cli: Cli, tmp_path: Path) -> None:
    assert "Nothing was recorded." in cli.done("daily-summary").out
    cli.remember("Chose to re-pull the ledger", "--type", "decision")
    assert "## Decided (1)" in cli.done("daily-summary").out
    value = cli.done("daily-summary", "--json").json["summaries"][0]
    assert (value["counts"], value["agent"]) == ({"Decided": 1}, "tester")
    cli.done("daily-summary", "--output", str(tmp_path / "day.md"))
    assert "Chose to re-pull" in (tmp_path / "day.md").read_text("utf-8")
    assert cli("daily-summary", "--output", str(tmp_path / "no" / "day.md")).status == 2
    cli.done("agent", "create", "other")
    both = cli.done("daily-summary", "--all-agents", "--json").json["summaries"]
    assert [one["agent"] for one in both] == ["other", "tester"]


def test_yesterday_is_a_day(cli: Cli) -> None:
    cli.remember("Only today", "--type", "fact")
    assert cli.done("daily-summary", "--date", "yesterday", "--json").json["summaries"][0]["items"] == []
