"""An import takes what an export can hold, to the last field, and nothing else. Pins our decisions."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from memanto import InMemory, Memanto
from memanto.engine.schema import OPEN_END
from memanto.errors import InvalidInputError
from memanto.ids import version_point_id
from memanto.testing import HashEmbedder

SECRET = "ghp_" + "a1B2" * 9
ID = "01900000-0000-7000-8000-000000000001"
OTHER = "01900000-0000-7000-8000-000000000002"
FORGOTTEN = {"version": 3, "status": "forgotten", "content": "", "title": "", "confidence": 0.0}


@pytest.fixture
def target():
    with Memanto("elsewhere", store=InMemory(), embedder=HashEmbedder()) as memory:
        yield memory


def row(**values: Any) -> str:
    first = {
        "id": ID,
        "version": 1,
        "type": "fact",
        "content": "carried",
        "title": "carried",
        "recorded_at": "2026-01-01T00:00:00.000000Z",
    }
    return json.dumps(first | values)


def without_marks(lines):
    return [{n: v for n, v in json.loads(line).items() if n != "imported"} for line in list(lines)[1:]]


def test_whatever_happened_to_memories_comes_back_as_it_was(memory, target, clock):
    text = "".join(f"Sentence {n} about herring. " for n in range(600))
    split = memory.remember(text, type="context", title="given")
    memory.pin(split.id)
    memory.edit(split.id, title="renamed", tags=["fish"])
    memory.forget(split.id, reason=f"it held {SECRET}")
    memory.remember(text, type="context")
    for month, value in ((3, "second"), (5, "third"), (1, "first")):
        memory.remember(value, key="slot", type="fact", valid_from=datetime(2025, month, 1, tzinfo=UTC))
        clock.advance(60)
    old, new = (memory.remember(one, type="decision").id for one in ("old way", "new way"))
    memory.supersede(old, new, reason="r" * 2_000)
    memory.restore(old)
    memory.remember("\u200b" + " " * 300 + "the title derived from this is invisible")
    again = memory.remember("said, forgotten, said again", type="event").id
    memory.forget(again)
    memory.edit(memory.remember("said, forgotten, said again", type="event").id, title="once more")
    lines = list(memory.export())
    assert target.import_(lines).stored == len(lines) - 1
    assert without_marks(target.export()) == without_marks(lines)
    assert all(check.ok for check in target.doctor() if check.name != "disk-space")


def test_what_a_dying_writer_left_is_exported_as_it_will_be(memory, target):
    """On a server a version can lack its retirement, and what a tombstone stands for can still be there."""
    edited = memory.remember("first", type="fact").id
    memory.edit(edited, content="second")
    forgotten = memory.remember("erased", type="fact").id
    engine = memory._opened()
    [kept] = engine.get("tester", [version_point_id("tester", forgotten, 1)], vectors=True).values()
    memory.forget(forgotten)
    lines = list(memory.export())
    from memanto.engine.port import Change

    engine.commit("tester", [Change(kept, stamp=())])
    engine.set_payload("tester", version_point_id("tester", edited, 1), {"retired_at": OPEN_END})
    assert list(memory.export())[1:] == lines[1:]
    assert target.import_(lines).stored == 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({**FORGOTTEN, "content": "text"}, "content"),
        ({**FORGOTTEN, "title": "text"}, "title"),
        ({**FORGOTTEN, "tags": ["a"]}, "tags"),
        ({**FORGOTTEN, "key": "slot"}, "key"),
        ({**FORGOTTEN, "metadata": {"a": 1}}, "metadata"),
        ({**FORGOTTEN, "source_ref": "file"}, "source_ref"),
        ({**FORGOTTEN, "valid_from": "2026-01-01T00:00:00Z"}, "valid_from"),
        ({**FORGOTTEN, "source": "a b/c"}, "source"),
        ({**FORGOTTEN, "version": 10**9}, "version"),
        ({"id": ID.replace("7", "A")}, "id"),
        ({"id": f"urn:uuid:{ID}"}, "id"),
        ({"id": ID.replace("-", "")}, "id"),
        ({"version": 1.0}, "version"),
        ({"pinned": 1}, "pinned"),
        ({"source": None}, "source"),
        ({"tags": "abc"}, "tags"),
        ({"confidence": True}, "confidence"),
        ({"begins": OPEN_END}, "begins"),
        ({"part": 1}, "part"),
        ({"parent_id": OTHER}, "part"),
        ({"parent_id": ID, "part": 1}, "itself"),
        ({"parent_id": OTHER, "part": -1}, "part"),
        ({"parent_id": OTHER, "part": 1, "parts": 2}, "parts"),
        ({"parts": 1}, "parts"),
        ({"decision": {"actor": "a"}}, "action"),
        ({"decision": {"action": "edit", "at": "now"}}, "'at'"),
        ({"decision": {"action": "e" * 65}}, "action"),
        ({"decision": {"action": "edit", "actor": "a" * 257}}, "actor"),
        ({"decision": {"action": "edit", "reason": "r" * 5_000}}, "reason"),
        ({"decision": {"action": "edit", "reason": "\ud800"}}, "reason"),
        ({"metadata": json.loads('{"a":' * 100 + "1" + "}" * 100)}, "nested"),
        ({"valid_from": "2026-01-02T00:00:00Z", "valid_to": "2026-01-01T00:00:00Z"}, "valid_from"),
    ],
)
def test_a_field_that_no_export_holds_is_refused_with_its_line(target, values, message):
    good = row(id=OTHER, content="good")
    with pytest.raises(InvalidInputError, match=f"line 2: .*{message}"):
        target.import_([good, row(**values)])
    assert target.recall(everything=True) == []


@pytest.mark.parametrize(
    ("second", "line"),
    [
        ({"version": 2, "content": "text"}, 1),  # version 1 is not retired
        ({"version": 3, "content": "text"}, 2),
        ({"version": 2, **FORGOTTEN, "recorded_at": "2026-01-02T00:00:00.000000Z"}, 2),
    ],
)
def test_versions_that_do_not_follow_each_other_are_refused_with_the_line(target, second, line):
    with pytest.raises(InvalidInputError, match=f"line {line}: "):
        target.import_([row(), row(**{"recorded_at": "2026-01-02T00:00:00.000000Z", **second})])


@pytest.mark.parametrize("lines", [None, 5, "text", [5], [None]])
def test_what_is_no_list_of_lines_is_refused(target, lines):
    with pytest.raises(InvalidInputError):
        target.import_(lines)


def test_a_secret_in_a_decision_is_redacted_and_counted(target):
    decision = {"actor": SECRET, "action": "edit", "reason": f"saw {SECRET}"}
    tombstone = row(id=OTHER, **FORGOTTEN, decision=decision)
    assert target.import_([row(decision=decision), tombstone]).redacted == 2
    exported = "".join(target.export())
    assert SECRET not in exported
    assert exported.count("saw [REDACTED:") == 2
