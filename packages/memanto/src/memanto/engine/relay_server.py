"""The holder's side: one background thread that answers the other processes while this one has the lease.

It lives exactly as long as the lease is held. Requests are carried out one after the other, as local calls are
anyway (the engine holds the interpreter); a connection that sends something else, or stalls, is closed.
"""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from memanto.engine.edge_calls import Call, Request
from memanto.engine.relay_protocol import (
    MAX_FRAME,
    MAX_GREETING,
    Answer,
    Frames,
    ProtocolError,
    decode_request,
    encode_answer,
    frame,
    greeting,
    greets_well,
)
from memanto.engine.relay_socket import is_same_user, listen

MAX_CLIENTS: Final = 128
STALLED: Final = 30.0
"""Seconds a message may take to arrive or an answer to be taken."""
_CHUNK: Final = 1 << 16
_JOIN: Final = 1.0

_log = logging.getLogger(__name__)


class _Client:
    """One connection. `out` is what it has not taken yet."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self.frames = Frames(MAX_GREETING)
        self.greeted = False
        self.out = b""
        self.since = time.monotonic()

    @property
    def stalled(self) -> bool:
        waiting = self.out or self.frames.partial or not self.greeted
        return bool(waiting) and time.monotonic() - self.since > STALLED


class RelayServer:
    """Answers at the socket of one namespace until it is stopped.

    Args:
        path: Of the socket.
        namespace: Whose shard this is; greetings name it.
        perform: Carries out a request while this server's tenure lasts.
    """

    def __init__(self, path: Path, namespace: str, perform: Callable[[RelayServer, Request[Any]], Answer]) -> None:
        self._path = path
        self._namespace = namespace
        self._perform = perform
        self._clients: dict[socket.socket, _Client] = {}
        self._stopping = False
        self._listener: socket.socket | None = None
        self._selector: selectors.BaseSelector | None = None
        self._wakers: tuple[socket.socket, ...] = ()
        self._thread: threading.Thread | None = None

    def start(self) -> bool:
        """Listen and begin to answer; `False` where there can be no socket, or no thread any more."""
        thread = threading.Thread(target=self._serve, name=f"relay of {self._namespace!r}", daemon=True)
        try:
            self._listener = listen(self._path)
            self._wakers = socket.socketpair()
            self._selector = selectors.DefaultSelector()
            self._selector.register(self._listener, selectors.EVENT_READ)
            self._selector.register(self._wakers[0], selectors.EVENT_READ)
            thread.start()
        except Exception:  # noqa: BLE001 - no sockets here, or a guard against them that raises what it likes: take turns
            self._close()
            return False
        self._thread = thread
        return True

    def stop(self) -> None:
        """Tell everybody that it is over, and close. Whatever was not begun is answered with `gone`."""
        self._stopping = True
        with contextlib.suppress(OSError):  # before the lease is free: the next holder's socket has the same path
            self._path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._wakers[1].send(b"x")
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_JOIN)

    def abandon(self) -> None:
        """Close this process's copies of the sockets in a forked child; the parent's stay open."""
        self._stopping = True
        self._close()

    # -- the thread ---------------------------------------------------------------------------------
    def _serve(self) -> None:
        assert self._selector is not None
        try:
            while not self._stopping:
                for key, events in self._selector.select(STALLED / 2 if self._clients else None):
                    if key.fileobj is self._listener:
                        self._accept()
                    elif isinstance(key.data, _Client):
                        self._attend(key.data, events)
                for client in [client for client in self._clients.values() if client.stalled]:
                    self._drop(client)
        except Exception:  # noqa: BLE001 - the thread's edge: others must fall back to turns, not hang
            _log.exception("the relay of agent %r ended", self._namespace)
        finally:
            self._farewell()
            self._close()

    def _accept(self) -> None:
        assert self._listener is not None
        assert self._selector is not None
        try:
            connected, _ = self._listener.accept()
        except OSError:  # it went away before, or this process has no descriptor left
            return
        if len(self._clients) >= MAX_CLIENTS or not is_same_user(connected):
            connected.close()
            return
        connected.setblocking(False)
        client = self._clients[connected] = _Client(connected)
        self._selector.register(connected, selectors.EVENT_READ, client)

    def _attend(self, client: _Client, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                self._send(client, b"")
            elif self._receive(client):
                for data in client.frames:
                    self._send(client, self._reply(client, data))
        except (OSError, EOFError, ProtocolError):
            self._drop(client)

    def _receive(self, client: _Client) -> bool:
        try:
            data = client.socket.recv(_CHUNK)
        except BlockingIOError:
            return False
        if not data:
            raise EOFError
        client.since = time.monotonic()
        client.frames.feed(data)
        return True

    def _reply(self, client: _Client, data: bytes) -> bytes:
        """Return the frame that answers one frame."""
        if not client.greeted:
            if not greets_well(data, self._namespace):
                return frame({"refused": "another version, or another agent"})
            client.greeted, client.frames.limit = True, MAX_FRAME
            return greeting(self._namespace)
        envelope = decode_request(data)
        if envelope.expires < time.monotonic() or _has_left(client.socket):
            raise EOFError  # nobody waits for this any more; it asks elsewhere
        call: Call[Any] = envelope.request.call
        return encode_answer(call, self._perform(self, envelope.request))

    def _send(self, client: _Client, data: bytes) -> None:
        assert self._selector is not None
        client.out += data
        with contextlib.suppress(BlockingIOError):
            client.out = client.out[client.socket.send(client.out) :]
        client.since = time.monotonic()
        # While an answer is on its way nothing more is read: a client waits for each of its answers.
        events = selectors.EVENT_WRITE if client.out else selectors.EVENT_READ
        if self._selector.get_key(client.socket).events != events:
            self._selector.modify(client.socket, events, client)

    def _farewell(self) -> None:
        """Answer what has arrived and was not begun, so that nobody has to wonder."""
        gone = frame({"word": "gone"})
        for client in self._clients.values():
            with contextlib.suppress(OSError, EOFError, ProtocolError):
                self._receive(client)
                for _ in client.frames:
                    client.socket.send(gone)

    def _drop(self, client: _Client) -> None:
        assert self._selector is not None
        self._selector.unregister(client.socket)
        del self._clients[client.socket]
        client.socket.close()

    def _close(self) -> None:
        for one in (*self._clients, *self._wakers, self._listener):
            if one is not None:
                one.close()
        if self._selector is not None:
            self._selector.close()


def _has_left(connected: socket.socket) -> bool:
    try:
        return connected.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
