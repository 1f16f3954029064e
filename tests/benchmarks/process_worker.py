"""One of several processes on a store, for the suite `processes`.

python -m tests.benchmarks.process_worker ROLE STORE RELAY SECONDS SEED

It says `ready`, waits for a line on standard input, works for SECONDS, and writes its figures as one line of
JSON: seconds of each operation by kind, and how often it took the lease.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

AGENT: Final = "shared"
DIMENSION: Final = 384
_WORDS: Final = [f"w{number}" for number in range(4000)]


def opened(path: Path, relay: bool) -> Any:
    """Return an open memory on the store in a folder; its embedder costs next to nothing."""
    from memanto import Embedded, Memanto
    from memanto.engine.edge import EdgeEngine
    from memanto.testing import HashEmbedder

    class Folder(Embedded):
        def connect(self, clock: Callable[[], datetime]) -> Any:
            return EdgeEngine(path, clock=clock, lock_timeout=120.0, relay=relay)

    return Memanto(AGENT, store=Folder(path), embedder=HashEmbedder(DIMENSION)).open()


def text(rng: random.Random, words: int = 15) -> str:
    return " ".join(rng.choices(_WORDS, k=words))


class Worker:
    """What a process does, and what it measured."""

    def __init__(self, path: Path, relay: bool, seconds: float, seed: int) -> None:
        self.rng = random.Random(seed)
        self.path = path
        self.relay = relay
        self.seconds = seconds
        self.taken: dict[str, list[float]] = {}
        self.turns = 0

    def timed(self, kind: str, work: Callable[[], object]) -> None:
        begun = time.perf_counter()
        work()
        self.taken.setdefault(kind, []).append(time.perf_counter() - begun)

    def going_on(self) -> bool:
        return time.perf_counter() < self.until

    def start(self) -> None:
        """Wait until all the others are ready too."""
        print("ready", flush=True)
        sys.stdin.readline()
        self.until = time.perf_counter() + self.seconds

    # -- roles --------------------------------------------------------------------------------------
    def busy(self) -> None:
        """Write and search, without a pause."""
        memory = opened(self.path, self.relay)
        self.start()
        while self.going_on():
            self.timed("pair", lambda: self._pair(memory))
        memory.close()

    def _pair(self, memory: Any) -> None:
        self.timed("write", lambda: memory.remember(text(self.rng), type="fact"))
        self.timed("search", lambda: memory.recall(text(self.rng, 3)))

    def server(self) -> None:
        """A long-lived process that recalls now and then, as an MCP server does."""
        memory = opened(self.path, self.relay)
        memory.recall("first")
        self.start()
        while self.going_on():
            self.timed("server recall", lambda: memory.recall(text(self.rng, 3)))
            time.sleep(self.rng.uniform(0.2, 0.6))
        memory.close()

    def crew(self) -> None:
        """A long-lived process that writes more than it reads."""
        memory = opened(self.path, self.relay)
        self.start()
        while self.going_on():
            self.timed("crew write", lambda: memory.remember(text(self.rng), type="fact"))
            if self.rng.random() < 0.3:
                self.timed("crew recall", lambda: memory.recall(text(self.rng, 3)))
            time.sleep(self.rng.uniform(0.02, 0.1))
        memory.close()

    def visitor(self) -> None:
        """One short-lived process after the other, as hooks and the command line are: open, recall, write, close."""
        self.start()
        while self.going_on():
            self.timed("visit", self._visit)
            time.sleep(self.rng.uniform(0.2, 0.5))

    def _visit(self) -> None:
        memory = opened(self.path, self.relay)
        try:
            self.timed("visit recall", lambda: memory.recall(text(self.rng, 3)))
            self.timed("visit write", lambda: memory.remember(text(self.rng), type="event"))
        finally:
            memory.close()


def main() -> None:
    role, path, relay, seconds, seed = sys.argv[1:]
    worker = Worker(Path(path), relay == "relay", float(seconds), int(seed))
    _count_turns(worker)
    getattr(worker, role)()
    print(json.dumps({"role": role, "seconds": worker.taken, "turns": worker.turns}), flush=True)


def _count_turns(worker: Worker) -> None:
    from memanto.engine.edge_shard import Shard

    load = Shard.load

    def counted(*arguments: Any) -> Shard:
        worker.turns += 1
        return load(*arguments)

    Shard.load = counted  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    main()
