"""Namespaces: they begin, end, and never see each other. These tests pin the engine port."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.engine_kit import DIMENSION, EVERYTHING, SPACE, add, fresh, ids, lexical, point, stored

from memanto.engine.port import Candidate, Change, Engine, Point
from memanto.errors import BackendError, BackendUnavailableError, InvalidInputError, NotFoundError
from memanto.filters import AnyOf, Either, Equals, HasVector, NumberRange, TimeRange, Where
from memanto.ids import meta_point_id, slot_point_id

UNKNOWN = "nobody"
CALLS: dict[str, Callable[[Engine], Any]] = {
    "drop": lambda engine: engine.drop(UNKNOWN),
    "hold": lambda engine: engine.hold(UNKNOWN).__enter__(),
    "commit": lambda engine: engine.commit(UNKNOWN, [Change(point(UNKNOWN, 1))]),
    "commit of nothing": lambda engine: engine.commit(UNKNOWN, []),
    "import": lambda engine: engine.commit(
        UNKNOWN, [Change(point(UNKNOWN, 1, recorded_at="2026-01-01T00:00:00.000000Z"), stamp=())]
    ),
    "replace": lambda engine: engine.replace(UNKNOWN, point(UNKNOWN, 1), None),
    "replace of the describing point": lambda engine: engine.replace(UNKNOWN, Point(meta_point_id(UNKNOWN), {}), None),
    "erase": lambda engine: engine.erase(UNKNOWN, [uuid4()], []),
    "set_payload": lambda engine: engine.set_payload(UNKNOWN, uuid4(), {"status": "expired"}),
    "get": lambda engine: engine.get(UNKNOWN, [uuid4()]),
    "get of nothing": lambda engine: engine.get(UNKNOWN, []),
    "search_dense": lambda engine: engine.search_dense(UNKNOWN, SPACE, [1.0, 0.0, 0.0, 0.0], EVERYTHING, 5),
    "search_lexical": lambda engine: engine.search_lexical(UNKNOWN, lexical("x"), EVERYTHING, 5),
    "search without terms": lambda engine: engine.search_lexical(UNKNOWN, lexical(""), EVERYTHING, 5),
    "scan": lambda engine: engine.scan(UNKNOWN, EVERYTHING),
    "scan by time": lambda engine: engine.scan(UNKNOWN, EVERYTHING, order_by="recorded_at"),
    "scan of nothing": lambda engine: engine.scan(UNKNOWN, EVERYTHING, limit=0),
    "count": lambda engine: engine.count(UNKNOWN, EVERYTHING),
    "facet": lambda engine: engine.facet(UNKNOWN, "type", EVERYTHING),
    "vector_names": lambda engine: engine.vector_names(UNKNOWN),
    "add_vector_name": lambda engine: engine.add_vector_name(UNKNOWN, SPACE, 4),
    "put_vectors": lambda engine: engine.put_vectors(UNKNOWN, SPACE, {uuid4(): [1.0, 0.0, 0.0, 0.0]}),
    "put_vectors of nothing": lambda engine: engine.put_vectors(UNKNOWN, SPACE, {}),
    "optimize": lambda engine: engine.optimize(UNKNOWN),
    "flush": lambda engine: engine.flush(UNKNOWN),
    "info": lambda engine: engine.info(UNKNOWN),
    "problems": lambda engine: engine.problems(UNKNOWN),
    "salvage": lambda engine: engine.salvage(UNKNOWN),
    "mend": lambda engine: engine.mend(UNKNOWN),
}


def test_a_store_begins_without_namespaces(engine: Engine) -> None:
    assert engine.namespaces() == []
    assert not engine.exists("a")


def test_created_namespaces_are_listed_in_order_and_keep_their_description(engine: Engine) -> None:
    assert engine.create("b", {"kind": "meta", "note": "first"})
    assert engine.create("a", {"kind": "meta"})
    assert engine.namespaces() == ["a", "b"]
    assert engine.exists("b")
    assert not engine.create("b", {"kind": "meta", "note": "second"})
    assert stored(engine, "b", Point(meta_point_id("b"), {})) == {"kind": "meta", "note": "first"}


def test_names_that_look_like_other_values_come_back_as_they_were_given(engine: Engine) -> None:
    names = sorted(["ABC", "abc", "1", "true", "6F1C1F0A4A535D0E9B670D5C2D7E7A10", "a.b_c-d"])
    for name in names:
        assert engine.create(name, {})
    assert engine.namespaces() == names


def test_an_invalid_agent_id_is_refused_everywhere(engine: Engine) -> None:
    for name in ("", "a/b", "..", "ä", "x" * 65):
        with pytest.raises(InvalidInputError):
            engine.create(name, {})
        with pytest.raises(InvalidInputError):
            engine.exists(name)
        with pytest.raises(InvalidInputError):
            engine.count(name, EVERYTHING)


def test_a_dropped_namespace_is_gone_and_can_begin_again_empty(engine: Engine) -> None:
    fresh(engine, "a", "b")
    add(engine, "a", point("a", 1))
    add(engine, "b", point("b", 1))
    engine.drop("a")
    assert engine.namespaces() == ["b"]
    with pytest.raises(NotFoundError):
        engine.count("a", EVERYTHING)
    assert engine.create("a", {"kind": "meta"})
    assert engine.count("a", EVERYTHING) == 1
    assert engine.vector_names("a") == {}
    assert engine.count("b", EVERYTHING) == 2


@pytest.mark.parametrize("populated", [False, True], ids=["empty store", "store with others"])
def test_no_call_falls_back_to_other_namespaces(engine: Engine, populated: bool) -> None:
    if populated:
        fresh(engine, "a")
        add(engine, "a", point("a", 1, dense=[1.0, 0.0, 0.0, 0.0], words="x"))
    for name, call in CALLS.items():
        with pytest.raises(NotFoundError, match=UNKNOWN):
            pytest.fail(f"{name} returned {call(engine)!r}")
    assert engine.namespaces() == (["a"] if populated else [])


def test_the_calls_above_are_all_the_port_has() -> None:
    of_a_namespace = {name for name in vars(Engine) if not name.startswith("_")} - {
        *("name", "atomic_commit", "open", "close", "namespaces", "exists", "create")
    }
    assert {call.split()[0] for call in CALLS} - {"import", "search"} == of_a_namespace


def test_salvaging_gives_every_point_whole_or_says_whose_files_they_are(engine: Engine) -> None:
    fresh(engine, "a")
    add(engine, "a", point("a", 1, dense=[1.0, 0.0, 0.0, 0.0], words="x"))
    if engine.name == "server":
        with pytest.raises(BackendError, match="belong to the server") as raised:
            engine.salvage("a")
        assert "snapshot" in raised.value.hint
        return
    saved = engine.salvage("a")
    assert saved.lost == ()
    assert saved.points == engine.get("a", list(saved.points), vectors=True)
    assert len(saved.points) == 2
    assert engine.mend("a") == ()
    assert engine.get("a", list(saved.points), vectors=True) == saved.points
    assert engine.problems("a") == []


def test_a_closed_engine_says_so_and_closes_twice(engine: Engine) -> None:
    fresh(engine, "a")
    engine.close()
    engine.close()
    with pytest.raises(BackendUnavailableError):
        engine.count("a", EVERYTHING)


def test_holding_a_namespace_is_re_entrant_and_does_not_hinder_writing(engine: Engine) -> None:
    fresh(engine, "a")
    with engine.hold("a"), engine.hold("a"):
        add(engine, "a", point("a", 1))
        assert engine.count("a", EVERYTHING) == 2


CONDITIONS = st.sampled_from(
    [
        Equals("type", "fact"),
        Equals("namespace", "other"),
        AnyOf("tags", ("x", "y")),
        AnyOf("type", ()),
        HasVector(SPACE),
        NumberRange("number", gte=5, lte=30),
        TimeRange("event_at", gte="2026-01-01T00:00:10.000000Z"),
        Either((Where((Equals("type", "fact"),)), Where())),
        Either(()),
        Where(must_not=(Equals("tags", "x"),)),
    ]
)
FILTERS = st.builds(
    lambda must, must_not: Where(tuple(must), tuple(must_not)),
    st.lists(CONDITIONS, max_size=2),
    st.lists(CONDITIONS, max_size=2),
)


def test_every_read_returns_only_its_own_namespace(engine: Engine) -> None:
    """Two namespaces with interleaved data: one reads as a third does that holds its data alone."""
    fresh(engine, "mine", "other", "alone")
    generator = random.Random(11)
    everyone = []
    for number in range(40):
        fields = {
            "type": generator.choice(["fact", "event"]),
            "tags": generator.sample(["x", "y", "z"], generator.randrange(3)),
            "number": number,
            "event_at": f"2026-01-01T00:00:{number // 2:02}.000000Z",
        }
        dense = generator.choice([[1.0, 0.0, 0.0, 0.0], [0.6, 0.8, 0.0, 0.0], None])
        words = " ".join(generator.choices(["red", "green", "blue"], k=3))
        for namespace in ("mine", "alone") if generator.random() < 0.5 else ("other",):
            everyone.append(point(namespace, number, dense=dense, words=words, **fields))
            add(engine, namespace, everyone[-1])

    def names(found: Iterable[Candidate | Point]) -> list[int]:
        return [each.payload.get("number", -1) for each in found]

    def answers(namespace: str, where: Where, corpus: Where, limit: int) -> list[Any]:
        query, words = [0.8, 0.6, 0.0, 0.0], lexical("blue red")
        hits = [
            engine.search_dense(namespace, SPACE, query, where, limit, exact=True),
            engine.search_lexical(namespace, words, where, limit),
            engine.search_lexical(namespace, words, where, limit, corpus=corpus),
        ]
        return [
            *(sorted((hit.score, hit.payload["number"]) for hit in found) for found in hits),
            sorted(names(engine.scan(namespace, where))),
            sorted(names(engine.scan(namespace, where, order_by="event_at"))),
            names(engine.scan(namespace, where, order_by="recorded_at", descending=False, limit=limit)),
            engine.count(namespace, where),
            engine.facet(namespace, "type", where),
            engine.facet(namespace, "tags", where),
            engine.info(namespace).points,
            engine.vector_names(namespace),
        ]

    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(where=FILTERS, corpus=FILTERS, limit=st.integers(1, 50))
    def check(where: Where, corpus: Where, limit: int) -> None:
        assert answers("mine", where, corpus, limit) == answers("alone", where, corpus, limit)

    check()
    assert set(engine.get("mine", ids(everyone))) == {each.id for each in engine.scan("mine", EVERYTHING)} - {
        meta_point_id("mine")
    }


def test_no_write_reaches_a_point_of_another_namespace(engine: Engine) -> None:
    fresh(engine, "a", "b")
    theirs, slot = point("b", 1, dense=[1.0, 0.0, 0.0, 0.0]), Point(slot_point_id("b", "key", "db"), {"kind": "slot"})
    add(engine, "b", theirs)
    assert engine.replace("b", slot, None)
    before = engine.get("b", [theirs.id, slot.id], vectors=True)
    token = before[slot.id].payload["token"]

    add(engine, "a")
    assert engine.commit("a", [Change(point("a", 1), closes=theirs.id, closing={"status": "superseded"})]) != [None]
    with pytest.raises(NotFoundError):
        engine.set_payload("a", theirs.id, {"status": "expired"})
    assert not engine.replace("a", Point(slot.id, {"kind": "slot", "owner": "a"}), token)
    engine.put_vectors("a", SPACE, {theirs.id: [0.0, 1.0, 0.0, 0.0]})
    engine.erase("a", [theirs.id, slot.id], [])
    engine.drop("a")

    assert engine.get("b", [theirs.id, slot.id], vectors=True) == before


def test_vector_names_belong_to_one_namespace(engine: Engine) -> None:
    assert engine.create("a", {})
    assert engine.create("b", {})
    engine.add_vector_name("a", SPACE, DIMENSION)
    assert engine.vector_names("a") == {SPACE: DIMENSION}
    assert engine.vector_names("b") == {}
    assert engine.search_dense("b", SPACE, [1.0, 0.0, 0.0, 0.0], EVERYTHING, 5) == []
    assert ids(engine.scan("b", EVERYTHING)) == [meta_point_id("b")]
