"""The offline models, remembering what they were asked, so that each text and pair costs its time once."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memanto.composition import configured_embedder, configured_reranker

if TYPE_CHECKING:
    import numpy.typing as npt

    from memanto.embedding.port import Embedder, EmbedderIdentity, Reranker


class Answers:
    """A table from a digest to bytes and the seconds they took to compute; in memory, or in a file."""

    def __init__(self, folder: Path | None) -> None:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self._file = sqlite3.connect(":memory:" if folder is None else folder / "models.sqlite", timeout=60)
        self._file.execute("PRAGMA synchronous = OFF")  # what a power cut takes is computed again
        self._file.execute("CREATE TABLE IF NOT EXISTS answer (key BLOB PRIMARY KEY, value BLOB, seconds REAL)")
        self._recent: dict[bytes, tuple[bytes, float]] = {}

    def get(self, key: bytes) -> tuple[bytes, float] | None:
        if key not in self._recent:
            row = self._file.execute("SELECT value, seconds FROM answer WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            self._recent[key] = row
        return self._recent[key]

    def put(self, key: bytes, value: bytes, seconds: float) -> None:
        self._recent[key] = (value, seconds)
        with self._file:
            self._file.execute("INSERT OR REPLACE INTO answer VALUES (?, ?, ?)", (key, value, seconds))


class RememberingEmbedder:
    """An `Embedder` that asks another one only for texts it has not seen.

    Attributes:
        owed: Seconds the model took for the queries that were answered from memory since it was last set
            to 0; a measurement adds them, so that remembering does not make a search look quick.
    """

    def __init__(self, embedder: Embedder, answers: Answers) -> None:
        self._embedder = embedder
        self._answers = answers
        self.owed = 0.0

    @property
    def identity(self) -> EmbedderIdentity:
        return self._embedder.identity

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        rows = [self._row("document", text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.identity.dimension), np.float32)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        return self._row("query", text)

    def _row(self, role: str, text: str) -> npt.NDArray[np.float32]:
        key = _key(self.identity.name, self.identity.digest, role, text)
        known = self._answers.get(key)
        if known is not None:
            self.owed += known[1]
            return np.frombuffer(known[0], np.float32).copy()
        begun = time.perf_counter()
        row = self._embedder.embed_query(text) if role == "query" else self._embedder.embed_documents([text])[0]
        self._answers.put(key, row.tobytes(), time.perf_counter() - begun)
        return row


class RememberingReranker:
    """A `Reranker` that asks another one only for pairs it has not seen; `owed` as for the embedder."""

    def __init__(self, reranker: Reranker, answers: Answers) -> None:
        self._reranker = reranker
        self._answers = answers
        self.owed = 0.0

    @property
    def name(self) -> str:
        return self._reranker.name

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return [self._logit(query, text) for text in texts]

    def _logit(self, query: str, text: str) -> float:
        key = _key(self.name, query, text)
        known = self._answers.get(key)
        if known is not None:
            self.owed += known[1]
            return float(np.frombuffer(known[0], np.float64)[0])
        begun = time.perf_counter()
        logit = self._reranker.score(query, [text])[0]
        self._answers.put(key, np.float64(logit).tobytes(), time.perf_counter() - begun)
        return logit


_OPEN: dict[Path | None, tuple[RememberingEmbedder | None, RememberingReranker | None]] = {}


def offline_models(cache: Path | None) -> tuple[RememberingEmbedder | None, RememberingReranker | None]:
    """Return the configured embedder and cross-encoder, or `None` for one that is not installed.

    Args:
        cache: Folder that keeps answers between runs; without it they last as long as the process.
    """
    if cache not in _OPEN:
        answers = Answers(cache)
        embedder, reranker = configured_embedder().model, configured_reranker().model
        _OPEN[cache] = (
            RememberingEmbedder(embedder, answers) if embedder else None,
            RememberingReranker(reranker, answers) if reranker else None,
        )
    return _OPEN[cache]


def _key(*parts: str) -> bytes:
    digest = hashlib.blake2b(digest_size=20)
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digest.digest()
