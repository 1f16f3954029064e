"""Giving a namespace the vectors of another embedder: beside the old ones, resumable, and reversible.

Vectors of every embedder have a name of their own. The new ones are added point by point while reads go on
with the old; when none is missing the namespace is switched. What was added stays when this is interrupted,
so the next run goes on where it ended. The old vectors are kept: reindexing to a former embedder only fills in
what was written since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from memanto.embedding.port import Embedder
from memanto.engine.schema import LEXICAL_VECTOR
from memanto.filters import HasVector, Where
from memanto.memory.namespace import Namespace, vector_name
from memanto.memory.spaces import Space, embed

BATCH: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexed:
    """What a run did.

    Attributes:
        embedded: Versions that got a vector in this run.
        total: Versions that carry words, and so a vector.
        switched: The namespace searches these vectors now and did not before.
        former: The embedder it searched before, or `None` when it was lexical only.
    """

    embedded: int
    total: int
    switched: bool
    former: str | None


def reindex(
    namespace: Namespace, embedder: Embedder, *, progress: Callable[[int, int], None] | None = None
) -> Reindexed:
    """Fill in vectors of `embedder` where they are missing, then search them.

    Args:
        namespace: The namespace; it can be read and written meanwhile.
        embedder: Its vectors become the ones that are searched.
        progress: Called with (done, total) after each batch.

    Raises:
        EmbedderError: The embedder failed; what was embedded before stays, and nothing is switched.
    """
    engine, name = namespace.engine, namespace.name
    space = vector_name(embedder.identity)
    engine.add_vector_name(name, space, embedder.identity.dimension)
    searchable = Where((HasVector(LEXICAL_VECTOR),))
    missing = searchable.without(HasVector(space))
    embedded = 0
    while True:
        waiting = engine.scan(name, missing, limit=BATCH, fields=["content", "title", "title_given"])
        if waiting:
            texts = [_indexed(point.payload) for point in waiting]
            vectors = embed(embedder, texts)
            engine.put_vectors(name, space, {point.id: vector for point, vector in zip(waiting, vectors, strict=True)})
            embedded += len(waiting)
            if progress is not None:
                progress(embedded, embedded + engine.count(name, missing))
            continue
        with engine.hold(name):
            if engine.count(name, missing):
                continue  # written meanwhile
            meta = namespace.meta()
            if meta.space == embedder.identity:
                former = meta.former[0].name if meta.former else None
                return Reindexed(embedded=embedded, total=engine.count(name, searchable), switched=False, former=former)
            kept = [identity for identity in (meta.space, *meta.former) if identity and identity != embedder.identity]
            Space(namespace, lambda: embedder).bind(meta, embedder.identity, former=tuple(dict.fromkeys(kept)))
            return Reindexed(
                embedded=embedded,
                total=engine.count(name, searchable),
                switched=True,
                former=meta.space.name if meta.space else None,
            )


def _indexed(payload: Mapping[str, Any]) -> str:
    content = str(payload["content"])
    return f"{payload['title']}\n{content}" if payload.get("title_given") else content
