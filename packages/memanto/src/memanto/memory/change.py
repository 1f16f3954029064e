"""Changing what a memory says or how it stands: every change is a new version with its reason.

`forget` is the one exception: it destroys every version's text and leaves a tombstone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final
from uuid import UUID

from memanto.counted import counted
from memanto.engine.port import SparseVector, Vector
from memanto.errors import InvalidInputError, NotFoundError, VersionConflictError
from memanto.ids import version_point_id
from memanto.memory.fencing import refuse_fenced
from memanto.memory.namespace import Meta, Namespace
from memanto.memory.prepare import default_title, indexed_text
from memanto.memory.redaction import redact_draft
from memanto.memory.spaces import Space
from memanto.memory.validation import check_draft
from memanto.memory.versions import NewVersion, VersionLog, next_version
from memanto.models import MAX_CONTENT, Decision, Draft, Memory, MemoryType, Provenance, Receipt, Redaction, Status

_ATTEMPTS: Final = 8

EDITABLE: Final = frozenset(
    {
        "content",
        "type",
        "title",
        "tags",
        "confidence",
        "source",
        "source_ref",
        "valid_from",
        "valid_to",
        "metadata",
        "provenance",
    }
)
"""Fields `edit` may change. A key is given by `remember`, standing by the verbs named after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class By:
    """Who changes something, and why."""

    actor: str
    reason: str = ""

    def decision(self, action: str) -> Decision:
        """Return the record of this change."""
        return Decision(actor=self.actor, action=action, reason=self.reason)


class Editor:
    """Appends versions to existing memories of one namespace."""

    def __init__(self, namespace: Namespace, space: Space, *, durable: str) -> None:
        self._namespace = namespace
        self._space = space
        self._log = VersionLog(namespace)
        self._durable = durable

    # -- what it says -------------------------------------------------------------------------------
    def edit(
        self, memory_id: str, changes: Mapping[str, Any], by: By, *, expected_version: int | None = None
    ) -> Receipt:
        """Append a version with other contents.

        Args:
            memory_id: Full id.
            changes: Fields of `EDITABLE` with their new values; `None` clears an optional one.
            by: Who and why.
            expected_version: The version the change was made on; another head is a conflict.

        Raises:
            InvalidInputError: No field, an unknown field, a value out of its limits, or a memory that cannot
                be edited (a tombstone, or a text that was split).
            VersionConflictError: Somebody else appended a version meanwhile.
        """
        unknown = sorted(set(changes) - EDITABLE)
        if unknown or not changes:
            what = f"cannot edit {', '.join(map(repr, unknown))}" if unknown else "an edit changes at least one field"
            raise InvalidInputError(what, hint=f"fields: {', '.join(sorted(EDITABLE))}")
        head = self._head(memory_id, expected_version)
        if head.status is Status.FORGOTTEN:
            raise InvalidInputError(f"memory {head.id} was forgotten", hint="remember its text anew")
        if isinstance(changes.get("content"), str):
            refuse_fenced(changes["content"])
        if "content" in changes and (head.parts or head.part):
            raise InvalidInputError(
                f"memory {head.id} belongs to a text that was split", hint="remember the new text, then expire this one"
            )
        changed, redactions = self._edited(head, changes)
        reworded = indexed_text(changed, changed.content) != indexed_text(head, head.content)
        meta = self._namespace.meta()
        if reworded and not head.parts:
            encoded = self._space.encode([indexed_text(changed, changed.content)], meta)
            [words] = encoded.values()
            dense: Mapping[str, Vector] = words.dense
            lexical: SparseVector | None = words.lexical
        else:
            point = self._log.points([head])[head.id]
            dense, lexical = point.dense, point.lexical
        digest = self._digest(head, changed, meta)
        memory = next_version(changed, decision=by.decision("edit"))
        new = NewVersion(memory=memory, dense=dense, lexical=lexical, content_hash=digest, previous=head)
        with self._namespace.engine.hold(self._namespace.name):
            stored = self._log.append_one(new)
            if digest:
                self._log.point_text(digest, stored.id)
        return self._receipt(stored, redactions)

    def _digest(self, head: Memory, changed: Memory, meta: Meta) -> str:
        """Return the digest of an edited memory; a split text keeps that of its whole, a part has none."""
        if head.part:
            return ""
        if head.parts:
            return str(self._log.points([head], vectors=False)[head.id].payload.get("content_hash", ""))
        return self._namespace.digest(changed, changed.content, meta)

    def _edited(self, head: Memory, changes: Mapping[str, Any]) -> tuple[Memory, tuple[Redaction, ...]]:
        draft_fields = {field.name for field in fields(Draft)} - {"key", "run_id", "actor", "pinned"}
        values = {name: getattr(head, name) for name in draft_fields}
        values["title"] = head.title if head.title_given else None
        values.update(changes)
        if head.parts:
            values["content"] = head.content
        values["tags"] = values["tags"] or ()
        values["metadata"] = values["metadata"] or {}
        draft, redactions = redact_draft(check_draft(Draft(**values)))
        draft = check_draft(draft)
        if len(draft.content) > MAX_CONTENT:
            raise InvalidInputError(
                f"content has {len(draft.content)} characters; an edit holds at most {MAX_CONTENT}",
                hint="remember the long text instead: it is split under a parent",
            )
        changed = replace(
            head,
            content=draft.content,
            type=draft.type or head.type,
            type_guessed=head.type_guessed and "type" not in changes,
            title=draft.title or default_title(draft.content),
            title_given=draft.title is not None,
            tags=draft.tags,
            confidence=head.confidence if draft.confidence is None else draft.confidence,
            provenance=draft.provenance or head.provenance,
            source=draft.source or head.source,
            source_ref=draft.source_ref,
            valid_from=draft.valid_from,
            valid_to=draft.valid_to,
            begins=draft.valid_from if "valid_from" in changes else head.begins,
            metadata=draft.metadata,
        )
        return changed, redactions

    # -- how it stands ------------------------------------------------------------------------------
    def verify(self, memory_id: str, by: By, *, confidence: float | None = None) -> Receipt:
        """Record that a memory was checked: `validated`, active, and with at least confidence 0.9."""
        head = self._head(memory_id)
        self._refuse(head, {Status.FORGOTTEN, Status.SUPERSEDED}, "verified")
        sure = max(head.confidence, 0.9) if confidence is None else confidence
        changes = {"status": Status.ACTIVE, "provenance": Provenance.VALIDATED, "confidence": sure}
        with self._namespace.engine.hold(self._namespace.name):
            stored = self._restate(head, by.decision("verify"), **changes)
            self._take_slot(stored, by)
        return self._receipt(stored)

    def quarantine(self, memory_id: str, by: By) -> Receipt:
        """Demote a memory that proved wrong or unfounded."""
        head = self._head(memory_id)
        self._refuse(head, {Status.FORGOTTEN}, "quarantined")
        return self._receipt(self._restate(head, by.decision("quarantine"), status=Status.QUARANTINED))

    def expire(self, memory_id: str, by: By) -> Receipt:
        """Retire a memory; `restore` brings it back."""
        head = self._head(memory_id)
        self._refuse(head, {Status.FORGOTTEN, Status.EXPIRED}, "expired")
        return self._receipt(self._restate(head, by.decision("expire"), status=Status.EXPIRED))

    def restore(self, memory_id: str, by: By) -> Receipt:
        """Bring an expired, superseded or quarantined memory back to the standing it had before."""
        head = self._head(memory_id)
        self._refuse(head, {Status.FORGOTTEN, Status.ACTIVE}, "restored")
        before = [version.status for version in self._log.history(head.id) if version.status is not head.status]
        status = before[-1] if before and before[-1] is not Status.FORGOTTEN else Status.ACTIVE
        if status is Status.ACTIVE and head.type is MemoryType.FACT and head.provenance is Provenance.INFERRED:
            status = Status.QUARANTINED
        return self._receipt(self._restate(head, by.decision("restore"), status=status))

    def pin(self, memory_id: str, by: By, *, pinned: bool) -> Receipt:
        """Set or remove the mark that keeps a memory in front of every brief."""
        head = self._head(memory_id)
        self._refuse(head, {Status.FORGOTTEN}, "pinned")
        if head.pinned is pinned:
            return self._receipt(head)
        return self._receipt(self._restate(head, by.decision("pin" if pinned else "unpin"), pinned=pinned))

    def supersede(self, old_id: str, new_id: str, by: By) -> Receipt:
        """Record that one memory took the place of another, which stays readable in history.

        Raises:
            InvalidInputError: They are the same, or the new one is not trusted enough to replace the old.
        """
        old, new = self._head(old_id), self._head(new_id)
        if old.id == new.id:
            raise InvalidInputError(
                f"memory {old.id} cannot supersede itself", hint="name the one that takes its place second"
            )
        if new.status is not Status.ACTIVE:
            raise InvalidInputError(
                f"memory {new.id} is {new.status.value} and cannot supersede another", hint="verify it first"
            )
        self._refuse(old, {Status.FORGOTTEN, Status.SUPERSEDED}, "superseded")
        decision = by.decision("supersede")
        return self._receipt(self._restate(old, decision, status=Status.SUPERSEDED, superseded_by=new.id))

    def _take_slot(self, verified: Memory, by: By) -> None:
        """Let a verified claim that waited beside its key's memory take that memory's place."""
        if verified.key is None:
            return
        slot = ("key", verified.key)
        owner, token = self._namespace.slots([slot]).get(slot, (None, None))
        if owner == verified.id:
            return
        if owner is not None:
            head = self._log.heads([owner]).get(owner)
            if head is not None and head.status is Status.ACTIVE:
                self._restate(head, by.decision("supersede"), status=Status.SUPERSEDED, superseded_by=verified.id)
        self._namespace.claim(*slot, verified.id, token=token)

    def _restate(self, head: Memory, decision: Decision, **changes: Any) -> Memory:
        """Append a version with the same text and another standing; a split text's parts follow it."""
        family = [head, *(self._log.parts(head.id) if head.parts else ())]
        points = self._log.points(family)
        versions = []
        for memory in family:
            point = points[memory.id]
            mine = changes if memory is head else {name: value for name, value in changes.items() if name != "pinned"}
            new = next_version(memory, decision=decision, **mine)
            digest = str(point.payload.get("content_hash", ""))
            versions.append(
                NewVersion(memory=new, dense=point.dense, lexical=point.lexical, content_hash=digest, previous=memory)
            )
        stored = self._log.append(versions)
        if stored[0] is None:
            raise VersionConflictError(
                f"memory {head.id} was changed by somebody else meanwhile", hint="read it again and repeat the change"
            )
        return stored[0]

    # -- forgetting ---------------------------------------------------------------------------------
    def forget(self, memory_ids: Sequence[str], by: By) -> list[Receipt]:
        """Erase memories: every version's text, title, tags, metadata and vectors. Tombstones remain.

        On an embedded store their bytes are gone from its folder when this returns. A version that another process
        appends meanwhile is erased too.

        Raises:
            VersionConflictError: Others kept changing them.
        """
        wanted = list(dict.fromkeys(memory_ids))
        with self._namespace.engine.hold(self._namespace.name):
            left = wanted
            for _ in range(_ATTEMPTS):
                left = self._erase(left, by)
                if not left:
                    return [self._receipt(self._log.head(memory_id)) for memory_id in wanted]
        raise VersionConflictError(f"memory {left[0]} keeps changing while it is forgotten", hint="forget it again")

    def _erase(self, memory_ids: Sequence[str], by: By) -> list[str]:
        """Erase what is there of memories and of their parts; return the ids of those that got a version meanwhile.

        Of those the versions before are gone all the same, so they have to be erased again.
        """
        heads = [self._head(memory_id) for memory_id in memory_ids]
        living = [head for head in heads if head.status is not Status.FORGOTTEN]
        # Also the steps of a run, which are parts of it although its text was not split.
        family = [memory for head in living for memory in (head, *self._log.parts(head.id))]
        doomed: list[UUID] = [
            version_point_id(self._namespace.name, memory.id, version)
            for memory in family
            for version in range(1, memory.version + 1)
        ]
        tombstones = [NewVersion(memory=_tombstone(memory, by)) for memory in family]
        stored = self._log.append(tombstones, erase=doomed) if tombstones else []
        return [memory.id for memory, found in zip(family, stored, strict=True) if found is None]

    # -- helpers ------------------------------------------------------------------------------------
    def _head(self, memory_id: str, expected_version: int | None = None) -> Memory:
        head = self._log.head(memory_id)
        if expected_version is not None and head.version != expected_version:
            raise VersionConflictError(
                f"memory {head.id} is at version {head.version}, not {expected_version}",
                hint="read it again and repeat the change",
            )
        return head

    @staticmethod
    def _refuse(head: Memory, statuses: set[Status], what: str) -> None:
        if head.status in statuses:
            raise InvalidInputError(
                f"memory {head.id} is {head.status.value} and cannot be {what}",
                hint=f"`memanto history {head.id}` shows what became of it",
            )

    def _receipt(self, memory: Memory, redactions: tuple[Redaction, ...] = ()) -> Receipt:
        return Receipt(
            id=memory.id,
            version=memory.version,
            status=memory.status,
            type=memory.type,
            recorded_at=memory.recorded_at,
            type_guessed=memory.type_guessed,
            searchable="hybrid" if self._namespace.meta().space is not None else "lexical",
            redactions=redactions,
            durable=self._durable,
        )


def _tombstone(memory: Memory, by: By) -> Memory:
    """Return what stays of a forgotten memory: that it was there, its type, and who forgot it when."""
    return Memory(
        id=memory.id,
        version=memory.version + 1,
        namespace=memory.namespace,
        type=memory.type,
        content="",
        title="",
        recorded_at=memory.recorded_at,
        confidence=0.0,
        provenance=memory.provenance,
        source=memory.source,
        status=Status.FORGOTTEN,
        decision=Decision(actor=by.actor, action="forget", reason=by.reason),
        parent_id=memory.parent_id,
        part=memory.part,
        parts=memory.parts,
    )


def full_text(log: VersionLog, memory: Memory) -> str:
    """Return a memory's whole text; for a split one, the concatenation of its parts.

    Raises:
        NotFoundError: A part of a split text is missing.
    """
    if not memory.parts:
        return memory.content
    parts = [part for part in log.parts(memory.id) if part.status is not Status.FORGOTTEN]
    if [part.part for part in parts] != list(range(1, memory.parts + 1)):
        raise NotFoundError(
            f"memory {memory.id} was split into {counted(memory.parts, 'part')}, and {len(parts)} can be found",
            hint="run `memanto doctor`",
        )
    return "".join(part.content for part in parts)
