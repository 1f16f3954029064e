"""Between values of a graph and the texts a `CheckpointLog` keeps: serialised, compressed, recognised by digest."""

from __future__ import annotations

import binascii
import threading
from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

import zstandard
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from memanto.checkpoints import Packed
from memanto.errors import SerializationError, shown

INLINE: Final = 200
"""Bytes up to which a value is kept where it belongs; a larger one is kept once for the thread."""
_COMPRESSED_FROM: Final = 100
"""Bytes from which compressing pays."""
_LEVEL: Final = 1
"""Measured on 8 KB of words: 19 µs and 50 % of the size; zlib needs 115 µs for 56 %, level 3 twice the time."""
_LARGEST: Final = 1 << 30
"""Bytes a value may unfold to. More is refused: a few hundred bytes can claim any size."""
_DIGEST: Final = 32
"""Hexadecimal digits of SHA-256, which processors compute; others take twice as long."""
_DEEPEST: Final = 8
"""Levels of a value at which the part that cannot be stored is looked for; it may hold itself."""
_CIPHER: Final = "+"
"""Stands in the tag of what an `EncryptedSerializer` wrote."""


class Serialised(NamedTuple):
    """A value as a serializer wrote it."""

    tag: str
    data: bytes

    def digest(self) -> str:
        """Return what recognises equal values."""
        return sha256(self.tag.encode() + b"\0" + self.data).hexdigest()[:_DIGEST]


class _Coders(threading.local):
    """Compressing and unfolding, for each thread its own: they are not for several at once."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress
        self.unfold = zstandard.ZstdDecompressor().decompress


_coders: Final = _Coders()


def strict_serializer(extra_types: Collection[type | tuple[str, ...]]) -> JsonPlusSerializer:
    """Return a serializer that brings back plain values, langgraph's and langchain's own types, and `extra_types`.

    Another type in a checkpoint comes back as the plain data it held, and nothing is imported for it.
    """
    return JsonPlusSerializer(allowed_msgpack_modules=tuple(extra_types) or None)


def dump(serde: SerializerProtocol, value: Any, what: str) -> Serialised:
    """Serialise a value.

    Raises:
        SerializationError: The serializer cannot; the message begins with `what`, and says which part it was.
    """
    try:
        return Serialised(*serde.dumps_typed(value))
    except Exception as error:
        way, part = _culprit(serde, value)
        raise SerializationError(
            f"{what}{way and f' at {way}'} holds a value that cannot be stored ({type(part).__name__}): "
            f"{shown(str(error), 200)}",
            hint="keep plain data, dataclasses, pydantic models or messages in the state; "
            "make clients and connections inside the nodes",
        ) from error


def _culprit(serde: SerializerProtocol, value: Any) -> tuple[str, Any]:
    """Return the way into a value to the part that cannot be serialised, such as `['tools'][0]`, and that part."""
    way = ""
    for _ in range(_DEEPEST):
        parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
        found = next(((name, part) for name, part in parts if not _can_dump(serde, part)), None)
        if found is None:
            break
        way += f"[{shown(found[0], 40)}]"
        value = found[1]
    return way, value


def _can_dump(serde: SerializerProtocol, value: Any) -> bool:
    try:
        serde.dumps_typed(value)
    except Exception:  # noqa: BLE001 - whatever a serializer raises, it cannot
        return False
    return True


def load(serde: SerializerProtocol, value: Serialised, what: str) -> Any:
    """Return the value that was serialised.

    Raises:
        SerializationError: It cannot be read, or it lacks the encryption that this serializer gives; the message
            begins with `what`.
    """
    # Not `isinstance`: with a protocol behind the class it takes as long as reading a short value.
    if _CIPHER not in value.tag and hasattr(serde, "cipher"):
        raise SerializationError(
            f"{what} is not encrypted, and this saver reads only what is",
            hint="read it with a saver without encryption, and delete the thread if nobody should have written it",
        )
    try:
        return serde.loads_typed(value)
    except Exception as error:
        raise SerializationError(
            f"{what} cannot be read (tag {value.tag!r}): {type(error).__name__}: {shown(str(error), 200)}",
            hint="give the saver the serializer, and the key, it was written with",
        ) from error


def pack(value: Serialised) -> Packed:
    """Return a serialised value as text, compressed where that makes it smaller."""
    tag, data = value
    if len(data) >= _COMPRESSED_FROM and _CIPHER not in tag:
        smaller = _coders.compress(data)
        if len(smaller) < len(data):
            return Packed(tag, f"z{_text(smaller)}")
    return Packed(tag, f"r{_text(data)}")


def unpack(value: Packed, what: str) -> Serialised:
    """Return what `pack` packed.

    Raises:
        SerializationError: It is damaged; the message begins with `what`.
    """
    kind, text = value.text[:1], value.text[1:]
    try:
        data = binascii.a2b_base64(text, strict_mode=kind != "z")
        if kind == "z":  # which has a sum of its own
            if not 0 <= zstandard.frame_content_size(data) <= _LARGEST:
                raise ValueError("its size is not stated, or more than a value may have")
            data = _coders.unfold(data)
        elif kind != "r":
            raise ValueError(f"unknown form {kind!r}")
    except (ValueError, zstandard.ZstdError) as error:
        raise SerializationError(
            f"{what} is damaged: {error}", hint="restore the store from a backup, or delete the thread"
        ) from error
    return Serialised(value.tag, data)


def _text(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode("ascii")
