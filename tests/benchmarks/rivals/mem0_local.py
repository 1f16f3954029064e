"""mem0 with `infer=False`: no language model, its local Qdrant store, given vectors in place of its model's.

It always filters by user. A write commits to SQLite, once for the history and once for the vectors.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import protocol


class GivenVectors:
    """What mem0 asks of an embedder."""

    class config:  # noqa: N801 - mem0 reads it by this name
        embedding_dims = protocol.DIMENSION

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return protocol.vector(text).tolist()

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text) for text in texts]


class Store(protocol.Store):
    def __init__(self, folder: str) -> None:
        os.environ.update(MEM0_TELEMETRY="False", OPENAI_API_KEY="none", MEM0_DIR=str(Path(folder, "home")))
        from mem0 import Memory  # reads the environment when it is imported

        vectors = {
            "path": str(Path(folder, "qdrant")),
            "on_disk": True,
            "collection_name": "memories",
            "embedding_model_dims": protocol.DIMENSION,
        }
        self._memory: Any = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": vectors},
                "history_db_path": str(Path(folder, "history.db")),
                "embedder": {"provider": "openai", "config": {"embedding_dims": protocol.DIMENSION}},
            }
        )
        self._memory.embedding_model = GivenVectors()

    def add(self, items: list[protocol.Item]) -> None:
        for item in items:
            self.add_one(item)

    def add_one(self, item: protocol.Item) -> None:
        _, text, kind = item
        self._memory.add([{"role": "user", "content": text}], user_id="bench", metadata={"type": kind}, infer=False)

    def search(self, text: str, limit: int, kind: str | None) -> list[str]:
        filters: dict[str, str] = {"user_id": "bench"} if kind is None else {"user_id": "bench", "type": kind}
        found = self._memory.search(text, top_k=limit, filters=filters, threshold=0.0)
        return [one["memory"] for one in found["results"]]

    def close(self) -> None:
        self._memory.vector_store.client.close()


if __name__ == "__main__":
    protocol.serve(Store)
