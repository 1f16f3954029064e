"""qdrant-edge-py alone: the engine under memanto, with one keyword index and nothing around it.

An acknowledged write is in the log, without fsync; `edge_flushed` flushes after each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import protocol
import qdrant_edge as qe


class Store(protocol.Store):
    def __init__(self, folder: str) -> None:
        path = str(Path(folder, "shard"))
        if Path(path).is_dir():
            self._shard = qe.EdgeShard.load(path)
            return
        Path(path).mkdir(parents=True)
        vectors = qe.EdgeVectorParams(size=protocol.DIMENSION, distance=qe.Distance.Dot)
        self._shard = qe.EdgeShard.create(path, qe.EdgeConfig(vectors=vectors, max_search_threads=1))
        self._shard.update(qe.UpdateOperation.create_field_index("type", qe.PayloadSchemaType.Keyword))

    def add(self, items: list[protocol.Item]) -> None:
        self._upsert(items)
        self._shard.flush()

    def add_one(self, item: protocol.Item) -> None:
        self._upsert([item])

    def _upsert(self, items: list[protocol.Item]) -> None:
        points = [
            qe.Point(number, protocol.vector(text).tolist(), {"text": text, "type": kind})
            for number, text, kind in items
        ]
        self._shard.update(qe.UpdateOperation.upsert_points(points))

    def search(self, text: str, limit: int, kind: str | None) -> list[str]:
        chosen: Any = None
        if kind is not None:
            chosen = qe.Filter(must=[qe.FieldCondition(key="type", match=qe.MatchValue(kind))])
        query = qe.Query.Nearest(protocol.vector(text).tolist())
        found = self._shard.query(qe.QueryRequest(limit=limit, query=query, with_payload=True, filter=chosen))
        return [hit.payload["text"] for hit in found]

    def close(self) -> None:
        self._shard.close()


class Flushed(Store):
    """The same, flushed after every write."""

    def add_one(self, item: protocol.Item) -> None:
        self._upsert([item])
        self._shard.flush()


class Graph(Store):
    """The same, with the graph index built after the import."""

    def settle(self) -> None:
        self._shard.optimize()


if __name__ == "__main__":
    protocol.serve(Store)
