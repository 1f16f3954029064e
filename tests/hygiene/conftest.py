"""A clock that stands still, and memories on each engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memanto import Embedded, Memanto, Server
from memanto.testing import FixedClock, HashEmbedder


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def memory(clock: FixedClock) -> Iterator[Memanto]:
    """A memory on qdrant-client's in-memory mode, which is quicker to make than a folder."""
    with Memanto("tester", store=Server(":memory:"), embedder=HashEmbedder(), reranker=None, clock=clock) as handle:
        handle.create_agent()
        yield handle


@pytest.fixture(params=["edge", "memory-server"])
def on_each_engine(request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock) -> Iterator[Memanto]:
    store = Embedded(tmp_path / "store") if request.param == "edge" else Server(":memory:")
    with Memanto("tester", store=store, embedder=HashEmbedder(), reranker=None, clock=clock) as handle:
        handle.create_agent()
        yield handle
