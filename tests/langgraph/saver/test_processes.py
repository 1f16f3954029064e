"""Several processes, and processes that die: nothing acknowledged is lost, nothing is half there."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.langgraph.saver.kit import checkpoint, config, put, values

from langgraph_memanto import MemantoSaver
from memanto import Embedded

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}


def _worker(*arguments: str, stdout: int | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.langgraph.saver._saver_worker", *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, text=True, stdout=stdout)


def test_two_processes_may_write_one_thread(tmp_path: Path) -> None:
    workers = [_worker("write", str(tmp_path), name, "25") for name in ("left", "right")]
    assert [worker.wait(timeout=120) for worker in workers] == [0, 0]
    with MemantoSaver("loop", store=Embedded(tmp_path)) as saver:
        found = list(saver.list(config("shared")))
    assert len(found) == 50
    for name in ("left", "right"):
        own = [one for one in reversed(found) if one.metadata["writer"] == name]  # type: ignore[typeddict-item]
        assert [one.metadata["step"] for one in own] == list(range(25))
        for n, one in enumerate(own):
            assert one.checkpoint["channel_values"] == {name: [name] * 60 + [n]}
            assert one.pending_writes == [(f"{name}-{n}", name, [name] * 60 + [n])]


def test_what_another_process_wrote_is_seen_at_once(tmp_path: Path) -> None:
    """Also where this process had read the latest before and remembers it."""
    with MemantoSaver("loop", store=Embedded(tmp_path)) as saver:
        last = put(saver, config("shared"), checkpoint({"a": 1}))
        assert [values(saver, config("shared")) for _ in range(3)] == [{"a": 1}] * 3
        assert _worker("write", str(tmp_path), "other", "2").wait(timeout=60) == 0
        assert values(saver, config("shared")) == {"other": ["other"] * 60 + [1]}
        later = put(saver, last, checkpoint({"a": 2}, {"a": 2}))
        assert values(saver, later) == {"a": 2}


def test_a_process_that_has_the_store_works_for_another(tmp_path: Path) -> None:
    marker = tmp_path / "held"
    holder = _worker("hold", str(tmp_path / "store"), str(marker))
    try:
        deadline = time.monotonic() + 60
        while not marker.exists():
            assert holder.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with MemantoSaver("loop", store=Embedded(tmp_path / "store")) as saver:
            assert values(saver, config("held")) == {"a": 1}
            last = put(saver, config("held"), checkpoint({"a": ["big"] * 50_000}))
            saver.put_writes(last, [("a", 1)], "task")
            assert values(saver, config("held")) == {"a": ["big"] * 50_000}
            assert [one.writes for one in saver.list_threads()] == [1]
    finally:
        holder.kill()
        holder.wait()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_goes_on_with_the_saver_it_inherited(tmp_path: Path) -> None:
    with MemantoSaver("loop", store=Embedded(tmp_path)) as saver:
        first = put(saver, config(), checkpoint({"a": ["parent"] * 99}))
        assert values(saver, config()) == {"a": ["parent"] * 99}
        child = os.fork()
        if child == 0:
            status = 1
            try:
                assert values(saver, config()) == {"a": ["parent"] * 99}
                put(saver, first, checkpoint({"a": ["child"] * 99}, {"a": 2}))
                import asyncio

                found = asyncio.run(saver.aget_tuple(config()))
                assert found is not None
                assert found.checkpoint["channel_values"] == {"a": ["child"] * 99}
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert values(saver, config()) == {"a": ["child"] * 99}


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    generator = random.Random(20261130)
    for round_ in range(6):
        worker = _worker("crash", str(tmp_path), str(round_), stdout=subprocess.PIPE)
        assert worker.stdout is not None
        lines = [worker.stdout.readline() for _ in range(generator.randrange(3, 80))]
        worker.kill()
        lines += worker.stdout.read().splitlines(keepends=True)
        worker.wait()
        worker.stdout.close()
        told = [line.split() for line in lines if line.endswith("\n")]
        acknowledged = {line[0]: (int(line[1]), int(line[2])) for line in told if line[1] != "writes"}
        written = {line[0] for line in told if line[1] == "writes"}
        with MemantoSaver("loop", store=Embedded(tmp_path)) as saver:
            found = {one.checkpoint["id"]: one for one in saver.list(config("crashing"))}
            latest = saver.get_tuple(config("crashing"))
        assert latest is not None
        assert latest.checkpoint["id"] == max(found) >= max(acknowledged)
        for name in sorted(acknowledged)[-40:]:  # pruning keeps fifty
            n, size = acknowledged[name]
            assert found[name].checkpoint["channel_values"] == {"n": n, "data": [str(round_), n] * size}
            if name in written:
                assert found[name].pending_writes == [("task", "data", [str(round_), n] * size)]
