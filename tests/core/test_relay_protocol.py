"""The relay's messages by themselves: what goes in comes out equal, and whatever comes in is refused or typed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from datetime import UTC, datetime
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memanto import errors
from memanto.engine import edge_calls as calls
from memanto.engine.port import Candidate, Change, EngineInfo, Point, SparseVector
from memanto.engine.relay_codec import codec
from memanto.engine.relay_protocol import (
    MAX_FRAME,
    PROTOCOL,
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
from memanto.filters import AnyOf, Either, Equals, HasVector, NumberRange, TimeRange, Where

text = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | numbers | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
payloads = st.dictionaries(text, json_values, max_size=4)
vectors = st.lists(numbers, max_size=5).map(tuple)
sparse = st.lists(st.tuples(st.integers(0, 2**32 - 1), numbers), max_size=4).map(
    lambda pairs: SparseVector(tuple(i for i, _ in pairs), tuple(v for _, v in pairs))
)
points = st.builds(Point, st.uuids(), payloads, st.dictionaries(text, vectors, max_size=2), st.none() | sparse)
conditions: st.SearchStrategy[Any] = st.deferred(
    lambda: (
        st.builds(Equals, text, text)
        | st.builds(AnyOf, text, st.lists(text, max_size=3).map(tuple))
        | st.builds(TimeRange, text, *[st.none() | text] * 4)
        | st.builds(NumberRange, text, st.none() | numbers, st.none() | numbers)
        | st.builds(HasVector, text)
        | st.builds(Either, st.lists(wheres, max_size=2).map(tuple))
        | wheres
    )
)
wheres = st.builds(Where, st.lists(conditions, max_size=2).map(tuple), st.lists(conditions, max_size=1).map(tuple))
changes = st.builds(Change, points, st.lists(text, max_size=2).map(tuple), st.none() | st.uuids(), payloads)
fields = st.none() | st.lists(text, max_size=2)
limits = st.integers(-1, 2**40)
requests = st.one_of(
    st.builds(calls.Get, st.lists(st.uuids(), max_size=3), st.booleans()),
    st.builds(calls.SearchDense, text, vectors, wheres, limits, st.booleans(), fields),
    st.builds(calls.SearchLexical, sparse, wheres, limits, st.none() | wheres, fields),
    st.builds(calls.Scan, wheres, st.none() | text, st.booleans(), st.none() | limits, st.booleans(), fields),
    st.builds(calls.Count, wheres),
    st.builds(calls.Facet, text, wheres),
    st.just(calls.VectorNames()),
    st.just(calls.Info()),
    st.just(calls.Inspect()),
    st.just(calls.Flush()),
    st.builds(calls.Commit, st.lists(changes, max_size=2), st.lists(text, max_size=2)),
    st.builds(calls.Replace, points, st.none() | text, text),
    st.builds(calls.SetPayload, st.uuids(), payloads),
    st.builds(calls.AddVectorName, text, limits),
    st.builds(calls.PutVectors, text, st.dictionaries(st.uuids(), vectors, max_size=2)),
)


def body(data: bytes) -> bytes:
    [content] = through(data)
    return content


def through(data: bytes, step: int = 1 << 20, limit: int = MAX_FRAME) -> list[bytes]:
    frames, found = Frames(limit), []
    for start in range(0, len(data), step):
        frames.feed(data[start : start + step])
        found += list(frames)
    assert not frames.partial
    return found


@given(requests, st.booleans(), st.none() | st.integers(0, 2**63), st.floats(0, 1e12))
def test_a_request_arrives_as_it_was_sent(call: Any, settle: bool, incarnation: int | None, expires: float) -> None:
    envelope = Envelope(calls.Request(call, settle, incarnation), expires)
    assert decode_request(body(encode_request(envelope))) == envelope


@given(
    st.one_of(
        st.tuples(st.just(calls.Get([], False)), st.dictionaries(st.uuids(), points, max_size=2)),
        st.tuples(st.just(calls.Count(Where())), st.integers(0, 2**40)),
        st.tuples(
            st.just(calls.SearchLexical(SparseVector((), ()), Where(), 1, None, None)),
            st.lists(st.builds(Candidate, st.uuids(), numbers, payloads), max_size=3),
        ),
        st.tuples(st.just(calls.Scan(Where(), None, True, None, False, None)), st.lists(points, max_size=2)),
        st.tuples(st.just(calls.Facet("a", Where())), st.dictionaries(text, st.integers(0, 9), max_size=3)),
        st.tuples(
            st.just(calls.Commit([], [])),
            st.lists(st.none() | st.datetimes(timezones=st.just(UTC)), max_size=3),
        ),
        st.tuples(st.just(calls.Replace(Point(UUID(int=1), {}), None, "t")), st.booleans()),
        st.tuples(st.just(calls.Flush()), st.none()),
        st.tuples(st.just(calls.Info()), st.builds(EngineInfo, limits, limits, st.none() | limits, text, payloads)),
    )
)
def test_an_answer_arrives_as_it_was_given(pair: tuple[Any, Any]) -> None:
    call, result = pair
    arrived = decode_answer(call, body(encode_answer(call, Answer(result=result))))
    assert arrived == Answer(result=result)
    assert type(arrived.result) is type(result)


@pytest.mark.parametrize(
    "kind", [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.MemantoError)]
)
def test_every_error_of_the_project_arrives_as_itself(kind: type[errors.MemantoError]) -> None:
    arrived = decode_answer(calls.Flush(), body(encode_answer(calls.Flush(), Answer(error=kind("what", hint="next")))))
    assert type(arrived.error) is kind
    assert (arrived.error.message, arrived.error.hint) == ("what", "next")


@given(vectors)
def test_vectors_arrive_bit_for_bit(vector: tuple[float, ...]) -> None:
    [call] = [calls.SearchDense("v", [*vector, -0.0, 5e-324, math.inf], Where(), 1, False, None)]
    found = decode_request(body(encode_request(Envelope(calls.Request(call), 0.0)))).request.call
    assert isinstance(found, calls.SearchDense)
    assert [value.hex() for value in found.vector] == [value.hex() for value in call.vector]


@given(st.binary(max_size=64) | json_values.map(lambda value: json.dumps(value).encode()))
def test_what_is_no_message_is_refused_and_nothing_else_is_raised(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_request(data)
    for call in (calls.Flush(), calls.Commit([], []), calls.Info()):
        with pytest.raises(ProtocolError):
            decode_answer(call, data)


@given(requests, st.data())
def test_a_message_with_a_part_exchanged_is_refused_or_still_typed(call: Any, data: st.DataObject) -> None:
    value = json.loads(body(encode_request(Envelope(calls.Request(call), 0.0))))
    place = value
    while isinstance(place, list) and place:
        index = data.draw(st.integers(0, len(place) - 1))
        if isinstance(place[index], list) and place[index] and data.draw(st.booleans()):
            place = place[index]
            continue
        place[index] = data.draw(json_values)
        break
    try:
        found = decode_request(json.dumps(value).encode())
    except ProtocolError:
        return
    encode_request(found)  # every field has a type that can be sent again


@given(st.lists(st.binary(max_size=20), max_size=4), st.integers(1, 7))
def test_frames_come_out_whole_however_they_are_cut(contents: list[bytes], step: int) -> None:
    data = b"".join(len(each).to_bytes(4, "big") + each for each in contents)
    assert through(data, step) == contents


def test_the_size_of_a_frame_is_bounded_before_it_has_arrived() -> None:
    frames = Frames(limit=10)
    frames.feed((11).to_bytes(4, "big"))
    with pytest.raises(ProtocolError, match="11"):
        list(frames)
    with pytest.raises(TooLargeError):
        frame("x" * MAX_FRAME)
    large = Answer(result={UUID(int=1): Point(UUID(int=1), {"text": "x" * MAX_FRAME})})
    assert decode_answer(calls.Flush(), body(encode_answer(calls.Get([], False), large))).word == "large"


def test_a_greeting_names_version_and_namespace() -> None:
    assert greets_well(body(greeting("a")), "a")
    assert not greets_well(body(greeting("a")), "b")
    assert not greets_well(body(frame({"protocol": 0})), "a")


def test_the_shape_of_the_messages_belongs_to_the_protocols_number() -> None:
    """Processes of two versions meet on one store: when this fails, raise `PROTOCOL` and write the new digest."""
    shapes: dict[str, str] = {}

    def describe(hint: Any) -> str:
        if isinstance(hint, type) and (dataclasses.is_dataclass(hint) or hasattr(hint, "_fields")):
            if hint.__name__ not in shapes:
                shapes[hint.__name__] = "..."  # it may contain itself
                hints = get_type_hints(hint)
                shapes[hint.__name__] = ", ".join(f"{name}: {describe(part)}" for name, part in hints.items())
            return hint.__name__
        kind = "union" if get_origin(hint) in {Union, UnionType} else getattr(get_origin(hint) or hint, "__name__", "")
        parts = [describe(part) for part in get_args(hint)]
        return f"{kind}[{', '.join(sorted(parts) if kind == 'union' else parts)}]"

    for call in (*calls.READS, *calls.WRITES):
        shapes[f"{call.__name__} ->"] = f"{describe(call)} {describe(get_type_hints(call.run)['return'])}"
    digest = hashlib.blake2b(repr(sorted(shapes.items())).encode(), digest_size=8).hexdigest()
    assert (PROTOCOL, digest) == (3, "a3f05c0e87541de5")


def test_times_must_be_times_and_types_are_never_chosen_by_the_message() -> None:
    assert codec(datetime).decode("2026-01-02T03:04:05.000006Z").tzinfo is UTC
    for hint, value in [(datetime, 5), (datetime, "now"), (int, True), (bool, 1), (UUID, "x"), (str, None)]:
        with pytest.raises((TypeError, ValueError)):
            codec(hint).decode(value)
    with pytest.raises(TypeError, match="never sent"):
        codec(object)
