"""Every test here runs on the embedded engine and on qdrant-client's in-memory mode."""

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from memanto import Embedded, Memanto, Server
from memanto.stores import Store
from memanto.testing import FixedClock, HashEmbedder

REAL_SERVER = "MEMANTO_TEST_QDRANT_URL"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture(params=["edge", "memory-server", "server"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "edge":
        return Embedded(tmp_path / "store")
    if request.param == "memory-server":
        return Server(":memory:")
    url = os.environ.get(REAL_SERVER)
    if not url:
        pytest.skip(f"no real server: {REAL_SERVER} is not set")
    return Server(url, collection=f"memanto-test-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def make_memory(store: Store, clock: FixedClock) -> Iterator[Callable[..., Memanto]]:
    """Return a function that opens a memory on the store under test; all are closed afterwards."""
    with ExitStack() as stack:
        opened: list[Memanto] = []

        def make(agent: str = "tester", **options: object) -> Memanto:
            settings: dict[str, object] = {"store": store, "embedder": HashEmbedder(), "clock": clock, **options}
            memory = Memanto(agent, **settings)  # type: ignore[arg-type]
            if opened and isinstance(store, Server) and store.url == ":memory:":
                memory._connection = opened[0]._connection  # two clients of ":memory:" would be two stores
            else:
                stack.enter_context(memory)
                opened.append(memory)
            return memory

        yield make


@pytest.fixture
def memory(make_memory: Callable[..., Memanto]) -> Memanto:
    return make_memory()
