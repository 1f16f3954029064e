"""Doubles for tests of code that uses memory: deterministic, offline, and quick to load."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from memanto.embedding.port import EmbedderIdentity

__all__ = ["BrokenEmbedder", "FixedClock", "HashEmbedder"]

_WORD: Final = re.compile(r"\w+")


class HashEmbedder:
    """Embeds a text as the sum of pseudo-random directions, one per distinct word.

    Texts that share words point the same way, so rankings mean something; nothing is learned, so synonyms
    do not meet. Equal on every platform and in every process. A text without words gets a direction of its
    own.
    """

    def __init__(self, dimension: int = 64) -> None:
        if dimension < 1:
            raise ValueError(f"dimension must be at least 1, not {dimension!r}")
        self.identity: Final = EmbedderIdentity(f"memanto/hash-{dimension}", dimension)

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        rows = [self._vector(text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.identity.dimension), np.float32)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        return self._vector(text)

    def _vector(self, text: str) -> npt.NDArray[np.float32]:
        words = sorted(set(_WORD.findall(text.casefold()))) or [f"\0{text}"]
        total = np.sum([self._direction(word) for word in words], axis=0)
        # Directions may cancel out in very few dimensions.
        if not total.any():
            total[0] = 1.0
        row: npt.NDArray[np.float32] = np.divide(total, np.linalg.norm(total)).astype(np.float32)
        return row

    def _direction(self, word: str) -> npt.NDArray[np.float64]:
        """Return +1 or -1 for each dimension, from the bits of a hash of the word."""
        size = -(-self.identity.dimension // 8)
        digest = hashlib.shake_128(word.encode("utf-8", "surrogatepass")).digest(size)
        bits = np.unpackbits(np.frombuffer(digest, np.uint8))[: self.identity.dimension]
        return np.where(bits, 1.0, -1.0)


class BrokenEmbedder:
    """An embedder that misbehaves in one chosen way: for testing what stands between it and the store."""

    def __init__(self, kind: Literal["nan", "wrong_size", "raises", "zeros"], dimension: int = 64) -> None:
        self.kind = kind
        self.identity: Final = EmbedderIdentity(f"memanto/broken-{kind}", dimension)

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        dimension = self.identity.dimension
        match self.kind:
            case "raises":
                raise RuntimeError(f"cannot embed {text[:20]!r}")
            case "nan":
                return np.full(dimension, np.nan, np.float32)
            case "zeros":
                return np.zeros(dimension, np.float32)
            case "wrong_size":
                return np.ones(dimension + 1, np.float32)


class FixedClock:
    """A clock that stands still until it is told to move.

    Examples:
        >>> clock = FixedClock(datetime(2026, 6, 1, tzinfo=UTC))
        >>> clock.advance(90)
        >>> clock().isoformat()
        '2026-06-01T00:01:30+00:00'
    """

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.set(start)

    def __call__(self) -> datetime:
        """Return the present, an aware datetime in UTC."""
        return self._now

    def advance(self, step: float | timedelta) -> None:
        """Move by a number of seconds or a timedelta; negative steps go back."""
        self._now += step if isinstance(step, timedelta) else timedelta(seconds=step)

    def set(self, moment: datetime) -> None:
        """Jump to an aware moment; it is kept in UTC.

        Raises:
            ValueError: The moment has no time zone.
        """
        if moment.tzinfo is None:
            raise ValueError(f"The moment must be aware, not {moment!r}")
        self._now = moment.astimezone(UTC)
