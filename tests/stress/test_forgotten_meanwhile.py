"""A memory that one process changes while another forgets it: an error that says to try again, or a retry that works.

Found by the soak. The moment between two steps is made exact by letting the second process act inside the first one's
call of the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.stress.stress_kit import check_sound, handle, places_of

from memanto import Memanto
from memanto.errors import VersionConflictError


def after(memory: Memanto, method: str, count: int, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen once, right after a number of calls of an engine's method."""
    engine = memory._opened()
    original = getattr(engine, method)
    left = count

    def call(*arguments: Any, **options: Any) -> Any:
        nonlocal left
        found = original(*arguments, **options)
        left -= 1
        if left == 0:
            monkeypatch.setattr(engine, method, original)
            act()
        return found

    monkeypatch.setattr(engine, method, call)


VERBS: dict[str, Callable[[Memanto, str], object]] = {
    "edit": lambda memory, one: memory.edit(one, confidence=0.5),
    "edit the text": lambda memory, one: memory.edit(one, content="another text"),
    "verify": lambda memory, one: memory.verify(one),
    "expire": lambda memory, one: memory.expire(one),
    "pin": lambda memory, one: memory.pin(one),
    "quarantine": lambda memory, one: memory.quarantine(one),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("method", "count"), [("scan", 2), ("commit", 1)], ids=["once read", "once written"])
def test_a_change_of_what_was_forgotten_meanwhile_says_so(
    store: Path, monkeypatch: pytest.MonkeyPatch, verb: str, method: str, count: int
) -> None:
    """The id is looked up first, then the version that is changed is read, then the change is written."""
    with handle(store) as memory, handle(store) as other:
        one = memory.remember("the ledger lags", type="observation").id
        after(memory, method, count, monkeypatch, lambda: other.forget(one))
        with pytest.raises(VersionConflictError) as raised:
            VERBS[verb](memory, one)
        assert raised.value.retryable
        assert raised.value.hint
        assert check_sound(memory)[one][-1]["status"] == "forgotten"


@pytest.mark.parametrize("count", [2, 3], ids=["once read", "once its parts are read"])
def test_what_is_changed_while_it_is_forgotten_is_forgotten_whole(
    store: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """The version that came meanwhile goes too: a memory without its beginning would be left otherwise."""
    with handle(store) as memory, handle(store) as other:
        one = memory.remember("the ledger lags", type="fact").id
        two = memory.remember("the queue is full", type="fact").id
        after(memory, "scan", count + 1, monkeypatch, lambda: other.edit(one, content="the ledger is early"))
        receipts = memory.forget(one, two)
        assert {receipt.status for receipt in receipts} == {"forgotten"}
        assert [len(these) for these in check_sound(memory).values()] == [1, 1]
    assert places_of(["ledger lags", "ledger is early", "queue is full"], store) == []


@pytest.mark.parametrize("limit", [1, 100])
def test_what_is_forgotten_while_it_is_looked_for_is_not_found(
    store: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    with handle(store) as memory, handle(store) as other:
        gone = memory.remember("the ledger lags the source", type="fact").id
        kept = memory.remember("the ledger lags a little", type="fact").id
        after(memory, "search_lexical", 1, monkeypatch, lambda: other.forget(gone))
        assert [hit.memory.id for hit in memory.recall("the ledger lags the source", limit=limit)] == [kept]


def test_a_text_said_while_it_is_forgotten_is_there_when_the_receipt_says_so(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with handle(store) as memory, handle(store) as other:
        one = memory.remember("the ledger lags", type="fact").id
        memory.expire(one)
        after(memory, "commit", 1, monkeypatch, lambda: other.forget(one))
        again = memory.remember("the ledger lags", type="fact")
        assert again.revived
        assert memory.show(again.id).content == "the ledger lags"
        check_sound(memory)
