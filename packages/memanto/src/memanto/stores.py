"""Where memories live: one small class per kind of store, so that exactly one is chosen by type."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from memanto.config_keys import expanded
from memanto.engine.port import Engine
from memanto.engine.records import Records


class Store(Protocol):
    """A place for memories. Making one does no I/O; `connect` returns an engine that is not open yet."""

    @property
    def durable(self) -> str:
        """How safe an acknowledged write is: `"log"`, `"disk"` or `"server"` (see `Receipt`)."""

    def connect(self, clock: Callable[[], datetime]) -> Engine: ...

    def records(self, clock: Callable[[], datetime]) -> Records:
        """Return the place for records beside the memories, such as checkpoints; not open yet."""

    def release(self) -> None:
        """Give back what `connect` took beyond the engine."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A folder on this machine, opened in this process; several processes may share it.

    Attributes:
        path: The folder (made when missing).
        durability: `"log"`: acknowledged writes survive the process. `"full"`: also a power cut.
        lock_timeout: Seconds to wait for another process before `StoreLockedError`.
    """

    path: Path | str
    durability: Literal["log", "full"] = "log"
    lock_timeout: float = 30.0

    @property
    def durable(self) -> str:
        return "disk" if self.durability == "full" else "log"

    def connect(self, clock: Callable[[], datetime]) -> Engine:
        from memanto.engine.edge import EdgeEngine

        return EdgeEngine(
            expanded(Path(self.path)), durability=self.durability, clock=clock, lock_timeout=self.lock_timeout
        )

    def records(self, clock: Callable[[], datetime]) -> Records:
        from memanto.engine.edge_records import EdgeRecords

        return EdgeRecords(
            expanded(Path(self.path)), durability=self.durability, clock=clock, lock_timeout=self.lock_timeout
        )

    def release(self) -> None:
        pass


class InMemory:
    """A throw-away store: a private temporary folder that is removed when the memory is closed."""

    durable = "log"

    def __init__(self) -> None:
        self._folder: str | None = None
        self._users = 0

    def connect(self, clock: Callable[[], datetime]) -> Engine:
        return Embedded(self._made()).connect(clock)

    def records(self, clock: Callable[[], datetime]) -> Records:
        return Embedded(self._made()).records(clock)

    def release(self) -> None:
        self._users = max(0, self._users - 1)
        if self._folder is not None and self._users == 0:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _made(self) -> str:
        self._users += 1
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="memanto-")
        return self._folder


@dataclass(frozen=True, slots=True)
class Server:
    """A Qdrant server, cluster or cloud by URL.

    Attributes:
        url: For example `http://localhost:6333`; `":memory:"` is qdrant-client's local mode, for tests.
        api_key: Kept out of every message; read it from the environment, not from a file.
        collection: Name of the collection that holds all namespaces.
        timeout: Seconds a request may take.
    """

    url: str
    api_key: str | None = None
    collection: str = "memanto"
    timeout: float = 10.0

    @property
    def durable(self) -> str:
        return "server"

    def __repr__(self) -> str:
        return f"Server(url={self.url!r}, collection={self.collection!r})"

    def connect(self, clock: Callable[[], datetime]) -> Engine:
        from memanto.engine.server import ServerEngine

        return ServerEngine(
            self.url, api_key=self.api_key, collection=self.collection, timeout=self.timeout, clock=clock
        )

    def records(self, clock: Callable[[], datetime]) -> Records:  # noqa: ARG002 - records bring their own times
        from memanto.engine.server_records import ServerRecords

        return ServerRecords(
            self.url, api_key=self.api_key, collection=f"{self.collection}_checkpoints", timeout=self.timeout
        )

    def release(self) -> None:
        pass
