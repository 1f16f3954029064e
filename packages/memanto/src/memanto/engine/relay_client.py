"""The side of those without the lease: ask the process that has it, and know what a silence means."""

from __future__ import annotations

import socket
import threading
import time
from enum import Enum
from pathlib import Path
from typing import Any, Final

from memanto.engine.edge_calls import Request
from memanto.engine.relay_protocol import (
    MAX_GREETING,
    Answer,
    Envelope,
    Frames,
    ProtocolError,
    TooLargeError,
    decode_answer,
    encode_request,
    greeting,
    greets_well,
)
from memanto.engine.relay_socket import connect, was_left_unread

_CHUNK: Final = 1 << 16


class Trouble(Enum):
    """Why there is no answer."""

    NOBODY = "nobody listens, or the holder hands over: nothing was carried out"
    LOST = "the connection broke after the request was sent: it may have been carried out"
    SILENT = "no answer in time: the request may have been carried out"
    BUSY = "the holder rewrites the files just now: nothing was carried out"
    UNFIT = "another version, or more than a frame holds: only a turn of one's own helps"


_WORDS: Final = {"gone": Trouble.NOBODY, "busy": Trouble.BUSY, "large": Trouble.UNFIT}


class _Line:
    """A connection. `greeted` once both sides know that they understand each other."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self.greeted = False


class RelayClient:
    """Asks whoever listens at a namespace's socket. Connections are kept between calls, one per thread at a time."""

    def __init__(self, path: Path, namespace: str) -> None:
        self._path = path
        self._namespace = namespace
        self._idle: list[_Line] = []
        self._lock = threading.Lock()

    def reachable(self) -> bool:
        """Whether somebody listens; the connection is kept for the next `ask`."""
        with self._lock:
            if self._idle:
                return True
        connected = connect(self._path)
        if connected is None:
            return False
        self._keep(_Line(connected))
        return True

    def ask(self, request: Request[Any], patience: float) -> Answer | Trouble:
        """Have a request carried out by the holder.

        Args:
            request: Repeating it must be harmless when the result is `LOST` or `SILENT`.
            patience: Seconds to wait for the answer, all in all.
        """
        until = time.monotonic() + patience
        try:
            message = encode_request(Envelope(request, until))
        except TooLargeError:
            return Trouble.UNFIT
        while (line := self._line()) is not None:
            kept = line.greeted
            result = self._ask(line, request, message, until)
            if result is Trouble.NOBODY and kept:
                continue  # a connection left over from a holder that is gone; another may listen by now
            return result
        return Trouble.NOBODY

    def close(self) -> None:
        """Close what is kept. The next call connects anew."""
        with self._lock:
            idle, self._idle = self._idle, []
        for line in idle:
            line.socket.close()

    def abandon(self) -> None:
        """Close this process's copies of the connections in a forked child, where no lock can be trusted."""
        self._lock = threading.Lock()
        self.close()

    # -- one request --------------------------------------------------------------------------------
    def _ask(self, line: _Line, request: Request[Any], message: bytes, until: float) -> Answer | Trouble:
        done = False
        try:
            if not line.greeted:
                _send(line, greeting(self._namespace), until)
                if not greets_well(_receive(line, until, MAX_GREETING), self._namespace):
                    return Trouble.UNFIT
                line.greeted = True
        except TimeoutError:
            return Trouble.SILENT
        except (OSError, EOFError):
            return Trouble.NOBODY
        except ProtocolError:
            return Trouble.UNFIT
        else:
            result = _exchange(line, request, message, until)
            done = isinstance(result, Answer) or result is Trouble.BUSY
            return result
        finally:
            if done:
                self._keep(line)
            else:
                line.socket.close()

    def _line(self) -> _Line | None:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        connected = connect(self._path)
        return None if connected is None else _Line(connected)

    def _keep(self, line: _Line) -> None:
        with self._lock:
            self._idle.append(line)


def _exchange(line: _Line, request: Request[Any], message: bytes, until: float) -> Answer | Trouble:
    try:
        _send(line, message, until)
        answer = decode_answer(request.call, _receive(line, until))
    except TimeoutError:
        return Trouble.SILENT
    except OSError as error:
        return Trouble.NOBODY if was_left_unread(error) else Trouble.LOST
    except (EOFError, ProtocolError):
        return Trouble.LOST
    return _WORDS.get(answer.word, answer)


def _send(line: _Line, data: bytes, until: float) -> None:
    line.socket.settimeout(_left(until))
    line.socket.sendall(data)


def _receive(line: _Line, until: float, limit: int | None = None) -> bytes:
    """Return the next frame.

    Raises:
        EOFError: The other side closed.
        TimeoutError: It did not come in time.
        ProtocolError: What came is no frame.
    """
    frames = Frames() if limit is None else Frames(limit)
    while True:
        for data in frames:
            return data
        line.socket.settimeout(_left(until))
        piece = line.socket.recv(_CHUNK)
        if not piece:
            raise EOFError
        frames.feed(piece)


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
