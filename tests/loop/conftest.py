"""A clock that stands still, and memories on a store of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from memanto import Embedded, Memanto, Server
from memanto.testing import FixedClock, HashEmbedder

MakeMemory = Callable[..., Memanto]


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def make(tmp_path: Path, clock: FixedClock) -> Iterator[MakeMemory]:
    """Return a function that opens a handle on the test's store; all are closed afterwards."""
    with ExitStack() as stack:

        def open_one(agent: str = "tester", **options: object) -> Memanto:
            settings: dict[str, object] = {
                "store": Embedded(tmp_path / "store"), "embedder": HashEmbedder(), "clock": clock, **options,
            }  # fmt: skip
            handle = stack.enter_context(Memanto(agent, **settings))  # type: ignore[arg-type]
            handle.create_agent()
            return handle

        yield open_one


@pytest.fixture
def memory(make: MakeMemory) -> Memanto:
    """A memory on qdrant-client's in-memory mode, which is quicker to make than a folder."""
    return make(store=Server(":memory:"))
