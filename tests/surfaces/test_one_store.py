"""Every surface on one embedded store at once: nothing lost, nothing double, each reads what the others wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.surfaces._surface import AGENT, DIES, FINDINGS, NOTES, STEPS

from memanto import Embedded, Memanto

WORKER = Path(__file__).parent / "_surface.py"
COMMAND = [sys.executable, "-c", "import sys; from memanto.cli.main import run; sys.exit(run())"]
PATIENCE = 300
"""Seconds until a process that hangs is given up."""

Begin = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A home of its own, without keys, with the framework's telemetry off."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMANTO_", "OPENAI_"))}
    folders = {"MEMANTO_HOME": tmp_path / "home", "CREWAI_STORAGE_DIR": tmp_path / "crewai", "HOME": tmp_path / "user"}
    for folder in folders.values():
        folder.mkdir()
    off = {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "OTEL_SDK_DISABLED": "true"}
    off |= {"ORT_DISABLE_TELEMETRY": "1", "CREWAI_DISABLE_VERSION_CHECK": "true", "CREWAI_TESTING": "true"}
    return kept | off | {name: str(folder) for name, folder in folders.items()} | {"MEMANTO_OFFLINE": "1"}


@pytest.fixture
def begin(environ: dict[str, str], tmp_path: Path) -> Iterator[Begin]:
    """Start surfaces as processes; those that still run at the end are killed."""
    running: list[subprocess.Popen[str]] = []

    def start(role: str, seed: int = 0) -> subprocess.Popen[str]:
        arguments = [role, environ["MEMANTO_HOME"], str(tmp_path / f"{role}-{seed}.receipts"), str(seed)]
        process = subprocess.Popen(
            [sys.executable, WORKER, *arguments], env=environ, stderr=subprocess.PIPE, encoding="utf-8"
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    said = process.communicate(timeout=PATIENCE)[1]
    return process.returncode, said


@pytest.mark.slow
def test_a_crew_a_loop_a_chain_two_windows_and_the_command_line_share_one_store(
    begin: Begin, environ: dict[str, str], tmp_path: Path
) -> None:
    home = environ["MEMANTO_HOME"]

    def memanto(*arguments: str) -> str:
        done = subprocess.run(
            [*COMMAND, *arguments], env=environ, check=True, capture_output=True, text=True, timeout=PATIENCE
        )
        return done.stdout

    memanto("agent", "create", AGENT)
    others = [begin("crew"), begin("chain"), begin("window", 1), begin("window", 2)]
    deaths, seed = 0, 1
    while (finished := ended(begin("loop", seed)))[0] == DIES:  # resumed until it is done, beside the others
        deaths, seed = deaths + 1, seed + 1
    assert finished[0] == 0, finished[1]
    assert deaths >= 2
    for process in others:
        status, said = ended(process)
        assert status == 0, said
    memanto("remember", "Looked after the night", "--type", "event")

    acknowledged = [
        line for file in tmp_path.glob("*.receipts") for line in file.read_text(encoding="utf-8").splitlines()
    ]
    told = memanto("recall", "--recent", "--limit", "100", "--json")
    stored = [hit["memory"] for hit in json.loads(told)["results"]]
    assert set(acknowledged) - {one["id"] for one in stored} == set(), "what was acknowledged is there"
    assert [text for text, count in Counter(one["content"] for one in stored).items() if count > 1] == []

    by = Counter((one["source"].partition("-")[0], one["type"]) for one in stored)
    assert by["langgraph", "event"] == STEPS, "no step twice, though the loop died between acting and its checkpoint"
    assert by["crewai", "learning"] == FINDINGS
    assert by["crewai", "event"] == FINDINGS, "a run for each input"
    assert by["mcp", "decision"] == 2 * NOTES
    assert (by["langchain", "event"], by["user", "event"]) == (1, 1)
    assert all(one["recorded_at"] for one in stored)
    with Memanto(AGENT, store=Embedded(home), create=False) as memory:
        assert {(run.task_type, run.state) for run in memory.runs()} == {("research", "success")}
