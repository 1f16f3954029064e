"""Items that expire: minutes after their last use, refreshed by reading (pins LangGraph's contract)."""

from __future__ import annotations

from langgraph_memanto.store import MemantoStore
from memanto import Memanto
from memanto.testing import FixedClock

NS = ("cache",)


def test_an_item_expires_after_its_time_and_lives_on_while_it_is_read(store: MemantoStore, clock: FixedClock) -> None:
    store.put(NS, "read", {"n": 1}, ttl=10)
    store.put(NS, "left", {"n": 2}, ttl=10)
    store.put(NS, "kept", {"n": 3})
    for _ in range(4):
        clock.advance(9 * 60)
        assert store.get(NS, "read") is not None
    assert store.get(NS, "left") is None
    assert {item.key for item in store.search(NS, refresh_ttl=False)} == {"read", "kept"}
    clock.advance(11 * 60)
    assert {item.key for item in store.search(NS)} == {"kept"}
    assert store.list_namespaces() == [NS]


def test_reading_without_refresh_does_not_prolong(memory: Memanto, clock: FixedClock) -> None:
    store = MemantoStore(memory, ttl={"default_ttl": 10, "refresh_on_read": False})
    store.put(NS, "k", {"text": "short lived"})
    for _ in range(2):
        clock.advance(4 * 60)
        assert store.get(NS, "k") is not None
        assert store.search(NS, query="short") != []
    clock.advance(3 * 60)
    assert store.get(NS, "k") is None
    assert memory.recall("short lived") == []


def test_a_search_refreshes_what_it_returns(store: MemantoStore, clock: FixedClock) -> None:
    for number in range(3):
        store.put(NS, str(number), {"text": f"entry {number}"}, ttl=10)
    clock.advance(8 * 60)
    assert len(store.search(NS, limit=2)) == 2
    clock.advance(8 * 60)
    assert len(store.search(NS)) == 2


def test_reading_often_writes_few_versions_and_never_lets_an_item_expire_early(
    store: MemantoStore, memory: Memanto, clock: FixedClock
) -> None:
    store.put(NS, "k", {"text": "read often"}, ttl=60)
    for _ in range(120):
        clock.advance(30)
        assert store.get(NS, "k") is not None
    [hit] = memory.recall("read often")
    assert hit.memory.version <= 1 + 60 / 3 + 1  # every twentieth of its time at most, in an hour of reading
    clock.advance(59 * 60 + 59)
    assert store.get(NS, "k", refresh_ttl=False) is not None
    clock.advance(4 * 60)
    assert store.get(NS, "k") is None


def test_putting_again_begins_the_time_anew_and_may_end_it(store: MemantoStore, clock: FixedClock) -> None:
    store.put(NS, "k", {"n": 1}, ttl=10)
    clock.advance(8 * 60)
    store.put(NS, "k", {"n": 1}, ttl=10)
    clock.advance(8 * 60)
    store.put(NS, "k", {"n": 1}, ttl=None)
    clock.advance(10_000 * 60)
    assert store.get(NS, "k") is not None


def test_sweeping_deletes_what_has_expired_for_good(memory: Memanto, clock: FixedClock) -> None:
    store = MemantoStore(memory, ttl={"sweep_interval_minutes": 30})
    store.put(NS, "old", {"text": "old entry"}, ttl=10)
    store.put(NS, "young", {"text": "young entry"}, ttl=100)
    [old] = memory.recall("old", words_only=True)
    clock.advance(20 * 60)
    assert (store.sweep_ttl(), store.sweep_ttl()) == (1, 0)
    assert memory.show(old.memory.id).content == ""
    store.put(NS, "old", {"text": "old entry"}, ttl=10)
    clock.advance(31 * 60)
    store.put(NS, "other", {"text": "another"})
    assert memory.show(old.memory.id).content == ""
    assert {item.key for item in store.search(NS)} == {"young", "other"}
