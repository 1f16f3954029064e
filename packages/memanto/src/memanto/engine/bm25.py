"""BM25 weights of texts, as sparse vectors.

Only the term-frequency half is computed here; document frequencies are counted by the engine over the
corpus that a search names. The tokenizer, the English stop words and the stemmer are those of Qdrant, so the
vectors mean the same in the embedded engine and on a server.
"""

from __future__ import annotations

import functools

import qdrant_edge

from memanto.embedding.lexical import lexical_form
from memanto.engine.port import SparseVector


def encode_document(text: str) -> SparseVector:
    """Return the weights of a text to store; empty when it holds no word that counts."""
    return _sparse(_model().embed_document(lexical_form(text)))


def encode_query(text: str) -> SparseVector:
    """Return weight 1 for each distinct term; empty for a query of stop words, punctuation or emoji only."""
    return _sparse(_model().embed_query(lexical_form(text)))


@functools.cache
def _model() -> qdrant_edge.Bm25:
    # k 1.2, b 0.75 and an average length of 256 are the engine's defaults. A true average of short
    # memories would be lower and costs two points of recall on LoCoMo, so the default stays.
    config = qdrant_edge.Bm25Config(tokenizer=qdrant_edge.TokenizerType.Word, ascii_folding=True)
    return qdrant_edge.Bm25(config)


def _sparse(vector: qdrant_edge.SparseVector) -> SparseVector:
    return SparseVector(indices=tuple(vector.indices), values=tuple(vector.values))
