"""The engines of the conformance suite.

Embedded, embedded with every call sent over the socket of the relay, in-memory server, and a real server when
one is named.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Protocol

import pytest
from tests.core._relay_kit import RelayedEngine

from memanto.engine.edge import EdgeEngine
from memanto.engine.port import Engine
from memanto.engine.relay_socket import supported
from memanto.engine.server import ServerEngine
from memanto.times import utc_now

SERVER_URL = "MEMANTO_TEST_QDRANT_URL"
SERVER_KEY = "MEMANTO_TEST_QDRANT_API_KEY"


class MakeEngine(Protocol):
    def __call__(self, clock: Callable[[], datetime] = utc_now) -> Engine: ...


@pytest.fixture(params=["edge", "relay", "memory", "server"])
def make_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeEngine]:
    """A maker of opened engines, each with a store of its own, all closed and removed afterwards."""
    kind: str = request.param
    made: list[Engine] = []
    collections: list[str] = []
    if kind == "server" and SERVER_URL not in os.environ:
        pytest.skip(f"no real Qdrant server: set {SERVER_URL} (and {SERVER_KEY}) to run this on one")

    if kind == "relay" and not supported():
        pytest.skip("no Unix domain sockets here: processes take turns")

    def make(clock: Callable[[], datetime] = utc_now) -> Engine:
        engine: Engine
        if kind == "edge":
            engine = EdgeEngine(tmp_path / f"store-{len(made)}", clock=clock)
        elif kind == "relay":
            engine = RelayedEngine(tmp_path / f"store-{len(made)}", clock=clock)
        elif kind == "memory":
            engine = ServerEngine(":memory:", clock=clock)
        else:
            collections.append(f"memanto-test-{uuid.uuid4().hex}")
            engine = ServerEngine(
                os.environ[SERVER_URL], api_key=os.environ.get(SERVER_KEY), collection=collections[-1], clock=clock
            )
        engine.open()
        made.append(engine)
        return engine

    yield make
    for engine in made:
        engine.close()
    _remove(collections)


@pytest.fixture
def engine(make_engine: MakeEngine) -> Engine:
    """One opened engine with an empty store."""
    return make_engine()


def _remove(collections: list[str]) -> None:
    if collections:
        from qdrant_client import QdrantClient

        client = QdrantClient(url=os.environ[SERVER_URL], api_key=os.environ.get(SERVER_KEY))
        for name in collections:
            client.delete_collection(name)
        client.close()
