"""Points, queries and shorthands for the conformance suite of engines."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable, Sequence
from typing import Any

from memanto.engine.port import Candidate, Change, Engine, Point, SparseVector
from memanto.engine.schema import OPEN_END
from memanto.filters import Where
from memanto.ids import version_point_id

EVERYTHING = Where()
SPACE = "small"
DIMENSION = 4


def point(
    namespace: str, name: object, *, dense: Sequence[float] | None = None, words: str = "", **fields: Any
) -> Point:
    """Return a version point; `words` become its lexical vector, every word with weight 1."""
    payload = {"kind": "version", "memory_id": f"m-{name}", "type": "fact", "status": "active", "retired_at": OPEN_END}
    return Point(
        version_point_id(namespace, f"m-{name}", 1),
        {**payload, **fields},
        {} if dense is None else {SPACE: dense},
        lexical(words) if words else None,
    )


def lexical(words: str) -> SparseVector:
    """Return a vector with one index per distinct word, its count as the weight."""
    counts: dict[int, float] = {}
    for word in words.split():
        index = int.from_bytes(word.encode()[:4], "big")
        counts[index] = counts.get(index, 0.0) + 1.0
    return SparseVector(tuple(counts), tuple(counts.values()))


def fresh(engine: Engine, *names: str) -> None:
    """Create namespaces with the vector name of the suite."""
    for name in names:
        assert engine.create(name, {"kind": "meta"})
        engine.add_vector_name(name, SPACE, DIMENSION)


def add(engine: Engine, namespace: str, *points: Point) -> None:
    """Commit points that are new, with a time of recording chosen by the engine."""
    assert None not in engine.commit(namespace, [Change(each) for each in points])


def bring(engine: Engine, namespace: str, points: Iterable[Point]) -> None:
    """Commit points that carry their own time of recording, as an import does."""
    assert None not in engine.commit(namespace, [Change(each, stamp=()) for each in points])


def unit(generator: random.Random, dimension: int = DIMENSION) -> list[float]:
    """Return a random float32 vector of length 1."""
    values = [generator.gauss(0, 1) for _ in range(dimension)]
    length = sum(value * value for value in values) ** 0.5
    return [as_float32(value / length) for value in values]


def as_float32(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def bits(vector: Sequence[float]) -> bytes:
    """Return the float32 bytes of a vector."""
    return struct.pack(f"<{len(vector)}f", *vector)


def ids(found: Iterable[Candidate | Point]) -> list[Any]:
    return [each.id for each in found]


def stored(engine: Engine, namespace: str, each: Point) -> dict[str, Any]:
    """Return a point's payload without the token the engine adds."""
    payload = dict(engine.get(namespace, [each.id])[each.id].payload)
    assert payload.pop("token")
    return payload
