"""Recording conflicts: what is found is written once, and comes back only when one of the two texts has changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memanto.hygiene.compare import Finding, compare, in_order, said_at, whole_id
from memanto.hygiene.conflict import (
    KIND,
    OPEN,
    Conflict,
    conflict_of,
    digests_of,
    name_of,
    of,
    record_value,
    tags_of,
    text_of,
)
from memanto.hygiene.gates import least_cosine
from memanto.hygiene.journal import Journal
from memanto.memory.namespace import Namespace
from memanto.memory.versions import NewVersion, VersionLog
from memanto.models import ConflictNote, Decision, Memory, Status
from memanto.times import MIN_TIME

OPEN_EACH: Final = 3
"""Open conflicts in which a memory is the older one. More say nothing new of it, and a setting that changed a hundred
times would leave thousands."""

FOUND = "find-conflict"
"""Action of a record's version that says that a conflict was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two memories with what was found between them, and their cosine where it is known."""

    older: Memory
    newer: Memory
    finding: Finding
    cosine: float | None = None


def judge(
    log: VersionLog, memory: Memory, others: Iterable[tuple[Memory, float | None]], embedder: str | None
) -> list[Pair]:
    """Return what a memory conflicts with, by rules.

    Args:
        log: Tells since when memories say what they say.
        memory: An active memory.
        others: Active memories near it, with their cosine where it is known.
        embedder: Name of the model behind the cosines.
    """
    pairs, least = [], least_cosine(embedder)
    for other, cosine in others:
        if other.status is Status.ACTIVE and (cosine is None or cosine >= least):
            older, newer = in_order(memory, other)
            finding = compare(older, newer)
            if finding is not None:
                pairs.append(_ordered(log, Pair(older=older, newer=newer, finding=finding, cosine=cosine)))
    return pairs


def _ordered(log: VersionLog, pair: Pair) -> Pair:
    """Return a pair in the order in which its texts were said: a pin or a verdict since then says nothing new."""
    if pair.older.version == pair.newer.version == 1:
        return pair
    said = []
    for memory in (pair.older, pair.newer):
        since = memory
        for version in reversed(log.history(memory.id) if memory.version > 1 else ()):
            if (version.content, version.valid_from) != (memory.content, memory.valid_from):
                break
            since = version
        said.append(since)
    older, _ = in_order(*said)
    if older.id == pair.older.id:
        return pair
    finding = compare(pair.newer, pair.older)
    return pair if finding is None else replace(pair, older=pair.newer, newer=pair.older, finding=finding)


def of_wholes(log: VersionLog, pairs: Sequence[Pair]) -> list[Pair]:
    """Return pairs with a text that was split in place of its part: it stands or falls as one. Each pair once."""
    split = {whole_id(one) for pair in pairs for one in (pair.older, pair.newer) if one.part}
    wholes = {i: head for i, head in log.heads(split).items() if head.status is Status.ACTIVE} if split else {}
    found: dict[str, Pair] = {}
    for pair in pairs:
        older, newer = (wholes.get(whole_id(one)) if one.part else one for one in (pair.older, pair.newer))
        if older is not None and newer is not None:
            found.setdefault(name_of(older.id, newer.id), replace(pair, older=older, newer=newer))
    return list(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What became of pairs that were found.

    Attributes:
        conflicts: Those that are open.
        beyond: Pairs that were not recorded, each with the latest of the open conflicts its older memory has already.
    """

    conflicts: tuple[Conflict, ...] = ()
    beyond: tuple[tuple[Pair, Conflict], ...] = ()


def record(journal: Journal, pairs: Sequence[Pair], *, actor: str) -> Recorded:
    """Record pairs that are new or have changed, and return all of them that are open.

    A pair that was decided stays decided while both texts are what they were then. Of two writers that find a pair
    at once one records it. A pair whose older memory has `OPEN_EACH` open conflicts is left until one is decided.
    """
    unique = {name_of(pair.older.id, pair.newer.id): pair for pair in pairs}
    if not unique:
        return Recorded()
    ids = {journal.id(KIND, name): name for name in unique}
    known = journal.log.heads(ids)
    _, digests = journal.log.heads_with_digests({m.id for pair in unique.values() for m in (pair.older, pair.newer)})
    open_now: list[Conflict] = []
    new: list[_New] = []
    for record_id, name in ids.items():
        pair, head = unique[name], known.get(record_id)
        first, second = sorted((pair.older.id, pair.newer.id))
        both = (digests.get(first, ""), digests.get(second, ""))
        if head is not None and head.status is not Status.FORGOTTEN and digests_of(head) == both:
            conflict = conflict_of(head)
            open_now += [conflict] if conflict.is_open and not conflict.is_set_aside else []
        else:
            new.append(_New(pair, head, both))
    wanted, beyond = _within_bounds(journal, new)
    if wanted:  # first the mark that makes readers look, then what they find
        journal.namespace.contest()
    decision = Decision(actor=actor, action=FOUND)
    stored = journal.log.append([_version(journal, one, decision) for one in wanted]) if wanted else []
    conflicts = (*open_now, *(conflict_of(memory) for memory in stored if memory is not None))
    return Recorded(conflicts=conflicts, beyond=_instead(beyond, conflicts))


@dataclass(frozen=True, slots=True)
class _New:
    """A pair to record, the record it had before, and the digests of its texts."""

    pair: Pair
    head: Memory | None
    digests: tuple[str, str]


def _open_of(journal: Journal, older: Iterable[str]) -> dict[str, list[Conflict]]:
    """Return the open conflicts of these memories as the older one, with newer ones that are still active."""
    wanted = set(older)
    records = journal.find([OPEN], map(of, wanted)) if wanted else []
    conflicts = [one for one in map(conflict_of, records) if one.older in wanted]
    heads = journal.log.heads(one.newer for one in conflicts)
    found: dict[str, list[Conflict]] = {memory_id: [] for memory_id in wanted}
    for one in sorted(conflicts, key=lambda one: (one.found_at or MIN_TIME, one.id)):
        if one.newer in heads and heads[one.newer].status is Status.ACTIVE:
            found[one.older].append(one)
    return found


def _within_bounds(journal: Journal, new: Sequence[_New]) -> tuple[list[_New], list[tuple[Pair, list[Conflict]]]]:
    """Return what may be recorded, of each older memory the latest, and what there is in place of the rest."""
    there = _open_of(journal, {one.pair.older.id for one in new})
    room = {memory_id: OPEN_EACH - len(conflicts) for memory_id, conflicts in there.items()}
    latest_first = sorted(
        range(len(new)), key=lambda i: (said_at(new[i].pair.newer), new[i].pair.newer.id), reverse=True
    )
    wanted: list[int] = []
    beyond: list[tuple[Pair, list[Conflict]]] = []
    for i in latest_first:
        older = new[i].pair.older.id
        if new[i].head is not None or room[older] > 0:  # it has a record, whose text changed
            wanted.append(i)
            room[older] -= 1
        else:
            beyond.append((new[i].pair, there[older]))
    return [new[i] for i in sorted(wanted)], beyond


def _instead(
    beyond: Sequence[tuple[Pair, Sequence[Conflict]]], conflicts: Sequence[Conflict]
) -> tuple[tuple[Pair, Conflict], ...]:
    """Return the pairs that were left, each with the latest open conflict that its older memory has."""
    latest = {one.older: one for one in conflicts}
    found = ((pair, there[-1] if there else latest.get(pair.older.id)) for pair, there in beyond)
    return tuple((pair, conflict) for pair, conflict in found if conflict is not None)


def _version(journal: Journal, new: _New, decision: Decision) -> NewVersion:
    older, newer = new.pair.older.id, new.pair.newer.id
    text = text_of(new.pair.finding, older, newer)
    value = record_value(new.pair.finding, older, newer, new.digests)
    tags = tags_of(older, newer, OPEN)
    if new.head is None:
        return journal.first(KIND, name_of(older, newer), text, value, tags=tags, decision=decision)
    return journal.following(new.head, text, value, tags=tags, decision=decision)


def noted(
    namespace: Namespace, memory: Memory, near: Sequence[tuple[Memory, float]], embedder: str | None
) -> tuple[ConflictNote, ...]:
    """Compare a memory that was just stored with its neighbours, record what is found, and return it for a receipt."""
    log = VersionLog(namespace)
    pairs = of_wholes(log, judge(log, memory, near, embedder))
    found = {name_of(pair.older.id, pair.newer.id): pair for pair in pairs}
    recorded = record(Journal(namespace), pairs, actor=memory.actor or memory.source)
    told = [(found[name_of(conflict.older, conflict.newer)], conflict) for conflict in recorded.conflicts]
    return tuple(_note(memory, pair, conflict) for pair, conflict in (*told, *recorded.beyond))


def _note(memory: Memory, pair: Pair, conflict: Conflict) -> ConflictNote:
    other = pair.older if pair.newer.id == memory.id else pair.newer
    return ConflictNote(
        id=conflict.id,
        other=other.id,
        kind=pair.finding.kind.value,
        rule=pair.finding.rule,
        words=(pair.finding.older, pair.finding.newer),
        cue=pair.finding.cue,
    )
