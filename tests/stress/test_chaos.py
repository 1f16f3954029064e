"""Seeded chaos: many verbs on two agents that say the same things; what must stay true of every answer stays true."""

from __future__ import annotations

import json
import logging
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from tests.stress.stress_kit import check_sound, handle, versions

from memanto import Draft, Memanto, MemantoError
from memanto.testing import FixedClock, HashEmbedder

TEXTS = [
    f"the {thing} uses {value}" for thing in ("ledger", "queue", "cache") for value in ("postgres", "redis", "kafka")
]
TYPES = ["fact", "decision", "event", "context", "observation"]


class Chaos:
    """Does something at random to one agent; the same seed does the same."""

    def __init__(self, memory: Memanto, seed: int) -> None:
        self.memory = memory
        self.rng = random.Random(seed)
        self.ids: list[str] = []
        self.gone: set[str] = set()

    def step(self, *, erasing: bool) -> None:
        rng, memory = self.rng, self.memory
        alive = [one for one in self.ids if one not in self.gone]
        verb = (
            rng.choice(
                ["say", "say", "slot", "edit", "verify", "expire", "restore", "quarantine", "pin", "supersede", "batch"]
                + ["forget"] * erasing
            )
            if alive
            else "say"
        )
        try:
            match verb:
                case "say":
                    self._keep(memory.remember(rng.choice(TEXTS), type=rng.choice(TYPES), tags=[rng.choice("abc")]).id)
                case "slot":
                    self._keep(memory.remember(rng.choice(TEXTS), type="fact", key=f"k{rng.randrange(3)}").id)
                case "batch":
                    for receipt in memory.remember_many([Draft(content=rng.choice(TEXTS)) for _ in range(4)]):
                        self._keep(receipt.id)
                case "edit":
                    memory.edit(
                        rng.choice(alive), content=f"{rng.choice(TEXTS)} {rng.randrange(5)}", confidence=rng.random()
                    )
                case "supersede":
                    memory.supersede(rng.choice(alive), rng.choice(alive))
                case "forget":
                    doomed = rng.choice(alive)
                    memory.forget(doomed)
                    self.gone.add(doomed)
                case _:
                    getattr(memory, verb)(rng.choice(alive))
        except MemantoError as error:  # such as: restore what is active
            assert error.code in {"invalid_input", "conflict", "version_conflict"}, error

    def _keep(self, memory_id: str) -> None:
        self.gone.discard(memory_id)  # what was forgotten may be said again
        if memory_id not in self.ids:
            self.ids.append(memory_id)


def answers(memory: Memanto, at: datetime) -> list[Any]:
    """Return what was believed at a time, in full, asked in several ways."""
    asked: list[dict[str, Any]] = [
        {"query": "what does the ledger use"},
        {"query": "redis", "types": ["fact", "event"]},
        {"query": "queue", "tags": ["a"]},
        {"everything": True},
        {"status": ["expired", "superseded"]},
        {"key": "k1"},
        {"query": "kafka", "min_confidence": 0.5},
    ]
    return [[(hit.memory, hit.score) for hit in memory.recall(as_of=at, limit=100, **one)] for one in asked]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_later_write_changes_what_was_believed_and_no_agent_sees_the_other(store: Path, seed: int) -> None:
    clock = FixedClock()
    with handle(store, "one", clock=clock) as first, handle(store, "two", clock=clock) as second:
        both = [Chaos(first, seed), Chaos(second, seed + 100)]
        believed: list[tuple[datetime, list[list[Any]]]] = []
        for number in range(90):
            for chaos in both:
                clock.advance(3600)
                chaos.step(erasing=False)
            if number % 15 == 14:
                clock.advance(1)
                believed.append((clock(), [answers(chaos.memory, clock()) for chaos in both]))
        first.reindex()
        first.optimize()
        for at, then in believed:
            assert [answers(chaos.memory, at) for chaos in both] == then
        check_apart(both)


@pytest.mark.parametrize("seed", [4, 5])
def test_stores_with_everything_in_them_are_sound_and_carried_without_a_loss(
    store: Path, tmp_path: Path, seed: int
) -> None:
    with handle(store, "one") as first, handle(store, "two") as second:
        both = [Chaos(first, seed), Chaos(second, seed + 100)]
        for _ in range(70):
            for chaos in both:
                chaos.step(erasing=True)
        check_apart(both)
        for chaos in both:
            found = check_sound(chaos.memory)
            for memory_id, these in found.items():
                assert (these[-1].get("status") == "forgotten") == (memory_id in chaos.gone)
        exported = list(first.export())
        wanted = {one: [{**v, "imported": True} for v in these] for one, these in versions(first).items()}
        shown = {memory_id: first.show(memory_id).content for memory_id in wanted}
    with handle(tmp_path / "copy", "copy") as copy:
        copy.import_(exported)
        assert check_sound(copy) == wanted
        assert {memory_id: copy.show(memory_id).content for memory_id in wanted} == shown
        assert copy.import_(list(copy.export())).stored == 0


def check_apart(both: list[Chaos]) -> None:
    """Assert over every way to read that an agent finds its own memories only."""
    for mine, other in (both, both[::-1]):
        memory = mine.memory
        for options in (
            {},
            {"query": "ledger"},
            {"everything": True},
            {"query": "uses", "everything": True},
            {"key": "k1"},
        ):
            hits = memory.recall(limit=100, **options)
            assert {hit.memory.namespace for hit in hits} <= {memory.agent}
            assert not {hit.memory.id for hit in hits} & set(other.ids)
        for verb in ("show", "history", "verify", "pin", "expire", "forget"):
            with pytest.raises(LookupError):
                getattr(memory, verb)(other.ids[0])
        assert not set(versions(memory)) & set(other.ids)
        together = memory.recall("uses", agents=["one", "two"], limit=100)
        assert {hit.memory.namespace for hit in together} == {"one", "two"}


# -- folders under the feet of an open store ---------------------------------------------------------------------
def test_a_store_that_is_copied_while_in_use_opens_sound_or_says_it_is_not(store: Path, tmp_path: Path) -> None:
    """A copy made while nothing is written has everything; one made meanwhile loses nothing silently."""
    with handle(store) as memory:
        told = [memory.remember(f"item {n}", type="fact").id for n in range(40)]
        shutil.copytree(store, tmp_path / "quiet", ignore=shutil.ignore_patterns("*.socket"))
        with handle(tmp_path / "quiet") as copy:
            assert set(check_sound(copy)) == set(told)
        enough = Event()

        def write() -> None:
            for number in range(400):
                told.append(memory.remember(f"more {number}", type="fact").id)
                if enough.is_set():
                    return

        writer = Thread(target=write)
        writer.start()
        for number in range(3):
            before = list(told)
            try:
                shutil.copytree(store, tmp_path / f"busy-{number}", ignore=shutil.ignore_patterns("*.socket"))
            except shutil.Error:  # a file went away between listing and copying
                continue
            try:
                with handle(tmp_path / f"busy-{number}") as copy:
                    assert set(before) <= set(check_sound(copy))
            except MemantoError as error:
                assert error.code == "store_damaged"
        enough.set()
        writer.join()
        assert set(check_sound(memory)) == set(told)


def test_a_store_removed_under_an_open_handle_is_an_error_of_ours_told_once(
    store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = handle(store).open()
    for number in range(20):
        memory.remember(f"item {number}", type="fact")
    shutil.rmtree(store)
    Event().wait(1.0)  # long enough for the idle flush to fail, and to be tried again
    for call in (lambda: memory.recall("item"), memory.status, lambda: memory.remember("again", type="fact")):
        with suppress(MemantoError):
            call()
    with suppress(MemantoError):
        memory.close()
    assert len([one for one in caplog.records if one.levelno >= logging.WARNING]) <= 3, "a failing flush fills the log"
    with handle(store) as anew:
        anew.remember("anew", type="fact")
        assert anew.recall("anew")[0].memory.content == "anew"


def test_an_agent_deleted_through_another_handle_is_not_found_and_can_begin_anew(store: Path) -> None:
    with handle(store) as one, handle(store) as two:
        one.remember("gone with its agent", type="fact")
        two.recall("gone")
        two.delete_agent()
        with pytest.raises(LookupError):
            one.recall("gone")
        one.remember("anew", type="fact")
        assert [hit.memory.content for hit in two.recall("gone anew", everything=True)] == ["anew"]


def test_two_embedders_on_one_agent_never_mix(store: Path) -> None:
    with handle(store) as one, handle(store, embedder=HashEmbedder(32)) as other, handle(store, embedder=None) as words:
        kept = one.remember("made with the first", type="fact").id
        for call in (
            lambda: other.remember("x", type="fact"),
            lambda: other.recall("made"),
            lambda: other.edit(kept, content="y"),
        ):
            with pytest.raises(MemantoError) as raised:
                call()
            assert raised.value.code == "embedder_mismatch"
            assert "reindex" in raised.value.hint
        assert words.recall("made")[0].memory.id == kept
        assert json.loads(list(one.export())[1])["content"] == "made with the first"


# -- texts that come and go ----------------------------------------------------------------------------------------
def begun(memory: Memanto) -> str:
    """Return a memory that said A and says B now."""
    first = memory.remember("A is the value", type="fact")
    memory.edit(first.id, content="B is the value")
    return first.id


def test_every_receipt_of_a_batch_is_found_by_a_read_of_its_text(store: Path) -> None:
    """The first draft takes over the memory that says what the second one says: that one is no duplicate then."""
    with handle(store) as memory:
        begun(memory)
        texts = ["A is the value", "B is the value"]
        receipts = memory.remember_many([Draft(content=text) for text in texts])
        current = {hit.memory.content for hit in memory.recall(limit=100)}
        for text, receipt in zip(texts, receipts, strict=True):
            if receipt.duplicate:
                assert text in current, f"the receipt says that {text!r} is known, and no current memory says so"


def test_whatever_is_stored_after_others_changed_it_has_its_vector(store: Path) -> None:
    """A text that needed no vector when the call began may need one when its turn comes."""
    with handle(store) as memory:
        begun(memory)
        memory.remember_many([Draft(content=text) for text in ("A is the value", "B is the value", "B is the value")])
        check_sound(memory)
        for hit in memory.recall("B is the value"):
            assert hit.why.dense_rank is not None


def test_threads_that_change_and_repeat_the_same_texts_leave_every_version_with_its_vector(store: Path) -> None:
    with handle(store) as memory, ThreadPoolExecutor(4) as pool:
        begun(memory)

        def work(number: int) -> None:
            try:
                memory.remember("AB"[number % 2] + " is the value", type="fact")
            except MemantoError as error:
                assert error.retryable

        list(pool.map(work, range(120)))
        check_sound(memory)
