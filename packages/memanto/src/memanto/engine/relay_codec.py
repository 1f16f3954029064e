"""Typed values to JSON and back, by their type hints: exact, strict, and without running anything.

What is decoded has the declared types, or `TypeError` or `ValueError` is raised; a name in the data chooses
what is constructed only among the alternatives that a hint lists. Dense vectors travel as base64 of float64,
so that they arrive bit for bit; other floats as the shortest decimal that reads back equal.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from memanto.engine.port import Vector
from memanto.times import from_rfc3339, to_rfc3339


class Codec(NamedTuple):
    """The two directions for one type."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


@functools.cache
def codec(hint: Any) -> Codec:
    """Return how values of a type travel.

    Raises:
        TypeError: A type that never travels.
    """
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if hint == Vector:
        return Codec(_pack, _unpack)
    if origin in {Union, types.UnionType}:
        return _union(arguments)
    if origin in {list, tuple, Sequence}:
        return _sequence(codec(arguments[0]), tuple if origin is tuple else list)
    if origin in {dict, Mapping}:
        return _mapping(codec(arguments[0]), codec(arguments[1]))
    if isinstance(hint, type) and (dataclasses.is_dataclass(hint) or issubclass(hint, tuple)):
        return _record(hint)
    raise TypeError(f"values of type {hint!r} are never sent")


def _same(value: Any) -> Any:
    return value


def _checked(*kinds: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) not in kinds:
            raise TypeError(f"expected {kinds[0].__name__}, got {type(value).__name__}")
        return value

    return check


_list: Final = _checked(list)
_dict: Final = _checked(dict)
_text: Final = _checked(str)

_PLAIN: Final[dict[Any, Codec]] = {
    Any: Codec(_same, _same),
    str: Codec(_same, _text),
    int: Codec(_same, _checked(int)),
    float: Codec(float, _checked(float, int)),
    bool: Codec(_same, _checked(bool)),
    type(None): Codec(_same, _checked(type(None))),
    UUID: Codec(lambda value: value.hex, lambda value: UUID(int=int(_text(value), 16))),
    datetime: Codec(to_rfc3339, lambda value: from_rfc3339(_text(value))),
    # Payloads: what `check_payload` lets pass is JSON already.
    Mapping[str, Any]: Codec(dict, _dict),
}


def _pack(vector: Vector) -> str:
    return b64encode(array("d", vector).tobytes()).decode("ascii")


def _unpack(value: Any) -> tuple[float, ...]:
    numbers = array("d")
    numbers.frombytes(b64decode(_text(value), validate=True))
    return tuple(numbers)


def _union(members: Sequence[Any]) -> Codec:
    """`None` or one other type; or records, told apart by their names."""
    present = [member for member in members if member is not type(None)]
    if len(present) == 1:
        inner = codec(present[0])
        return Codec(
            lambda value: None if value is None else inner.encode(value),
            lambda value: None if value is None else inner.decode(value),
        )
    # Looked up when used, since the records may contain this very union.
    named = {member.__name__: member for member in present}

    def encode(value: Any) -> Any:
        name = type(value).__name__
        return [name, codec(named[name]).encode(value)]

    def decode(value: Any) -> Any:
        name, fields = _list(value)
        if _text(name) not in named:
            raise ValueError(f"{name[:40]!r} is none of {', '.join(named)}")
        return codec(named[name]).decode(fields)

    return Codec(encode, decode)


def _sequence(item: Codec, kind: type[list[Any] | tuple[Any, ...]]) -> Codec:
    encode, decode = item
    return Codec(
        lambda value: [encode(each) for each in value], lambda value: kind([decode(each) for each in _list(value)])
    )


def _mapping(key: Codec, item: Codec) -> Codec:
    return Codec(
        lambda value: {key.encode(name): item.encode(each) for name, each in value.items()},
        lambda value: {key.decode(name): item.decode(each) for name, each in _dict(value).items()},
    )


def _record(kind: type) -> Codec:
    """A dataclass or named tuple, as the list of its fields."""
    hints = get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else kind._fields  # type: ignore[attr-defined]
    encoders = [(name, codec(hints[name]).encode) for name in names]
    decoders = [codec(hints[name]).decode for name in names]

    def encode(value: Any) -> list[Any]:
        return [one(getattr(value, name)) for name, one in encoders]

    def decode(value: Any) -> Any:
        if len(_list(value)) != len(decoders):
            raise ValueError(f"{kind.__name__} has {len(decoders)} fields, got {len(value)}")
        return kind(*[one(each) for one, each in zip(decoders, value, strict=True)])

    return Codec(encode, decode)
