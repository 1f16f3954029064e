"""The lease by itself, around a resource that only counts: who may be inside, and when it is let go."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memanto.engine import lease as lease_module
from memanto.engine.lease import Lease
from memanto.engine.leases import Registry
from memanto.engine.locks import LockPair
from memanto.errors import BackendError, StoreLockedError

PATIENT = 20.0

TRY_ONCE = """
import sys
from pathlib import Path
from memanto.engine.locks import LockPair
from memanto.errors import StoreLockedError
try:
    LockPair(Path(sys.argv[1]), "x").acquire("thing", float(sys.argv[2]))
except StoreLockedError as error:
    print(error.message)
else:
    print("acquired")
"""


class Counter:
    """A resource that remembers what was done to it."""

    def __init__(self) -> None:
        self.dirty = False
        self.closed = threading.Event()
        self.flushed = threading.Event()
        self.fail = False

    def flush(self) -> None:
        self.dirty = False
        self.flushed.set()

    def close(self) -> None:
        self.closed.set()
        if self.fail:
            raise BackendError("cannot close")


@pytest.fixture
def opened() -> list[Counter]:
    return []


@pytest.fixture
def lease(tmp_path: Path, opened: list[Counter]) -> Iterator[Lease[Counter]]:
    def open_one() -> Counter:
        assert all(counter.closed.is_set() for counter in opened), "two were open at once"
        opened.append(Counter())
        return opened[-1]

    lease = Lease(f"thing of {tmp_path.name}", LockPair(tmp_path, "x"), open_one)
    yield lease
    lease.let_go(timeout=PATIENT)


def elsewhere(folder: Path, timeout: float = 0.0) -> str:
    """What another process gets when it asks for the locks."""
    command = [sys.executable, "-c", TRY_ONCE, str(folder), str(timeout)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


def test_threads_share_one_opened_resource(lease: Lease[Counter], opened: list[Counter]) -> None:
    together = threading.Barrier(4)

    def work() -> int:
        with lease.hold(PATIENT), lease.use(PATIENT) as counter:
            together.wait(timeout=PATIENT)
            return id(counter)

    with ThreadPoolExecutor(4) as pool:
        ids = {future.result() for future in [pool.submit(work) for _ in range(4)]}
    assert ids == {id(opened[0])}
    assert len(opened) == 1


def test_other_processes_stay_out_until_it_is_let_go(lease: Lease[Counter], tmp_path: Path) -> None:
    with lease.hold(PATIENT):
        with lease.hold(PATIENT):
            pass
        assert "in use by process" in elsewhere(tmp_path)
        assert not lease.let_go()
    assert lease.let_go()
    assert elsewhere(tmp_path) == "acquired"


def test_a_waiting_process_is_handed_the_resource_between_two_calls(
    lease: Lease[Counter], opened: list[Counter], tmp_path: Path
) -> None:
    stop = threading.Event()

    def keep_busy() -> None:
        while not stop.is_set():
            with lease.use(PATIENT):
                pass

    with ThreadPoolExecutor(4) as pool:
        workers = [pool.submit(keep_busy) for _ in range(3)]
        try:
            assert elsewhere(tmp_path, PATIENT) == "acquired"
        finally:
            stop.set()
        for worker in workers:
            worker.result()
    assert opened[0].closed.is_set()


def test_a_thread_that_another_one_waits_for_inside_gets_in_although_a_process_waits(
    lease: Lease[Counter], tmp_path: Path
) -> None:
    waiting = subprocess.Popen([sys.executable, "-c", TRY_ONCE, str(tmp_path), str(PATIENT)], stdout=subprocess.PIPE)

    def work() -> None:
        with lease.use(PATIENT):
            pass

    with ThreadPoolExecutor(1) as pool, lease.hold(PATIENT):
        lease._yielding = True  # what the watcher sets once it saw the other process
        pool.submit(work).result(timeout=PATIENT)
    output, _ = waiting.communicate(timeout=60)
    assert output.strip() == b"acquired"


def test_exclusive_waits_for_operations_closes_and_keeps_everyone_out(
    lease: Lease[Counter], opened: list[Counter]
) -> None:
    with ThreadPoolExecutor(1) as pool:
        with lease.use(PATIENT):
            refused = pool.submit(lambda: lease.exclusive(0.05).__enter__())
            with pytest.raises(StoreLockedError, match="another thread"):
                refused.result(timeout=PATIENT)
        with lease.writing(PATIENT), lease.exclusive(PATIENT):
            assert opened[0].closed.is_set()
            assert not lease.is_open
            with pytest.raises(StoreLockedError, match="another thread"):
                pool.submit(lambda: lease.use(0.05).__enter__()).result(timeout=PATIENT)
        with lease.use(PATIENT) as counter:
            assert counter is opened[1]


def test_one_writer_at_a_time(lease: Lease[Counter]) -> None:
    with ThreadPoolExecutor(1) as pool, lease.writing(PATIENT), pytest.raises(StoreLockedError):
        pool.submit(lambda: lease.writing(0.05).__enter__()).result(timeout=PATIENT)
    with lease.writing(PATIENT):
        pass


def test_a_resource_that_fails_to_open_or_close_leaves_the_lease_usable(tmp_path: Path) -> None:
    answers: list[Counter | BackendError] = [BackendError("cannot open"), Counter(), Counter()]

    def open_next() -> Counter:
        answer = answers.pop(0)
        if isinstance(answer, BackendError):
            raise answer
        return answer

    lease = Lease("thing", LockPair(tmp_path, "x"), open_next)
    with pytest.raises(BackendError, match="cannot open"), lease.use(PATIENT):
        pass
    with lease.use(PATIENT) as counter:
        counter.fail = True
    with pytest.raises(BackendError, match="cannot close"):
        lease.let_go(timeout=PATIENT)
    assert elsewhere(tmp_path) == "acquired"
    with lease.use(PATIENT) as counter:
        assert not counter.closed.is_set()
    assert lease.let_go(timeout=PATIENT)


def test_what_was_written_is_flushed_soon_and_an_idle_resource_is_let_go(
    lease: Lease[Counter], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(lease_module, "FLUSH_IDLE", 0.0)
    with lease.use(PATIENT) as counter:
        counter.dirty = True
    assert counter.flushed.wait(PATIENT)
    assert not counter.closed.is_set()
    monkeypatch.setattr(lease_module, "IDLE", 0.0)
    assert counter.closed.wait(PATIENT)
    assert elsewhere(tmp_path, PATIENT) == "acquired"


def test_written_data_is_flushed_also_while_calls_go_on(lease: Lease[Counter], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_module, "FLUSH_BUSY", 0.0)
    with lease.hold(PATIENT):
        with lease.use(PATIENT) as counter:
            counter.dirty = True
        assert counter.flushed.wait(PATIENT)


def test_the_watcher_lives_only_while_the_locks_are_held(lease: Lease[Counter]) -> None:
    def watchers() -> list[threading.Thread]:
        return [thread for thread in threading.enumerate() if thread.name == f"lease of {lease.what}"]

    assert watchers() == []
    for _ in range(3):
        with lease.hold(PATIENT):
            assert len(watchers()) == 1
        held = watchers()
        lease.let_go(timeout=PATIENT)
        for thread in held:
            thread.join(PATIENT)
        assert watchers() == []


def test_the_note_names_the_process_but_never_its_arguments(
    lease: Lease[Counter], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/memanto", "remember", "a secret"])
    with lease.hold(PATIENT):
        note = json.loads((tmp_path / "x.holder").read_text())
        assert note["program"] == "memanto"
        assert all(b"secret" not in path.read_bytes() for path in tmp_path.iterdir())


def test_the_registry_closes_the_least_recently_used_and_spares_those_in_use(tmp_path: Path) -> None:
    registry = Registry()
    leases = [
        registry.lease(
            tmp_path, tmp_path / str(n), lambda n=n: Lease(f"thing {n}", LockPair(tmp_path, str(n)), Counter)
        )
        for n in range(4)
    ]
    assert registry.lease(tmp_path, tmp_path / "0", lambda: pytest.fail("made twice")) is leases[0]
    for lease in leases:
        with lease.use(PATIENT):
            pass
    with leases[0].use(PATIENT):
        leases[1].last_used += 100
        registry.limit_open(2)
        assert [lease.is_open for lease in leases] == [True, True, False, False]
    registry.close()
    assert not any(lease.is_open for lease in leases)
