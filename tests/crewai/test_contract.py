"""The contract suite of crewai-memory-core for storages, unchanged (a specification that others wrote)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from crewai_memory_core.contract import *  # noqa: F403 - the suite is made to be imported this way
from crewai_memory_core.testing import FakeEmbedder

from crewai_memanto import MemantoStorage
from memanto import EmbedderIdentity, InMemory


class Learned(FakeEmbedder):
    """The suite's embedder as an embedder of memanto's."""

    identity = EmbedderIdentity("tests/fake-64", 64)

    def embed_documents(self, texts):  # type: ignore[no-untyped-def]
        return self(list(texts))

    def embed_query(self, text):  # type: ignore[no-untyped-def]
        return self([text])[0]


@pytest.fixture(params=["vectors of CrewAI", "vectors of memanto"])
def backend(request: pytest.FixtureRequest) -> Iterator[MemantoStorage]:
    embedder = Learned(64) if request.param == "vectors of memanto" else None
    storage = MemantoStorage("contract", store=InMemory(), embedder=embedder)
    yield storage
    storage.close()
