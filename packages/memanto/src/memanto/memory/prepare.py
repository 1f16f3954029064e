"""From a draft to everything that can be known of a memory before the store is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from memanto.errors import InvalidInputError
from memanto.ids import new_memory_id
from memanto.memory.classify import GUESS_FACTOR, classify
from memanto.memory.fencing import refuse_fenced
from memanto.memory.namespace import Meta, Namespace
from memanto.memory.redaction import redact_draft
from memanto.memory.splitting import PART_LENGTH, split
from memanto.memory.trust import initial_status
from memanto.memory.validation import check_draft, unfilled_template
from memanto.models import (
    DEFAULT_CONFIDENCE,
    MAX_BATCH,
    MAX_CONTENT,
    Draft,
    Memory,
    MemoryType,
    Provenance,
    Redaction,
)

PREVIEW: Final = 300
"""Characters of a split text that its parent shows; the whole text is the concatenation of its parts."""


SEARCHED: Final = 200_000
"""Characters of an artifact, from its beginning, whose words are searched; what follows is paged through. Indexing a
result of five megabytes, which an agent waits for, took three seconds, and reading it for its meaning a minute."""
EMBEDDED: Final = 10
"""Parts of so long an artifact that are also found by meaning: what it is about stands at its beginning."""

TYPE_GUESSED: Final = "type guessed from the text"
"""Begins the warning of a receipt whose type the writer did not give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What a surface fills in where a draft is silent."""

    source: str = "user"
    provenance: Provenance = Provenance.EXPLICIT_STATEMENT
    actor: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A checked draft.

    Attributes:
        memory: Version 1 as it would be if nothing of it were known.
        text: The whole text, redacted.
        digest: Keyed digest of the text.
        texts: The text, or its parts when it is longer than one memory holds.
        searched: How many of the texts are searched, from the first on; `None` for all.
        redactions: What was removed from it.
        warnings: For the receipt.
    """

    memory: Memory
    text: str
    digest: str
    texts: tuple[str, ...]
    searched: int | None = None
    redactions: tuple[Redaction, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def indexed(self) -> tuple[str, ...]:
        """What is searched, per text: its words, and its meaning unless it is among `words_only`."""
        return tuple(indexed_text(self.memory, text) for text in self.texts[: self.searched])

    @property
    def words_only(self) -> tuple[str, ...]:
        """Those of `indexed` that are not embedded."""
        return () if self.searched is None else self.indexed[EMBEDDED:]


def prepare(
    drafts: Sequence[Draft], defaults: Defaults, *, namespace: Namespace, meta: Meta, now: datetime
) -> list[Prepared]:
    """Check, redact and complete drafts.

    Raises:
        InvalidInputError: A draft breaks a limit; in a batch the message names which.
    """
    if not 0 < len(drafts) <= MAX_BATCH:
        raise InvalidInputError(f"a batch holds 1 to {MAX_BATCH} memories, not {len(drafts)}")
    prepared = []
    for number, draft in enumerate(drafts, start=1):
        try:
            prepared.append(_prepare_one(draft, defaults, namespace, meta, now))
        except InvalidInputError as error:
            if len(drafts) == 1:
                raise
            raise InvalidInputError(f"memory {number} of the batch: {error.message}", hint=error.hint) from error
    return prepared


def _prepare_one(draft: Draft, defaults: Defaults, namespace: Namespace, meta: Meta, now: datetime) -> Prepared:
    redacted, redactions = redact_draft(check_draft(draft))
    checked = check_draft(redacted)
    text = checked.content
    refuse_fenced(text)
    texts, searched = _parts(text, checked.type) if len(text) > MAX_CONTENT else ((text,), None)
    if len(texts) > 1 and checked.key is not None:
        raise InvalidInputError(
            f"a value under key {checked.key!r} holds at most {MAX_CONTENT} characters, not {len(text)}",
            hint="store the text without a key and keep its id under the key",
        )
    kind = checked.type or classify(text).type
    confidence, warnings = _confidence(checked), []
    if unfilled_template(text):
        warnings.append("template not filled: the text still holds a placeholder in angle brackets")
    if checked.type is None:
        warnings.append(f"{TYPE_GUESSED}: {kind.value}")
    provenance = checked.provenance or defaults.provenance
    memory = Memory(
        id=new_memory_id(),
        version=1,
        namespace=namespace.name,
        type=kind,
        content=text if len(texts) == 1 else preview(text),
        title=checked.title or default_title(text),
        title_given=checked.title is not None,
        recorded_at=now,
        tags=checked.tags,
        confidence=confidence,
        provenance=provenance,
        source=checked.source or defaults.source,
        source_ref=checked.source_ref,
        status=initial_status(kind, provenance),
        valid_from=checked.valid_from,
        valid_to=checked.valid_to,
        begins=checked.valid_from,
        run_id=checked.run_id or defaults.run_id,
        actor=checked.actor or defaults.actor,
        key=checked.key,
        pinned=checked.pinned,
        metadata=checked.metadata,
        type_guessed=checked.type is None,
        parts=len(texts) if len(texts) > 1 else 0,
    )
    return Prepared(
        memory=memory,
        text=text,
        digest=namespace.digest(memory, text, meta),
        texts=texts,
        searched=searched,
        redactions=redactions,
        warnings=tuple(warnings),
    )


def _parts(text: str, kind: MemoryType | None) -> tuple[tuple[str, ...], int | None]:
    """Return the parts of a long text, and how many of them are searched: large ones follow, which cost less."""
    large = kind is MemoryType.ARTIFACT and len(text) > SEARCHED + PART_LENGTH
    searched = split(text[:SEARCHED])[:-1] if large else []  # the last one may end within a word
    if not searched:
        return tuple(split(text)), None
    rest = split(text[sum(map(len, searched)) :], MAX_CONTENT)
    return (*searched, *rest), len(searched)


def retype(item: Prepared, vector: Sequence[float] | None) -> Prepared:
    """Return a draft with the type that its text and its vector suggest together, if its type was guessed.

    Args:
        item: The draft, its type guessed from the words alone so far.
        vector: Of its text, from the embedder of `prototypes()`; `None` leaves it as it is.
    """
    memory = item.memory
    if vector is None or not memory.type_guessed:
        return item
    kind = classify(item.text, vector).type
    former = f"{TYPE_GUESSED}: {memory.type.value}"
    return replace(
        item,
        memory=replace(memory, type=kind, status=initial_status(kind, memory.provenance)),
        warnings=tuple(f"{TYPE_GUESSED}: {kind.value}" if text == former else text for text in item.warnings),
    )


def _confidence(draft: Draft) -> float:
    if draft.confidence is not None:
        return draft.confidence
    return DEFAULT_CONFIDENCE if draft.type is not None else round(DEFAULT_CONFIDENCE * GUESS_FACTOR, 6)


def preview(text: str) -> str:
    """Return what the parent of a split text shows."""
    return f"{text[:PREVIEW].rstrip()} …"


def default_title(text: str) -> str:
    """Return the first words of a text on one line, at most 60 characters."""
    line = " ".join(text[:200].split())
    return line if len(line) <= 60 else f"{line[:59].rstrip()}…"


def indexed_text(memory: Memory, text: str) -> str:
    """Return what is embedded and whose words are counted: the text, led by a title that was given."""
    return f"{memory.title}\n{text}" if memory.title_given else text
