"""The socket beside a namespace's lock files: where it is, who may use it, and who is at the other end.

A Unix domain socket, never a port: it is a file of mode 0600 in a folder of mode 0700, and both ends check that
the other runs as the same user where the system tells. A path too long for a socket address goes through a
descriptor of its folder (Linux); elsewhere such a store has no socket, and processes take turns.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_LONGEST: Final = 100
"""Bytes of a path that fit every system's socket address (108 on Linux, 104 on macOS, with the final zero)."""
BACKLOG: Final = 64


def supported() -> bool:
    """Whether this system has Unix domain sockets."""
    return hasattr(socket, "AF_UNIX") and os.name == "posix"


def listen(path: Path) -> socket.socket:
    """Return a socket that listens at `path` for this user alone.

    Only for the holder of the lease: what another holder left there is replaced.

    Raises:
        OSError: The file system has no sockets, or the path is too long for one.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)
        with _address(path) as address:
            listener.bind(address)
        path.chmod(0o600)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def connect(path: Path) -> socket.socket | None:
    """Return a socket connected to the one who listens at `path`, or `None` when nobody of this user does.

    Never waits: a listener whose queue is full counts as none.
    """
    try:
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    except Exception:  # noqa: BLE001 - forbidden here, by the system or by a guard that raises what it likes
        return None
    try:
        connected.setblocking(False)
        with _address(path) as address:
            connected.connect(address)
        if is_same_user(connected):
            return connected
    except Exception:  # noqa: BLE001, S110 - nobody listens, or connecting is forbidden, as above
        pass
    connected.close()
    return None


def is_same_user(connected: socket.socket) -> bool:
    """Whether the process at the other end runs as this user; true where the system cannot tell.

    Where it cannot, the folder's mode is what keeps others out.
    """
    user = peer_user(connected)
    return user is None or user == os.geteuid()


def peer_user(connected: socket.socket) -> int | None:
    """Return the user id of the process at the other end, or `None` where it cannot be told."""
    if sys.platform != "linux":
        return None
    credentials = struct.Struct("iII")
    try:
        raw = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size)
    except OSError:
        return None
    _, user, _ = credentials.unpack(raw)
    return int(user)


def was_left_unread(error: OSError) -> bool:
    """Whether a failed send or receive proves that the other end never took the message in whole.

    Linux resets a connection whose end is closed over unread bytes, and breaks the pipe of one closed before.
    """
    return isinstance(error, BrokenPipeError) or (sys.platform == "linux" and isinstance(error, ConnectionResetError))


@contextlib.contextmanager
def _address(path: Path) -> Iterator[str]:
    if len(os.fsencode(path)) <= _LONGEST:
        yield str(path)
        return
    if sys.platform != "linux":
        raise OSError(f"{str(path)!r} is too long for a socket")
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # A name of at most 100 bytes follows: an encoded agent id has 64 letters and a few marks of case.
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
