"""The embedder for sentence encoders whose files are on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from memanto.embedding.checks import check_vectors
from memanto.embedding.onnx import OnnxModel
from memanto.embedding.port import EmbedderIdentity
from memanto.embedding.specs import ModelSpec
from memanto.embedding.weights import Weights

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


_REMEMBERED = 64
"""Queries whose vectors are kept: a brief asks five times with one text, and a loop guards what it has just briefed."""


class OnnxEmbedder:
    """Embeds with a model of the table in `specs`, from a folder, a package or a finished download.

    The vectors of the latest queries are kept in memory, so asking again costs nothing.
    """

    def __init__(self, spec: ModelSpec, weights: Weights) -> None:
        self._spec = spec
        self._weights = weights
        self._model = OnnxModel(weights)
        self._query = lru_cache(_REMEMBERED)(self._embedded_query)

    @cached_property
    def identity(self) -> EmbedderIdentity:
        spec = self._spec
        return EmbedderIdentity(spec.name, spec.dimension, spec.prefixes.rule, self._weights.digest())

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        vectors = [self._vector(self._spec.prefixes.document + text) for text in texts]
        return check_vectors(vectors or _empty(self._spec.dimension), len(texts), self._spec.dimension)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        return self._query(text).copy()

    def _embedded_query(self, text: str) -> npt.NDArray[np.float32]:
        vectors = [self._vector(self._spec.prefixes.query + text)]
        row: npt.NDArray[np.float32] = check_vectors(vectors, 1, self._spec.dimension)[0]
        return row

    def _vector(self, text: str) -> npt.NDArray[np.float32]:
        output = self._model.run(text)
        if output.ndim == 1:  # the export pools by itself
            return output
        # Nothing is padded, so every token counts in a mean.
        pooled: npt.NDArray[np.float32] = output[0] if self._spec.pooling == "cls" else output.mean(axis=0)
        return pooled


def _empty(dimension: int) -> npt.NDArray[np.float32]:
    import numpy as np

    return np.empty((0, dimension), np.float32)
