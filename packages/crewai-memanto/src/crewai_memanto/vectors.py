"""Vectors that CrewAI brings along: an embedder that returns what it was handed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from memanto import EmbedderIdentity
from memanto.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memanto import Embedder

GIVEN: Final = "crewai/given-"
"""Begins the name of a vector space of CrewAI's; its dimension ends it."""

_HANDED: ContextVar[Sequence[float] | None] = ContextVar("memanto_handed_vector", default=None)


class HandedVectors:
    """Embeds a text as the vector at hand.

    Args:
        base: The embedder that the vectors come from and that embeds where none is at hand, found when first needed;
            `None` for vectors of a model that only CrewAI knows.
    """

    def __init__(self, base: Callable[[], Embedder] | None) -> None:
        self._find = base
        self._base: Embedder | None = None
        self._dimension: int | None = None

    @property
    def base(self) -> Embedder | None:
        """The embedder that the vectors come from."""
        if self._base is None and self._find is not None:
            self._base = self._find()
        return self._base

    @property
    def identity(self) -> EmbedderIdentity:
        """Whose vectors these are; of an unknown model, what their dimension tells."""
        base = self.base
        if base is not None:
            return base.identity
        handed = _HANDED.get()
        dimension = self._dimension if handed is None else len(handed)
        if dimension is None:
            raise EmbedderError(
                "no vector was handed over yet",
                hint="read with words_only=True, or give MemantoStorage the embedder that makes the vectors",
            )
        return EmbedderIdentity(f"{GIVEN}{dimension}", dimension)

    @contextmanager
    def handing(self, vector: Sequence[float]) -> Iterator[None]:
        """Have this vector at hand, in this thread or task, while the block lasts."""
        token = _HANDED.set(vector)
        try:
            yield
        finally:
            _HANDED.reset(token)
        self._dimension = len(vector)

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the vector at hand for each text: they are the words and the cleaned words of one record."""
        import numpy as np

        handed = _HANDED.get()
        if handed is not None:
            return np.asarray([list(handed)] * len(texts), dtype=np.float32)
        return self._needed().embed_documents(texts)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return the vector at hand."""
        import numpy as np

        handed = _HANDED.get()
        return self._needed().embed_query(text) if handed is None else np.asarray(list(handed), dtype=np.float32)

    def __call__(self, input: Sequence[str]) -> list[list[float]]:  # noqa: A002 - as CrewAI's embedders have it
        """Return one vector per text, as CrewAI asks its embedders.

        Raises:
            EmbedderError: The vectors come from a model that only CrewAI knows.
        """
        rows: list[list[float]] = self._needed().embed_documents(list(input)).tolist()
        return rows

    def _needed(self) -> Embedder:
        base = self.base
        if base is None:
            raise EmbedderError(
                "these vectors come from CrewAI, and none is at hand",
                hint="read with words_only=True, or give MemantoStorage the embedder that makes them",
            )
        return base
