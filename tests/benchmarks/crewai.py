"""Memories of CrewAI beside each other: a save and a recall through `Memory`, in turns, at a given number of records.

All arms are in this process, get the same texts, and embed with the same deterministic embedder, so that what differs
is the memory. Everything CrewAI would ask a language model is given: scope, categories and importance with each text,
no consolidation, shallow recall. A model that is asked all the same ends the run.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.benchmarks.crewai_page import page
from tests.benchmarks.harness import Bench, Figures, Suite, percentile, register

from memanto import Embedded, Memanto
from memanto.testing import HashEmbedder

if TYPE_CHECKING:
    from crewai.memory import Memory

PRODUCT: Final = "MemantoMemory"
STORAGE: Final = "Memory on MemantoStorage"
LANCE: Final = "Memory on LanceDB"
EDGE: Final = "Memory on qdrant-edge"
DIMENSION: Final = 384
_QUIET: Final = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "CREWAI_TESTING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
}
_GIVEN: Final[Mapping[str, Any]] = {"scope": "/crew/books", "categories": ["books"], "importance": 0.5}
_SUBJECTS: Final = ("ledger", "invoice", "importer", "customer", "report", "backup", "gateway", "schedule", "audit")
_VERBS: Final = ("lags", "follows", "replaces", "blocks", "feeds", "checks", "renames", "delays")


def texts(number: int, seed: int) -> list[str]:
    """Return distinct statements of about a dozen words."""
    chance = random.Random(seed)
    return [
        f"The {chance.choice(_SUBJECTS)} {index} {chance.choice(_VERBS)} the {chance.choice(_SUBJECTS)} of "
        f"department {chance.randrange(100)} by {chance.randrange(60)} minutes since week {chance.randrange(52)}"
        for index in range(number)
    ]


def measure(bench: Bench) -> Figures:
    """Measure all arms in turns."""
    size, passes = (200, 10) if bench.quick else (1_000, 60)
    known, fresh = texts(size, bench.seed), texts(size + passes, bench.seed + 1)[size:]
    chance = random.Random(bench.seed)
    with _arms(bench) as arms:
        for name, memory in arms.items():
            bench.say(f"{name}: {size} records")
            _fill(memory, known)
        saves: dict[str, list[float]] = {name: [] for name in arms}
        recalls: dict[str, list[float]] = {name: [] for name in arms}
        found = dict.fromkeys(arms, 0)
        names = list(arms)
        for turn in range(passes):
            wanted = chance.choice(known)
            asked = " ".join(wanted.split()[1:7])
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                memory = arms[name]
                saves[name].append(_timed(lambda: memory.remember(fresh[turn], **_GIVEN))[0])  # noqa: B023
                taken, hits = _timed(lambda: memory.recall(asked, depth="shallow", limit=10))  # noqa: B023
                recalls[name].append(taken)
                found[name] += any(hit.record.content == wanted for hit in hits)
        return {
            "records": size,
            "passes": passes,
            "arms": {
                name: {
                    "save": _figures(saves[name], saves[PRODUCT]),
                    "recall": _figures(recalls[name], recalls[PRODUCT]),
                    "found": round(found[name] / passes, 3),
                }
                for name in arms
            },
        }


def _figures(seconds: Sequence[float], own: Sequence[float]) -> dict[str, float]:
    """Return milliseconds, and how many times MemantoMemory's own each took: the median of the passes' ratios."""
    ratios = [other / mine for other, mine in zip(seconds, own, strict=True)]
    return {
        "p50_ms": round(percentile(seconds, 0.5) * 1e3, 2),
        "p95_ms": round(percentile(seconds, 0.95) * 1e3, 2),
        "ratio": round(statistics.median(ratios), 2),
    }


def _timed(act: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    done = act()
    return time.perf_counter() - begun, done


def _fill(memory: Memory, known: Sequence[str]) -> None:
    """Store what is there before the clock runs, in one call: a save of some arms takes a tenth of a second."""
    from crewai.memory.types import MemoryRecord

    from crewai_memanto import MemantoMemory

    if isinstance(memory, MemantoMemory):
        memory.remember_many(list(known), **_GIVEN)
    else:
        vectors = memory.embedder(list(known))
        records = [
            MemoryRecord(content=text, embedding=vector, **_GIVEN) for text, vector in zip(known, vectors, strict=True)
        ]
        memory._storage.save(records)  # CrewAI's own way runs a flow for each
    memory.recall(known[0], depth="shallow")  # the first loads and compiles


@contextmanager
def _arms(bench: Bench) -> Iterator[dict[str, Memory]]:
    """Yield the memories by name; what they wrote is gone afterwards."""
    os.environ.update(_QUIET)
    with tempfile.TemporaryDirectory(prefix="memanto-bench-", ignore_cleanup_errors=True) as folder:
        os.environ["CREWAI_STORAGE_DIR"] = folder
        embedder = HashEmbedder(DIMENSION)
        own = Memanto("bench", store=Embedded(Path(folder) / "memanto"), embedder=embedder, reranker=None, llm=None)
        with own:
            arms = _made(own, embedder, Path(folder), bench)
            try:
                yield arms
            finally:
                for memory in arms.values():
                    memory.close()


def _made(own: Memanto, embedder: HashEmbedder, folder: Path, bench: Bench) -> dict[str, Memory]:
    from crewai.llms.base_llm import BaseLLM
    from crewai.memory import Memory

    from crewai_memanto import MemantoMemory, MemantoStorage

    class NoModel(BaseLLM):
        """Fails the run when it is asked."""

        def call(self, *_: Any, **__: Any) -> str:
            raise AssertionError("a language model was asked")

    def plain(storage: Any) -> Memory:
        return Memory(
            storage=storage,
            embedder=lambda given: embedder.embed_documents(given).tolist(),
            llm=NoModel(model="none"),
            consolidation_threshold=1.0,
        )

    arms: dict[str, Memory] = {
        PRODUCT: MemantoMemory(own),
        STORAGE: plain(MemantoStorage("bench", store=Embedded(folder / "storage"))),
    }
    for name, make in ((LANCE, _lance), (EDGE, _edge)):
        try:
            arms[name] = plain(make(folder))
        except ImportError as error:
            bench.skip(name, str(error))
    return arms


def _lance(folder: Path) -> Any:
    from crewai.memory.storage.lancedb_storage import LanceDBStorage

    return LanceDBStorage(path=str(folder / "lancedb"))


def _edge(folder: Path) -> Any:
    from crewai.memory.storage.qdrant_edge_storage import QdrantEdgeStorage

    return QdrantEdgeStorage(path=str(folder / "qdrant-edge"))


register(Suite(name="crewai", about="Memories of CrewAI beside each other", run=measure, page=page))
