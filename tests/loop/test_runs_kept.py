"""Runs under the core's verbs: their steps are forgotten with them, and survive an export as steps (our decisions)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memanto import Embedded, Memanto


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memanto]:
    with Memanto("tester", store=Embedded(tmp_path / "store"), embedder=None) as opened:
        yield opened


def test_forgetting_a_run_leaves_no_byte_of_its_steps(memory: Memanto, tmp_path: Path) -> None:
    with memory.run("survey") as run:
        run.step("walked the aardvark", failure="the pangolin bit")
        run.end("done")
    memory.forget(run.record.memory_id)
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"aardvark" not in held
    assert b"pangolin" not in held
    assert memory.runs() == []


def test_a_run_comes_back_from_an_export_with_its_steps_unsearched(memory: Memanto, tmp_path: Path) -> None:
    with memory.run("survey", run_id="r1") as run:
        run.step("walked the aardvark", tool_calls=2)
        run.end("counted 12 birds")
    lines = list(memory.export())
    with Memanto("tester", store=Embedded(tmp_path / "other"), embedder=None) as other:
        other.import_(lines)
        assert other.runs() == memory.runs()
        assert [step.outcome for step in other.run_steps("r1")] == ["walked the aardvark"]
        assert other.recall("aardvark", everything=True) == []
        again = other.remember(memory.show(run.record.memory_id).content, type="event")
        assert (again.duplicate, again.id) == (True, run.record.memory_id)
