"""How many `remember`s a second with the offline model, in batches, into a store that holds others already."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from tests.benchmarks.harness import Bench
from tests.benchmarks.rivals import protocol

from memanto import Draft, InMemory, Memanto, MemoryType
from memanto.composition import configured_embedder
from memanto.corpus import load_log
from memanto.models import MAX_BATCH

if TYPE_CHECKING:
    from memanto import EmbedderIdentity

_LONGEST: Final = 40
_BATCH: Final = 100
_ROUNDS: Final = 5


class RandomVectors:
    """Stands in for an embedder: random vectors of unit length, keyed by the text's hash.

    Args:
        identity: Whose vectors they pass for, so that a store filled with them goes on with the real model.
    """

    def __init__(self, identity: EmbedderIdentity) -> None:
        self.identity = identity

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.stack([protocol.vector(text) for text in texts])

    def embed_query(self, text: str) -> Any:
        return protocol.vector(text)


def measure_remembering(bench: Bench, size: int | None = None) -> dict[str, Any] | None:
    """Return texts a second and the model's share, per batch of 100; `None` without the model."""
    model = configured_embedder().model
    if model is None:
        bench.skip("remember with embedding", "the offline model is not installed")
        return None
    count = size if size is not None else 1_000 if bench.quick else 10_000
    bench.say(f"remembering batches with the offline model beside {count} others")
    rates, shares = [], []
    texts = _texts()
    lengths: list[int] = []
    store = InMemory()
    with Memanto("bench", store=store, embedder=RandomVectors(model.identity)) as memory:
        for start in range(0, count, MAX_BATCH):
            numbers = range(start, min(start + MAX_BATCH, count))
            memory.remember_many([_draft(protocol.item(number)[1]) for number in numbers])
        memory._embedder_choice = model  # one store, filled by the stand-in, goes on with the model
        memory.remember("the model is loaded now")
        for _ in range(_ROUNDS):
            batch = list(islice(texts, _BATCH))
            lengths += [_tokens(text) for text in batch]
            begun = time.perf_counter()
            model.embed_documents(batch)
            embedding = time.perf_counter() - begun
            begun = time.perf_counter()
            memory.remember_many([_draft(text) for text in batch])
            taken = time.perf_counter() - begun
            rates.append(_BATCH / taken)
            shares.append(embedding / taken)
    return {
        "stored before": count,
        "batch": _BATCH,
        "per_s": round(statistics.median(rates), 1),
        "per_s_by_batch": [round(rate, 1) for rate in rates],
        "model_share": round(statistics.median(shares), 3),
        "tokens": {"mean": round(statistics.mean(lengths), 1), "longest": max(lengths)},
    }


def _draft(text: str) -> Draft:
    return Draft(content=text, type=MemoryType.FACT)


def _texts() -> Iterator[str]:
    """Yield texts of up to 40 tokens: the lines of the project's own log, told apart by a number."""
    lines = [entry.content for entry in load_log() if entry.content and _tokens(entry.content) <= _LONGEST - 4]
    for turn in range(1_000):
        yield from (f"{line} ({turn})" for line in lines)


def _tokens(text: str) -> int:
    """Return about how many tokens the model's tokenizer makes of a text: words and what stands between them."""
    return sum(-(-len(word) // 6) for word in text.split()) + sum(text.count(mark) for mark in ",.:;()'-/")
