"""Models: which one is used, where its files are, and how they are run.

Importing this package loads no model library; they load at the first embedding.
"""

from memanto.embedding.choice import Choice, default_embedder, default_reranker
from memanto.embedding.specs import DEFAULT_MODEL, DEFAULT_RERANKER

__all__ = ["DEFAULT_MODEL", "DEFAULT_RERANKER", "Choice", "default_embedder", "default_reranker"]
