"""Export and import lose nothing and can be repeated. Pins the specification."""

import json

import pytest

from memanto import Embedded, Memanto, Status
from memanto.errors import InvalidInputError
from memanto.testing import HashEmbedder


@pytest.fixture
def other(tmp_path, clock):
    with Memanto("elsewhere", store=Embedded(tmp_path / "other"), embedder=HashEmbedder(), clock=clock) as memory:
        yield memory


def fill(memory, clock):
    text = "".join(f"Sentence {n} about herring. " for n in range(600))
    first = memory.remember(
        "The database is MySQL", key="database", type="fact", tags=["db"], metadata={"n": [1, 2.5, None]}
    )
    clock.advance(3600)
    memory.remember("The database is PostgreSQL", key="database", type="fact")
    memory.edit(first.id, content="The database is PostgreSQL 17", reason="upgrade")
    clock.advance(3600)
    memory.pin(memory.remember("NUL \x00, tab \t, 漢字 and 👩‍👩‍👧 stay", type="observation").id)
    memory.remember(text, type="context")
    memory.forget(memory.remember("erase me", type="event").id)
    memory.remember("a guess", type="fact", provenance="inferred")
    clock.advance(3600)
    return first.id


def without_marks(lines):
    rows = [json.loads(line) for line in lines][1:]
    return [{name: value for name, value in row.items() if name != "imported"} for row in rows]


def test_an_import_of_an_export_is_the_same_store(memory, other, clock):
    first = fill(memory, clock)
    lines = list(memory.export())
    report = other.import_(lines)
    assert (report.stored, report.conflicts) == (len(lines) - 1, ())
    assert without_marks(other.export()) == without_marks(lines)
    assert all(row["imported"] for row in (json.loads(line) for line in list(other.export())[1:]))
    assert [m.content for m in other.history(first)] == [m.content for m in memory.history(first)]
    moment = clock() - (clock() - memory.history(first)[1].recorded_at) / 2
    for query in ("database", None):
        ours, theirs = ([hit.memory.content for hit in one.recall(query, as_of=moment)] for one in (memory, other))
        assert ours == theirs


def test_importing_twice_changes_nothing(memory, other, clock):
    fill(memory, clock)
    lines = list(memory.export())
    other.import_(lines)
    before = list(other.export())[1:]
    again = other.import_(lines)
    assert (again.stored, again.present) == (0, len(lines) - 1)
    assert list(other.export())[1:] == before
    assert memory.import_(lines).stored == 0


def test_an_import_adds_the_versions_that_came_since(memory, other, clock):
    first = fill(memory, clock)
    other.import_(list(memory.export()))
    clock.advance(60)
    memory.edit(first, content="The database is PostgreSQL 18")
    report = other.import_(list(memory.export()))
    assert report.stored == 1
    assert other.show(first).content == "The database is PostgreSQL 18"
    assert other.history(first)[-2].retired_at == other.show(first).recorded_at


def test_slots_work_after_an_import(memory, other, clock):
    first = fill(memory, clock)
    other.import_(list(memory.export()))
    assert other.remember("The database is Oracle", key="database", type="fact").id == first
    text = "".join(f"Sentence {n} about herring. " for n in range(600))
    assert other.remember(text, type="context").duplicate


def test_a_dry_run_reports_and_stores_nothing(memory, other, clock):
    fill(memory, clock)
    lines = list(memory.export())
    assert other.import_(lines, dry_run=True).stored == len(lines) - 1
    assert other.recall(everything=True) == []


def test_memories_that_differ_are_reported_and_left_alone(memory, other, clock):
    fill(memory, clock)
    lines = list(memory.export())
    other.import_(lines)
    changed = [line.replace("MySQL", "SQLite") for line in lines]
    report = other.import_(changed)
    assert len(report.conflicts) == 1
    assert report.stored == 0
    assert "SQLite" not in "".join(other.export())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"format": "other"}', "format 'other'"),
        ('{"id": "x", "surprise": 1}', "unknown field 'surprise'"),
        ('{"id": "x", "version": 1}', "not a version of a memory"),
        (
            '{"id":"x","version":1,"type":"fact","content":"t","title":"t","recorded_at":"2026-13-01T00:00:00Z"}',
            "2026-13-01",
        ),
        (
            '{"id":"x","version":1,"type":"fact","content":"t","title":"t","recorded_at":"2126-01-01T00:00:00.000000Z"}',
            "future",
        ),
        (
            '{"id":"x","version":1,"type":"fact","content":" ","title":"t","recorded_at":"2025-01-01T00:00:00Z"}',
            "content",
        ),
        (
            '{"id":"x","version":true,"type":"fact","content":"t","title":"t","recorded_at":"2025-01-01T00:00:00.000000Z"}',
            "version",
        ),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_imported(memory, clock, line, message):
    fill(memory, clock)
    before = list(memory.export())[1:]
    with pytest.raises(InvalidInputError, match=f"line 2: .*{message}"):
        memory.import_([before[0], line])
    assert list(memory.export())[1:] == before


def test_secrets_in_an_import_are_redacted(other):
    secret = "ghp_" + "a1B2" * 9
    row = {
        "id": "01900000-0000-7000-8000-000000000001",
        "version": 1,
        "type": "fact",
        "title": "t",
        "content": f"use {secret}",
        "recorded_at": "2025-01-01T00:00:00.000000Z",
    }
    assert other.import_([json.dumps(row)]).redacted == 1
    assert secret not in "".join(other.export())


def test_tombstones_travel(memory, other, clock):
    fill(memory, clock)
    other.import_(list(memory.export()))
    assert other.status().by_status[Status.FORGOTTEN] == 1
