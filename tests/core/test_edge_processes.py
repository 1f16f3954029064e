"""The embedded engine under several threads and processes, killed, stopped and forked ones included."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pytest
from tests.core._edge_worker import AGENT, new, point_id

from memanto.engine.edge import EdgeEngine
from memanto.errors import StoreLockedError
from memanto.filters import Where

WORKER = Path(__file__).with_name("_edge_worker.py")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and fork are POSIX")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    engine = EdgeEngine(tmp_path)
    engine.open()
    assert engine.create(AGENT, {"kind": "meta"})
    engine.close()
    return tmp_path


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    running: list[subprocess.Popen[str]] = []
    yield running
    for process in running:
        process.kill()
        process.communicate()


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def found(root: Path, ids: list[UUID]) -> int:
    engine = EdgeEngine(root)
    engine.open()
    try:
        return len(engine.get(AGENT, ids))
    finally:
        engine.close()


def test_eight_threads_lose_nothing_and_give_every_write_a_time_of_its_own(root: Path) -> None:
    engine = EdgeEngine(root)
    engine.open()

    def work(writer: int) -> list[object]:
        return [time for n in range(200) for time in engine.commit(AGENT, [new(f"t{writer}", n)])]

    with ThreadPoolExecutor(8) as pool:
        times = [time for result in pool.map(work, range(8)) for time in result]
    engine.close()
    assert None not in times
    assert len(set(times)) == 1600
    assert found(root, [point_id(f"t{writer}", n) for writer in range(8) for n in range(200)]) == 1600


def test_four_processes_take_turns_and_lose_nothing(root: Path, started: list[subprocess.Popen[str]]) -> None:
    started += [start("write", root, f"p{writer}", 50) for writer in range(4)]
    results = [process.communicate(timeout=120) for process in started]
    assert [(process.returncode, errors) for process, (_, errors) in zip(started, results, strict=True)] == [
        (0, "")
    ] * 4
    assert found(root, [point_id(f"p{writer}", n) for writer in range(4) for n in range(50)]) == 200


@posix
def test_a_writer_that_is_killed_loses_nothing_it_acknowledged_and_leaves_no_lock(
    root: Path, started: list[subprocess.Popen[str]]
) -> None:
    writer = start("write", root, "killed", 1_000_000)
    started.append(writer)
    assert writer.stdout is not None
    acknowledged = [int(writer.stdout.readline()) for _ in range(200)]
    writer.send_signal(signal.SIGKILL)
    rest, _ = writer.communicate(timeout=60)
    acknowledged += [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    assert found(root, [point_id("killed", n) for n in acknowledged]) == len(acknowledged)


@posix
def test_a_holder_that_is_killed_is_waited_out(root: Path, started: list[subprocess.Popen[str]]) -> None:
    holder = start("hold", root)
    started.append(holder)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    engine = EdgeEngine(root, lock_timeout=30)
    engine.open()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(engine.count, AGENT, Where())
        holder.kill()
        assert waiting.result(timeout=60) == 1
    engine.close()


@posix
def test_a_stopped_holder_is_named_by_pid(root: Path, started: list[subprocess.Popen[str]]) -> None:
    holder = start("hold", root)
    started.append(holder)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, holder.pid, os.WSTOPPED | os.WNOWAIT)
    engine = EdgeEngine(root, lock_timeout=0.1)
    engine.open()
    with pytest.raises(StoreLockedError) as raised:
        engine.count(AGENT, Where())
    engine.close()
    assert f"process {holder.pid} (_edge_worker.py)" in raised.value.message
    assert str(holder.pid) in raised.value.hint
    if sys.platform == "linux":
        assert "which is stopped" in raised.value.message
    assert raised.value.retryable


def test_two_engines_and_nested_holds_in_one_process_share_the_store(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    one, two = EdgeEngine(root, lock_timeout=5), EdgeEngine(link, lock_timeout=5)
    one.open()
    two.open()
    with one.hold(AGENT), two.hold(AGENT), one.hold(AGENT):
        one.commit(AGENT, [new("one", 0)])
        two.commit(AGENT, [new("two", 0)])
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(two.count, AGENT, Where()).result() == 3
    one.close()
    assert two.count(AGENT, Where()) == 3
    two.close()


def test_threads_inside_a_hold_may_erase_at_the_same_time(root: Path) -> None:
    """A thread that erases must not wait for the hold of another one that waits to erase."""
    engine = EdgeEngine(root, lock_timeout=20)
    engine.open()
    engine.commit(AGENT, [new("a", n) for n in range(4)])
    inside = threading.Barrier(2)

    def erase(number: int) -> None:
        with engine.hold(AGENT):
            inside.wait(timeout=20)
            engine.erase(AGENT, [point_id("a", number)], [])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(erase, range(2)))
    assert set(engine.get(AGENT, [point_id("a", n) for n in range(4)])) == {point_id("a", 2), point_id("a", 3)}
    engine.close()


@posix
def test_a_fork_with_the_store_open_lets_child_and_parent_go_on(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(WORKER), "fork", str(root)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "both went on\n", "")


@posix
def test_a_child_that_leaves_an_inherited_hold_takes_a_lease_of_its_own(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(WORKER), "fork-while-holding", str(root)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", "")
