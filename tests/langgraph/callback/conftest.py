"""What the tests of the callback share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memanto import InMemory, Memanto
from memanto.testing import FixedClock, HashEmbedder


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def memory(clock: FixedClock) -> Iterator[Memanto]:
    with Memanto("tester", store=InMemory(), embedder=HashEmbedder(), reranker=None, llm=None, clock=clock) as opened:
        yield opened
