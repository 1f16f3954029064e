"""Eight processes that write to one agent at once: nothing is lost, whoever has the store open."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.stress.stress_kit import Workers, check_sound, handle

PROCESSES, WRITES = 8, 100

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="the worker uses fork and signals"),
]


@pytest.mark.parametrize("command", ["write", "write-in-turns"])
def test_eight_processes_lose_no_write(store: Path, workers: Workers, command: str) -> None:
    """The holder of the store answers the others over a socket; where there can be none they take turns."""
    running = [workers.start(command, store, f"p{writer}", WRITES) for writer in range(PROCESSES)]
    lines = [line for process in running for line in workers.finish(process)]
    assert len({line["id"] for line in lines}) == PROCESSES * WRITES
    with handle(store) as memory:
        found = check_sound(memory)
        assert set(found) == {line["id"] for line in lines}
        assert {these[0]["content"] for these in found.values()} == {line["content"] for line in lines}
        recorded = [these[0]["recorded_at"] for these in found.values()]
        assert len(set(recorded)) == len(recorded), "no two writers were given the same time"
        near = memory.recall("noted item 7", min_similarity=0.2, limit=100)
        assert {hit.memory.content for hit in near} >= {f"p{writer} noted item 7" for writer in range(PROCESSES)}
