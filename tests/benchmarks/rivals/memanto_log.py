"""memanto through its public API, as it comes: hybrid recall, receipts read back, `durability="log"`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import protocol

from memanto import Draft, Embedded, EmbedderIdentity, Memanto, MemoryType


class KnownVectors:
    """An embedder that costs nothing: the vectors of `protocol`."""

    identity = EmbedderIdentity("benchmark/random", protocol.DIMENSION)

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Any:
        return protocol.vector(text)


class Store(protocol.Store):
    durability: Literal["log", "full"] = "log"

    def __init__(self, folder: str) -> None:
        self._folder = folder
        store = Embedded(folder, durability=self.durability)
        self._memory = Memanto("bench", store=store, embedder=KnownVectors()).open()

    def add(self, items: list[protocol.Item]) -> None:
        self._memory.remember_many([Draft(content=text, type=MemoryType(kind)) for _, text, kind in items])

    def add_one(self, item: protocol.Item) -> None:
        _, text, kind = item
        self._memory.remember(text, type=kind)

    def search(self, text: str, limit: int, kind: str | None) -> list[str]:
        found = self._memory.recall(text, types=() if kind is None else (kind,), limit=limit)
        return [hit.memory.content for hit in found]

    def close(self) -> None:
        self._memory.close()


class Full(Store):
    """The same, flushed before each receipt; it is filled without, since only single writes are compared."""

    durability = "full"

    def add(self, items: list[protocol.Item]) -> None:
        store = Embedded(self._folder)
        with Memanto("bench", store=store, embedder=KnownVectors()) as memory:
            memory.remember_many([Draft(content=text, type=MemoryType(kind)) for _, text, kind in items])


if __name__ == "__main__":
    protocol.serve(Store)
