"""Every example runs by itself, offline, and leaves nothing behind (our decision)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
LONGEST = 95


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs_offline_and_leaves_nothing_behind(example: Path, tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MEMANTO_")}
    places = {"MEMANTO_HOME": tmp_path / "home", "HOME": tmp_path / "user", "TMPDIR": tmp_path / "tmp"}
    for place in places.values():
        place.mkdir()
    environ |= {name: str(place) for name, place in places.items()} | {"MEMANTO_OFFLINE": "1"}
    strict = [] if "crewai import" in example.read_text("utf-8") else ["-W", "error"]  # CrewAI warns of itself
    done = subprocess.run(
        [sys.executable, *strict, example],
        capture_output=True, encoding="utf-8", check=False, cwd=tmp_path, env=environ, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout
    # Neither memories of the user, nor temporary files, nor what a library keeps to itself (CrewAI: a key).
    assert [path for place in places.values() for path in place.rglob("*") if not kept_by_crewai(path)] == []


def kept_by_crewai(path: Path) -> bool:
    return "crewai" in path.parts or any(path.glob("**/crewai"))


def test_every_example_is_short_and_in_the_table() -> None:
    table = (ROOT / "examples" / "README.md").read_text("utf-8")
    assert [path.name for path in EXAMPLES if f"]({path.name})" not in table] == []
    assert {path.name for path in EXAMPLES if len(path.read_text("utf-8").splitlines()) > LONGEST} == set()
