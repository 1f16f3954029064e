"""The contract suite of crewai-memory-core for storages, unchanged (a specification that others wrote)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from crewai_memory_core.contract import *  # noqa: F403 - the suite is made to be imported this way

from crewai_memanto import MemantoStorage
from memanto import InMemory


@pytest.fixture
def backend() -> Iterator[MemantoStorage]:
    storage = MemantoStorage("contract", store=InMemory())
    yield storage
    storage.close()
