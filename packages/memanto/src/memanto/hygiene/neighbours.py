"""The memories near a memory, by meaning and by words: those that detection compares it with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memanto.engine.bm25 import encode_query
from memanto.engine.codec import decode
from memanto.filters import HasVector
from memanto.hygiene.compare import comparable, is_kept_output
from memanto.hygiene.gates import REACH
from memanto.hygiene.words import fold, telling, telling_stem, weight
from memanto.memory.namespace import Namespace
from memanto.memory.visibility import live
from memanto.models import Memory

MATRIX_FROM: Final = 500
"""Memories to examine from which on, if they are a quarter of all, their nearest are found by one matrix product: two
hundred times as quick as one search each, for 1.5 kB a memory."""

_WORD: Final = re.compile(r"\w+")
_QUERY: Final = 12
"""Telling words of a text that look for others."""
_SHARED: Final = 2
"""Beginnings of telling words that two texts must share to be read at all, where they have as many."""
_BEGINNING: Final = 4
_CHUNK: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What comparing needs of a memory; `gist` are the beginnings of its telling words."""

    id: UUID
    memory: Memory
    vector: npt.NDArray[np.float32] | None
    gist: frozenset[str]


class Neighbours:
    """Finds the memories near others of one namespace; what was read once is kept.

    Args:
        namespace: The agent's memories.
        vectors: Name of the vectors that tell nearness, or `None` where there are none.
        now: Decides what is still true.
    """

    def __init__(self, namespace: Namespace, vectors: str | None, now: datetime) -> None:
        self._engine = namespace.engine
        self._name = namespace.name
        self._vectors = vectors
        self._live = live((), now)
        self._seen: dict[UUID, Seen] = {}
        self._met: set[tuple[UUID, UUID]] = set()
        self._matrix: tuple[list[UUID], npt.NDArray[np.float32]] | None = None
        self._nearest: dict[UUID, list[UUID]] = {}

    def expect(self, number: int) -> None:
        """Prepare for so many memories to be examined."""
        if self._vectors is None or number < MATRIX_FROM:
            return
        points = self._engine.scan(self._name, self._live.also(HasVector(self._vectors)), fields=[])
        if number * 4 >= len(points):
            seen = self.look_up([point.id for point in points])
            there = {point_id: one.vector for point_id, one in seen.items() if one.vector is not None}
            self._matrix = (list(there), np.stack(list(there.values())))

    def look_up(self, ids: Sequence[UUID]) -> dict[UUID, Seen]:
        """Return what is needed of these versions, in their order; each is read once, since neighbours meet again."""
        unknown = [point_id for point_id in ids if point_id not in self._seen]
        for start in range(0, len(unknown), _CHUNK):
            for point_id, point in self._engine.get(self._name, unknown[start : start + _CHUNK], vectors=True).items():
                memory = decode(self._name, point.payload)
                dense = point.dense.get(self._vectors) if self._vectors is not None else None
                vector = None if dense is None else np.asarray(dense, np.float32)
                self._seen[point_id] = Seen(id=point_id, memory=memory, vector=vector, gist=gist(memory.content))
        return {point_id: self._seen[point_id] for point_id in ids if point_id in self._seen}

    def prepare(self, batch: Sequence[Seen]) -> None:
        """Find the nearest of these at once, where that pays."""
        asked = [one for one in batch if one.vector is not None]
        if self._matrix is None or not asked:
            return
        ids, matrix = self._matrix
        cosines = np.stack([one.vector for one in asked if one.vector is not None]) @ matrix.T
        reach = min(REACH + 1, len(ids))
        best = np.argpartition(-cosines, reach - 1, axis=1)[:, :reach]
        self._nearest = {one.id: [ids[place] for place in row] for one, row in zip(asked, best, strict=True)}

    def near(self, one: Seen) -> Iterator[tuple[Memory, float | None]]:
        """Yield the memories near one that may be about the same, each with its cosine where it tells something.

        Two memories meet once, though each may be among the neighbours of the other.
        """
        if is_kept_output(one.memory):
            return
        for other in self.look_up(list(self._ids(one))).values():
            pair = (one.id, other.id) if one.id < other.id else (other.id, one.id)
            if pair in self._met or not (comparable(one.memory, other.memory) and _share_words(one, other)):
                continue
            self._met.add(pair)
            yield other.memory, _cosine(one, other)

    def _ids(self, one: Seen) -> dict[UUID, None]:
        ids: dict[UUID, None] = dict.fromkeys(self._nearest.get(one.id, ()))
        if self._vectors is not None and one.vector is not None and not ids:
            vector = one.vector.tolist()
            found = self._engine.search_dense(self._name, self._vectors, vector, self._live, REACH + 1, fields=())
            ids |= dict.fromkeys(hit.id for hit in found)
        query = encode_query(" ".join(telling_words(one.memory.content, _QUERY)))
        words = self._engine.search_lexical(self._name, query, self._live, REACH + 1, fields=())
        return ids | dict.fromkeys(hit.id for hit in words[: REACH + 1])


def telling_words(text: str, most: int) -> list[str]:
    """Return the first words of a text that tell something, each once."""
    words = dict.fromkeys(
        word for word in _WORD.findall(fold(text)) if telling(word) and weight(telling_stem(word)) == 1
    )
    return list(words)[:most]


def gist(text: str) -> frozenset[str]:
    """Return the beginnings of a text's telling words, the same for most of their forms."""
    return frozenset(telling_stem(word)[:_BEGINNING] for word in _WORD.findall(fold(text)) if telling(word))


def _cosine(one: Seen, other: Seen) -> float | None:
    """Return the cosine of two texts; `None` with a part of a long text, whose one sentence drowns among the others."""
    if one.vector is None or other.vector is None or one.memory.part or other.memory.part:
        return None
    return float(one.vector @ other.vector)


def _share_words(one: Seen, other: Seen) -> bool:
    """Return whether two texts share enough words that a rule can hold; half of them where they are short."""
    return len(one.gist & other.gist) >= min(_SHARED, max(1, min(len(one.gist), len(other.gist)) // 2))
