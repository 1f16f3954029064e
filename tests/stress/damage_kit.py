"""Damage for tests: every file of a store cut or altered in a copy, read in a process that may die of it."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memanto import MemantoError
from memanto.engine.integrity import data_blocks

_PAGE = 4096
_LONGEST = 60.0


def copied(store: Path, target: Path) -> Path:
    """Copy a store; its files are mostly holes, and stay so."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-R", "--sparse=always", str(store), str(target)], check=True)
    return target


def files_of(store: Path) -> list[Path]:
    """Return the files of every agent, relative to the store; lock files are no memories."""
    found = (path for path in store.rglob("*") if path.is_file() and ".locks" not in path.parts)
    return sorted(path.relative_to(store) for path in found)


def kind_of(path: Path) -> str:
    """Return a name that files of one purpose share: indexes and segments are many of a kind."""
    name = path.as_posix()
    for pattern, word in (
        (r"segments/[^/]+", "segment"),
        (r"dense_\w+", "dense"),
        (r"payload_index/[^/]+-(map|numeric)/", "payload_index/values/"),
        (r"payload_index/[^/]+-null/\w+/", "payload_index/flags/"),
    ):
        name = re.sub(pattern, word, name)
    return name


def empty(path: Path, rng: random.Random) -> None:
    os.truncate(path, 0)


def halve(path: Path, rng: random.Random) -> None:
    os.truncate(path, path.stat().st_size // 2)


def lose(path: Path, rng: random.Random) -> None:
    path.unlink()


def flip(path: Path, rng: random.Random) -> None:
    """Flip one bit of a byte that is not zero: what is zero is mostly room to grow."""
    with path.open("r+b") as file:
        at = _any_written(file.fileno(), rng)
        if at is not None:
            byte = os.pread(file.fileno(), 1, at)[0]
            os.pwrite(file.fileno(), bytes([byte ^ (1 << rng.randrange(8))]), at)


def _any_written(descriptor: int, rng: random.Random) -> int | None:
    offsets: list[int] = []
    for start in data_blocks(descriptor, _PAGE):
        page = os.pread(descriptor, _PAGE, start)
        offsets += [start + number for number, byte in enumerate(page) if byte]
    return rng.choice(offsets) if offsets else None


DAMAGES: dict[str, Callable[[Path, random.Random], None]] = {
    "empty": empty, "halve": halve, "lose": lose, "flip": flip,
}  # fmt: skip


def outcome(act: Callable[[], Any], scratch: Path) -> Any:
    """Return what a call returns (as JSON), or how it fails: `[code, message]`, or the name of a signal.

    It runs in a forked process: what the engine makes of damaged files is not for this one to survive.
    """
    told = scratch / "outcome.json"
    told.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where the engine prints its panics
            told.write_text(json.dumps({"done": act()}))
        except MemantoError as error:
            told.write_text(json.dumps({"failed": [error.code, error.message, error.hint]}))
        except BaseException as error:
            told.write_text(json.dumps({"raised": repr(error)}))
        finally:
            os._exit(0)
    status = _waited(child)
    if os.WIFSIGNALED(status):
        return {"died": signal.Signals(os.WTERMSIG(status)).name}
    return json.loads(told.read_text()) if told.exists() else {"ended": None}


def _waited(child: int) -> int:
    deadline = time.monotonic() + _LONGEST
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)


def chosen(files: list[Path], rng: random.Random) -> Iterator[Path]:
    """Yield one file of each kind."""
    kinds: dict[str, list[Path]] = {}
    for path in files:
        kinds.setdefault(kind_of(path), []).append(path)
    yield from (rng.choice(paths) for paths in kinds.values())
