"""Ids become times in their own order, and records hold what they were made from."""

from __future__ import annotations

import uuid
from datetime import datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memanto.checkpoints import Blob, Checkpoint, Key, Packed, Write
from memanto.checkpoints.layout import Layout, kind_of, moment, to_blob, to_checkpoint, to_writes
from memanto.errors import InvalidInputError, SerializationError

LAYOUT = Layout("loop")
KEY = Key("t", "", "1f1ecd6a-53c8-6ba4-8001-f7c8119d9f1e")
FULL = Checkpoint(
    key=KEY, parent="p", body=Packed("msgpack", "body"),
    values={"a": "ab" * 16, "b": Packed("null", "r"), "c": "ab" * 16},
    deltas=frozenset({"x", "y"}), open=frozenset({"y"}), ts="2026-06-01T00:00:00+00:00", step=-1, source="input",
    run="r", root="q",
)  # fmt: skip

near_uuids = st.builds(
    lambda base, cut, tail: str(base)[:cut] + tail, st.uuids(), st.integers(0, 36), st.text("09af-:g/\x00é", max_size=3)
)
ids = st.text(max_size=40) | st.uuids().map(str) | near_uuids


@given(ids, ids)
@example("0", "00000000-0000-0000-0000-000000000000")
@example("1f1ecd6a-", "1f1ecd6a-53c8-6ba4")
@example("1f1ecd6a", "1f1ecd6a-")
@example("1f1ecd6a-53c8", "1f1ecd6a/53c8")
@example("9", "A")
@example("fg", "g")
def test_a_later_id_never_has_an_earlier_time(one: str, other: str) -> None:
    first, last = sorted([one, other])
    assert moment(first) <= moment(last)


@given(ids)
def test_every_id_has_a_time_that_the_engine_can_hold(one: str) -> None:
    assert 1 <= datetime.fromisoformat(moment(one)).year < 2300
    assert len(moment(one)) == 27


def test_ids_of_the_framework_have_times_of_their_own() -> None:
    from langgraph.checkpoint.base.id import uuid6

    made = [str(uuid6()) for _ in range(3)]
    apart = [f"{one[:14]}6{n:x}00{one[18:]}" for one in made for n in range(16)]
    assert len({moment(one) for one in apart}) == len({one[:16] for one in apart})


@pytest.mark.parametrize(
    "one", [FULL, Checkpoint(KEY, None, Packed("json", ""), step=0), Checkpoint(KEY, None, Packed("", "x"), step=None)]
)
def test_a_checkpoint_survives_its_record(one: Checkpoint) -> None:
    record = LAYOUT.of_checkpoint(one)
    assert kind_of(record) == "checkpoint"
    assert to_checkpoint(record) == one
    bare = to_checkpoint(record._replace(body=""))
    assert (bare.key, bare.parent, bare.open, bare.step, bare.values) == (one.key, one.parent, one.open, one.step, {})


def test_writes_survive_their_records_in_order() -> None:
    writes = [Write("task", "~2", n, f"c{n}", Packed("m", f"r{n}") if n else "cd" * 16) for n in range(3)]
    other = Write("a", "~1", -3, "__interrupt__", Packed("m", "r"))
    records = [LAYOUT.of_writes(KEY, writes, 0), LAYOUT.of_writes(KEY, [other], -1)]
    assert {kind_of(record) for record in records} == {"writes"}
    assert to_writes(records) == (other, *writes)


def test_a_blob_survives_its_record() -> None:
    blob = Blob(LAYOUT.ref("t", "d" * 32), "d" * 32, Packed("msgpack", "ztext"))
    record = LAYOUT.of_blob("t", blob)
    assert kind_of(record) == "blob"
    assert to_blob(record) == blob


@given(
    st.lists(
        st.tuples(st.text("a:1\x00", max_size=3), st.text("a:1\x00", max_size=3), st.text("a:1", max_size=3)),
        unique=True,
    )
)
def test_different_keys_have_different_records(keys: list[tuple[str, str, str]]) -> None:
    assert len({LAYOUT.checkpoint_id(Key(*key)) for key in keys}) == len(keys)
    assert len({LAYOUT.line(thread, ns) for thread, ns, _ in keys}) == len({key[:2] for key in keys})


def test_agents_have_records_of_their_own() -> None:
    assert LAYOUT.checkpoint_id(KEY) != Layout("other").checkpoint_id(KEY)
    assert LAYOUT.checkpoint_id(KEY) == Layout("loop").checkpoint_id(KEY)
    assert uuid.UUID(LAYOUT.ref("t", "d"))


@pytest.mark.parametrize("field", ["thread", "ns", "id", "run"])
def test_an_id_that_utf8_cannot_hold_is_refused(field: str) -> None:
    bad = "x\ud800"
    key = KEY if field == "run" else KEY._replace(**{field: bad})
    with pytest.raises(InvalidInputError, match="no text that UTF-8 can hold"):
        LAYOUT.of_checkpoint(Checkpoint(key, None, Packed("", ""), run=bad if field == "run" else None))


@pytest.mark.parametrize(
    "damage", [{"head": {}}, {"keys": {"line": "x"}}, {"body": "[1"}, {"body": "[1,2,3]"}, {"body": '["",{"a":7}]'}]
)
def test_a_damaged_record_is_an_error(damage: dict[str, object]) -> None:
    with pytest.raises(SerializationError, match="cannot be read"):
        to_checkpoint(LAYOUT.of_checkpoint(FULL)._replace(**damage))  # type: ignore[arg-type]
