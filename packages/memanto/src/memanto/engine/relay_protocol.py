"""What processes say to each other over a store's socket: frames, greetings, requests and answers. Pure.

A frame is its length in four bytes, big-endian, and that many bytes of UTF-8 JSON. A client greets, the server
greets back or refuses; then each request is followed by one answer. Both sides run as the same user on the
same machine, but nothing here trusts that: what is malformed raises `ProtocolError`, and a frame's size is
bounded.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, get_type_hints

from memanto import errors
from memanto.engine.edge_calls import READS, WRITES, Call, Request
from memanto.engine.relay_codec import codec
from memanto.engine.schema import SCHEMA_VERSION

PROTOCOL: Final = 3
"""Raised with every change to the calls, their fields or the frames: only equals understand each other."""
MAX_FRAME: Final = 32 * 1024 * 1024
"""Bytes; what is larger is done by whoever wants it, in its turn."""
MAX_GREETING: Final = 4096

_LENGTH: Final = struct.Struct(">I")
_BY_NAME: Final = {call.__name__: call for call in (*READS, *WRITES)}
_ERRORS: Final = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.MemantoError)
}


class ProtocolError(Exception):
    """The other side said something that is not of this protocol."""


class TooLargeError(Exception):
    """A message does not fit a frame."""


class Envelope(NamedTuple):
    """A request as it travels.

    Attributes:
        request: What to do.
        expires: Moment of the machine's monotonic clock (seconds) after which nobody waits for the answer.
    """

    request: Request[Any]
    expires: float


class Answer(NamedTuple):
    """What came of a request: a result, the error it raised, or a word of why it was not begun.

    Attributes:
        result: What the call returned.
        error: What it raised; the store may have changed as far as the same error says for a local call.
        word: `"gone"` (the server hands over), `"busy"` (its process rewrites the files just now) or `"large"`
            (the result does not fit): nothing was written. Or `""`.
    """

    result: Any = None
    error: errors.MemantoError | None = None
    word: str = ""


def greeting(namespace: str) -> bytes:
    """Return the frame that each side begins with."""
    return frame({"protocol": PROTOCOL, "schema": SCHEMA_VERSION, "namespace": namespace})


def greets_well(data: bytes, namespace: str) -> bool:
    """Whether a greeting comes from the same version and is about this namespace."""
    return bool(_parsed(data) == json.loads(greeting(namespace)[_LENGTH.size :]))


def encode_request(envelope: Envelope) -> bytes:
    """Return the frame of a request.

    Raises:
        TooLargeError: It does not fit.
    """
    request = envelope.request
    call = codec(type(request.call)).encode(request.call)
    return frame([type(request.call).__name__, call, request.settle, request.incarnation, envelope.expires])


def decode_request(data: bytes) -> Envelope:
    """Return what `encode_request` encoded.

    Raises:
        ProtocolError: It is not a request.
    """
    value = _parsed(data)
    try:
        name, call, settle, incarnation, expires = value
        kind = _BY_NAME[name]
        request: Request[Any] = Request(
            codec(kind).decode(call), codec(bool).decode(settle), codec(int | None).decode(incarnation)
        )
        return Envelope(request, float(codec(float).decode(expires)))
    except (errors.MemantoError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ProtocolError(f"not a request: {error}") from error


def encode_answer(call: Call[Any], answer: Answer) -> bytes:
    """Return the frame of an answer; a result that does not fit becomes the word `"large"`."""
    if answer.word:
        return frame({"word": answer.word})
    if answer.error is not None:
        return frame({"error": [answer.error.code, answer.error.message, answer.error.hint]})
    try:
        return frame({"result": codec(_result_type(type(call))).encode(answer.result)})
    except TooLargeError:
        return frame({"word": "large"})


def decode_answer(call: Call[Any], data: bytes) -> Answer:
    """Return what `encode_answer` encoded.

    Raises:
        ProtocolError: It is not an answer to this call.
    """
    value = _parsed(data)
    try:
        [(kind, content)] = value.items()
        if kind == "result":
            return Answer(result=codec(_result_type(type(call))).decode(content))
        if kind == "error":
            code, message, hint = (codec(str).decode(part) for part in content)
            return Answer(error=_ERRORS.get(code, errors.BackendError)(message, hint=hint))
        return Answer(word={"gone": "gone", "busy": "busy", "large": "large"}[content])
    except (errors.MemantoError, AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ProtocolError(f"not an answer: {error}") from error


def frame(value: Any) -> bytes:
    """Return one frame.

    Raises:
        TooLargeError: The value takes more than `MAX_FRAME` bytes.
    """
    data = json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    if len(data) > MAX_FRAME:
        raise TooLargeError(f"{len(data):,} bytes do not fit a frame of {MAX_FRAME:,}")
    return _LENGTH.pack(len(data)) + data


class Frames:
    """Puts frames together from the pieces that a socket delivers.

    Attributes:
        limit: Bytes that the next frame may have.
    """

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self.limit = limit
        self._data = bytearray()

    @property
    def partial(self) -> bool:
        """Whether a frame has begun and is not complete."""
        return bool(self._data)

    def feed(self, data: bytes) -> None:
        """Add what was received."""
        self._data += data

    def __iter__(self) -> Iterator[bytes]:
        """Take out the complete frames.

        Raises:
            ProtocolError: One announces more than `limit` bytes.
        """
        while len(self._data) >= _LENGTH.size:
            [length] = _LENGTH.unpack_from(self._data)
            if length > self.limit:
                raise ProtocolError(f"a frame of {length:,} bytes is announced, {self.limit:,} are allowed")
            end = _LENGTH.size + length
            if len(self._data) < end:
                return
            data = bytes(self._data[_LENGTH.size : end])
            del self._data[:end]
            yield data


def _result_type(call: type[Call[Any]]) -> Any:
    found = _RESULTS.get(call)
    if found is None:
        found = _RESULTS[call] = get_type_hints(call.run)["return"]
    return found


_RESULTS: Final[dict[type[Call[Any]], Any]] = {}


def _parsed(data: bytes | Sequence[int]) -> Any:
    try:
        return json.loads(bytes(data))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"not JSON: {error}") from error
