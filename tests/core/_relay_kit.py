"""What the relay's tests share: a store, programs on it, and an engine whose every call goes over the socket."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from tests.core._edge_worker import AGENT

from memanto.engine import relay_socket
from memanto.engine.edge import EdgeEngine
from memanto.engine.edge_calls import Call, Request, check
from memanto.engine.edge_lease import ShardLease
from memanto.engine.relay_client import RelayClient, Trouble
from memanto.engine.relay_protocol import Answer, Frames, greeting

WORKER = Path(__file__).with_name("_relay_worker.py")
EDGE_WORKER = Path(__file__).with_name("_edge_worker.py")
T = TypeVar("T")


class RelayedEngine(EdgeEngine):
    """Has every call carried out by the server of its own process, over the socket, as another process would."""

    asked = 0

    def _run(self, namespace: str, call: Call[T]) -> T:
        self._existing(namespace)
        check(call)
        lease = self._lease(namespace)
        with lease.hold(self._timeout):
            client = RelayClient(lease._socket, namespace)
            try:
                while True:
                    outcome = client.ask(Request(call, settle=self._durability == "full"), self._timeout)
                    self.asked += 1
                    match outcome:
                        case Answer(error=None):
                            return outcome.result
                        case Answer(error=error):
                            assert error is not None
                            raise error
                        case Trouble.BUSY:
                            continue
                        case _:
                            raise AssertionError(outcome)
            finally:
                client.close()


class Programs:
    """Processes that a test started; what still runs when it ends is killed, each by its own pid."""

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *arguments: object, worker: Path = WORKER) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(worker), *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._started.append(process)
        return process

    def holder(self, root: Path, command: str = "hold", *options: object) -> subprocess.Popen[str]:
        """Start a process that has the lease of the namespace, and wait until it has."""
        process = self.start(command, root, *options)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.communicate()


def finish(process: subprocess.Popen[str]) -> list[str]:
    """Let a program run to its end, which must be a good one; return its lines."""
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    return output.splitlines()


@contextlib.contextmanager
def opened(root: Path, **options: Any) -> Iterator[EdgeEngine]:
    options.setdefault("lock_timeout", 60)
    engine = EdgeEngine(root, **options)
    engine.open()
    try:
        yield engine
    finally:
        engine.close()


def lease_of(engine: EdgeEngine) -> ShardLease:
    return engine._lease(AGENT)


@contextlib.contextmanager
def raw(path: Path, *, greeted: bool = True) -> Iterator[socket.socket]:
    """A connection that says what a test wants it to say."""
    with socket.socket(socket.AF_UNIX) as connected:
        connected.settimeout(20)
        with relay_socket._address(path) as address:
            connected.connect(address)
        if greeted:
            connected.sendall(greeting(AGENT))
            assert read_frame(connected)
        yield connected


def read_frame(connected: socket.socket) -> bytes:
    """Return the next frame, or `b""` when the other side closed."""
    frames = Frames()
    while True:
        for data in frames:
            return data
        try:
            piece = connected.recv(1 << 16)
        except ConnectionError:
            piece = b""
        if not piece:
            return b""
        frames.feed(piece)


def eventually(condition: Any) -> None:
    """Wait until a condition holds; it is bound to, and soon."""
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)
