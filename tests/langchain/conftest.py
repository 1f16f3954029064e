"""What the tests of the LangChain adapter share: a memory in a throw-away store, with a deterministic embedder."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

from memanto import InMemory, Memanto
from memanto.testing import FixedClock, HashEmbedder


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(name: str, obj: object) -> None:
    """Mark coroutine tests, LangChain's own among them, which expect the automatic mode of pytest-asyncio."""
    if name.startswith("test_") and inspect.iscoroutinefunction(obj):
        pytest.mark.asyncio(obj)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def memory(clock: FixedClock) -> Iterator[Memanto]:
    with Memanto("tester", store=InMemory(), embedder=HashEmbedder(), reranker=None, llm=None, clock=clock) as opened:
        yield opened
