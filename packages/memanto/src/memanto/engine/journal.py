"""A log of operations that are not in their shard's files yet: how a record shard survives the process.

The engine's own log keeps everything it wrote until a file of 32 MiB is full, which doubles what a checkpoint
takes on the disk. This one is emptied by each flush. An entry is its length, its CRC-32 and the length of its
JSON (four bytes each, big-endian), the JSON, and texts; one that was cut off by a crash ends the log, for it was
never acknowledged.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

_HEAD: Final = struct.Struct(">III")
_to_json: Final = json.JSONEncoder(separators=(",", ":")).encode


class Journal:
    """The log in a file, which is made when it is missing. Not for several threads at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        self._file = os.open(path, flags, 0o600)
        self._size = os.fstat(self._file).st_size

    def entries(self) -> Iterator[tuple[Any, list[str]]]:
        """Yield what was appended since the last `clear`, oldest first, and cut off what a crash left unfinished."""
        data = self._path.read_bytes()
        position = 0
        while len(data) - position >= _HEAD.size:
            length, checksum, size = _HEAD.unpack_from(data, position)
            begin = position + _HEAD.size
            body = data[begin : begin + length]
            if len(body) < length or zlib.crc32(body, size) != checksum:
                break
            position = begin + length
            yield _decoded(body, size)
        self._cut(position)

    def append(self, value: Any, texts: Sequence[str]) -> int:
        """Write an entry, which survives the process when this returns; return the position it began at.

        Args:
            value: JSON.
            texts: Written as they are, which costs less than as JSON.

        Raises:
            OSError: The disk is full, say; nothing was written then.
            UnicodeEncodeError: UTF-8 cannot hold a text.
        """
        parts = [text.encode() for text in texts]
        head = _to_json([value, [len(part) for part in parts]]).encode("ascii")
        body = b"".join([head, *parts])
        begin = self._size
        data = memoryview(_HEAD.pack(len(body), zlib.crc32(body, len(head)), len(head)) + body)
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except BaseException:
            self._cut(begin)
            raise
        self._size = begin + _HEAD.size + len(body)
        return begin

    def undo(self, position: int) -> None:
        """Take back what was appended from `position` on."""
        self._cut(position)

    def clear(self) -> None:
        """Forget every entry: the shard's files have them."""
        if self._size:
            self._cut(0)

    def sync(self) -> None:
        """Force the log to the disk."""
        os.fsync(self._file)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _cut(self, size: int) -> None:
        os.ftruncate(self._file, size)
        self._size = size


def _decoded(body: bytes, size: int) -> tuple[Any, list[str]]:
    value, lengths = json.loads(body[:size])
    texts, position = [], size
    for length in lengths:
        texts.append(body[position : position + length].decode())
        position += length
    return value, texts
