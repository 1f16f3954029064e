"""A program that runs on a disk of its own (`disk_kit`) and obeys lines on standard input.

python _disk_worker.py write STORE DURABILITY SEED     each line: a number of writes, `idle` or `close`; each answer:
                                                       what was acknowledged
python _disk_worker.py look STORE                      prints every version that is there, once it proved sound
python _disk_worker.py refuse STORE                    fills the disk, writes, and tells what was refused and how
python _disk_worker.py die STORE                       has a child write until the full disk kills it, frees space,
                                                       and tells what the child acknowledged and what is there
python _disk_worker.py read-only STORE                 makes the disk read-only, and tells how each verb fails
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.stress.stress_kit import AGENT, check_sound

from memanto import Draft, Embedded, Memanto, MemantoError
from memanto.engine.edge import EdgeEngine
from memanto.testing import HashEmbedder

_BLOCK = 4096


def say(value: object) -> None:
    os.write(sys.stdout.fileno(), f"{json.dumps(value)}\n".encode())


def opened(store: str, durability: str = "log") -> Memanto:
    place = Embedded(store, durability="full" if durability == "full" else "log", lock_timeout=30.0)
    return Memanto(AGENT, store=place, embedder=HashEmbedder()).open()


def write(store: str, durability: str, seed: str) -> None:
    """Write as told; between two writes the kernel writes back what it likes, which the seed decides."""
    rng = random.Random(seed)
    memory = opened(store, durability)
    steps = _steps(memory, rng)
    for line in sys.stdin:
        told = []
        if line.strip() == "idle":
            _wait_for_flush(memory)
        elif line.strip() == "close":
            memory.close()
        else:
            for _ in range(int(line)):
                told += next(steps)
                _write_back(Path(store), rng)
        say(told)


def _steps(memory: Memanto, rng: random.Random) -> Iterator[list[list[object]]]:
    """Do one thing after the other; yield which versions it acknowledged, each as id, number and content."""
    ids: list[str] = []
    number = 0
    while True:
        number += 1
        text = f"{rng.random()} step {number}"
        match rng.choice(["new", "new", "slot", "edit", "batch", "expire", "long"]) if ids else "new":
            case "slot":
                receipts = [memory.remember(text, type="fact", key=f"slot-{number % 2}")]
            case "edit":
                receipts = [memory.edit(rng.choice(ids), content=text)]
            case "batch":
                receipts = memory.remember_many([Draft(content=f"{text} {n}") for n in range(5)])
            case "expire":
                chosen = rng.choice(ids)
                receipts = [memory.expire(chosen), memory.restore(chosen)][1:]
            case "long":
                receipts = [memory.remember(f"{text} {'x' * 1500}", type="fact")]
            case _:
                receipts = [memory.remember(text, type="fact")]
                ids.append(receipts[0].id)
        yield [[one.id, one.version, memory.show(one.id).content] for one in receipts]


def _write_back(store: Path, rng: random.Random) -> None:
    """Have the kernel write back files in any order, as it does when memory is short or time passes."""
    files = [path for path in sorted(store.rglob("*")) if path.is_file() and ".locks" not in path.parts]
    for path in rng.sample(files, k=rng.choice([0, 0, 1, 5, 40])):
        descriptor = os.open(path, os.O_RDWR)
        os.fdatasync(descriptor)
        os.close(descriptor)


def _wait_for_flush(memory: Memanto) -> None:
    """Wait until the idle flush, due within a second, has put on the disk what was written."""
    engine = memory._opened()
    assert isinstance(engine, EdgeEngine)
    lease = engine._lease(AGENT)
    deadline = time.monotonic() + 30
    while lease._resource is not None and lease._resource.dirty:
        assert time.monotonic() < deadline, "nothing was flushed while nothing happened"
        time.sleep(0.05)


def look(store: str) -> None:
    with opened(store) as memory:
        found = check_sound(memory)
        say([[one["id"], one["version"], one["content"]] for these in found.values() for one in these])


def refuse(store: str) -> None:
    """Try each verb while the disk is too full to write, and open the store with nothing left at all; then free it."""
    with opened(store) as memory:
        kept = memory.remember("kept from before", type="fact")
        told = [[kept.id, kept.version, "kept from before"]]
        answers = {}
        for left in (16 << 20, 2 << 20):
            ballast = _fill(Path(store).parent, left)
            answers[f"{left} bytes left"] = {
                "remember": _outcome(lambda: memory.remember("not stored", type="fact")),
                "edit": _outcome(lambda: memory.edit(kept.id, content="not stored either")),
                "forget": _outcome(lambda: memory.forget(kept.id)),
                "reindex": _outcome(lambda: memory.reindex(HashEmbedder(32))),
                "optimize": _outcome(memory.optimize),
                "create": _outcome(Memanto("other", store=Embedded(store)).create_agent),
                "recall": [hit.memory.content for hit in memory.recall("kept")],
                "doctor": [check.name for check in memory.doctor() if not check.ok],
            }
            memory.close()  # so that the next one opens the store on a full disk
            memory.open()
            answers[f"{left} bytes left"]["recall after opening"] = [
                hit.memory.content for hit in memory.recall("kept")
            ]
            _free(ballast)
        memory.close()
        ballast = _fill(Path(store).parent, 0)
        opening = _outcome(lambda: memory.recall("kept"))
        _free(ballast)
        again = memory.remember("stored again", type="fact")
        told.append([again.id, again.version, "stored again"])
    say({"answers": answers, "opening": opening, "told": told})
    look(store)


def _outcome(act: Callable[[], object]) -> list[object]:
    """Return how a call failed: code, whether to try again, and whether there is a hint; or that it did not."""
    try:
        act()
    except MemantoError as error:
        return [error.code, error.retryable, bool(error.hint)]
    return ["done"]


def _fill(folder: Path, left: int) -> Path:
    """Take all of the disk except `left` bytes."""
    ballast = folder / "ballast"
    with ballast.open("wb") as file:
        size, step = 0, shutil.disk_usage(folder).free - left
        while step >= _BLOCK:
            try:
                os.posix_fallocate(file.fileno(), size, step)
            except OSError:  # the file system keeps some of what it calls free for itself
                step //= 2
            else:
                size += step
                step = min(step, shutil.disk_usage(folder).free - left)
    return ballast


def _free(ballast: Path) -> None:
    ballast.unlink()
    folder = os.open(ballast.parent, os.O_RDONLY)
    os.fsync(folder)  # the blocks come back when the file system commits
    os.close(folder)


def die(store: str) -> None:
    """Let a child write without looking at the free space, until writing to a mapped page kills it."""
    with opened(store) as memory:
        memory.remember("kept from before", type="fact")
    ballast = _fill(Path(store).parent, 1500 << 10)
    child = subprocess.run([sys.executable, __file__, "rush", store], stdout=subprocess.PIPE, text=True, check=False)
    _free(ballast)
    lines = [line for line in child.stdout.splitlines(keepends=True) if line.endswith("\n")]
    say({"status": child.returncode, "told": [json.loads(line) for line in lines]})
    look(store)


def rush(store: str) -> None:
    """Write until killed."""
    import memanto.engine.layout

    memanto.engine.layout.FREE_SPACE = 0  # type: ignore[misc]  # as when others fill the disk after we looked
    memory = opened(store)
    for number in range(100_000):
        receipt = memory.remember(f"{number} {'x' * 1500}", type="fact")
        say([receipt.id, receipt.version, f"{number} {'x' * 1500}"])


def read_only(store: str) -> None:
    with opened(store) as memory:
        kept = memory.remember("kept from before", type="fact")
    mount_point = str(Path(store).parent)
    subprocess.run(["mount", "-o", "remount,ro", mount_point], check=True)
    with opened(store) as memory:
        say(
            {
                "remember": _outcome(lambda: memory.remember("not stored", type="fact")),
                "recall": _outcome(lambda: memory.recall("kept")),
                "forget": _outcome(lambda: memory.forget(kept.id)),
                "create": _outcome(Memanto("other", store=Embedded(store)).create_agent),
                "doctor": [check.name for check in memory.doctor() if not check.ok],
            }
        )
    subprocess.run(["mount", "-o", "remount,rw", mount_point], check=True)
    look(store)


if __name__ == "__main__":
    commands = {"write": write, "look": look, "refuse": refuse, "die": die, "rush": rush, "read-only": read_only}
    commands[sys.argv[1]](*sys.argv[2:])
