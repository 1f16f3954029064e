"""The places for records: embedded, embedded over the relay's socket, in-memory server, and a real one when named."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.core._relay_kit import RelayedEngine

from memanto.engine.edge_records import EdgeRecords
from memanto.engine.records import Records
from memanto.engine.relay_socket import supported
from memanto.engine.server_records import ServerRecords

SERVER_URL = "MEMANTO_TEST_QDRANT_URL"
SERVER_KEY = "MEMANTO_TEST_QDRANT_API_KEY"


class RelayedRecords(EdgeRecords):
    """Has every call carried out by the server of its own process, over the socket, as another process would."""

    asked = 0
    _run = RelayedEngine._run


@pytest.fixture(params=["edge", "relay", "memory", "server"])
def records(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Records]:
    """An opened, empty place for records."""
    made: Records
    name = f"memanto-test-{uuid.uuid4().hex}"
    match request.param:
        case "edge":
            made = EdgeRecords(tmp_path)
        case "relay" if not supported():
            pytest.skip("no Unix domain sockets here: processes take turns")
        case "relay":
            made = RelayedRecords(tmp_path)
        case "memory":
            made = ServerRecords(":memory:", collection=name)
        case _ if SERVER_URL not in os.environ:
            pytest.skip(f"no real Qdrant server: set {SERVER_URL} (and {SERVER_KEY}) to run this on one")
        case _:
            made = ServerRecords(os.environ[SERVER_URL], api_key=os.environ.get(SERVER_KEY), collection=name)
    made.open()
    yield made
    if request.param == "server":
        from qdrant_client import QdrantClient

        client = QdrantClient(url=os.environ[SERVER_URL], api_key=os.environ.get(SERVER_KEY))
        client.delete_collection(name)
        client.close()
    made.close()
