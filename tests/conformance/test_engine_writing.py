"""Writing: what is acknowledged is there, once, unaltered, and in order. These tests pin the engine port."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conformance.conftest import MakeEngine
from tests.conformance.engine_kit import (
    DIMENSION,
    EVERYTHING,
    SPACE,
    add,
    as_float32,
    bits,
    bring,
    fresh,
    ids,
    lexical,
    point,
    stored,
    unit,
)

from memanto.engine.port import Change, Engine, Point
from memanto.engine.schema import OPEN_END
from memanto.errors import EmbedderError, EmbedderMismatchError, InvalidInputError, NotFoundError
from memanto.filters import Equals, Where
from memanto.ids import meta_point_id, slot_point_id
from memanto.testing import FixedClock
from memanto.times import from_rfc3339, to_rfc3339

THREADS = 8
STEP = timedelta(microseconds=1)
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def slot(namespace: str, **fields: Any) -> Point:
    return Point(slot_point_id(namespace, "key", "db"), {"kind": "slot", **fields})


def together(call: Callable[[int], Any]) -> list[Any]:
    """Return the results of one call in each of several threads that start at the same moment."""
    gate = threading.Barrier(THREADS)

    def run(number: int) -> Any:
        gate.wait()
        return call(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


# -- commit -------------------------------------------------------------------------------------------
def test_a_commit_is_readable_at_once_with_its_time_in_every_stamped_field(make_engine: MakeEngine) -> None:
    engine = make_engine(FixedClock(NOW))
    fresh(engine, "a")
    each = point("a", 1, content="x")
    times = engine.commit("a", [Change(each, stamp=("recorded_at", "event_at"))])
    assert times == [NOW]
    stamp = to_rfc3339(NOW)
    assert stored(engine, "a", each) == {**each.payload, "recorded_at": stamp, "event_at": stamp}


def test_the_point_handed_over_stays_as_it_was(engine: Engine) -> None:
    fresh(engine, "a")
    each = point("a", 1, dense=[1.0, 0.0, 0.0, 0.0], tags=["x"])
    before = (dict(each.payload), dict(each.dense))
    add(engine, "a", each)
    engine.get("a", [each.id])[each.id].payload["tags"].append("y")
    assert (dict(each.payload), dict(each.dense)) == before
    assert stored(engine, "a", each)["tags"] == ["x"]


def test_an_insertion_that_lost_changes_nothing(engine: Engine) -> None:
    fresh(engine, "a")
    old, taken = point("a", 1), point("a", 2, content="first")
    add(engine, "a", old, taken)
    before = engine.get("a", [old.id, taken.id])
    late = Point(taken.id, {**taken.payload, "content": "second"})
    winner = point("a", 3)
    times = engine.commit(
        "a", [Change(late, closes=old.id, closing={"status": "superseded"}), Change(winner), Change(winner)]
    )
    assert [time is not None for time in times] == [False, True, False]
    assert engine.get("a", [old.id, taken.id]) == before
    assert engine.count("a", EVERYTHING) == 4


def test_what_a_commit_closes_is_retired_at_the_moment_its_successor_is_recorded(engine: Engine) -> None:
    fresh(engine, "a")
    old = point("a", 1, dense=[1.0, 0.0, 0.0, 0.0], words="x", content="old")
    add(engine, "a", old)
    before = engine.get("a", [old.id], vectors=True)[old.id]
    closing = {"status": "superseded", "superseded_by": "m-2"}
    (time,) = engine.commit("a", [Change(point("a", 2), closes=old.id, closing=closing)])
    assert time is not None
    after = engine.get("a", [old.id], vectors=True)[old.id]
    assert after.payload == {**before.payload, **closing, "retired_at": to_rfc3339(time)}
    assert (after.dense, after.lexical) == (before.dense, before.lexical)


def test_one_commit_may_hold_a_chain_of_versions(engine: Engine) -> None:
    fresh(engine, "a")
    chain = [point("a", number) for number in range(4)]
    changes = [
        Change(
            each, closes=chain[number - 1].id if number else None, closing={"status": "superseded"} if number else {}
        )
        for number, each in enumerate(chain)
    ]
    times = engine.commit("a", changes)
    retired = [stored(engine, "a", each)["retired_at"] for each in chain]
    assert retired == [*(to_rfc3339(time) for time in times[1:] if time), OPEN_END]
    assert engine.count("a", Where((Equals("status", "active"),))) == 1


def test_a_chain_ends_where_somebody_else_was_first(engine: Engine) -> None:
    fresh(engine, "a")
    chain = [point("a", number) for number in range(4)]
    add(engine, "a", chain[0], chain[1])
    before = engine.get("a", [chain[0].id, chain[1].id])
    apart = point("a", 9)
    changes = [Change(chain[n], closes=chain[n - 1].id, closing={"status": "superseded"}) for n in (1, 2, 3)]
    times = engine.commit("a", [*changes, Change(apart)])
    assert [time is not None for time in times] == [False, False, False, True]
    assert engine.get("a", [each.id for each in chain]) == before


def test_an_import_keeps_its_own_times(engine: Engine) -> None:
    fresh(engine, "a")
    old = point("a", 1, recorded_at="2020-01-01T00:00:00.000000Z")
    new = point("a", 2, recorded_at="2020-01-02T00:00:00.000000Z")
    times = engine.commit(
        "a",
        [
            Change(old, stamp=()),
            Change(new, stamp=(), closes=old.id, closing={"retired_at": "2020-01-03T00:00:00.000000Z"}),
        ],
    )
    assert times == [from_rfc3339(each.payload["recorded_at"]) for each in (old, new)]
    assert stored(engine, "a", old) == {**old.payload, "retired_at": "2020-01-03T00:00:00.000000Z"}
    assert stored(engine, "a", new) == dict(new.payload)


@pytest.mark.parametrize("move", [0.0, -60.0, 1e-6], ids=["stuck", "backwards", "slow"])
def test_times_of_recording_increase_whatever_the_clock_does(make_engine: MakeEngine, move: float) -> None:
    clock = FixedClock(NOW)
    engine = make_engine(clock)
    fresh(engine, "a")
    times: list[datetime] = []
    for number in range(4):
        batch = [Change(point("a", f"{number}-{part}")) for part in range(3)]
        times += [time for time in engine.commit("a", batch) if time]
        clock.advance(move)
    assert times == [NOW + STEP * number for number in range(12)]
    found = engine.scan("a", EVERYTHING, order_by="recorded_at", descending=False)
    assert [each.payload["recorded_at"] for each in found] == [to_rfc3339(time) for time in times]


def test_what_is_recorded_after_an_import_from_the_future_is_later_still(make_engine: MakeEngine) -> None:
    engine = make_engine(FixedClock(NOW))
    fresh(engine, "a")
    ahead = NOW + timedelta(days=400)
    bring(engine, "a", [point("a", 1, recorded_at=to_rfc3339(ahead))])
    assert engine.commit("a", [Change(point("a", 2))]) == [ahead + STEP]


def test_threads_never_share_a_time_and_lose_no_point(engine: Engine) -> None:
    fresh(engine, "a")

    def write(number: int) -> list[datetime | None]:
        return [engine.commit("a", [Change(point("a", f"{number}-{part}"))])[0] for part in range(4)]

    times = [time for part in together(write) for time in part]
    assert None not in times
    assert len(set(times)) == THREADS * 4
    assert engine.count("a", EVERYTHING) == THREADS * 4 + 1


def test_of_threads_that_insert_the_same_point_exactly_one_wins(engine: Engine) -> None:
    fresh(engine, "a")
    old = point("a", 0)
    add(engine, "a", old)

    def write(number: int) -> bool:
        change = Change(point("a", 1, writer=number), closes=old.id, closing={"superseded_by": str(number)})
        return engine.commit("a", [change]) != [None]

    won = together(write)
    assert won.count(True) == 1
    winner = won.index(True)
    assert stored(engine, "a", point("a", 1))["writer"] == winner
    assert stored(engine, "a", old)["superseded_by"] == str(winner)


# -- replace ------------------------------------------------------------------------------------------
def test_a_slot_is_replaced_only_by_who_knows_its_token(engine: Engine) -> None:
    fresh(engine, "a")
    assert not engine.replace("a", slot("a", value=0), "none such")
    assert engine.get("a", [slot("a").id]) == {}
    assert engine.replace("a", slot("a", value=1), None)
    assert not engine.replace("a", slot("a", value=2), None)
    token = engine.get("a", [slot("a").id])[slot("a").id].payload["token"]
    assert engine.replace("a", slot("a", other=3), token)
    assert not engine.replace("a", slot("a", value=4), token)
    assert stored(engine, "a", slot("a")) == {"kind": "slot", "other": 3}


def test_writing_back_what_was_read_makes_a_new_token(engine: Engine) -> None:
    fresh(engine, "a")
    engine.replace("a", slot("a"), None)
    read = engine.get("a", [slot("a").id])[slot("a").id]
    assert engine.replace("a", read, read.payload["token"])
    assert not engine.replace("a", read, read.payload["token"])


@pytest.mark.parametrize("exists", [False, True], ids=["absent slot", "existing slot"])
def test_of_threads_that_replace_the_same_slot_exactly_one_wins(engine: Engine, exists: bool) -> None:
    fresh(engine, "a")
    token = None
    if exists:
        assert engine.replace("a", slot("a"), None)
        token = engine.get("a", [slot("a").id])[slot("a").id].payload["token"]
    won = together(lambda number: engine.replace("a", slot("a", owner=number), token))
    assert won.count(True) == 1
    assert stored(engine, "a", slot("a"))["owner"] == won.index(True)


# -- erase, set_payload -------------------------------------------------------------------------------
def test_erasing_destroys_points_and_inserts_in_their_place(engine: Engine) -> None:
    fresh(engine, "a")
    kept, gone, rewritten = (point("a", n, dense=[1.0, 0.0, 0.0, 0.0], words="x", content="secret") for n in range(3))
    add(engine, "a", kept, gone, rewritten)
    before = engine.get("a", [kept.id], vectors=True)
    tombstone = Point(rewritten.id, {"kind": "version", "status": "forgotten"})
    late = Point(kept.id, {"kind": "version"})
    times = engine.erase("a", [gone.id, rewritten.id, uuid4()], [Change(tombstone), Change(late)])
    assert [time is not None for time in times] == [True, False]
    assert engine.get("a", [kept.id, gone.id], vectors=True) == before
    assert stored(engine, "a", tombstone) == {**tombstone.payload, "recorded_at": to_rfc3339(times[0] or NOW)}
    assert ids(engine.search_lexical("a", lexical("x"), EVERYTHING, 10)) == [kept.id]
    assert engine.count("a", EVERYTHING) == 3
    add(engine, "a", gone)


def test_erasing_destroys_nothing_when_what_to_insert_is_refused(engine: Engine) -> None:
    fresh(engine, "a")
    each = point("a", 1)
    add(engine, "a", each)
    for bad in (Point(each.id, {"n": float("nan")}), point("a", 2, dense=[1.0])):
        with pytest.raises((InvalidInputError, EmbedderError)):
            engine.erase("a", [each.id], [Change(bad)])
    assert stored(engine, "a", each)["memory_id"] == "m-1"


def test_times_of_recording_go_on_increasing_after_the_newest_point_was_erased(make_engine: MakeEngine) -> None:
    engine = make_engine(FixedClock(NOW))
    fresh(engine, "a")
    add(engine, "a", point("a", 1), point("a", 2))
    engine.erase("a", [point("a", 2).id], [])
    assert engine.commit("a", [Change(point("a", 3))]) == [NOW + 2 * STEP]


def test_set_payload_changes_the_named_fields_alone(engine: Engine) -> None:
    fresh(engine, "a")
    each, other = (point("a", n, dense=[1.0, 0.0, 0.0, 0.0], content="x") for n in (1, 2))
    add(engine, "a", each, other)
    before = engine.get("a", [each.id, other.id], vectors=True)
    engine.set_payload("a", each.id, {"status": "expired", "new": [1, {"b": None}]})
    after = engine.get("a", [each.id, other.id], vectors=True)
    assert after[each.id].payload == {**before[each.id].payload, "status": "expired", "new": [1, {"b": None}]}
    assert after[each.id].dense == before[each.id].dense
    assert after[other.id] == before[other.id]
    with pytest.raises(NotFoundError):
        engine.set_payload("a", uuid4(), {"status": "expired"})


# -- exactness ----------------------------------------------------------------------------------------
EXACT: dict[str, Any] = {
    "nul": "a\x00b\x1f\x7f",
    "astral": "\U0001d518\U0001d52b \U0001f9e0 \U0001f469\u200d\U0001f467 \U0010ffff",
    "rtl": "\u202e\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627\u202c e\u0301 \xe9",
    "separators": "line\u2028para\u2029\r\n\ttab \ufeff\ufffe",
    "long": "x\u20ac\U0001d11e" * 3_334,
    "empty": "",
    "quote": '"\\/{}[]$.a[0]',
    "dots.and[0]": "a key that looks like a path",
    "ints": [0, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)],
    "floats": [0.5, -0.25, 1e-3, 123456.789012],
    "flags": [True, False, None],
    "null": None,
    "nested": {"a": {"b": [[], {}, {"c": [1, "2", None]}]}},
}


def test_payloads_come_back_as_they_were_stored(engine: Engine) -> None:
    fresh(engine, "a")
    each = point("a", 1, **EXACT)
    add(engine, "a", each)
    payload = stored(engine, "a", each)
    assert payload.pop("recorded_at")
    assert payload == dict(each.payload)
    kinds = [type(value) for value in payload["ints"] + payload["floats"] + payload["flags"]]
    assert kinds == [type(value) for value in EXACT["ints"] + EXACT["floats"] + EXACT["flags"]]
    assert engine.scan("a", Where((Equals("memory_id", "m-1"),))) == [engine.get("a", [each.id])[each.id]]


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(codec="utf-8"), min_size=1, max_size=60))
def test_any_text_comes_back_byte_for_byte_and_is_found_by_equality(engine: Engine, text: str) -> None:
    if not engine.exists("a"):
        fresh(engine, "a")
    each = Point(uuid4(), {"content": text, "type": text})
    add(engine, "a", each)
    assert stored(engine, "a", each)["content"] == text
    assert each.id in ids(engine.scan("a", Where((Equals("type", text),))))


def test_vectors_come_back_bit_for_bit(engine: Engine) -> None:
    fresh(engine, "a")
    generator = random.Random(3)
    odd = [as_float32(value) for value in (1.0, -0.0, 1.1754943508222875e-38, 1e-45)]
    points = [point("a", number, dense=unit(generator), words="x y y") for number in range(20)]
    points.append(point("a", "odd", dense=odd))
    add(engine, "a", *points)
    found = engine.get("a", ids(points), vectors=True)
    for each in points:
        assert bits(found[each.id].dense[SPACE]) == bits(each.dense[SPACE])
        weights, expected = found[each.id].lexical, each.lexical
        assert (weights is None) == (expected is None)
        if weights is not None and expected is not None:
            assert dict(zip(*_pairs(weights), strict=True)) == dict(zip(*_pairs(expected), strict=True))
    assert all(not each.dense and each.lexical is None for each in engine.get("a", ids(points)).values())


def _pairs(vector: Any) -> tuple[tuple[int, ...], tuple[float, ...]]:
    return vector.indices, vector.values


UNKEEPABLE: list[tuple[dict[str, Any], list[float] | None, type[Exception]]] = [
    ({"content": "lone \ud800"}, None, InvalidInputError),
    ({"n": float("nan")}, None, InvalidInputError),
    ({"n": [{"m": float("-inf")}]}, None, InvalidInputError),
    ({"n": 2**64}, None, InvalidInputError),
    ({"n": {1: 2}}, None, InvalidInputError),
    ({"n": b"bytes"}, None, InvalidInputError),
    ({}, [1.0, 0.0], EmbedderError),
    ({}, [float("nan"), 0.0, 0.0, 0.0], EmbedderError),
    ({}, [float("inf"), 0.0, 0.0, 0.0], EmbedderError),
]


def test_what_cannot_be_kept_exactly_is_refused_and_nothing_is_stored(engine: Engine) -> None:
    fresh(engine, "a")
    for fields, dense, error in UNKEEPABLE:
        bad = point("a", 2, dense=dense, **fields)
        with pytest.raises(error):
            engine.commit("a", [Change(point("a", 1)), Change(bad)])
        with pytest.raises(error):
            engine.replace("a", bad, None)
    with pytest.raises(InvalidInputError):
        engine.set_payload("a", meta_point_id("a"), {"n": float("nan")})
    assert engine.count("a", EVERYTHING) == 1


# -- vector spaces ------------------------------------------------------------------------------------
def test_a_second_vector_space_is_filled_beside_the_first(engine: Engine) -> None:
    fresh(engine, "a")
    points = [point("a", number, dense=unit(random.Random(number)), words="x") for number in range(5)]
    add(engine, "a", *points)
    before = engine.get("a", ids(points), vectors=True)

    engine.add_vector_name("a", "wide", 8)
    engine.add_vector_name("a", "wide", 8)
    assert engine.vector_names("a") == {SPACE: DIMENSION, "wide": 8}
    assert engine.search_dense("a", "wide", unit(random.Random(1), 8), EVERYTHING, 5) == []
    wide = {each.id: unit(random.Random(9 - number), 8) for number, each in enumerate(points[:3])}
    engine.put_vectors("a", "wide", {**wide, uuid4(): unit(random.Random(0), 8)})

    after = engine.get("a", ids(points), vectors=True)
    for each in points:
        assert after[each.id].payload == before[each.id].payload
        assert bits(after[each.id].dense[SPACE]) == bits(each.dense[SPACE])
        assert after[each.id].lexical == before[each.id].lexical
        assert bits(after[each.id].dense.get("wide", ())) == bits(wide.get(each.id, ()))
    assert engine.count("a", EVERYTHING) == 6
    assert engine.search_dense("a", "wide", wide[points[1].id], EVERYTHING, 1)[0].id == points[1].id
    add(engine, "a", point("a", 6, dense=[1.0, 0.0, 0.0, 0.0]))


def test_a_vector_name_keeps_its_dimension(engine: Engine) -> None:
    fresh(engine, "a")
    with pytest.raises(EmbedderMismatchError):
        engine.add_vector_name("a", SPACE, DIMENSION + 1)
    assert engine.vector_names("a") == {SPACE: DIMENSION}


def test_vectors_that_do_not_fit_are_refused(engine: Engine) -> None:
    fresh(engine, "a")
    each = point("a", 1)
    add(engine, "a", each)
    for name, vector in (("absent", [1.0, 0.0, 0.0, 0.0]), (SPACE, [1.0]), (SPACE, [float("nan"), 0.0, 0.0, 0.0])):
        with pytest.raises(EmbedderError):
            engine.put_vectors("a", name, {each.id: vector})
    assert engine.get("a", [each.id], vectors=True)[each.id].dense == {}


# -- upkeep -------------------------------------------------------------------------------------------
def test_upkeep_leaves_every_point_as_it_was(engine: Engine) -> None:
    fresh(engine, "a")
    points = [point("a", number, dense=unit(random.Random(number)), words="x") for number in range(5)]
    add(engine, "a", *points)
    before = engine.get("a", ids(points), vectors=True)
    engine.flush("a")
    assert isinstance(engine.optimize("a"), bool)
    assert engine.get("a", ids(points), vectors=True) == before
    assert engine.info("a").points == 6
    assert engine.problems("a") == []
