"""Chroma's PersistentClient with given vectors.

A write is one SQLite transaction in a rollback journal.
"""

from __future__ import annotations

from typing import Any

import chromadb
import protocol
from chromadb.config import Settings


class Store(protocol.Store):
    def __init__(self, folder: str) -> None:
        client = chromadb.PersistentClient(path=folder, settings=Settings(anonymized_telemetry=False))
        self._memories: Any = client.get_or_create_collection(
            "memories", metadata={"hnsw:space": "cosine"}, embedding_function=None
        )

    def add(self, items: list[protocol.Item]) -> None:
        self._memories.add(
            ids=[str(number) for number, _, _ in items],
            documents=[text for _, text, _ in items],
            embeddings=[protocol.vector(text) for _, text, _ in items],
            metadatas=[{"type": kind} for _, _, kind in items],
        )

    def search(self, text: str, limit: int, kind: str | None) -> list[str]:
        where = None if kind is None else {"type": kind}
        found = self._memories.query(
            query_embeddings=[protocol.vector(text)], n_results=limit, where=where, include=["documents"]
        )
        return list(found["documents"][0])


if __name__ == "__main__":
    protocol.serve(Store)
