"""Several processes write to one folder at the same time: nothing to start, nothing lost."""

import multiprocessing
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor

from memanto import Embedded, Memanto

PROCESSES, EACH = 3, 10


def work(folder: str, number: int) -> list[str]:
    """Write some memories as one process among several, and return their ids."""
    # `embedder=None` searches words alone, so that no process has to load a model.
    with Memanto("shared", store=Embedded(folder), embedder=None, source=f"worker-{number}") as memory:
        return [memory.remember(f"Worker {number} finished job {job}", type="event").id for job in range(EACH)]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(PROCESSES, mp_context=spawn) as pool:
            receipts = [one for ids in pool.map(work, [folder] * PROCESSES, range(PROCESSES)) for one in ids]

        with Memanto("shared", store=Embedded(folder), embedder=None) as memory:
            stored = {hit.memory.id for hit in memory.recall(limit=100)}
            [hit] = memory.recall("worker 2 job 7", source="worker-2", limit=1)
            print(f"process {os.getpid()} finds {len(stored)} memories of {PROCESSES} others, such as:")
            print(" ", hit.memory.content, "by", hit.memory.source)
        assert stored == set(receipts)
        assert len(stored) == PROCESSES * EACH


if __name__ == "__main__":
    main()
