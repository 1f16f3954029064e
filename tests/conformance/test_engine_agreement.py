"""The engines give the same answers for the same data: same ids, same order, same scores.

This pins what ranking rests on: candidate lists may not depend on which engine made them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.engine_kit import SPACE, bring, ids, lexical, point, unit

from memanto.engine.edge import EdgeEngine
from memanto.engine.port import Candidate, Change, Engine, Point
from memanto.engine.server import ServerEngine
from memanto.filters import AnyOf, Condition, Either, Equals, HasVector, NumberRange, TimeRange, Where
from memanto.testing import FixedClock
from memanto.times import to_rfc3339

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = ("disk", "queue", "retry", "token", "deploy", "index", "shard", "lease", "vector", "budget")
TYPES = ("fact", "event", "decision", "error")
DIMENSION = 16
POINTS = 300


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Engine]]:
    """Both embedded engines, filled with the same random points, some of them closed and some changed."""
    folder: Path = tmp_path_factory.mktemp("agreement")
    engines = (EdgeEngine(folder, clock=FixedClock(BEGIN)), ServerEngine(":memory:", clock=FixedClock(BEGIN)))
    for engine in engines:
        engine.open()
        _fill(engine, random.Random(20))
    yield engines
    for engine in engines:
        engine.close()


def _fill(engine: Engine, generator: random.Random) -> None:
    assert engine.create("a", {"kind": "meta"})
    engine.add_vector_name("a", SPACE, DIMENSION)
    points = [_random_point(generator, number) for number in range(POINTS)]
    bring(engine, "a", points[: POINTS // 2])
    assert None not in engine.commit("a", [Change(each) for each in points[POINTS // 2 :]])
    successors = [_random_point(generator, POINTS + number) for number in range(20)]
    engine.commit(
        "a",
        [Change(each, closes=points[n * 7].id, closing={"status": "superseded"}) for n, each in enumerate(successors)],
    )
    engine.erase("a", [points[number].id for number in (3, 5, 160)], [Change(_random_point(generator, 999))])


def _random_point(generator: random.Random, number: int) -> Point:
    moment = to_rfc3339(BEGIN - timedelta(days=generator.randrange(60)))
    return point(
        "a",
        number,
        # Few distinct vectors and texts, so that ties are common.
        dense=unit(random.Random(generator.randrange(80)), DIMENSION) if generator.random() < 0.9 else None,
        words=" ".join(generator.choices(WORDS, k=generator.randrange(1, 5))),
        type=generator.choice(TYPES),
        tags=generator.sample(WORDS, generator.randrange(3)),
        confidence=generator.randrange(101) / 100,
        recorded_at=moment,
        event_at=moment,
        number=number,
    )


def _random_condition(generator: random.Random, depth: int = 0) -> Condition:
    moment = to_rfc3339(BEGIN - timedelta(days=generator.randrange(60)))
    simple: list[Condition] = [
        Equals("type", generator.choice(TYPES)),
        Equals("status", generator.choice(["active", "superseded"])),
        AnyOf("tags", tuple(generator.sample(WORDS, generator.randrange(4)))),
        NumberRange("confidence", gte=generator.random(), lte=generator.choice([None, 0.9])),
        TimeRange("event_at", gte=moment),
        TimeRange("recorded_at", lt=moment),
        TimeRange("retired_at", gt=to_rfc3339(BEGIN)),
        HasVector(SPACE),
    ]
    if depth < 2 and generator.random() < 0.3:
        alternatives = tuple(_random_where(generator, depth + 1) for _ in range(generator.randrange(3)))
        return Either(alternatives) if generator.random() < 0.5 else _random_where(generator, depth + 1)
    return generator.choice(simple)


def _random_where(generator: random.Random, depth: int = 0) -> Where:
    must = tuple(_random_condition(generator, depth) for _ in range(generator.randrange(3)))
    must_not = tuple(_random_condition(generator, depth) for _ in range(generator.choice([0, 0, 1])))
    return Where(must, must_not)


def _plain(each: Point | Candidate) -> tuple[Any, dict[str, Any]]:
    return each.id, {name: value for name, value in each.payload.items() if name != "token"}


def _agree(one: list[Candidate], other: list[Candidate]) -> None:
    """A score on the border of rounding may differ in its last digit."""
    assert [_plain(each) for each in one] == [_plain(each) for each in other]
    assert [each.score for each in one] == pytest.approx([each.score for each in other], rel=2e-4, abs=2e-5)


def test_searches_agree_under_random_filters(pair: tuple[Engine, Engine]) -> None:
    generator = random.Random(21)
    found = 0
    for _ in range(80):
        where, corpus = _random_where(generator), generator.choice([None, _random_where(generator)])
        limit = generator.choice([1, 5, 20, 400])
        query = unit(random.Random(generator.randrange(80)), DIMENSION)
        words = lexical(" ".join(generator.choices(WORDS, k=2)))
        dense = [engine.search_dense("a", SPACE, query, where, limit, exact=True) for engine in pair]
        sparse = [engine.search_lexical("a", words, where, limit, corpus=corpus) for engine in pair]
        _agree(*dense)
        _agree(*sparse)
        found += len(dense[0]) + len(sparse[0])
    assert found > 1_000


def test_scans_counts_and_facets_agree_under_random_filters(pair: tuple[Engine, Engine]) -> None:
    generator = random.Random(22)
    for _ in range(60):
        where = _random_where(generator)
        order = generator.choice([None, "recorded_at", "event_at", "retired_at"])
        descending, limit = generator.random() < 0.5, generator.choice([None, 1, 10, 100])
        scans = [engine.scan("a", where, order_by=order, descending=descending, limit=limit) for engine in pair]
        assert [_plain(each) for each in scans[0]] == [_plain(each) for each in scans[1]]
        assert pair[0].count("a", where) == pair[1].count("a", where)
        field = generator.choice(["type", "status", "tags"])
        assert pair[0].facet("a", field, where) == pair[1].facet("a", field, where)


def test_points_are_equal_with_their_vectors(pair: tuple[Engine, Engine]) -> None:
    scans = [engine.scan("a", Where(), vectors=True) for engine in pair]
    assert len(scans[0]) == POINTS + 20 - 3 + 1 + 1
    for one, other in zip(*scans, strict=True):
        assert _plain(one) == _plain(other)
        assert one.dense == other.dense
        assert one.lexical == other.lexical
    assert ids(scans[0]) == sorted(ids(scans[0]))
