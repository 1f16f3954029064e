"""Writing new memories: from drafts to receipts.

prepare -> embed -> type -> slots -> append -> read back. Embedding happens before anything is held. Two slots say
where a draft belongs: its key, and its text. What their memories say now decides whether the draft is a
duplicate, a revival, the slot's next value, or a new memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import zip_longest
from typing import Final, Protocol, TypeAlias

from memanto.embedding.port import EmbedderIdentity
from memanto.engine.codec import decode
from memanto.engine.port import SparseVector
from memanto.errors import VersionConflictError
from memanto.ids import new_memory_id, version_point_id
from memanto.memory.classify import prototypes
from memanto.memory.namespace import Meta, Namespace, vector_name
from memanto.memory.prepare import TYPE_GUESSED, Defaults, Prepared, prepare, retype
from memanto.memory.spaces import Encoded, Space
from memanto.memory.trust import may_replace
from memanto.memory.versions import NewVersion, VersionLog, next_version
from memanto.memory.visibility import ENDING, REASSERTS, SUCCEEDS, live
from memanto.models import ConflictNote, Decision, Draft, Memory, Receipt, Status

_ATTEMPTS: Final = 8

RESTATES: Final = "restate"
"""Action of a version that makes a text current again."""

SIMILAR: Final = 0.85
"""Cosine from which a current memory is named as similar in a receipt. For bge-small, paraphrases lie between
.77 and .99 (mean .89) and other facts about the same subject below .73; contradictions look like paraphrases,
so this only points, it never merges."""

Slots: TypeAlias = Mapping[tuple[str, str], tuple[str, str]]
"""Who has a slot, as `Namespace.slots` read it: `(memory id, token)` by `(kind, name)`."""

NEIGHBOURS: Final = 5
"""Memories by meaning that a new one, which is the nearest of them, is compared with."""

_SIMILAR_BATCH: Final = 16
_SIMILAR_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Known:
    """What the store holds at a draft's slots.

    Attributes:
        by_key: Head of the memory that has the draft's key.
        by_text: Head of the memory that had the draft's text last.
        digests: Digests of the heads' texts by memory id.
        begun: Memory that owns the slot and was never stored: its writer died, or is just about to.
    """

    by_key: Memory | None
    by_text: Memory | None
    digests: Mapping[str, str]
    begun: str | None = None

    @property
    def memories(self) -> set[str]:
        """Ids of the memories that the draft may change or repeat."""
        found = {memory.id for memory in (self.by_key, self.by_text) if memory is not None}
        return found | {self.begun} if self.begun is not None else found

    def says(self, memory: Memory, digest: str) -> bool:
        """Return whether this memory's current text is the one with `digest`."""
        return self.digests.get(memory.id) == digest


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of one draft.

    Attributes:
        versions: To append; the last one is what the receipt is about. None for a duplicate.
        receipt: Complete but for what only storing tells.
        beside: It becomes a memory beside the one that has its slot.
    """

    versions: tuple[NewVersion, ...]
    receipt: Receipt
    beside: bool = False


class Judge(Protocol):
    """Says what a memory that was just stored may conflict with."""

    def least(self, embedder: str | None) -> float:
        """Return the cosine that a neighbour must reach to be compared."""

    def __call__(
        self, memory: Memory, near: Sequence[tuple[Memory, float]], embedder: str | None
    ) -> tuple[ConflictNote, ...]:
        """Return notes for the receipt.

        Args:
            memory: As it was stored.
            near: Current memories near it with their cosines, nearest first.
            embedder: Name of the embedder behind the cosines.
        """


class Writer:
    """Stores drafts in one namespace.

    Args:
        namespace: Where to.
        space: Encodes texts.
        durable: What a receipt says of durability.
        judge: Asked about each new memory's neighbours; `None` leaves conflicts to upkeep.
    """

    def __init__(self, namespace: Namespace, space: Space, *, durable: str, judge: Judge | None = None) -> None:
        self._namespace = namespace
        self._log = VersionLog(namespace)
        self._space = space
        self._durable = durable
        self._judge = judge

    def remember(self, drafts: Sequence[Draft], defaults: Defaults, *, now: datetime) -> list[Receipt]:
        """Store drafts in order and return one receipt each.

        All drafts are checked before the first is stored. Drafts that share a slot follow one another.

        Raises:
            InvalidInputError: A draft breaks a limit; nothing is stored.
            EmbedderError: A text could not be embedded; nothing is stored.
            VersionConflictError: Others kept changing the same memory.
        """
        meta = self._namespace.meta()
        items = prepare(drafts, defaults, namespace=self._namespace, meta=meta, now=now)
        encoded = self._encode(items, meta)
        items = _retyped(items, encoded)
        receipts: dict[int, Receipt] = {}
        lacking: list[str] = []
        idle_waves = 0
        while len(receipts) < len(items):
            if lacking:  # what was current when this began, and is not any more
                encoded.update(self._space.encode(lacking, meta))
            with self._namespace.engine.hold(self._namespace.name):
                space = self._check_space(encoded)
                lacking = []
                while len(receipts) < len(items) and not lacking:
                    waiting = [index for index in range(len(items)) if index not in receipts]
                    chosen = {index: items[index] for index in _without_shared_slots(waiting, items)}
                    stored, lacking = self._wave(chosen, encoded, now)
                    receipts.update(stored)
                    idle_waves = 0 if stored or lacking else idle_waves + 1
                    if idle_waves == _ATTEMPTS:
                        raise VersionConflictError("others keep changing the same memory", hint="try again")
                if not lacking:
                    self._finish(receipts, items, encoded, space)
        return [receipts[index] for index in range(len(items))]

    def preview(self, drafts: Sequence[Draft], defaults: Defaults, *, now: datetime) -> list[Receipt]:
        """Return the receipts these drafts would get on their own, storing nothing."""
        meta = self._namespace.meta()
        items = prepare(drafts, defaults, namespace=self._namespace, meta=meta, now=now)
        guessed = [item.indexed[0] for item in items if item.memory.type_guessed]
        items = _retyped(items, self._space.encode(guessed, meta, bind=False))
        with self._namespace.engine.hold(self._namespace.name):
            known = self._known(items, self._slots(items))
            plans = [self._plan(item, found, {}, now) for item, found in zip(items, known, strict=True)]
        return [plan.receipt for plan in plans]

    def _encode(self, items: Sequence[Prepared], meta: Meta) -> dict[str, Encoded]:
        """Encode the texts that are not current already, each once."""
        with self._namespace.engine.hold(self._namespace.name):
            known = self._known(items, self._slots(items))
        fresh = [
            text
            for item, found in zip(items, known, strict=True)
            if not self._plan(item, found, {}, item.memory.recorded_at).receipt.duplicate
            for text in item.indexed
        ]
        words_only = {text for item in items for text in item.words_only}
        return self._space.encode(list(dict.fromkeys(fresh)), meta, words_only=words_only)

    def _check_space(self, encoded: Mapping[str, Encoded]) -> EmbedderIdentity | None:
        """Return the space of the namespace, when the vectors are of it."""
        space = self._namespace.meta().space
        name = vector_name(space) if space is not None else None
        if any(words.dense and name not in words.dense for words in encoded.values()):
            raise VersionConflictError("the namespace changed its embedder meanwhile", hint="try again")
        return space

    # -- one wave: drafts that share no slot --------------------------------------------------------
    def _wave(
        self, items: Mapping[int, Prepared], encoded: Mapping[str, Encoded], now: datetime
    ) -> tuple[dict[int, Receipt], list[str]]:
        """Store those of these drafts that touch different memories.

        Returns:
            Receipts by index, without those that lost a race or wait for their turn, and texts that have to be
            encoded first.
        """
        slots = self._slots(list(items.values()))
        known = self._known(list(items.values()), slots)
        plans: dict[int, Plan] = {}
        receipts: dict[int, Receipt] = {}
        lacking: list[str] = []
        touched: set[str] = set()
        for (index, item), found in zip(items.items(), known, strict=True):
            waits = not touched.isdisjoint(found.memories)
            touched |= found.memories
            if waits:
                continue
            plan = self._plan(item, found, encoded, now)
            if plan.receipt.duplicate:
                receipts[index] = plan.receipt
            elif missing := [text for text in item.indexed if text not in encoded]:
                lacking += missing
            elif self._claim(item, plan, slots):
                plans[index] = plan
        stored = iter(self._log.append([version for plan in plans.values() for version in plan.versions]))
        for index, plan in plans.items():
            mine = [next(stored) for _ in plan.versions]
            last = mine[-1] or self._reasserted(plan, mine)
            if last is None:
                continue
            parts = tuple(memory.id for memory in mine[:-1] if memory is not None and memory.part)
            receipts[index] = replace(
                plan.receipt, id=last.id, version=last.version, recorded_at=last.recorded_at, part_ids=parts
            )
        return receipts, list(dict.fromkeys(lacking))

    def _slots(self, items: Sequence[Prepared]) -> Slots:
        return self._namespace.slots([name for item in items for name in _slots_of(item)])

    def _known(self, items: Sequence[Prepared], slots: Slots) -> list[Known]:
        owners = {name: memory_id for name, (memory_id, _) in slots.items()}
        heads, digests = self._log.heads_with_digests(owners.values())
        known = []
        for item in items:
            key, text = (owners.get(name) for name in (("key", item.memory.key or ""), ("hash", item.digest)))
            first = key if item.memory.key is not None else text
            known.append(
                Known(
                    by_key=heads.get(key or ""),
                    by_text=heads.get(text or ""),
                    digests=digests,
                    begun=first if first not in heads else None,
                )
            )
        return known

    def _claim(self, item: Prepared, plan: Plan, slots: Slots) -> bool:
        """Make the plan's memory the owner of its slot; `False` when somebody else was faster."""
        owner = plan.versions[-1].memory.id
        slot = _slots_of(item)[-1 if plan.beside else 0]
        taken, token = slots.get(slot, (None, None))
        if taken == owner:
            return True
        if taken is not None and not plan.beside:
            return False
        return self._namespace.claim(*slot, owner, token=token) == owner

    # -- what a draft becomes -----------------------------------------------------------------------
    def _plan(self, item: Prepared, known: Known, encoded: Mapping[str, Encoded], now: datetime) -> Plan:
        new = item.memory
        receipt = Receipt(
            id=new.id,
            version=1,
            status=new.status,
            type=new.type,
            recorded_at=now,
            type_guessed=new.type_guessed,
            redactions=item.redactions,
            warnings=item.warnings,
            durable=self._durable,
        )
        head = known.by_key if new.key is not None else known.by_text
        heads = [one for one in (head, known.by_text) if one is not None]
        same = next((one for one in heads if known.says(one, item.digest)), None)
        if new.key is not None and head is None and same is not None and same.key is None:
            head = same  # the key names what is known already
        if same is not None and _is_duplicate(same, new, head):
            return Plan((), _duplicate(receipt, same, new))
        if head is None:
            begun = replace(new, id=known.begun or new.id)
            return Plan(tuple(self._first(replace(item, memory=begun), encoded)), receipt)
        if not may_replace(new.type, new.provenance, head):
            warning = f"kept beside {head.id}, which is trusted more"
            receipt = replace(receipt, warnings=(*receipt.warnings, warning))
            return Plan(tuple(self._first(item, encoded)), receipt, beside=True)
        says_so = known.says(head, item.digest)
        if not says_so and new.key is None and head.status is not Status.FORGOTTEN:
            return Plan(tuple(self._first(item, encoded)), receipt, beside=True)  # edited since: it keeps its new text
        revived = head.status is not Status.ACTIVE
        return Plan(tuple(self._next(item, head, encoded, now, same=says_so)), replace(receipt, revived=revived))

    def _first(self, item: Prepared, encoded: Mapping[str, Encoded]) -> list[NewVersion]:
        """Return version 1, after its parts when the text was split: a part without its parent is harmless."""
        memory = item.memory
        if not memory.parts:
            words = encoded.get(item.indexed[0], _NOTHING)
            return [
                NewVersion(
                    memory=memory,
                    dense=words.dense,
                    lexical=words.lexical,
                    content_hash=item.digest,
                )
            ]
        versions = []
        for number, (text, indexed) in enumerate(zip_longest(item.texts, item.indexed), start=1):
            words = encoded.get(indexed, _NOTHING)
            part = replace(
                memory, id=new_memory_id(), content=text, parent_id=memory.id, part=number, parts=0, pinned=False
            )
            searched = indexed is not None
            versions.append(NewVersion(memory=part, dense=words.dense, lexical=words.lexical if searched else None))
        return [*versions, NewVersion(memory=memory, content_hash=item.digest)]

    def _next(
        self, item: Prepared, head: Memory, encoded: Mapping[str, Encoded], now: datetime, *, same: bool
    ) -> list[NewVersion]:
        """Return the version after `head`: its text once more, or the slot's next value."""
        new = item.memory
        action = RESTATES if same or new.key is None or head.status is not Status.ACTIVE else SUCCEEDS
        follows = action == SUCCEEDS
        changed = replace(
            new,
            id=head.id,
            version=head.version + 1,
            decision=Decision(actor=new.actor or new.source, action=action),
            pinned=new.pinned or head.pinned,
            key=new.key or head.key,
            begins=new.valid_from if follows else new.valid_from or head.begins,
        )
        *parts, version = self._first(replace(item, memory=changed), encoded)
        version = replace(version, follows=follows, previous=head)
        if parts and same:
            parts = self._restated_parts(head, changed) or parts
        else:
            parts = [replace(part, memory=replace(part.memory, version=1, decision=None)) for part in parts]
        if follows and _is_backfill(new, head, now):
            return [version, self._reassert(head, changed)]
        return [*parts, version]

    def _restated_parts(self, head: Memory, whole: Memory) -> list[NewVersion]:
        """Return the next versions of a split text's parts, which come back with it; none if they were erased."""
        parts = [part for part in self._log.parts(head.id) if part.status is not Status.FORGOTTEN]
        points = self._log.points(parts)
        return [
            NewVersion(
                memory=next_version(
                    part, decision=whole.decision or Decision(actor="", action=RESTATES), status=whole.status
                ),
                dense=points[part.id].dense,
                lexical=points[part.id].lexical,
                previous=part,
            )
            for part in parts
        ]

    def _reassert(self, head: Memory, after: Memory) -> NewVersion:
        """Return a version that keeps the slot's present value after an earlier one was filled in."""
        point = self._log.points([head])[head.id]
        reason = f"version {after.version} fills in an earlier value"
        decision = Decision(actor=after.actor or after.source, action=REASSERTS, reason=reason)
        memory = replace(head, version=after.version + 1, decision=decision, supersedes=(), imported=False)
        digest = str(point.payload.get("content_hash", ""))
        return NewVersion(memory=memory, dense=point.dense, lexical=point.lexical, content_hash=digest, previous=after)

    def _reasserted(self, plan: Plan, stored: Sequence[Memory | None]) -> Memory | None:
        """Return what holds after an earlier value was filled in and somebody went on from it before the present one.

        Only an engine that stores the two one after the other lets others in between. What they stored takes the
        present value's place if it begins later; else the present value is said once more after it. `None` where
        nothing was filled in.
        """
        again = plan.versions[-1]
        if again.memory.decision is None or again.memory.decision.action != REASSERTS or stored[-2] is None:
            return None
        for _ in range(_ATTEMPTS):
            head = self._log.head(again.memory.id)
            if head.content == again.memory.content or not _is_backfill(head, again.memory, head.recorded_at):
                return head
            memory = replace(again.memory, version=head.version + 1)
            [last] = self._log.append([replace(again, memory=memory, previous=head)])
            if last is not None:
                return last
        raise VersionConflictError("others keep changing the same memory", hint="try again")

    # -- after storing ------------------------------------------------------------------------------
    def _finish(
        self,
        receipts: dict[int, Receipt],
        items: Sequence[Prepared],
        encoded: Mapping[str, Encoded],
        space: EmbedderIdentity | None,
    ) -> None:
        """Point text slots at the memories that say these texts now, and complete the receipts."""
        for index, item in enumerate(items):
            if not receipts[index].duplicate and (item.memory.key is not None or receipts[index].version > 1):
                self._log.point_text(item.digest, receipts[index].id)
        for index, receipt in receipts.items():
            words = encoded.get(items[index].indexed[0])
            hybrid = bool(words.dense) if words is not None else space is not None
            complete = replace(receipt, searchable="hybrid" if hybrid else "lexical")
            compares = words is not None and len(items) <= _SIMILAR_BATCH
            receipts[index] = self._compared(complete, words, space) if words and compares else complete

    def _compared(self, receipt: Receipt, words: Encoded, space: EmbedderIdentity | None) -> Receipt:
        """Return a receipt that names the current memories near the new one, and what it may conflict with."""
        if not words.dense or receipt.duplicate:
            return receipt
        [(name, vector)] = words.dense.items()
        bounded = self._namespace.engine.count(self._namespace.name, ENDING) > 0
        where = live((), receipt.recorded_at if bounded else None)
        shown = _SIMILAR_SHOWN + 1 if self._judge is None else NEIGHBOURS
        found = self._namespace.engine.search_dense(
            self._namespace.name, name, vector, where, shown, fields=("memory_id",)
        )
        mine = {receipt.id, *receipt.part_ids}
        others = [c for c in found if c.payload["memory_id"] not in mine]
        near = [c.payload["memory_id"] for c in others[: _SIMILAR_SHOWN + 1] if c.score >= SIMILAR]
        receipt = replace(receipt, similar=tuple(near[:_SIMILAR_SHOWN]))
        model = space.name if space is not None else None
        if self._judge is None or not (others := [c for c in others if c.score >= self._judge.least(model)]):
            return receipt
        stored = version_point_id(self._namespace.name, receipt.id, receipt.version)
        points = self._namespace.engine.get(self._namespace.name, [stored, *(c.id for c in others)])
        memories = {i: decode(self._namespace.name, point.payload) for i, point in points.items()}
        neighbours = [(memories[c.id], c.score) for c in others if c.id in memories]
        if stored not in memories:  # somebody has gone on from there already
            return receipt
        return replace(receipt, conflicts=self._judge(memories[stored], neighbours, model))


_NOTHING: Final = Encoded({}, SparseVector((), ()))


def _retyped(items: Sequence[Prepared], encoded: Mapping[str, Encoded]) -> list[Prepared]:
    """Let the vectors that are there have their say in the types that were guessed."""
    name = vector_name(prototypes().embedder) if any(item.memory.type_guessed for item in items) else ""
    return [retype(item, encoded.get(item.indexed[0], _NOTHING).dense.get(name)) for item in items]


def _slots_of(item: Prepared) -> list[tuple[str, str]]:
    """Return the slots a draft may fill: its key first, then its text."""
    text = ("hash", item.digest)
    return [("key", item.memory.key), text] if item.memory.key is not None else [text]


def _without_shared_slots(waiting: Sequence[int], items: Sequence[Prepared]) -> list[int]:
    """Return the drafts that share no slot with an earlier waiting one."""
    used: set[tuple[str, str]] = set()
    chosen = []
    for index in waiting:
        names = set(_slots_of(items[index]))
        if not names & used:
            chosen.append(index)
        used |= names
    return chosen


def _is_duplicate(same: Memory, new: Memory, head: Memory | None) -> bool:
    """Whether a draft adds nothing to the memory that has its text already."""
    if new.key is not None and head is not None and head.id != same.id and new.status is Status.ACTIVE:
        return False  # another memory fills this slot: the text becomes its next value
    if new.key is not None and same.key != new.key and new.status is Status.ACTIVE:
        return False  # the text is known, but not under this key
    return same.status is Status.ACTIVE or (same.status is new.status is Status.QUARANTINED)


def _is_backfill(new: Memory, head: Memory, now: datetime) -> bool:
    """Whether a slot's new value lies before the one it has, so that the present one still holds."""
    if new.valid_to is not None and new.valid_to <= now:
        return head.valid_to is None or head.valid_to > now
    return new.valid_from is not None and head.begins is not None and new.valid_from < head.begins


def _duplicate(receipt: Receipt, head: Memory, new: Memory) -> Receipt:
    """Describe a draft whose text is current already."""
    warnings = [warning for warning in receipt.warnings if not warning.startswith(TYPE_GUESSED)]
    if not new.type_guessed and new.type is not head.type:
        warnings.append(
            f"already stored as {head.type.value}; `memanto edit {head.id} --type {new.type.value}` changes that"
        )
    return replace(
        receipt,
        id=head.id,
        version=head.version,
        status=head.status,
        type=head.type,
        type_guessed=head.type_guessed,
        recorded_at=head.recorded_at,
        duplicate=True,
        warnings=tuple(warnings),
    )
