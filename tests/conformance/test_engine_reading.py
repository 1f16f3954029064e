"""Reading: filters, order, ties, pages and statistics. These tests pin the engine port."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.conformance.engine_kit import (
    DIMENSION,
    EVERYTHING,
    SPACE,
    add,
    bring,
    fresh,
    ids,
    lexical,
    point,
    unit,
)

from memanto.engine.port import Candidate, Engine, Point
from memanto.engine.schema import KEYWORD_FIELDS, OPEN_END, TIME_FIELDS
from memanto.errors import EmbedderError, InvalidInputError
from memanto.filters import AnyOf, Condition, Either, Equals, HasVector, NumberRange, TimeRange, Where
from memanto.ids import meta_point_id
from memanto.times import to_rfc3339

AXIS = [1.0, 0.0, 0.0, 0.0]
VERSIONS = Where((Equals("kind", "version"),))
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def numbers(found: Sequence[Candidate | Point]) -> list[Any]:
    return [each.payload["number"] for each in found]


# -- searching ----------------------------------------------------------------------------------------
def test_dense_search_returns_the_nearest_points_with_their_cosine(engine: Engine) -> None:
    fresh(engine, "a")
    vectors = [[0.6, 0.8, 0.0, 0.0], AXIS, [0.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0]]
    points = [point("a", number, dense=vector, number=number) for number, vector in enumerate(vectors)]
    add(engine, "a", *points, point("a", "without a vector", number=9))
    found = engine.search_dense("a", SPACE, AXIS, EVERYTHING, 10)
    assert [(each.payload["number"], each.score) for each in found] == [(1, 1.0), (0, 0.6), (2, 0.0), (3, -1.0)]
    assert found[0].payload == engine.get("a", [points[1].id])[points[1].id].payload
    assert numbers(engine.search_dense("a", SPACE, AXIS, EVERYTHING, 2, exact=True)) == [1, 0]
    assert numbers(engine.search_dense("a", SPACE, AXIS, Where((NumberRange("number", gte=2),)), 1)) == [2]


def test_a_tie_at_the_cut_is_returned_whole_or_not_at_all_and_in_the_order_of_ids(engine: Engine) -> None:
    """One best point, thirty equal ones, nine equal worse ones: more than any margin an engine asks for.

    A tie that ends beyond twice the limit is left out where half the limit ranks above it, and one that is eight
    times as long wherever anything does. Pins our decision.
    """
    fresh(engine, "a")
    best = point("a", "best", dense=AXIS, words="x y z")
    equal = [point("a", number, dense=[0.6, 0.8, 0.0, 0.0], words="x y q") for number in range(30)]
    worse = [point("a", 100 + number, dense=[0.0, 1.0, 0.0, 0.0], words="x p q") for number in range(9)]
    add(engine, "a", *worse, *equal, best)
    groups = [[best.id], sorted(ids(equal)), sorted(ids(worse))]
    for limit in (1, 2, 3, 4, 15, 16, 30, 31, 32, 39, 40, 41):
        expected = groups[0] + (groups[1] if limit > 3 else []) + (groups[2] if limit > 31 else [])
        assert ids(engine.search_dense("a", SPACE, AXIS, EVERYTHING, limit, exact=True)) == expected, limit
        assert ids(engine.search_lexical("a", lexical("x y z"), EVERYTHING, limit)) == expected, limit


def test_a_tie_that_nothing_ranks_above_is_returned_however_long_it_is(engine: Engine) -> None:
    fresh(engine, "a")
    equal = [point("a", number, dense=AXIS, words="x y") for number in range(60)]
    add(engine, "a", *equal)
    assert ids(engine.search_lexical("a", lexical("x"), EVERYTHING, 3)) == sorted(ids(equal))


def test_a_search_for_nothing_finds_nothing(engine: Engine) -> None:
    fresh(engine, "a")
    add(engine, "a", point("a", 1, dense=AXIS, words="x"))
    assert engine.search_dense("a", SPACE, AXIS, EVERYTHING, 0) == []
    assert engine.search_dense("a", "absent", AXIS, EVERYTHING, 5) == []
    assert engine.search_dense("a", SPACE, AXIS, Where((AnyOf("type", ()),)), 5) == []
    assert engine.search_lexical("a", lexical("x"), EVERYTHING, 0) == []
    assert engine.search_lexical("a", lexical(""), EVERYTHING, 5) == []
    assert engine.search_lexical("a", lexical("unheard"), EVERYTHING, 5) == []


def test_a_query_vector_that_does_not_fit_is_refused(engine: Engine) -> None:
    fresh(engine, "a")
    for vector in ([1.0], [float("nan"), 0.0, 0.0, 0.0]):
        with pytest.raises(EmbedderError):
            engine.search_dense("a", SPACE, vector, EVERYTHING, 5)


def test_a_lexical_score_is_the_weights_times_the_rarity_in_the_corpus(engine: Engine) -> None:
    """Rarity is `ln(1 + (N - n + 0.5) / (n + 0.5))` (Robertson, BM25), over the points that carry terms."""
    fresh(engine, "a")
    texts = {"old": ["x x y", "x", "x z"], "new": ["x y", "y", "y y z"]}
    for kind, group in texts.items():
        for number, words in enumerate(group):
            add(engine, "a", point("a", f"{kind}{number}", words=words, type=kind))
    add(engine, "a", point("a", "without terms", type="new"))

    def expected(corpus: list[str], words: str) -> float:
        total = 0.0
        for word in ("x", "y"):
            n = sum(word in text.split() for text in corpus)
            total += words.split().count(word) * math.log(1 + (len(corpus) - n + 0.5) / (n + 0.5))
        return total

    new = Where((Equals("type", "new"),))
    for corpus, population in (
        (None, texts["old"] + texts["new"]),
        (new, texts["new"]),
        (VERSIONS, texts["old"] + texts["new"]),
    ):
        found = engine.search_lexical("a", lexical("x y"), EVERYTHING, 10, corpus=corpus)
        assert {each.payload["memory_id"]: each.score for each in found} == {
            f"m-{kind}{number}": pytest.approx(expected(population, words), rel=1e-4)
            for kind, group in texts.items()
            for number, words in enumerate(group)
        }
    # x is common among all, but rare among the new: the corpus decides which text is best.
    assert engine.search_lexical("a", lexical("x y"), new, 1, corpus=new)[0].payload["memory_id"] == "m-new0"


# -- filters ------------------------------------------------------------------------------------------
ROWS: list[dict[str, Any]] = [
    {"type": "fact", "tags": ["x", "y"], "confidence": 0.8, "source": "cli", "version": 1},
    {"type": "fact", "tags": ["y"], "confidence": 0.5, "source": "mcp", "version": 2},
    {"type": "event", "tags": [], "confidence": 0.25, "version": 1},
    {"type": "event", "confidence": 1, "source": "cli", "version": 2},
]
FACT, EVENT = Equals("type", "fact"), Equals("type", "event")
FIRST = NumberRange("version", lte=1)
SELECTED: list[tuple[Where, list[int]]] = [
    (VERSIONS, [0, 1, 2, 3]),
    (Where((FACT,)), [0, 1]),
    (Where((Equals("tags", "y"),)), [0, 1]),
    (Where((Equals("source", "cli"),)), [0, 3]),
    (Where((Equals("source", "CLI"),)), []),
    (Where((Equals("absent", "x"),)), []),
    (Where((AnyOf("tags", ("x", "z")),)), [0]),
    (Where((AnyOf("type", ("fact", "event")),)), [0, 1, 2, 3]),
    (Where((AnyOf("type", ()),)), []),
    (Where((AnyOf("absent", ()),)), []),
    (VERSIONS.without(AnyOf("type", ())), [0, 1, 2, 3]),
    (Where((NumberRange("confidence", gte=0.5),)), [0, 1, 3]),
    (Where((NumberRange("confidence", gte=0.5, lte=0.8),)), [0, 1]),
    (Where((NumberRange("confidence"),)), [0, 1, 2, 3]),
    (Where((FIRST,)), [0, 2]),
    (VERSIONS.without(Equals("source", "cli")), [1, 2]),
    (VERSIONS.without(FACT, FIRST), [3]),
    (Where((HasVector(SPACE),)), [0, 2]),
    (VERSIONS.without(HasVector(SPACE)), [1, 3]),
    (Where((HasVector("bm25"),)), [1, 2]),
    (Where((HasVector("absent"),)), []),
    (Where((Either((Where((EVENT,)), Where((Equals("tags", "x"),)))),)), [0, 2, 3]),
    (Where((Either(()),)), []),
    (VERSIONS.without(Either(())), [0, 1, 2, 3]),
    (VERSIONS.also(Either((EVERYTHING, Where((FACT,))))), [0, 1, 2, 3]),
    (VERSIONS.also(EVERYTHING), [0, 1, 2, 3]),
    (VERSIONS.without(EVERYTHING), []),
    (VERSIONS.also(Where((FACT,), (Equals("tags", "x"),))), [1]),
    (VERSIONS.without(Where((FACT, Equals("tags", "x")))), [1, 2, 3]),
    (VERSIONS.also(Either((Where((FIRST,)),)), Either((Where((FACT,)),))), [0]),
]


def test_every_condition_selects_what_it_says_in_every_read(engine: Engine) -> None:
    fresh(engine, "a")
    for number, row in enumerate(ROWS):
        dense = AXIS if number % 2 == 0 else None
        words = "x" if number in {1, 2} else ""
        add(engine, "a", point("a", number, dense=dense, words=words, number=number, **row))
    for where, expected in SELECTED:
        note = f"{where!r}"
        assert sorted(numbers(engine.scan("a", where))) == expected, note
        assert numbers(engine.scan("a", where, order_by="recorded_at", descending=False)) == expected, note
        assert engine.count("a", where) == len(expected), note
        near = engine.search_dense("a", SPACE, AXIS, where, 10)
        assert sorted(numbers(near)) == [number for number in expected if number % 2 == 0], note
        worded = engine.search_lexical("a", lexical("x"), where, 10)
        assert sorted(numbers(worded)) == [number for number in expected if number in {1, 2}], note
        assert sum(engine.facet("a", "type", where).values()) == len(expected), note
    assert engine.count("a", EVERYTHING) == len(ROWS) + 1


def test_times_are_filtered_to_the_microsecond_from_year_1_to_9999(engine: Engine) -> None:
    fresh(engine, "a")
    around = [datetime(1, 1, 1, 0, 0, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)]
    around += [datetime(2026, 6, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_990, tzinfo=UTC)]
    times = {to_rfc3339(moment + timedelta(microseconds=step)) for moment in around for step in (-1, 0, 1)}
    times |= {"0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999998Z", OPEN_END}
    ordered = sorted(times)
    add(engine, "a", *(point("a", time, number=time, event_at=time) for time in ordered), point("a", "no time"))

    def found(condition: Condition) -> list[str]:
        return sorted(numbers(engine.scan("a", Where((condition,)))))

    for index, time in enumerate(ordered):
        assert found(TimeRange("event_at", gt=time)) == ordered[index + 1 :], time
        assert found(TimeRange("event_at", gte=time)) == ordered[index:], time
        assert found(TimeRange("event_at", lt=time)) == ordered[:index], time
        assert found(TimeRange("event_at", lte=time)) == ordered[: index + 1], time
    assert found(TimeRange("event_at", gte=ordered[2], lt=ordered[-2])) == ordered[2:-2]
    assert numbers(engine.scan("a", EVERYTHING, order_by="event_at", descending=False)) == ordered
    assert numbers(engine.scan("a", EVERYTHING, order_by="event_at")) == ordered[::-1]


# -- scanning -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("field", TIME_FIELDS)
def test_every_time_field_orders_a_scan_and_others_are_refused(engine: Engine, field: str) -> None:
    fresh(engine, "a")
    minutes = {number: f"2026-01-01T00:{number * 7 % 10:02}:00.000000Z" for number in range(10)}
    times: list[dict[str, Any]] = [{"recorded_at": minutes[n], field: minutes[n]} for n in range(10)]
    points = [point("a", number, number=number, **fields) for number, fields in enumerate(times)]
    bring(engine, "a", points)
    expected = sorted(minutes, key=minutes.__getitem__)
    assert numbers(engine.scan("a", EVERYTHING, order_by=field, descending=False)) == expected
    assert numbers(engine.scan("a", EVERYTHING, order_by=field, limit=3)) == expected[:-4:-1]
    for other in ("type", "absent", "version"):
        with pytest.raises(InvalidInputError):
            engine.scan("a", EVERYTHING, order_by=other)


def test_a_scan_returns_the_parts_asked_for(engine: Engine) -> None:
    fresh(engine, "a")
    each = point("a", 1, dense=AXIS, words="x", tags=["t"], content="text")
    add(engine, "a", each)
    (plain,) = engine.scan("a", VERSIONS)
    assert (plain.dense, plain.lexical) == ({}, None)
    assert plain.payload == engine.get("a", [each.id])[each.id].payload
    for order in (None, "recorded_at"):
        (part,) = engine.scan("a", VERSIONS, order_by=order, fields=["content", "tags", "absent"])
        assert part == Point(each.id, {"content": "text", "tags": ["t"]})
        (bare,) = engine.scan("a", VERSIONS, order_by=order, fields=[])
        assert bare == Point(each.id, {})
        (whole,) = engine.scan("a", VERSIONS, order_by=order, vectors=True)
        assert whole == engine.get("a", [each.id], vectors=True)[each.id]


def test_scans_are_complete_and_in_order_beyond_a_page(engine: Engine) -> None:
    """More points than a page, and more equal times than a page; in-memory Qdrant gets fewer, for it is slow."""
    fresh(engine, "a")
    size = 1_100 if engine.info("a").location == ":memory:" else 2_500
    generator = random.Random(5)
    same = size * 6 // 10
    times = [BEGIN + timedelta(seconds=30)] * same + [
        BEGIN + timedelta(seconds=generator.randrange(60)) for _ in range(size - same)
    ]
    generator.shuffle(times)
    points = [
        Point(point("a", number).id, {"recorded_at": to_rfc3339(time), "type": "even" if number % 2 == 0 else "odd"})
        for number, time in enumerate(times)
    ]
    bring(engine, "a", points)
    by_id = sorted(ids(points))
    ascending = [each.id for each in sorted(points, key=lambda each: (each.payload["recorded_at"], each.id))]
    latest = sorted(points, key=lambda each: each.id)
    latest.sort(key=lambda each: str(each.payload["recorded_at"]), reverse=True)
    descending, imported = ids(latest), Where((AnyOf("type", ("even", "odd")),))

    assert ids(engine.scan("a", imported, fields=[])) == by_id
    assert ids(engine.scan("a", imported, order_by="recorded_at", descending=False, fields=[])) == ascending
    assert ids(engine.scan("a", imported, order_by="recorded_at", fields=["type"])) == descending
    for limit in (1, size // 5, same, size - 1, size + 1):
        assert ids(engine.scan("a", imported, limit=limit, fields=[])) == by_id[:limit]
        assert ids(engine.scan("a", imported, order_by="recorded_at", limit=limit, fields=[])) == descending[:limit]
    even = Where((Equals("type", "even"),))
    expected = [each.id for each in latest if each.payload["type"] == "even"]
    assert ids(engine.scan("a", even, order_by="recorded_at", fields=[])) == expected
    assert engine.count("a", imported) == size
    assert len(engine.get("a", by_id)) == size


# -- get, count, facet --------------------------------------------------------------------------------
def test_get_returns_what_exists_once(engine: Engine) -> None:
    fresh(engine, "a")
    each = point("a", 1)
    add(engine, "a", each)
    assert engine.get("a", []) == {}
    assert list(engine.get("a", [each.id, point("a", 2).id, each.id])) == [each.id]
    assert list(engine.get("a", [meta_point_id("a")])) == [meta_point_id("a")]


def test_a_facet_counts_each_value_once_a_point(engine: Engine) -> None:
    fresh(engine, "a")
    uuid_like = "6F1C1F0A4A535D0E9B670D5C2D7E7A10"
    add(engine, "a", point("a", 1, tags=["x", "x", uuid_like]), point("a", 2, tags=["x", "y"]), point("a", 3, tags=[]))
    assert engine.facet("a", "tags", EVERYTHING) == {"x": 2, "y": 1, uuid_like: 1}
    assert engine.facet("a", "tags", Where((Equals("tags", "y"),))) == {"x": 1, "y": 1}
    assert engine.facet("a", "type", Where((Equals("type", "absent"),))) == {}
    for field in KEYWORD_FIELDS:
        assert isinstance(engine.facet("a", field, EVERYTHING), dict)
    with pytest.raises(InvalidInputError):
        engine.facet("a", "source", EVERYTHING)


def test_a_facet_has_no_limit(engine: Engine) -> None:
    fresh(engine, "a")
    add(engine, "a", *(point("a", number, tags=[f"t{number}-{part}" for part in range(20)]) for number in range(60)))
    assert len(engine.facet("a", "tags", EVERYTHING)) == 1_200


def test_info_tells_the_size_and_the_place(engine: Engine) -> None:
    fresh(engine, "a")
    add(engine, "a", *(point("a", number, dense=unit(random.Random(number))) for number in range(3)))
    info = engine.info("a")
    assert info.points == engine.count("a", EVERYTHING) == 4
    assert info.indexed_vectors == 0
    assert (info.disk_bytes is None) == (engine.name == "server")
    assert info.location
    assert engine.vector_names("a") == {SPACE: DIMENSION}
