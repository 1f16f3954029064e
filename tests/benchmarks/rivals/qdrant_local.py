"""qdrant-client's local mode: Qdrant's API in Python and numpy, kept in SQLite.

A write is a commit to SQLite for each point.
"""

from __future__ import annotations

import protocol
from qdrant_client import QdrantClient, models


class Store(protocol.Store):
    def __init__(self, folder: str) -> None:
        self._client = QdrantClient(path=folder)
        if not self._client.collection_exists("memories"):
            vectors = models.VectorParams(size=protocol.DIMENSION, distance=models.Distance.COSINE)
            self._client.create_collection("memories", vectors_config=vectors)

    def add(self, items: list[protocol.Item]) -> None:
        points = [
            models.PointStruct(id=number, vector=protocol.vector(text).tolist(), payload={"text": text, "type": kind})
            for number, text, kind in items
        ]
        self._client.upsert("memories", points)

    def search(self, text: str, limit: int, kind: str | None) -> list[str]:
        chosen = None
        if kind is not None:
            chosen = models.Filter(must=[models.FieldCondition(key="type", match=models.MatchValue(value=kind))])
        query = protocol.vector(text).tolist()
        found = self._client.query_points("memories", query=query, limit=limit, query_filter=chosen)
        return [point.payload["text"] for point in found.points if point.payload]

    def close(self) -> None:
        self._client.close()


if __name__ == "__main__":
    protocol.serve(Store)
