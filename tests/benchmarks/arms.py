"""Driving rivals: one process each, asked in turns, so that whatever else the machine does hits all alike."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.environments import NoEnvironmentError, pins_of, python_for
from tests.benchmarks.harness import ROOT, Bench

_SCRIPTS: Final = Path(__file__).resolve().parent / "rivals"
_SETTINGS: Final = {
    "MEMANTO_OFFLINE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    # Numeric libraries would spin a thread per core on what takes a tenth of a millisecond.
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
}
BLOCK: Final = 20
"""Searches asked of an arm before it is the next one's turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A store to measure.

    Attributes:
        name: As the tables show it.
        script: Module of `rivals/` that serves it.
        survives: What an acknowledged write survives: `"process"`, `"power cut"` or `"nothing"`.
        requirements: Names `requirements/<name>.txt`, or `None` for the interpreter of this project.
        largest: Number of memories beyond which it is left out, with `reason`.
        reason: Why it is left out beyond `largest`.
    """

    name: str
    script: str
    survives: str
    requirements: str | None = None
    largest: int = 1_000_000
    reason: str = ""


class RivalError(Exception):
    """A rival failed; its arm is left out from there on."""


@dataclass(slots=True)
class Rival:
    """A running rival: asks are answered in order."""

    arm: Arm
    process: subprocess.Popen[str]
    folder: Path

    def ask(self, what: str, **details: Any) -> dict[str, Any]:
        """Send one request and return the answer.

        Raises:
            RivalError: It raised, or its process ended.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps({"do": what, **details}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError as error:
            raise RivalError(f"its process ended: {error}") from error
        if not line:
            raise RivalError("its process ended")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RivalError(answer["error"])
        return answer

    def stop(self) -> None:
        """Let go of the folder and end the process."""
        try:
            self.ask("close")
        except RivalError:
            pass
        finally:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            with suppress(OSError):  # what it did not read any more
                self.process.stdin.close()
            self.process.stdout.close()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def start(arm: Arm, folder: Path, python: Path) -> Rival:
    """Start the process that serves an arm on a folder."""
    command = [str(python), str(_SCRIPTS / f"{arm.script}.py"), str(folder)]
    environment = {**os.environ, **_SETTINGS}
    log = (folder.parent / f"{folder.name}.log").open("w", encoding="utf-8")
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment, cwd=ROOT
    )
    log.close()
    return Rival(arm, process, folder)


def interpreters(arms: Sequence[Arm], bench: Bench) -> dict[str, Path]:
    """Return each arm's interpreter; an arm whose packages cannot be had is noted as skipped."""
    found = {}
    for arm in arms:
        if arm.requirements is None:
            found[arm.name] = Path(sys.executable)
            continue
        try:
            found[arm.name] = python_for(arm.requirements, make=not bench.quick)
        except NoEnvironmentError as error:
            bench.skip(arm.name, str(error))
    return found


@dataclass(slots=True)
class Round:
    """All arms at one size, measured together.

    Attributes:
        size: Memories in each store.
        rivals: The running arms by name; one that fails is dropped and noted.
        figures: What was measured, per arm.
    """

    size: int
    bench: Bench
    rivals: dict[str, Rival]
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)

    def each(self, turn: int = 0) -> Iterator[tuple[str, Rival]]:
        """Yield the arms, beginning with another one each turn."""
        names = list(self.rivals)
        for name in names[turn % len(names) :] + names[: turn % len(names)] if names else []:
            if name in self.rivals:
                yield name, self.rivals[name]

    @contextmanager
    def tolerated(self, name: str) -> Iterator[None]:
        """Drop an arm that fails."""
        try:
            yield
        except RivalError as error:
            self.bench.skip(f"{name} at {self.size}", str(error))
            self.rivals.pop(name).stop()
            self.figures.pop(name, None)

    def note(self, name: str, **figures: Any) -> None:
        """Add figures of an arm."""
        self.figures.setdefault(name, {}).update(figures)


@contextmanager
def round_of(arms: Sequence[Arm], pythons: Mapping[str, Path], size: int, bench: Bench) -> Iterator[Round]:
    """Run the arms on empty folders; all processes end and all folders go when the block ends."""
    base = Path(tempfile.mkdtemp(prefix="memanto-bench-"))
    current = Round(size, bench, {})
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, base, ignore_errors=True)
        stack.callback(_stop_all, current)
        for arm in arms:
            if arm.name not in pythons:
                continue
            if size > arm.largest:
                bench.skip(f"{arm.name} at {size}", arm.reason)
                continue
            folder = base / arm.script
            folder.mkdir()
            current.rivals[arm.name] = start(arm, folder, pythons[arm.name])
        yield current


def _stop_all(current: Round) -> None:
    for rival in current.rivals.values():
        rival.stop()


def restart(current: Round, pythons: Mapping[str, Path]) -> None:
    """Give each arm that keeps what it stored a new process on its folder."""
    for name, rival in list(current.rivals.items()):
        if rival.arm.survives != "nothing":
            rival.stop()
            current.rivals[name] = start(rival.arm, rival.folder, pythons[name])


def describe(arm: Arm) -> dict[str, Any]:
    """Return what a result says of an arm besides its figures."""
    return {"survives": arm.survives, "versions": {} if arm.requirements is None else pins_of(arm.requirements)}


def median_ratio(values: Sequence[float], reference: Sequence[float]) -> float:
    """Return the median over passes of one arm's time by another's in the same pass."""
    return statistics.median(value / other for value, other in zip(values, reference, strict=False))


def disk_bytes(folder: Path) -> int:
    """Return the bytes that a folder's files take on the disk; sparse parts take none."""
    total = 0
    for path in folder.rglob("*"):
        try:
            found = path.lstat()
        except OSError:
            continue  # gone meanwhile
        if path.is_file():
            total += getattr(found, "st_blocks", -(-found.st_size // 512)) * 512
    return total
