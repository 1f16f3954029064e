"""A flat FAISS index in memory with the texts and vectors in SQLite: what one writes oneself in an afternoon.

SQLite runs with a write-ahead log and `synchronous = NORMAL`: a commit survives the process, and a power cut only
once the log was checkpointed; `faiss_sqlite_full` uses `FULL`, which syncs each commit. Vectors are kept in the
database, so opening builds the index from there.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import faiss
import numpy as np
import protocol


class Store(protocol.Store):
    synchronous = "NORMAL"

    def __init__(self, folder: str) -> None:
        self._file = sqlite3.connect(Path(folder, "memories.sqlite"))
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute(f"PRAGMA synchronous = {self.synchronous}")
        self._file.execute("CREATE TABLE IF NOT EXISTS memory (id INTEGER PRIMARY KEY, text, type, vector BLOB)")
        self._file.execute("CREATE INDEX IF NOT EXISTS by_type ON memory (type)")
        self._index = faiss.IndexIDMap2(faiss.IndexFlatIP(protocol.DIMENSION))
        rows = self._file.execute("SELECT id, vector FROM memory").fetchall()
        if rows:
            vectors = np.stack([np.frombuffer(blob, np.float32) for _, blob in rows])
            self._index.add_with_ids(vectors, np.array([number for number, _ in rows], np.int64))

    def add(self, items: list[protocol.Item]) -> None:
        vectors = np.stack([protocol.vector(text) for _, text, _ in items])
        rows = [(*item, row.tobytes()) for item, row in zip(items, vectors, strict=True)]
        with self._file:
            self._file.executemany("INSERT INTO memory VALUES (?, ?, ?, ?)", rows)
        self._index.add_with_ids(vectors, np.array([number for number, _, _ in items], np.int64))

    def search(self, text: str, limit: int, kind: str | None) -> list[str]:
        chosen = None
        if kind is not None:
            ids = self._file.execute("SELECT id FROM memory WHERE type = ?", (kind,)).fetchall()
            chosen = faiss.SearchParameters(sel=faiss.IDSelectorBatch(np.array(ids, np.int64).ravel()))
        _, found = self._index.search(protocol.vector(text)[None], limit, params=chosen)
        numbers = [int(number) for number in found[0] if number >= 0]
        query = f"SELECT id, text FROM memory WHERE id IN ({','.join('?' * len(numbers))})"
        texts = dict(self._file.execute(query, numbers).fetchall())
        return [texts[number] for number in numbers]

    def close(self) -> None:
        self._file.close()


class Full(Store):
    """The same, synced at every commit."""

    synchronous = "FULL"


if __name__ == "__main__":
    protocol.serve(Store)
