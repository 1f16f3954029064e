"""Memories as LangChain documents, and back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from langchain_core.documents import Document

from memanto import Memory, MemoryType, Provenance, Recollection, Status
from memanto.errors import InvalidInputError
from memanto.toolkit.reading import described


def documents_of(found: Sequence[Recollection]) -> list[Document]:
    """Return one document per recollection, in the order given.

    `page_content` is the memory's text, `id` its id. The metadata holds what JSON can hold: `type`, `title`, `agent`,
    `version`, `recorded_at`, `valid_from`, `valid_to` (ISO 8601 with zone, or `None`), `confidence`, `provenance`,
    `status`, `source`, `source_ref`, `tags`, `key`, `run_id`, `pinned`, `parent_id` (of a part of a long text), `score`
    (comparable within one result only), and `conflicts`: ids of documents of the same result that say otherwise.
    """
    return [
        Document(id=told.pop("id"), page_content=hit.memory.content, metadata=told)
        for hit, told in zip(found, described(found), strict=True)
    ]


def memory_of(document: Document) -> Memory:
    """Return the memory that a document of the retriever shows, with what is needed to cite it.

    Raises:
        InvalidInputError: The document does not come from the retriever.
    """
    kept = document.metadata
    try:
        return Memory(
            id=str(document.id),
            version=kept["version"],
            namespace=kept["agent"],
            type=MemoryType(kept["type"]),
            content=document.page_content,
            title=kept["title"],
            recorded_at=datetime.fromisoformat(kept["recorded_at"]),
            confidence=kept["confidence"],
            provenance=Provenance(kept["provenance"]),
            status=Status(kept["status"]),
            source=kept["source"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"document {document.id!r} does not come from MemantoRetriever ({type(error).__name__}: {error})",
            hint="pass documents as the retriever returns them",
        ) from error
