"""Checks on what an embedder returns, whoever wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memanto.errors import EmbedderError, MemantoError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memanto.embedding.port import Embedder

_HINT = "Check the embedder: nothing was stored"
_SMALL = 1e-100
"""Length from which a vector's squares keep their digits."""


def check_vectors(vectors: npt.ArrayLike, n: int, dimension: int) -> npt.NDArray[np.float32]:
    """Return vectors as `(n, dimension)` float32 with L2 norm 1, or refuse them.

    Rows of any length are scaled; only a row without direction cannot be.

    Raises:
        EmbedderError: Not numbers, another shape, NaN or infinity, or a row of zeros.
    """
    import numpy as np

    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbedderError(f"The embedder returned no array of numbers: {error}", hint=_HINT) from error
    if rows.shape != (n, dimension):
        raise EmbedderError(f"The embedder returned shape {rows.shape!r} instead of {(n, dimension)!r}", hint=_HINT)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    if ((lengths > _SMALL) & (lengths < 1 / _SMALL)).all():  # then no entry is NaN or infinite either
        usual: npt.NDArray[np.float64] = rows / lengths
        return usual.astype(np.float32)
    if not np.isfinite(rows).all():
        raise EmbedderError("The embedder returned NaN or infinity", hint=_HINT)
    # Scaled by the largest entry first, so that squares neither overflow nor vanish.
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    if not (largest > 0).all():
        raise EmbedderError("The embedder returned a vector of zeros", hint=_HINT)
    scaled = rows / largest
    unit: npt.NDArray[np.float64] = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    return unit.astype(np.float32)


def checked_documents(embedder: Embedder, texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Embed documents with any embedder and check the result.

    Raises:
        EmbedderError: The embedder failed, or returned something unusable.
    """
    dimension = embedder.identity.dimension
    try:
        vectors = embedder.embed_documents(texts)
    except MemantoError:
        raise
    except Exception as error:  # foreign code may raise anything
        raise _failure(embedder, error) from error
    return check_vectors(vectors, len(texts), dimension)


def checked_query(embedder: Embedder, text: str) -> npt.NDArray[np.float32]:
    """Embed a query with any embedder and check the result, `(dimension,)`.

    Raises:
        EmbedderError: The embedder failed, or returned something unusable.
    """
    dimension = embedder.identity.dimension
    try:
        vector = embedder.embed_query(text)
    except MemantoError:
        raise
    except Exception as error:  # foreign code may raise anything
        raise _failure(embedder, error) from error
    row: npt.NDArray[np.float32] = check_vectors([vector], 1, dimension)[0]
    return row


def _failure(embedder: Embedder, error: Exception) -> EmbedderError:
    return EmbedderError(f"The embedder {embedder.identity.name!r} failed: {type(error).__name__}: {error}", hint=_HINT)
