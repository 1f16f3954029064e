"""What is written can be read, and nothing else happens when it is read."""

from __future__ import annotations

import asyncio
import dataclasses
import pickle
import sys
import threading
from collections import OrderedDict
from typing import Any

import ormsgpack
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from langgraph.types import Interrupt, Send
from pydantic import BaseModel
from tests.langgraph.saver.conftest import MakeSaver
from tests.langgraph.saver.kit import checkpoint, config, put, values

from langgraph_memanto import MemantoSaver
from langgraph_memanto.packing import INLINE, Serialised, pack, unpack
from memanto.checkpoints import Packed
from memanto.errors import InvalidInputError, SerializationError

KEY = b"0123456789abcdef"


class Order(BaseModel):
    number: int


@dataclasses.dataclass
class Customer:
    name: str


class ReversingCipher:
    """Stands for a cipher: what it writes does not hold the text it was given."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "reversed", bytes(byte ^ 0x5A for byte in reversed(plaintext))

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "reversed"
        return bytes(byte ^ 0x5A for byte in reversed(ciphertext))


# -- types --------------------------------------------------------------------------------------------
def test_types_of_the_frameworks_come_back_as_they_were(edge_saver: MemantoSaver) -> None:
    held = {
        "messages": [HumanMessage("hello", id="1"), AIMessage("hi", id="2")],
        "interrupt": Interrupt(value={"ask": "go?"}, id="i"),
        "send": Send("node", {"x": 1}),
        "set": {1, 2, 3},
    }
    assert values(edge_saver, put(edge_saver, config(), checkpoint(held))) == held


def test_an_unlisted_type_comes_back_as_its_data_and_a_listed_one_as_itself(make_saver: MakeSaver) -> None:
    held = {"order": Order(number=7), "customer": Customer("Ada"), "ordered": OrderedDict(a=1)}
    strict = make_saver()
    found = values(strict, put(strict, config(), checkpoint(held)))
    assert found["order"] == {"number": 7}
    assert not isinstance(found["customer"], Customer)
    open_ = make_saver(extra_types=[Order, (Customer.__module__, "Customer")])
    found = values(open_, put(open_, config(), checkpoint(held)))
    assert found["order"] == Order(number=7)
    assert found["customer"] == Customer("Ada")


def test_reading_a_checkpoint_imports_nothing(edge_saver: MemantoSaver) -> None:
    hostile = ormsgpack.Ext(0, ormsgpack.packb(("antigravity", "anything", "x")))
    body = ormsgpack.packb([hostile] * 50)
    serde = edge_saver.serde
    edge_saver.serde = _Raw(("msgpack", body))
    stored = put(edge_saver, config(), checkpoint({"a": ["x" * INLINE]}))
    edge_saver.serde = serde
    sys.modules.pop("antigravity", None)
    with pytest.raises(SerializationError):  # the body itself is hostile here: it is no checkpoint
        edge_saver.get_tuple(stored)
    assert "antigravity" not in sys.modules


class _Raw:
    """Writes the same bytes whatever it is given."""

    def __init__(self, written: tuple[str, bytes]) -> None:
        self._written = written

    def dumps_typed(self, _: Any) -> tuple[str, bytes]:
        return self._written

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        raise AssertionError(data)


@pytest.mark.parametrize("tag", ["pickle", "yaml", ""])
def test_a_pickle_or_an_unknown_tag_is_refused(tag: str, edge_saver: MemantoSaver) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (pytest.fail, ("a pickle was opened",))

    serde = edge_saver.serde
    stored = put(edge_saver, config(), checkpoint())
    edge_saver.serde = _Raw((tag, pickle.dumps(Trap())))
    edge_saver.put_writes(stored, [("a", 1)], "task")
    edge_saver.serde = serde
    with pytest.raises(SerializationError, match="'a'"):
        edge_saver.get_tuple(stored)


@pytest.mark.parametrize("text", ["", "x00", "r%%", "zAAAA", "r" + "A" * 5])
def test_a_damaged_text_is_an_error_that_says_where(text: str) -> None:
    with pytest.raises(SerializationError, match="channel 'a' is damaged") as caught:
        unpack(Packed("msgpack", text), "channel 'a'")
    assert caught.value.hint


def test_a_value_that_claims_to_unfold_to_any_size_is_refused() -> None:
    import base64

    frame = zstandard.ZstdCompressor().compress(b"\0" * 1_000)
    huge = frame[:4] + bytes([0xE0]) + (1 << 40).to_bytes(8, "little") + frame[7:]
    with pytest.raises(SerializationError, match="is damaged"):
        unpack(Packed("bytes", "z" + base64.b64encode(huge).decode()), "channel 'a'")


@given(
    st.binary(max_size=3_000) | st.text(max_size=500).map(lambda text: (text * 9).encode()),
    st.sampled_from(["bytes", "msgpack", "x+aes"]),
)
@settings(max_examples=60, deadline=None)
def test_packing_loses_nothing(data: bytes, tag: str) -> None:
    packed = pack(Serialised(tag, data))
    assert unpack(packed, "it") == (tag, data)
    assert packed.text.isascii()
    assert len(packed.text) <= len(data) * 4 / 3 + 5


# -- what cannot be stored ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "value",
    [threading.Lock(), 2**70, object(), {"deep": [threading.Lock()]}, (n for n in "abc")],
    ids=["lock", "number", "object", "deep", "generator"],
)
def test_a_value_that_cannot_be_stored_is_named_with_its_channel(value: Any, edge_saver: MemantoSaver) -> None:
    first = put(edge_saver, config(), checkpoint({"good": 1}))
    with pytest.raises(SerializationError, match="channel 'bad'") as caught:
        put(edge_saver, first, checkpoint({"good": 2, "bad": value}))
    assert "inside the nodes" in caught.value.hint
    with pytest.raises(SerializationError, match="channel 'bad'"):
        edge_saver.put_writes(first, [("good", 1), ("bad", value)], "task")
    found = edge_saver.get_tuple(config())
    assert found is not None
    assert found.config == first
    assert found.pending_writes == []


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_an_input_that_cannot_be_stored_is_named_by_its_key_and_type(
    asynchronous: bool, edge_saver: MemantoSaver
) -> None:
    graph = StateGraph(dict)
    graph.add_node("work", lambda _: {"done": True})
    graph.add_edge(START, "work")
    compiled = graph.compile(checkpointer=edge_saver)
    given = {"task": "sync the orders", "tools": [{"client": threading.Lock()}]}
    with pytest.raises(SerializationError, match=r"the graph's input\) at \['tools'\]\[0\]\['client'\]") as caught:
        if asynchronous:
            asyncio.run(compiled.ainvoke(given, config()))
        else:
            compiled.invoke(given, config())
    assert "(lock)" in caught.value.message


def test_a_value_that_holds_itself_is_named_with_its_channel(edge_saver: MemantoSaver) -> None:
    endless: list[Any] = [1]
    endless.append(endless)
    with pytest.raises(SerializationError, match=r"channel 'bad' at \[1\]"):
        put(edge_saver, config(), checkpoint({"bad": endless}))


def test_metadata_that_cannot_be_stored_is_named_as_such(edge_saver: MemantoSaver) -> None:
    with pytest.raises(SerializationError, match="metadata"):
        put(edge_saver, config(), checkpoint(), mine=threading.Lock())
    assert edge_saver.get_tuple(config()) is None


def test_a_state_of_five_megabytes_goes_through(make_saver: MakeSaver) -> None:
    saver = make_saver()
    held = {"rows": [{"n": n, "text": f"row {n} " * 20} for n in range(30_000)], "blob": bytes(range(256)) * 4_000}
    stored = put(saver, config(), checkpoint(held))
    saver.put_writes(stored, [("rows", held["rows"])], "task")
    assert values(saver, stored) == held
    assert values(saver, config()) == held


# -- kept once ----------------------------------------------------------------------------------------
def test_a_value_is_kept_once_for_a_thread(edge_saver: MemantoSaver) -> None:
    plan = [f"step {n}: {n * 7919 % 1000}" for n in range(2_000)]
    last = put(edge_saver, config(), checkpoint({"plan": plan}))
    once = edge_saver.size().bytes
    for n in range(20):
        edge_saver.put_writes(last, [("other", plan)], f"task-{n}")
        last = put(
            edge_saver, last, checkpoint({"plan": plan, "other": plan}, {"plan": 1, "other": n}), new={"other": n}
        )
    assert edge_saver.size().bytes < once + 20 * 2_000
    assert values(edge_saver, last) == {"plan": plan, "other": plan}
    [info] = edge_saver.list_threads()
    assert info.by_kind["values"] < once


def test_text_takes_less_than_half_of_its_size(edge_saver: MemantoSaver) -> None:
    text = " ".join(
        f"The importer of region {n} runs at {n % 24:02}:00 and takes {n % 60} minutes." for n in range(400)
    )
    put(edge_saver, config(), checkpoint({"text": text}))
    assert edge_saver.size().bytes < len(text) / 2


# -- encryption ---------------------------------------------------------------------------------------
def test_encrypted_values_are_nowhere_in_the_store(make_saver: MakeSaver, tmp_path: Any) -> None:
    secret = "the-passphrase-is-swordfish"
    saver = make_saver(serde=EncryptedSerializer(ReversingCipher(), JsonPlusSerializer(allowed_msgpack_modules=None)))
    stored = put(saver, config(), checkpoint({"short": secret, "long": [secret] * 40}), note=secret)
    saver.put_writes(stored, [("short", secret)], "task")
    found = saver.get_tuple(config())
    assert found is not None
    assert found.checkpoint["channel_values"] == {"short": secret, "long": [secret] * 40}
    assert found.metadata["note"] == secret  # type: ignore[typeddict-item]
    assert found.pending_writes == [("task", "short", secret)]
    saver.flush()
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert [one for one in kept if secret.encode() in one] == []


def test_the_cipher_of_the_framework_encrypts_whole_checkpoints(edge_saver: MemantoSaver) -> None:
    pytest.importorskip("Crypto", reason="pycryptodome is not installed")
    edge_saver.serde = EncryptedSerializer.from_pycryptodome_aes(key=KEY)
    assert values(edge_saver, put(edge_saver, config(), checkpoint({"a": [1] * 500}))) == {"a": [1] * 500}


def test_plain_checkpoints_are_refused_by_a_saver_that_encrypts(edge_saver: MemantoSaver) -> None:
    """Whoever can write the store could otherwise slip in what the key never signed."""
    stored = put(edge_saver, config(), checkpoint({"a": 1}))
    edge_saver.serde = EncryptedSerializer(ReversingCipher())
    with pytest.raises(SerializationError, match="not encrypted"):
        edge_saver.get_tuple(stored)
    with pytest.raises(SerializationError, match="not encrypted"):
        list(edge_saver.list(config()))


def test_the_wrong_key_is_an_error_and_not_another_value(edge_saver: MemantoSaver) -> None:
    edge_saver.serde = EncryptedSerializer(ReversingCipher())
    stored = put(edge_saver, config(), checkpoint({"a": 1}))

    class Other(ReversingCipher):
        def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
            raise ValueError("MAC check failed")

    edge_saver.serde = EncryptedSerializer(Other())
    with pytest.raises(SerializationError, match="the key"):
        edge_saver.get_tuple(stored)


def test_types_and_a_serializer_are_not_given_both() -> None:
    with pytest.raises(InvalidInputError, match="extra_types"):
        MemantoSaver("loop", serde=JsonPlusSerializer(), extra_types=[Order])
