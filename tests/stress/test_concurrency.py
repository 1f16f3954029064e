"""Several threads, handles and processes on one store: nobody loses a write, nobody sees a raw lock error."""

from __future__ import annotations

import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from tests.stress.stress_kit import Workers, check_sound, handle

from memanto import MemantoError, Receipt
from memanto.errors import StoreLockedError

posix = pytest.mark.skipif(os.name != "posix", reason="signals and fork are POSIX")
THREADS, WRITES = 8, 200


def check_found(store: Path, ids: list[str]) -> None:
    """Assert that a store opened anew has all these memories, once each, and is sound."""
    with handle(store) as memory:
        assert set(check_sound(memory)) == set(ids)
        assert len(ids) == len(set(ids))


@pytest.mark.slow
@pytest.mark.parametrize("handles", [1, THREADS])
def test_eight_threads_lose_no_write_through_one_handle_or_through_eight(store: Path, handles: int) -> None:
    memories = [handle(store).open() for _ in range(handles)]

    def work(thread: int) -> list[Receipt]:
        memory = memories[thread % handles]
        return [memory.remember(f"thread {thread} wrote {n}", type="fact") for n in range(WRITES)]

    with ThreadPoolExecutor(THREADS) as pool:
        receipts = [receipt for result in pool.map(work, range(THREADS)) for receipt in result]
    for memory in memories:
        memory.close()
    assert not any(receipt.duplicate for receipt in receipts)
    assert len({receipt.recorded_at for receipt in receipts}) == THREADS * WRITES
    check_found(store, [receipt.id for receipt in receipts])


@pytest.mark.slow
def test_four_processes_lose_no_write_and_see_no_lock_error(store: Path, workers: Workers) -> None:
    running = [workers.start("write", store, f"p{writer}", 50) for writer in range(4)]
    lines = [line for process in running for line in workers.finish(process)]
    assert len(lines) == 200
    check_found(store, [line["id"] for line in lines])


def test_threads_that_are_the_first_to_write_all_succeed_and_are_all_found_by_meaning(store: Path) -> None:
    """The first write binds an agent to its embedder: a race that nobody may lose, not even their vector."""
    for attempt in range(5):
        start = Barrier(THREADS)

        def work(thread: int, agent: str = f"fresh-{attempt}", start: Barrier = start) -> Receipt:
            with handle(store, agent) as memory:
                start.wait(timeout=60)
                return memory.remember(f"thread {thread} begins", type="fact")

        with ThreadPoolExecutor(THREADS) as pool:
            receipts = list(pool.map(work, range(THREADS)))
        assert {receipt.searchable for receipt in receipts} == {"hybrid"}
        with handle(store, f"fresh-{attempt}") as memory:
            assert set(check_sound(memory)) == {receipt.id for receipt in receipts}
            similar = memory.recall("begins", min_similarity=0.01, limit=100)
            assert {hit.memory.id for hit in similar} == {receipt.id for receipt in receipts}


def test_threads_that_say_the_same_thing_make_one_memory(store: Path) -> None:
    with handle(store) as memory, ThreadPoolExecutor(THREADS) as pool:
        memory.remember("what binds the agent to its embedder", type="fact")
        receipts = list(pool.map(lambda n: memory.remember(f"fact {n % 5}", type="fact"), range(80)))
        assert len({receipt.id for receipt in receipts}) == 5
        assert sum(not receipt.duplicate for receipt in receipts) == 5
        check_sound(memory)


def test_threads_that_fill_one_slot_make_one_gapless_history(store: Path) -> None:
    """Writers may lose a race only with a retryable error."""
    with handle(store) as memory, ThreadPoolExecutor(THREADS) as pool:

        def work(number: int) -> int | None:
            try:
                return memory.remember(f"value {number}", type="fact", key="slot").version
            except MemantoError as error:
                assert error.retryable
                return None

        numbers = [number for number in pool.map(work, range(60)) if number is not None]
        assert sorted(numbers) == list(range(1, len(numbers) + 1))
        assert [len(these) for these in check_sound(memory).values()] == [len(numbers)]


def test_threads_that_edit_the_same_version_let_exactly_one_win(store: Path) -> None:
    with handle(store) as memory, ThreadPoolExecutor(THREADS) as pool:
        first = memory.remember("contended", type="fact").id

        def work(number: int) -> bool:
            try:
                memory.edit(first, content=f"edit {number}", expected_version=1)
            except MemantoError as error:
                assert error.code == "version_conflict"
                return False
            return True

        assert sum(pool.map(work, range(24))) == 1
        assert [len(these) for these in check_sound(memory).values()] == [2]


def test_writers_readers_and_erasers_at_once_see_only_sound_memories(store: Path) -> None:
    with handle(store) as memory, ThreadPoolExecutor(THREADS) as pool:
        doomed = [memory.remember(f"doomed {n}", type="fact").id for n in range(6)]

        def work(number: int) -> None:
            memory.remember(f"kept {number}", type="fact")
            assert memory.recall("kept", limit=100)
            if number < len(doomed):
                memory.forget(doomed[number])

        list(pool.map(work, range(40)))
        found = check_sound(memory)
        assert sum(these[-1].get("status") == "forgotten" for these in found.values()) == len(doomed)
        assert len(found) == 40 + len(doomed)


@posix
def test_a_stopped_holder_is_named_by_pid_and_waited_for_no_longer_than_asked(store: Path, workers: Workers) -> None:
    with handle(store) as memory:
        memory.remember("before", type="fact")
    holder = workers.start("hold", store)
    assert holder.stdout is not None
    assert json.loads(holder.stdout.readline()) == {"held": True}
    holder.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, holder.pid, os.WSTOPPED | os.WNOWAIT)
    with handle(store, lock_timeout=0.2) as memory:
        for call in (lambda: memory.recall("x"), lambda: memory.remember("y", type="fact"), memory.status):
            with pytest.raises(StoreLockedError, match=str(holder.pid)) as raised:
                call()
            assert raised.value.retryable
            assert raised.value.hint
    holder.send_signal(signal.SIGCONT)
    holder.kill()
    holder.wait()
    with handle(store) as memory:
        assert memory.remember("after", type="fact").version == 1


@posix
@pytest.mark.parametrize("command", [("fork", 1), ("fork", 3), ("pool",)])
def test_a_fork_with_the_store_open_lets_everyone_go_on(
    store: Path, workers: Workers, command: tuple[object, ...]
) -> None:
    name, *options = command
    lines = workers.run(name, store, *options)
    with handle(store) as memory:
        assert {line["id"] for line in lines} <= set(check_sound(memory))
        assert len(lines) == (24 if name == "pool" else 5 * (1 + int(str(options[0]))))


def test_an_exit_without_close_keeps_what_was_acknowledged(store: Path, workers: Workers) -> None:
    [line] = workers.run("leave", store)
    check_found(store, [line["id"]])


def test_handles_may_be_nested_and_closed_in_any_order(store: Path) -> None:
    with handle(store) as outer:
        with handle(store) as inner, handle(store, "other") as other:
            first = inner.remember("from inside", type="fact").id
            other.remember("of another", type="fact")
            assert outer.show(first).content == "from inside"
            outer.close()
            assert inner.show(first).content == "from inside"
        assert outer.open().show(first).content == "from inside"
        outer.open()
        outer.close()
        outer.close()


def test_a_handle_used_after_close_works_or_says_so(store: Path) -> None:
    memory = handle(store)
    with memory:
        kept = memory.remember("kept", type="fact").id
    try:
        assert memory.show(kept).content == "kept"
    except MemantoError as error:
        assert error.hint
    memory.close()
    check_found(store, [kept])


def test_close_while_other_threads_work_loses_nothing_they_were_told(store: Path) -> None:
    """What a thread was told is there; a call that comes too late says so with an error of ours, or reopens."""
    memory = handle(store).open()
    told: list[str] = []

    def work(thread: int) -> None:
        for number in range(60):
            try:
                told.append(memory.remember(f"t{thread} n{number}", type="fact").id)
            except MemantoError:
                return

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(work, thread) for thread in range(4)]
        while len(told) < 40 and not all(one.done() for one in running):
            pass
        memory.close()
        for one in running:
            one.result()
    memory.close()
    with handle(store) as memory:
        found = set(check_sound(memory))
    assert set(told) <= found
    assert len(found) <= len(told) + 4, "at most the calls under way may be stored and not acknowledged"


@pytest.mark.slow
def test_handles_opened_and_closed_in_turn_by_threads_lose_nothing(store: Path) -> None:
    def work(thread: int) -> list[str]:
        ids = []
        for number in range(15):
            with handle(store) as memory:
                ids.append(memory.remember(f"t{thread} n{number}", type="fact").id)
        return ids

    with ThreadPoolExecutor(4) as pool:
        check_found(store, [one for ids in pool.map(work, range(4)) for one in ids])


def test_agents_whose_names_differ_only_in_case_are_two(store: Path) -> None:
    names = ["Agent", "agent", "AGENT", "aGeNt"]
    for name in names:
        with handle(store, name) as memory:
            memory.remember(f"I am {name}", type="fact")
    folders = [path.name.lower() for path in (store / "namespaces").iterdir() if not path.name.startswith(".")]
    assert len(set(folders)) == len(names), "a file system that ignores case would mix them"
    for name in names:
        with handle(store, name) as memory:
            assert [hit.memory.content for hit in memory.recall("I am")] == [f"I am {name}"]
            assert {agent.id for agent in memory.agents()} == set(names)


def test_more_agents_than_may_be_open_at_once_work_in_turn(store: Path) -> None:
    with handle(store, "a0") as memory:
        memory.remember("text of 0", type="fact")
        for number in range(1, 12):
            with handle(store, f"a{number}") as other:
                other.remember(f"text of {number}", type="fact")
        found = memory.recall("text", agents=[f"a{n}" for n in range(12)], limit=100)
        assert {hit.memory.content for hit in found} == {f"text of {n}" for n in range(12)}
        assert {hit.memory.namespace for hit in found} == {f"a{n}" for n in range(12)}


if sys.platform == "win32":  # pragma: no cover
    pytest.skip("the workers of this file use fork and signals", allow_module_level=True)
