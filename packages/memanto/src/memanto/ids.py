"""Identifiers: memory ids (UUIDv7), the ids of points derived from them, and agent ids."""

from __future__ import annotations

import os
import re
import threading
import time
import uuid
from typing import Final

from memanto.errors import InvalidInputError, shown

_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")
AGENT_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ROOT: Final = uuid.UUID("6f1c1f0a-4a53-5d0e-9b67-0d5c2d7e7a10")
_lock = threading.Lock()
_last_ms = 0
_counter = 0


def new_memory_id() -> str:
    """Return a new UUIDv7 (RFC 9562) in canonical text form, increasing within this process.

    The 12 bits after the version hold a counter (RFC 9562 §6.2, method 1); the last 62 bits are random.
    """
    global _last_ms, _counter
    with _lock:
        ms = time.time_ns() // 1_000_000
        if ms <= _last_ms:
            ms = _last_ms
            _counter += 1
            if _counter > 0xFFF:
                ms, _counter = ms + 1, 0
        else:
            _counter = int.from_bytes(os.urandom(1), "big")
        _last_ms = ms
        counter = _counter
    tail = int.from_bytes(os.urandom(8), "big") & ((1 << 62) - 1)
    value = (ms & ((1 << 48) - 1)) << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | tail
    return str(uuid.UUID(int=value))


def reset_after_fork() -> None:
    """Give a forked child a fresh lock; random bits keep its ids apart from its parent's."""
    global _lock
    _lock = threading.Lock()


def version_point_id(namespace: str, memory_id: str, version: int) -> uuid.UUID:
    """Return the point id of one version: the same wherever and whenever it is computed."""
    return uuid.uuid5(_ROOT, f"version\x00{namespace}\x00{memory_id}\x00{version}")


def slot_point_id(namespace: str, kind: str, name: str) -> uuid.UUID:
    """Return the point id of a slot, such as `("key", "db")` or `("hash", digest)`."""
    return uuid.uuid5(_ROOT, f"slot\x00{namespace}\x00{kind}\x00{name}")


def meta_point_id(namespace: str) -> uuid.UUID:
    """Return the id of the point that describes the namespace itself."""
    return uuid.uuid5(_ROOT, f"meta\x00{namespace}")


def check_agent_id(value: object) -> str:
    """Return `value` when it is a valid agent id.

    Raises:
        InvalidInputError: It is no text, or not 1..64 characters of `[A-Za-z0-9._-]` starting with a letter or digit.
    """
    if not isinstance(value, str):
        named = getattr(value, "agent", None)  # of a memory, given where its agent's name is meant
        raise InvalidInputError(
            f"agent id {shown(value)} is no text",
            hint="pass the agent's name" + (f": {named!r}" if isinstance(named, str) else ""),
        )
    if not AGENT_ID.fullmatch(value):
        fit = _UNFIT.sub("-", value[:64]).strip("-._")
        raise InvalidInputError(
            f"agent id {shown(value)} is not valid",
            hint="use 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"
            + (f", such as {fit!r}" if fit else ""),
        )
    return value


def encode_agent_id(value: str) -> str:
    """Return a folder name for an agent id, one to one and also on file systems that ignore case.

    Lower-case letters, digits, `-` and `_` stand for themselves; every other character becomes `~` and two
    hexadecimal digits, so no name ends in a dot, and names that differ only in case stay apart.
    """
    check_agent_id(value)
    plain = "abcdefghijklmnopqrstuvwxyz0123456789-_"
    encoded = "".join(c if c in plain else f"~{ord(c):02x}" for c in value)
    if encoded.split("~")[0] in {"con", "prn", "aux", "nul"} or re.fullmatch(r"(com|lpt)[0-9]", encoded):
        return f"~{ord(encoded[0]):02x}{encoded[1:]}"
    return encoded


def decode_agent_id(name: str) -> str:
    """Return the agent id that `encode_agent_id` turned into this folder name."""
    return re.sub(r"~([0-9a-f]{2})", lambda match: chr(int(match.group(1), 16)), name)


os.register_at_fork(after_in_child=reset_after_fork) if hasattr(os, "register_at_fork") else None
