"""What the stress tests share: a worker process, a byte search, and the invariants of a sound store."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tests.acceptance.cli_kit import Outcome

from memanto import Embedded, Memanto
from memanto.testing import HashEmbedder

AGENT = "shared"
WORKER = Path(__file__).with_name("_stress_worker.py")
Lines = list[dict[str, Any]]
NOT_DAMAGE = {"disk-space", "detection", "conflicts", "duplicates", "growth", "quarantine"}
"""Checks of `doctor` about the disk, and about what memories say: random texts written in a hurry fail them."""


def handle(store: Path, agent: str = AGENT, *, lock_timeout: float = 60.0, **options: Any) -> Memanto:
    """Return a memory on `store` with a quick embedder, to be opened by the caller."""
    options.setdefault("embedder", HashEmbedder())
    return Memanto(agent, store=Embedded(store, lock_timeout=lock_timeout), **options)


class Workers:
    """Processes started by a test; whatever still runs when it ends is killed, by its own pid."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[str]] = []

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(WORKER), *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._running.append(process)
        return process

    def finish(self, process: subprocess.Popen[str]) -> Lines:
        """Let a worker run to its end, which must be a good one; return what it acknowledged."""
        output, errors = process.communicate(timeout=300)
        assert (process.returncode, errors) == (0, "")
        return [json.loads(line) for line in output.splitlines()]

    def run(self, *arguments: object) -> Lines:
        return self.finish(self.start(*arguments))

    def run_and_kill(self, arguments: Iterable[object], *, after: int, rng: random.Random) -> Lines:
        """Kill a worker soon after it acknowledged `after` things; return all that it acknowledged."""
        process = self.start(*arguments)
        assert process.stdout is not None
        lines: list[str] = []
        while len(lines) < after and (line := process.stdout.readline()):
            lines.append(line)
        time.sleep(rng.random() * 0.02)  # so that it dies at another point of its next call each time
        return [*map(json.loads, lines), *self.kill(process)]

    def kill(self, process: subprocess.Popen[str]) -> Lines:
        """Kill a worker; return what it acknowledged beyond the lines that were read from it already.

        Not by `communicate`, which reads from the pipe itself and misses what a `readline` has read ahead.
        """
        process.kill()
        assert process.stdout is not None
        assert process.stderr is not None
        rest, errors = process.stdout.read(), process.stderr.read()
        process.wait(timeout=60)
        assert errors == ""
        return [json.loads(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]

    def end(self) -> None:
        for process in self._running:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with suppress(BrokenPipeError):
                        stream.close()


UPKEEP: Final = 8
"""Version of the UUID of what upkeep records for itself; a memory's is 7."""


def versions(memory: Memanto) -> dict[str, Lines]:
    """Return every version of every memory by id, ascending, as `export` shows them; upkeep's own records apart."""
    found: dict[str, Lines] = defaultdict(list)
    for line in list(memory.export())[1:]:
        value = json.loads(line)
        if uuid.UUID(value["id"]).version != UPKEEP:
            found[value["id"]].append(value)
    return {memory_id: sorted(these, key=lambda one: one["version"]) for memory_id, these in found.items()}


def check_sound(memory: Memanto) -> dict[str, Lines]:
    """Assert that every memory has all its versions, and that exactly its last one is current."""
    found = versions(memory)
    for memory_id, these in found.items():
        numbers = [one["version"] for one in these]
        first = numbers[0] if these[0].get("status") == "forgotten" else 1  # what came before was erased
        assert numbers == list(range(first, first + len(numbers))), (memory_id, numbers)
        assert [one["version"] for one in these if "retired_at" not in one] == numbers[-1:], memory_id
    listed = [hit.memory.id for hit in memory.recall(everything=True, limit=100)]
    assert len(listed) == len(set(listed)), listed
    failed = [check for check in memory.doctor() if not check.ok and check.name not in NOT_DAMAGE]
    assert failed == [], failed
    return found


def places_of(needles: Iterable[str | bytes], folder: Path) -> list[str]:
    """Return every file below `folder` whose name or bytes hold one of the needles, in any letter case."""
    wanted = [(one if isinstance(one, bytes) else one.encode()).lower() for one in needles]
    found = []
    for path in _files(folder):
        content = path.read_bytes().lower() if path.is_file() else b""
        found += [f"{path}: {one!r}" for one in wanted if one in content or one in str(path).lower().encode()]
    return found


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() or path.is_dir())


def refused(outcome: Outcome, status: int = 2) -> dict[str, str]:
    """Assert that a command with `--json` failed as it should; return its error."""
    assert (outcome.status, outcome.out) == (status, ""), outcome
    assert len(outcome.err.splitlines()) == 1, outcome.err
    error = outcome.error
    assert set(error) == {"code", "message", "hint"}
    assert error["code"] != "internal"
    assert len(error["message"]) < 600
    return error


def real(*arguments: str | bytes, home: Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own, words only so that no model is loaded."""
    environment = {**os.environ, "MEMANTO_HOME": str(home), "MEMANTO_AGENT": "loop", **options.pop("env", {})}
    options.setdefault("capture_output", True)
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], env=environment, timeout=120, check=False, **options
    )


PROGRAM = """
import sys
import tempfile
from memanto import composition
from memanto.embedding.choice import Choice
from memanto.testing import HashEmbedder
composition.configured_embedder = lambda settings=None: Choice(HashEmbedder())
from memanto.cli.main import run
sys.exit(run())
"""
