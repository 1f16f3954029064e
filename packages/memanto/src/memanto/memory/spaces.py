"""The vector space of a namespace: which embedder its vectors come from, and encoding into it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from memanto.embedding.checks import checked_documents, checked_query
from memanto.embedding.port import Embedder, EmbedderIdentity
from memanto.engine.bm25 import encode_document
from memanto.engine.port import SparseVector, Vector
from memanto.errors import EmbedderMismatchError, VersionConflictError
from memanto.filters import TimeRange, Where
from memanto.memory.namespace import Meta, Namespace, vector_name


@dataclass(frozen=True, slots=True)
class Encoded:
    """Vectors (by name) and words of one text."""

    dense: dict[str, Vector]
    lexical: SparseVector


class Space:
    """Encodes texts for one namespace with the embedder it is bound to.

    Args:
        namespace: The namespace.
        embedder: Called when vectors are first needed; `None` from it means that only words can be used.
    """

    def __init__(self, namespace: Namespace, embedder: Callable[[], Embedder | None]) -> None:
        self._namespace = namespace
        self._provider = embedder

    def embedder(self, meta: Meta) -> Embedder | None:
        """Return the embedder whose vectors this namespace holds, or `None` where only words are searched.

        Raises:
            EmbedderMismatchError: The namespace was built with another embedder.
        """
        embedder = self._provider()
        if embedder is None:
            return None
        space = meta.space or self._namespace.meta().space
        if space is not None and embedder.identity != space:
            raise mismatch(self._namespace.name, space, embedder.identity)
        return embedder if space is not None else None

    def _is_empty(self) -> bool:
        return not self._namespace.engine.scan(self._namespace.name, _ANY_VERSION, limit=1, fields=["memory_id"])

    def _bind_first(self, identity: EmbedderIdentity) -> EmbedderIdentity | None:
        """Bind a namespace without memories; return the space it has then, which may be somebody else's."""
        empty = self._is_empty()
        meta = self._namespace.meta()
        if meta.space is None and empty:
            try:
                return self.bind(meta, identity).space
            except VersionConflictError:  # somebody bound it meanwhile
                return self._namespace.meta().space
        return meta.space

    def bind(
        self, meta: Meta, identity: EmbedderIdentity, *, former: tuple[EmbedderIdentity, ...] | None = None
    ) -> Meta:
        """Make this embedder's vectors the ones that are searched."""
        engine, name = self._namespace.engine, self._namespace.name
        engine.add_vector_name(name, vector_name(identity), identity.dimension)
        kept = meta.former if former is None else former
        return self._namespace.update_meta(meta, space=identity, former=kept)

    def encode(
        self, texts: Sequence[str], meta: Meta, *, bind: bool = True, words_only: Collection[str] = ()
    ) -> dict[str, Encoded]:
        """Return vectors and words per text; only words for those in `words_only`.

        A namespace without memories is bound to the embedder in use (if `bind`), once that has shown that it
        works. One with memories and no vectors stays lexical until it is reindexed.

        Raises:
            EmbedderError: The embedder failed or returned something unusable; nothing was stored.
            EmbedderMismatchError: The namespace was built with another embedder.
        """
        words = {text: encode_document(text) for text in texts}
        embedder = self._provider() if texts else None
        space = meta.space
        if embedder is not None:
            # Whoever stored a version with vectors had bound the namespace before: look first, then read.
            empty = space is None and self._is_empty()
            space = space or self._namespace.meta().space
            if space is not None or (empty and bind):
                if space is not None and space != embedder.identity:
                    raise mismatch(self._namespace.name, space, embedder.identity)
                meant = [text for text in words if text not in words_only]
                vectors = embed(embedder, meant)
                space = space or self._bind_first(embedder.identity)
                if space is not None and space != embedder.identity:
                    raise mismatch(self._namespace.name, space, embedder.identity)
                if space is not None:
                    name = vector_name(space)
                    dense = {text: {name: row} for text, row in zip(meant, vectors, strict=True)}
                    return {text: Encoded(dense.get(text, {}), sparse) for text, sparse in words.items()}
        return {text: Encoded({}, sparse) for text, sparse in words.items()}

    def encode_query(self, text: str, meta: Meta) -> tuple[str, Vector] | None:
        """Return the vector name to search and the query's vector, or `None` where only words are searched."""
        embedder = self.embedder(meta)
        if embedder is None:
            return None
        return vector_name(embedder.identity), checked_query(embedder, text).tolist()


def embed(embedder: Embedder, texts: Sequence[str]) -> list[Vector]:
    """Return one checked, L2-normalised vector per text."""
    rows: list[Vector] = checked_documents(embedder, texts).tolist()
    return rows


def mismatch(namespace: str, stored: EmbedderIdentity, given: EmbedderIdentity) -> EmbedderMismatchError:
    """Return the error for a namespace whose vectors come from another embedder."""
    same = " (other weights or prefixes)" if stored.name == given.name else ""
    return EmbedderMismatchError(
        f"agent {namespace!r} holds vectors of {stored.name!r}, not of {given.name!r}{same}",
        hint=f"run `memanto reindex --agent {namespace} --embedder {given.name}`, or use {stored.name!r}",
    )


_ANY_VERSION = Where((TimeRange("recorded_at", gte="0001-01-01T00:00:00.000000Z"),))
