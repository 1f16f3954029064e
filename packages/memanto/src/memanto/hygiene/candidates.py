"""Recording conflicts: what is found is written once, and comes back only when one of the two texts has changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memanto.hygiene.compare import Finding, compare, in_order
from memanto.hygiene.conflict import (
    KIND,
    Conflict,
    conflict_of,
    digests_of,
    name_of,
    record_value,
    tags_of,
    text_of,
)
from memanto.hygiene.gates import least_cosine
from memanto.hygiene.journal import Journal
from memanto.memory.namespace import Namespace
from memanto.memory.versions import NewVersion, VersionLog
from memanto.models import ConflictNote, Decision, Memory, Status

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


def record(journal: Journal, pairs: Sequence[Pair], *, actor: str) -> list[Conflict]:
    """Record pairs that are new or have changed, and return all of them that are open.

    A pair that was decided stays decided while both texts are what they were then. Of two writers that find a pair
    at once one records it.
    """
    unique = {name_of(pair.older.id, pair.newer.id): pair for pair in pairs}
    if not unique:
        return []
    ids = {journal.id(KIND, name): name for name in unique}
    known = journal.log.heads(ids)
    _, digests = journal.log.heads_with_digests({m.id for pair in unique.values() for m in (pair.older, pair.newer)})
    open_now: list[Conflict] = []
    versions: list[NewVersion] = []
    for record_id, name in ids.items():
        pair, head = unique[name], known.get(record_id)
        first, second = sorted((pair.older.id, pair.newer.id))
        both = (digests.get(first, ""), digests.get(second, ""))
        if head is not None and head.status is not Status.FORGOTTEN and digests_of(head) == both:
            conflict = conflict_of(head)
            open_now += [conflict] if conflict.is_open else []
            continue
        versions.append(_version(journal, head, pair, both, Decision(actor=actor, action=FOUND)))
    if versions:  # first the mark that makes readers look, then what they find
        journal.namespace.contest()
    stored = journal.log.append(versions) if versions else []
    return [*open_now, *(conflict_of(memory) for memory in stored if memory is not None)]


def _version(
    journal: Journal, head: Memory | None, pair: Pair, digests: tuple[str, str], decision: Decision
) -> NewVersion:
    older, newer = pair.older.id, pair.newer.id
    text, value = text_of(pair.finding, older, newer), record_value(pair.finding, older, newer, digests)
    tags = tags_of(older, newer, is_open=True)
    if head is None:
        return journal.first(KIND, name_of(older, newer), text, value, tags=tags, decision=decision)
    return journal.following(head, text, value, tags=tags, decision=decision)


def noted(
    namespace: Namespace, memory: Memory, near: Sequence[tuple[Memory, float]], embedder: str | None
) -> tuple[ConflictNote, ...]:
    """Compare a memory that was just stored with its neighbours, record what is found, and return it for a receipt."""
    pairs = judge(VersionLog(namespace), memory, near, embedder)
    found = {name_of(pair.older.id, pair.newer.id): pair for pair in pairs}
    notes = []
    for conflict in record(Journal(namespace), pairs, actor=memory.actor or memory.source):
        pair = found[name_of(conflict.older, conflict.newer)]
        other = pair.older if pair.newer.id == memory.id else pair.newer
        notes.append(
            ConflictNote(
                id=conflict.id,
                other=other.id,
                kind=pair.finding.kind.value,
                rule=pair.finding.rule,
                words=(pair.finding.older, pair.finding.newer),
                cue=pair.finding.cue,
            )
        )
    return tuple(notes)
