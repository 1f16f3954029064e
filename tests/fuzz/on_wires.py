"""Targets that read what another process sent: a language model's stream, and the frames of the relay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import httpx
from tests.fuzz.kit import refused, refusing, target, to_bytes

from memanto.engine import edge_calls as calls
from memanto.engine.relay_protocol import (
    MAX_GREETING,
    Answer,
    Envelope,
    Frames,
    ProtocolError,
    TooLargeError,
    decode_answer,
    decode_request,
    encode_answer,
    encode_request,
    frame,
    greeting,
    greets_well,
)
from memanto.filters import AnyOf, Either, Equals, TimeRange, Where
from memanto.llm.openai import OpenAiModel
from memanto.llm.port import Reply

_MODEL: Final = OpenAiModel("http://127.0.0.1:1/v1", "m", api_key="sk-secret", monotonic=lambda: 0.0)


def _chunk(text: str, reason: str | None = None) -> str:
    choice = {"delta": {"content": text}, "finish_reason": reason}
    return f"data: {json.dumps({'choices': [choice]})}\n\n"


@target(
    "sse",
    seeds=(
        f"{_chunk('The ledger')}{_chunk(' lags [1].', 'stop')}data: [DONE]\n\n",
        f": comment\r\nevent: x\r\n{_chunk('cut', 'length')}",
        'data: {"error": {"message": "no key sk-secret"}}\n\n',
        'data: {"choices": [{"delta": null}]}\n\ndata: {"choices": [{"delta": "x"}]}\n\ndata: [DONE]\n\n',
        'data: {"choices": [{"delta": {"content": "\\ud83d"}}]}\n\ndata: [DONE]\n\n',
        'data: {"choices":\ndata: [{"message": {"content": "whole"}}]}\n\n',
        '{"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}',
        '{"choices": [{"message": "x"}]}',
    ),
    words=(
        "data: ", "data:", "\n\n", "\r\n", "\r", "[DONE]",
        '{"choices": ', '[{"delta": ', '{"content": ', '"message": ',
        '"finish_reason": ', '"stop"', "null", "[]", "{}", "NaN", "9" * 400, "\\ud83d", "\\ude00", "\x00", "\ufeff",
        '{"error": ', "event: ", ": ",
    ),
    lead='data: {"choices": ',
)  # fmt: skip
def sse(text: str) -> None:
    """A reply is text or an error of ours, the same however the bytes arrive, and never shows the key."""
    data = to_bytes(text)
    for kind in ("text/event-stream", "application/json"):
        whole = _reply([data], kind)
        assert _reply([data[:1], data[1:7], data[7:]], kind) == whole
        size = max(1, len(data) // 50)
        assert _reply([data[start : start + size] for start in range(0, len(data), size)], kind) == whole
    refused(lambda: _read([data], "text/event-stream", status=500))


def _reply(chunks: list[bytes], kind: str) -> Reply | None:
    found: list[Reply] = []
    heard: list[str] = []
    with refusing():
        found.append(_read(chunks, kind, heard))
    if not found:
        return None
    found[0].text.encode("utf-8")
    assert "".join(heard) == found[0].text
    return found[0]


def _read(chunks: list[bytes], kind: str, heard: list[str] | None = None, status: int = 200) -> Reply:
    def body() -> Iterator[bytes]:
        yield from chunks

    response = httpx.Response(status, headers={"content-type": kind}, content=body())
    return _MODEL._read(response, None if heard is None else heard.append)


_EITHER: Final = Either((Where((AnyOf("tags", ("b",)),)), Where((TimeRange("recorded_at", gte="c"),))))
_WHERE: Final = Where((Equals("namespace", "a"), _EITHER))
_REQUESTS: Final[tuple[Any, ...]] = (
    calls.Get([], vectors=True),
    calls.Count(_WHERE),
    calls.SearchDense("m", (0.5, -0.5), _WHERE, 5, exact=False, fields=["id"]),
    calls.Scan(Where(), "recorded_at", descending=True, limit=None, vectors=False, fields=None),
    calls.Facet("type", Where()),
)
_FRAMES: Final = (
    *(encode_request(Envelope(calls.Request(call), 1.5)) for call in _REQUESTS),
    encode_answer(_REQUESTS[1], Answer(result=3)),
    encode_answer(_REQUESTS[0], Answer(word="gone")),
    greeting("a"),
    frame({"error": ["not_found", "nothing", "look elsewhere"]}),
)


@target(
    "relay",
    seeds=tuple(data.decode("utf-8", "surrogateescape") for data in _FRAMES),
    words=(
        "\x00\x00\x00\x02", "\x00\x00\x00\x00", "\udcff\udcff\udcff\udcff", "[", "]", "{", "}",
        '"Get"', '"Count"', '"Commit"',
        '"Where"', '"Equals"', '"Either"', '"result": ', '"error": ', '"word": ', "null", "true", "1e999", "NaN",
        "9" * 400,
        "-1", '"gone"', '"AAAAAAAA4D8="', ",",
    ),
    lead="\x00\x00\x00\x08[",
)  # fmt: skip
def relay(text: str) -> None:
    """Bytes become frames, and frames become requests or answers that are sent as they came, or a `ProtocolError`."""
    data = to_bytes(text)
    whole = _frames(data, len(data) or 1)
    assert _frames(data, 3 if len(data) < 3_000 else len(data) // 7) == whole
    for content in [*whole, data, data[4:]]:
        assert greets_well_or_not(content) in {True, False, None}
        try:
            envelope = decode_request(content)
            assert decode_request(encode_request(envelope)[4:]) == envelope or envelope.expires != envelope.expires
        except (ProtocolError, TooLargeError):
            pass
        for call in _REQUESTS:
            try:
                answer = decode_answer(call, content)
                assert decode_answer(call, encode_answer(call, answer)[4:]) == answer or answer.error is not None
            except (ProtocolError, TooLargeError):
                pass


def greets_well_or_not(content: bytes) -> bool | None:
    try:
        return greets_well(content, "a")
    except ProtocolError:
        return None


def _frames(data: bytes, step: int) -> list[bytes]:
    frames, found = Frames(MAX_GREETING), []
    try:
        for start in range(0, len(data), step):
            frames.feed(data[start : start + step])
            for content in frames:
                found.append(content)
    except ProtocolError:
        pass
    return found
