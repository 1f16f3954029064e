"""Values longer than one memory holds: kept whole, found by any of their pages (pins our decision)."""

from __future__ import annotations

import pytest

from langgraph_memanto.store import MemantoStore
from memanto import Memanto
from memanto.errors import InvalidInputError

NS = ("documents",)
FILLER = "All other days of that year were quiet and nobody wrote anything down. "
LONG = {"text": FILLER * 400 + "The marmalade incident happened on a Tuesday. " + FILLER * 20, "n": [1, 2.5, None]}


def test_a_long_value_comes_back_equal_and_is_found_by_what_stands_far_inside(store: MemantoStore) -> None:
    store.put(NS, "diary", LONG)
    store.put(NS, "note", {"text": "nothing about jam"})
    item = store.get(NS, "diary")
    assert item is not None
    assert item.value == LONG
    [first, *_] = store.search(NS, query="marmalade incident Tuesday", limit=1)
    assert (first.key, first.value) == ("diary", LONG)
    assert [one.key for one in store.search(NS, filter={"n": [1, 2.5, None]})] == ["diary"]
    assert store.list_namespaces() == [NS]


def test_a_long_value_is_replaced_and_deleted_with_all_its_pages(store: MemantoStore, memory: Memanto) -> None:
    store.put(NS, "diary", LONG)
    store.put(NS, "diary", {**LONG, "n": 7})
    item = store.get(NS, "diary")
    assert item is not None
    assert item.value["n"] == 7
    assert len(memory.recall(types=["artifact"])) == 1
    store.put(NS, "diary", {"text": "short again"})
    assert (store.get(NS, "diary").value, memory.recall("marmalade", words_only=True)) == ({"text": "short again"}, [])  # type: ignore[union-attr]
    store.put(NS, "diary", LONG)
    store.delete(NS, "diary")
    assert store.get(NS, "diary") is None
    assert memory.recall("marmalade", everything=True, words_only=True) == []


def test_two_items_may_hold_the_same_long_value(store: MemantoStore) -> None:
    store.put(NS, "one", LONG)
    store.put(NS, "two", LONG)
    store.delete(NS, "one")
    item = store.get(NS, "two")
    assert item is not None
    assert item.value == LONG


def test_a_long_value_of_numbers_alone_is_kept(store: MemantoStore) -> None:
    value = {"numbers": list(range(8_000))}
    store.put(NS, "numbers", value)
    assert [one.value for one in store.search(NS)] == [value]


def test_a_long_value_that_is_no_json_is_refused(store: MemantoStore) -> None:
    with pytest.raises(InvalidInputError):
        store.put(NS, "odd", {"text": FILLER * 400, "x": object()})
    assert store.search(NS) == []


def test_an_item_that_cannot_be_read_hides_no_other(
    store: MemantoStore, memory: Memanto, caplog: pytest.LogCaptureFixture
) -> None:
    store.put(NS, "note", {"text": "a quiet note on marmalade"})
    store.put(NS, "diary", LONG)
    [whole] = memory.recall(types=["artifact"])
    memory.forget(whole.memory.id, reason="asked to")
    memory.remember(
        "marmalade", type="fact", provenance="observed", key="x", tags=["store"], metadata={"store": {"value": 5}}
    )
    with caplog.at_level("WARNING", "memanto"):
        assert [one.key for one in store.search(())] == ["note"]
        assert [one.key for one in store.search(NS, query="marmalade \ud83d")] == ["note"]
        assert store.list_namespaces() == [NS]
    assert "is left out" in caplog.text
    store.put(NS, "diary", {"text": "written anew"})
    assert {one.key for one in store.search(NS)} == {"note", "diary"}
    [note] = memory.recall("quiet note", words_only=True, limit=1)
    memory.edit(note.memory.id, metadata={"store": {"value": 5}})
    store.put(NS, "note", {"text": "written anew, too"})
    assert store.get(NS, "note").value == {"text": "written anew, too"}  # type: ignore[union-attr]
