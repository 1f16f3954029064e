"""A value filled in before the present one never pushes out what others store meanwhile (our decision)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memanto import Embedded, Memanto
from memanto.engine.port import Change, Engine

JANUARY, MARCH, JUNE, SEPTEMBER = (datetime(2025, month, 1, tzinfo=UTC) for month in (1, 3, 6, 9))
KEY = "db"


def state(memory: Memanto, value: str, since: datetime | None = None) -> None:
    memory.remember(f"The database is {value}", type="fact", key=KEY, valid_from=since)


def current(memory: Memanto) -> list[str]:
    return [hit.memory.content.rsplit(" ", 1)[-1] for hit in memory.recall(key=KEY)]


def then(memory: Memanto, moment: datetime) -> list[str]:
    return [hit.memory.content.rsplit(" ", 1)[-1] for hit in memory.recall(key=KEY, valid_at=moment)]


def said(memory: Memanto) -> list[str]:
    [hit] = memory.recall(key=KEY)
    return [version.content.rsplit(" ", 1)[-1] for version in memory.history(hit.memory.id)]


def before_commit(engine: Engine, monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Do something right before the engine stores two changes at once, the first time it does."""
    commit, waiting = engine.commit, [act]

    def interrupted(namespace: str, changes: Sequence[Change]) -> list[datetime | None]:
        if len(changes) == 2 and waiting:
            waiting.pop()()
        return commit(namespace, changes)

    monkeypatch.setattr(engine, "commit", interrupted)


def test_a_value_stored_while_an_earlier_one_is_filled_in_stays_the_present_one(
    memory: Memanto, monkeypatch: pytest.MonkeyPatch
) -> None:
    state(memory, "Postgres", JUNE)
    before_commit(memory._opened(), monkeypatch, lambda: state(memory, "MySQL", SEPTEMBER))
    state(memory, "SQLite", JANUARY)
    assert current(memory) == ["MySQL"]
    assert said(memory) == ["Postgres", "MySQL", "SQLite", "MySQL"]
    assert [then(memory, moment) for moment in (JANUARY, JUNE, SEPTEMBER)] == [["SQLite"], ["Postgres"], ["MySQL"]]
    assert [check.name for check in memory.doctor() if not check.ok] == []


@pytest.mark.parametrize(
    ("value", "since", "present"),
    [("MariaDB", MARCH, "Postgres"), ("MySQL", SEPTEMBER, "MySQL"), ("MySQL", None, "MySQL")],
)
def test_what_goes_on_from_a_value_that_was_just_filled_in_holds_only_if_it_begins_later(
    value: str, since: datetime | None, present: str, memory: Memanto, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server stores the filled-in value and the present one after it in two requests; others come between."""
    state(memory, "Postgres", JUNE)
    engine = memory._opened()
    if engine.atomic_commit:
        pytest.skip("this engine stores both at once")
    insert, calls, waiting = engine._insert, [], [True]  # type: ignore[attr-defined]

    def interrupted(namespace: str, plans: Sequence[object]) -> set[str]:
        calls.append(len(plans))
        if len(calls) == 2 and waiting:
            waiting.clear()
            state(memory, value, since)
        return insert(namespace, plans)

    monkeypatch.setattr(engine, "_insert", interrupted)
    state(memory, "SQLite", JANUARY)
    assert not waiting
    assert current(memory) == [present]
    assert {"Postgres", "SQLite", value} == set(said(memory))
    assert then(memory, JUNE) == ["Postgres"]
    assert [check.name for check in memory.doctor() if not check.ok] == []


_WRITER = """
import sys
from datetime import UTC, datetime, timedelta
from memanto import Embedded, Memanto
folder, first, step, count = sys.argv[1], datetime.fromisoformat(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
with Memanto("tester", store=Embedded(folder), embedder=None) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        since = first + timedelta(days=step * number)
        memory.remember(f"The database is {since:%Y-%m-%d}", type="fact", key="db", valid_from=since)
"""


def test_two_processes_that_fill_in_and_go_on_lose_no_value_and_end_with_the_latest(tmp_path: Path) -> None:
    folder, count = tmp_path / "store", 12
    with Memanto("tester", store=Embedded(folder), embedder=None) as memory:
        state(memory, "2025-06-01", JUNE)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(folder), first.isoformat(), str(step), str(count)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for first, step in ((SEPTEMBER, 1), (MARCH, -1))
    ]  # fmt: skip
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.communicate("go\n", timeout=120)
        assert writer.returncode == 0
    with Memanto("tester", store=Embedded(folder), embedder=None) as memory:
        assert current(memory) == [f"2025-09-{count:02}"]
        assert len(set(said(memory))) == 2 * count + 1
        assert then(memory, JUNE) == ["2025-06-01"]
        assert then(memory, MARCH) == ["2025-03-01"]
        assert [check.name for check in memory.doctor() if not check.ok and check.name != "embedder"] == []
