"""Memories as LangChain documents, and back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, TypeAlias

from langchain_core.documents import Document
from pydantic import AwareDatetime, BeforeValidator

from memanto import Memory, MemoryType, Provenance, Recollection, Status
from memanto.adapter import zoned
from memanto.errors import InvalidInputError
from memanto.loop.answer_conflict import disagreements

Moment: TypeAlias = Annotated[AwareDatetime, BeforeValidator(zoned)]
"""A time with a zone, as fields and arguments take it."""


def documents_of(found: Sequence[Recollection]) -> list[Document]:
    """Return one document per recollection, in the order given.

    `page_content` is the memory's text, `id` its id. The metadata holds what JSON can hold: `type`, `title`, `agent`,
    `version`, `recorded_at`, `valid_from`, `valid_to` (ISO 8601 with zone, or `None`), `confidence`, `provenance`,
    `status`, `source`, `source_ref`, `tags`, `key`, `run_id`, `pinned`, `parent_id` (of a part of a long text), `score`
    (comparable within one result only), and `conflicts`: ids of documents of the same result that say otherwise.
    """
    conflicts: dict[str, list[str]] = {}
    for newer, older in disagreements([hit.memory for hit in found]):
        conflicts.setdefault(newer.id, []).append(older.id)
        conflicts.setdefault(older.id, []).append(newer.id)
    return [_document(hit, conflicts.get(hit.memory.id, [])) for hit in found]


def _document(hit: Recollection, conflicts: list[str]) -> Document:
    memory = hit.memory
    return Document(
        id=memory.id,
        page_content=memory.content,
        metadata={
            "type": memory.type.value,
            "title": memory.title,
            "agent": memory.namespace,
            "version": memory.version,
            "recorded_at": memory.recorded_at.isoformat(),
            "valid_from": memory.valid_from and memory.valid_from.isoformat(),
            "valid_to": memory.valid_to and memory.valid_to.isoformat(),
            "confidence": memory.confidence,
            "provenance": memory.provenance.value,
            "status": memory.status.value,
            "source": memory.source,
            "source_ref": memory.source_ref,
            "tags": list(memory.tags),
            "key": memory.key,
            "run_id": memory.run_id,
            "pinned": memory.pinned,
            "parent_id": memory.parent_id,
            "score": hit.score,
            "conflicts": conflicts,
        },
    )


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
