"""Bring an embedder of your own, and change to another one without losing a memory."""

import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from memanto import EmbedderIdentity, InMemory, Memanto, MemantoError


class LetterGroups:
    """Embeds a text by its groups of letters: no model, and still tolerant of endings and typing errors."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.identity = EmbedderIdentity(f"example/letters-{size}", 512)

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        padded = f" {text.lower()} "
        row = np.zeros(self.identity.dimension, np.float32)
        for start in range(len(padded) - self.size + 1):
            row[zlib.crc32(padded[start : start + self.size].encode()) % len(row)] += 1
        return row / np.linalg.norm(row)


store = InMemory()
pairs, triples = LetterGroups(2), LetterGroups(3)
with Memanto("orders-bot", store=store, embedder=pairs) as memory:
    memory.remember("The importer reads orders at two in the morning", type="fact")
    memory.remember("Billing belongs to the payments team", type="relationship")
    [hit] = memory.recall("imporrting of order", limit=1)
    print(f"{hit.why.dense_score:.2f}", hit.memory.content)
    assert hit.memory.type == "fact"

    # Vectors of two embedders cannot be compared, so changing takes one step: the old vectors are kept.
    done = memory.reindex(triples, progress=lambda ready, total: print(f"embedded {ready} of {total}"))
    assert done.switched
    assert done.former == pairs.identity.name
    try:
        memory.recall("orders")  # this handle still uses the pairs
    except MemantoError as error:
        print(f"[{error.code}] {error.message}")
        assert error.code == "embedder_mismatch"

    done = memory.reindex(pairs)  # going back embeds nothing anew
    assert done.embedded == 0
    assert memory.recall("orders")[0].memory.type == "fact"
