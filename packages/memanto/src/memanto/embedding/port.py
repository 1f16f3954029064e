"""The ports for models: an embedder makes vectors, a reranker judges pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """What makes two vectors comparable; stored with the namespace.

    Attributes:
        name: Public model name, such as `"BAAI/bge-small-en-v1.5"`.
        dimension: Length of the vectors.
        prefixes: The rule by which texts are prefixed, such as `""` or `"query: |passage: "`.
        digest: SHA-256 of the weights' file in hexadecimal, or `""` for an embedder without a file.
    """

    name: str
    dimension: int
    prefixes: str = ""
    digest: str = ""


class Embedder(Protocol):
    """Turns texts into vectors. Implementations load their model at the first embedding, not before."""

    @property
    def identity(self) -> EmbedderIdentity:
        """Known without loading the model."""

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return `(len(texts), dimension)` float32 rows, L2-normalised, each independent of its neighbours.

        Raises:
            EmbedderError: The model failed or returned rows of another shape, zeros or NaN.
        """

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return `(dimension,)` float32, L2-normalised, in the same space as the documents."""


class Reranker(Protocol):
    """Judges how well texts answer a query."""

    @property
    def name(self) -> str: ...

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one logit per text, higher is better, each independent of its neighbours."""
