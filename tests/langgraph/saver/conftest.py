"""Savers on each kind of store."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_memanto import MemantoSaver
from memanto import Embedded, Server

SERVER_URL = "MEMANTO_TEST_QDRANT_URL"
SERVER_KEY = "MEMANTO_TEST_QDRANT_API_KEY"

MakeSaver = Callable[..., MemantoSaver]


KINDS = ["edge", "memory", "server"]


class _Stores:
    """Stores of one kind, each a new one; what they leave on a server is removed in the end."""

    def __init__(self, kind: str, folder: Path) -> None:
        if kind == "server" and SERVER_URL not in os.environ:
            pytest.skip(f"no real Qdrant server: set {SERVER_URL} (and {SERVER_KEY}) to run this on one")
        self._kind = kind
        self._folder = folder
        self._collections: list[str] = []
        self._savers: list[MemantoSaver] = []

    def saver(self, agent: str = "loop", **options: Any) -> MemantoSaver:
        store: Any
        match self._kind:
            case "edge":
                store = Embedded(self._folder / f"store-{len(self._savers)}")
            case "memory":
                store = Server(":memory:")
            case _:
                name = f"memanto-test-{uuid.uuid4().hex}"
                self._collections.append(name)
                store = Server(os.environ[SERVER_URL], api_key=os.environ.get(SERVER_KEY), collection=name)
        made = MemantoSaver(agent, **{"store": store, **options})
        self._savers.append(made)
        return made

    def remove(self) -> None:
        for saver in self._savers:
            saver.close()
        if self._collections:
            from qdrant_client import QdrantClient

            client = QdrantClient(url=os.environ[SERVER_URL], api_key=os.environ.get(SERVER_KEY))
            for name in self._collections:
                client.delete_collection(f"{name}_checkpoints")
            client.close()


@pytest.fixture(params=KINDS)
def make_saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeSaver]:
    """A maker of savers, each with a store of its own unless it is given one, all closed afterwards."""
    stores = _Stores(request.param, tmp_path)
    yield stores.saver
    stores.remove()


@pytest.fixture(scope="module", params=KINDS)
def shared_saver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemantoSaver]:
    """The saver behind `saver`: making a store takes longer than most tests."""
    stores = _Stores(request.param, tmp_path_factory.mktemp("saver"))
    yield stores.saver()
    stores.remove()


@pytest.fixture
def saver(shared_saver: MemantoSaver) -> MemantoSaver:
    """A saver with an empty store."""
    for thread in shared_saver.list_threads():
        shared_saver.delete_thread(thread.id)
    return shared_saver


@pytest.fixture
def edge_saver(tmp_path: Path) -> Iterator[MemantoSaver]:
    """One saver with an empty embedded store."""
    with MemantoSaver("loop", store=Embedded(tmp_path / "store")) as saver:
        yield saver
