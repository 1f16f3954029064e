"""A LanceDB table on disk, scanned whole (its default below an index), with given vectors.

A write adds a data file and a version of the manifest.
"""

from __future__ import annotations

import lancedb
import protocol
import pyarrow as pa


class Store(protocol.Store):
    def __init__(self, folder: str) -> None:
        database = lancedb.connect(folder)
        vectors = pa.list_(pa.float32(), protocol.DIMENSION)
        schema = pa.schema([("id", pa.int64()), ("text", pa.string()), ("type", pa.string()), ("vector", vectors)])
        self._table = database.create_table("memories", schema=schema, exist_ok=True)

    def add(self, items: list[protocol.Item]) -> None:
        self._table.add(
            [
                {"id": number, "text": text, "type": kind, "vector": protocol.vector(text)}
                for number, text, kind in items
            ]
        )

    def search(self, text: str, limit: int, kind: str | None) -> list[str]:
        query = self._table.search(protocol.vector(text)).distance_type("cosine").limit(limit).select(["text"])
        if kind is not None:
            query = query.where(f"type = '{kind}'", prefilter=True)
        return [row["text"] for row in query.to_list()]


if __name__ == "__main__":
    protocol.serve(Store)
