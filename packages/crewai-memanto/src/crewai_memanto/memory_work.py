"""What `MemantoMemory` does with an agent's memory, apart from what CrewAI wants of it. Everything here blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from crewai.memory.types import MemoryMatch, MemoryRecord

from crewai_memanto.distil import Finding
from crewai_memanto.matches import matches_of, weighed
from crewai_memanto.record_store import RecordStore
from crewai_memanto.records import Kept, Style, is_record, kept_of, record_of
from crewai_memanto.scopes import ROOT, category_tag, scope_tag, slot_of, tags_of
from memanto import Draft, Memanto, Memory, Receipt, Recollection
from memanto.adapter import Failsafe
from memanto.errors import InvalidInputError, NotFoundError
from memanto.loop.fence import whole
from memanto.models import MAX_BATCH, MAX_CONTENT, MAX_LIMIT, MAX_QUERY


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a crew asks.

    Attributes:
        query: Its words.
        scope: There and below, in normal form.
        categories: Any of these.
        limit: At most this many, and 100.
        seen_by: Whose private records are shown beside those that are none; `None` alone for nobody's.
        everybody: Show all private records.
        rerank: Ask the cross-encoder.
        importance_weight: Share of its score that a record of importance 1 gets more.
    """

    query: str
    scope: str
    categories: Sequence[str]
    limit: int
    seen_by: str | None
    everybody: bool
    rerank: bool
    importance_weight: float

    def admits(self, memory: Memory) -> bool:
        """Return whether a memory may be an answer."""
        kept = kept_of(memory)
        return kept.is_in(self.scope, self.categories) and (self.everybody or kept.is_seen_by(self.seen_by))


class Work:
    """Stores and finds texts for a crew. May be used from several threads."""

    def __init__(self, memory: Memanto, style: Style, failsafe: Failsafe) -> None:
        self._memory = memory
        self._style = style
        self._failsafe = failsafe

    # -- writing ------------------------------------------------------------------------------------
    def store(self, contents: Sequence[str], kept: Kept, *, usual: float, alone: bool) -> list[MemoryRecord]:
        """Store texts and return the records of those stored.

        Args:
            contents: The texts.
            kept: What is kept beside each.
            usual: The importance of what states none.
            alone: Whether it is one text, of which the caller is to know when it cannot be kept.
        """
        drafts = [kept.draft(text, self._style, key=_slot(text, kept), title=_about(text)) for text in contents]
        records = []
        for first in range(0, len(drafts), MAX_BATCH):
            for receipt in self._receipts(drafts[first : first + MAX_BATCH], alone=alone):
                memory = self._memory.show(receipt.id)
                if receipt.duplicate and is_record(memory):
                    memory = self._completed(memory, kept, usual)
                records.append(record_of(memory, own_id=False))
        return records

    def _receipts(self, drafts: Sequence[Draft], *, alone: bool) -> list[Receipt]:
        """Store drafts; of several, one that cannot be kept does not keep the others from it."""
        try:
            return self._memory.remember_many(drafts)
        except InvalidInputError:
            if alone:
                raise
        stored: list[Receipt] = []
        for draft in drafts:
            try:
                stored.append(self._memory.remember(draft))
            except InvalidInputError as error:
                self._failsafe.note("remember one of several", error)
        return stored

    def _completed(self, memory: Memory, kept: Kept, usual: float) -> Memory:
        """Return a memory whose text was said again, with the categories and metadata that came with it."""
        before = kept_of(memory)
        after = replace(
            before,
            categories=tuple(dict.fromkeys([*before.categories, *kept.categories])),
            metadata={**before.metadata, **kept.metadata},
            importance=before.importance if kept.importance == usual else kept.importance,
        )
        if after.packed() == before.packed():
            return memory
        return self._edited(memory, after, "said again through CrewAI")

    def update(self, record_id: str, content: str | None, **changes: Any) -> MemoryRecord:
        """Append a version of a record; `changes` are fields of `Kept`, of which `None` leaves what there is.

        Raises:
            NotFoundError: There is no such record.
            InvalidInputError: It did not come through CrewAI.
        """
        known = self._memory.show(record_id)
        if not is_record(known):
            raise InvalidInputError(
                f"memory {known.id} did not come through CrewAI", hint=f"`memanto edit {known.id}` changes it"
            )
        before = kept_of(known)
        after = replace(before, created_at=before.created_at or known.recorded_at)
        after = replace(after, **{name: value for name, value in changes.items() if value is not None})
        said: dict[str, Any] = {}
        if content is not None:  # a claim, even where what it said before was verified
            draft = after.draft(content, self._style, key=known.key)
            said = {"content": draft.content, "type": draft.type, "provenance": draft.provenance}
        return record_of(self._edited(known, after, "updated through CrewAI", **said), own_id=False)

    def _edited(self, memory: Memory, kept: Kept, reason: str, **changes: Any) -> Memory:
        tags = tags_of(kept.scope, kept.categories)
        self._memory.edit(memory.id, reason=reason, tags=tags, metadata=kept.packed(), **changes)
        return self._memory.show(memory.id)

    # -- reading ------------------------------------------------------------------------------------
    def found(self, question: Question) -> list[MemoryMatch]:
        """Return what memory has on a question, best first."""
        asked = whole(question.query[:MAX_QUERY])
        if question.limit < 1 or not asked.strip():
            return []
        wanted, size = min(question.limit, MAX_LIMIT), min(2 * question.limit, MAX_LIMIT)
        while True:
            hits = self._hits(asked, question, size)
            chosen: dict[str, Recollection] = {}
            for hit in filter(lambda one: question.admits(one.memory), hits):
                chosen.setdefault(hit.memory.parent_id or hit.memory.id, hit)  # the best part stands for a long text
            if len(chosen) >= wanted or len(hits) < size or size == MAX_LIMIT:
                break
            size = MAX_LIMIT  # private records of others took the places
        scored = [(hit, weighed(hit, question.importance_weight)) for hit in chosen.values()]
        scored.sort(key=lambda pair: (-pair[1], -pair[0].score))
        return matches_of(scored[:wanted])

    def _hits(self, asked: str, question: Question, size: int) -> list[Recollection]:
        try:
            return self._memory.recall(
                asked,
                tags=[] if question.scope == ROOT else [scope_tag(question.scope)],
                any_tags=[category_tag(one) for one in question.categories],
                limit=size,
                rerank=question.rerank,
            )
        except NotFoundError:  # nothing was ever written
            return []


class HandleRecords(RecordStore):
    """The records behind a `MemantoMemory`.

    Args:
        memory: The agent's memory.
        owned: Whether closing lets go of its store.
    """

    def __init__(self, memory: Memanto, *, owned: bool) -> None:
        super().__init__(memory, own_id=False)
        self._owned = owned

    def close(self) -> None:
        if self._owned:
            self._memory.close()


def _slot(text: str, kept: Kept) -> str | None:
    """Return what keeps equal texts of different scopes apart; in the root all surfaces share a text."""
    if (kept.scope == ROOT and not kept.private) or len(text) > MAX_CONTENT:
        return None
    return slot_of("text", kept.scope, kept.source if kept.private else "", text)


def _about(text: str) -> str | None:
    return text.about if isinstance(text, Finding) else None
