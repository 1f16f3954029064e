"""Erasing leaves no byte, and a crash anywhere in it leaves the old or the new generation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.core._edge_worker import AGENT, SECRET, new, point_id

from memanto.engine.edge import EdgeEngine
from memanto.engine.port import Change, Point
from memanto.filters import Where

WORKER = Path(__file__).with_name("_edge_worker.py")
STEPS = ["create", "copy", "insert", "close", "sync", "switch", "remove"]


def opened(root: Path) -> EdgeEngine:
    engine = EdgeEngine(root, lock_timeout=20)
    engine.open()
    return engine


def files_with_secret(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file() and SECRET.encode() in written_bytes(path)]


def written_bytes(path: Path) -> bytes:
    """Return the content without the holes, which are most of an engine's files."""
    if not hasattr(os, "SEEK_DATA"):
        return path.read_bytes()
    parts, end = [], 0
    with path.open("rb") as file:
        while True:
            try:
                start = os.lseek(file.fileno(), end, os.SEEK_DATA)
            except OSError:  # nothing but a hole is left
                return b"".join(parts)
            end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            parts.append(os.pread(file.fileno(), end - start, start))


def filled(root: Path) -> EdgeEngine:
    engine = opened(root)
    engine.create(AGENT, {"kind": "meta"})
    engine.add_vector_name(AGENT, "v", 2)
    engine.commit(AGENT, [new("a", 0, SECRET), *(new("a", n) for n in range(1, 30))])
    engine.commit(AGENT, [Change(Point(point_id("v", 0), {"content": SECRET}, {"v": (0.6, 0.8)}))])
    return engine


def test_no_file_of_the_store_holds_what_was_erased(tmp_path: Path) -> None:
    engine = filled(tmp_path)
    assert files_with_secret(tmp_path)
    assert engine.erase(AGENT, [point_id("a", 0), point_id("v", 0)], [new("tombstone", 0)]) != [None]
    assert files_with_secret(tmp_path) == []
    assert engine.count(AGENT, Where()) == 1 + 29 + 1
    assert engine.vector_names(AGENT) == {"v": 2}
    engine.commit(AGENT, [new("a", 99)])
    engine.close()
    assert files_with_secret(tmp_path) == []
    assert not list((tmp_path / "namespaces").glob("*/shard-1"))


def test_an_erased_point_may_be_replaced_under_its_own_id(tmp_path: Path) -> None:
    engine = filled(tmp_path)
    assert engine.erase(AGENT, [point_id("a", 0), point_id("v", 0)], [new("a", 0, "gone")]) != [None]
    assert engine.get(AGENT, [point_id("a", 0)])[point_id("a", 0)].payload["content"] == "gone"
    assert engine.erase(AGENT, [point_id("nobody", 0)], [new("a", 0)]) == [None]
    assert files_with_secret(tmp_path) == []
    engine.close()


def test_an_erase_whose_insertion_is_refused_changes_nothing(tmp_path: Path) -> None:
    engine = filled(tmp_path)
    with pytest.raises(ValueError, match="cannot be stored"):
        engine.erase(AGENT, [point_id("a", 0)], [new("tombstone", 0, "\ud800")])
    assert engine.get(AGENT, [point_id("a", 0)])
    assert engine.problems(AGENT) == []
    engine.erase(AGENT, [point_id("a", 0), point_id("v", 0)], [])
    assert files_with_secret(tmp_path) == []
    engine.close()


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_in_erase_leaves_all_or_nothing_and_no_leftovers(tmp_path: Path, step: str) -> None:
    filled(tmp_path).close()
    died = subprocess.run(
        [sys.executable, str(WORKER), "crash-in-erase", str(tmp_path), step],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (died.returncode, died.stderr) == (9, "")
    engine = opened(tmp_path)
    problems = engine.problems(AGENT)
    assert all("left over" in problem for problem in problems)
    found = engine.get(AGENT, [point_id("a", 0), point_id("tombstone", 0)])
    after = step == "remove"
    assert set(found) == {point_id("tombstone" if after else "a", 0)}
    assert engine.count(AGENT, Where()) == 1 + 30 + 1
    assert engine.problems(AGENT) == []
    assert len(list((tmp_path / "namespaces").glob("*/shard-*"))) == 1
    engine.close()
