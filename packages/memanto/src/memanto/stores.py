"""Where memories live: one small class per kind of store, so that exactly one is chosen by type."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from memanto.engine.port import Engine


class Store(Protocol):
    """A place for memories. Making one does no I/O; `connect` returns an engine that is not open yet."""

    @property
    def durable(self) -> str:
        """How safe an acknowledged write is: `"log"`, `"disk"` or `"server"` (see `Receipt`)."""

    def connect(self, clock: Callable[[], datetime]) -> Engine: ...

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
            Path(self.path).expanduser(), durability=self.durability, clock=clock, lock_timeout=self.lock_timeout
        )

    def release(self) -> None:
        pass


class InMemory:
    """A throw-away store: a private temporary folder that is removed when the memory is closed."""

    durable = "log"

    def __init__(self) -> None:
        self._folder: str | None = None

    def connect(self, clock: Callable[[], datetime]) -> Engine:
        self._folder = tempfile.mkdtemp(prefix="memanto-")
        return Embedded(self._folder).connect(clock)

    def release(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


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

    def release(self) -> None:
        pass
