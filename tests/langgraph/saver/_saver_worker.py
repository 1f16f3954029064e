"""Programs of their own for the tests of processes: each is told what to do by its arguments."""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from pathlib import Path

from tests.langgraph.saver.kit import checkpoint, config, put

from langgraph_memanto import MemantoSaver
from memanto import Embedded


def write(home: str, name: str, number: str) -> None:
    """Write checkpoints to a thread that others write to as well."""
    with MemantoSaver("loop", store=Embedded(home)) as saver:
        last = config("shared")
        for n in range(int(number)):
            last = put(saver, last, checkpoint({name: [name] * 60 + [n]}, {name: n}), step=n, writer=name)
            saver.put_writes(last, [(name, [name] * 60 + [n])], f"{name}-{n}")


def crash(home: str, seed: str) -> None:
    """Write until killed; each line on standard output is a checkpoint that was acknowledged."""
    generator = random.Random(seed)
    saver = MemantoSaver("loop", store=Embedded(home))
    last = config("crashing")
    n = 0
    put(saver, config("other"), checkpoint())
    threading.Thread(target=flush_for_ever, args=(saver,), daemon=True).start()
    while True:
        size = generator.choice([10, 300, 3_000])
        last = put(
            saver, last, checkpoint({"n": n, "data": [seed, n] * size}, {"n": f"{seed}{n}", "data": f"{seed}{n}"})
        )
        sys.stdout.write(f"{last['configurable']['checkpoint_id']} {n} {size}\n")
        saver.put_writes(last, [("data", [seed, n] * size)], "task")
        sys.stdout.write(f"{last['configurable']['checkpoint_id']} writes\n")
        sys.stdout.flush()
        if generator.random() < 0.1:
            saver.retain(keep_last=50)
        n += 1


def flush_for_ever(saver: MemantoSaver) -> None:
    """Flush while others write: in no moment may a change be neither in the journal nor in the files."""
    while True:
        saver.flush()


def hold(home: str, marker: str) -> None:
    """Take the store, say so, and keep it until killed."""
    saver = MemantoSaver("loop", store=Embedded(home))
    put(saver, config("held"), checkpoint({"a": 1}))
    Path(marker).touch()
    while True:
        saver.get_tuple(config("held"))
        time.sleep(0.01)


if __name__ == "__main__":
    os.environ.pop("MEMANTO_HOME", None)
    globals()[sys.argv[1]](*sys.argv[2:])
