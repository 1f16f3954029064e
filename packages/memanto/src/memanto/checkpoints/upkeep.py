"""Upkeep of checkpoints: figures, pruning, deleting, copying. None of it reads what is in a value."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Final, Self, TypeVar

from memanto.checkpoints.layout import (
    Kind,
    Layout,
    in_thread,
    kind_of,
    made_by,
    storable,
    to_blob,
    to_checkpoint,
    to_writes,
)
from memanto.checkpoints.retention import Plan, plan, removable, time_of
from memanto.checkpoints.values import Checkpoint, Pruned, ThreadInfo
from memanto.counted import counted
from memanto.engine.records import Record
from memanto.errors import ConflictError, InvalidInputError, MemantoError
from memanto.filters import AnyOf, Where
from memanto.times import utc

if TYPE_CHECKING:
    from memanto.engine.records import Records

T = TypeVar("T")

EVERYTHING: Final = Where()

_CHUNK: Final = 100
"""Checkpoints that are copied or deleted at a time."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What pruning keeps: see `retention.plan`."""

    keep_last: int | None
    before: datetime | None

    @classmethod
    def checked(cls, keep_last: int | None, before: datetime | None) -> Self:
        """Return the limits.

        Raises:
            InvalidInputError: There is none, or one is out of its range.
        """
        if keep_last is None and before is None:
            raise InvalidInputError("nothing says what to keep", hint="say how many, since when, or both")
        if keep_last is not None and (isinstance(keep_last, bool) or not isinstance(keep_last, int) or keep_last < 1):
            raise InvalidInputError(
                f"keep_last is {keep_last!r}", hint="give a whole number from 1 on; deleting a thread removes it whole"
            )
        return cls(keep_last, None if before is None else utc(before))


# -- figures --------------------------------------------------------------------------------------------
def threads(records: Records, agent: str, where: Where = EVERYTHING) -> list[ThreadInfo]:
    """Return threads with their figures, those with the latest checkpoint first; all unless `where` says which."""
    by_thread: dict[str, list[Record]] = defaultdict(list)
    for record in records.find(agent, where):
        by_thread[record.keys["thread"]].append(record)
    found = [_figures(thread, of_thread) for thread, of_thread in by_thread.items()]
    return sorted(found, key=lambda one: (one.updated, one.id), reverse=True)


def _figures(thread: str, found: Sequence[Record]) -> ThreadInfo:
    kinds, sizes = Counter[Kind](), Counter[Kind]()
    for record in found:
        kind = kind_of(record)
        kinds[kind] += record.head.get("count", 1)
        sizes[kind] += record.head["size"]
    return ThreadInfo(
        id=thread,
        checkpoints=kinds["checkpoint"],
        namespaces=len({record.keys["line"] for record in found if "line" in record.keys}),
        writes=kinds["writes"],
        bytes=sizes.total(),
        updated=max((record.head.get("ts", "") for record in found), default=""),
        by_kind={"checkpoints": sizes["checkpoint"], "values": sizes["blob"], "writes": sizes["writes"]},
    )


def outline(records: Records, agent: str, thread: str) -> list[tuple[Checkpoint, int]]:
    """Return a thread's checkpoints without contents, the latest first, each with its number of writes."""
    found = records.find(agent, in_thread(thread))
    writes = Counter[str]()
    for record in found:
        if kind_of(record) == "writes":
            writes[record.keys["of"]] += record.head["count"]
    pairs = [(to_checkpoint(one), writes[one.id]) for one in found if kind_of(one) == "checkpoint"]
    return sorted(pairs, key=lambda pair: (pair[0].key.id, pair[0].key.ns), reverse=True)


def problems(records: Records, agent: str) -> Iterator[str]:
    """Yield what is wrong with an agent's checkpoints, a sentence each: every byte of them is read."""
    try:
        before, names = records.stamp(agent), records.values(agent, "thread")
        number = records.info(agent).records
    except MemantoError as error:
        yield error.message
        return
    found, damaged = 0, False
    for thread in names:
        try:
            of_thread = records.find(agent, in_thread(thread), bodies=True)
            found += len(of_thread)
            yield from _problems_of(of_thread, thread)
        except MemantoError as error:
            damaged = True
            yield f"thread {thread!r}: {error.message}"
    if found != number and not damaged and before is not None and before == records.stamp(agent):  # nobody wrote
        yield f"found {found} of {counted(number, 'record')}"


def _problems_of(found: Sequence[Record], thread: str) -> Iterator[str]:
    there = {record.id for record in found}
    for record in found:
        match kind_of(record):
            case "checkpoint":
                to_checkpoint(record)
            case "writes":
                to_writes([record])
            case "blob":
                to_blob(record)
    lost = {ref for record in found for ref in record.head.get("refs", ())} - there
    if lost:
        yield f"thread {thread!r}: missing of what checkpoints name: {counted(len(lost), 'value')}"


# -- deleting -------------------------------------------------------------------------------------------
def prune(records: Records, agent: str, names: Sequence[str], limits: Limits, *, dry_run: bool) -> Pruned:
    """Prune threads, each by itself."""
    total = Pruned(0, 0, 0)
    for thread, scope in [(thread, in_thread(thread)) for thread in names]:
        found = _by_id(records, agent, scope)
        planned = _plan(list(found.values()), limits)
        if not dry_run:
            _delete(records, agent, thread, found, planned)
        total = Pruned(
            total.threads + bool(planned.doomed),
            total.checkpoints + len(planned.doomed),
            total.kept_for_rebuilding + planned.spared,
        )
    return total


def _plan(checkpoints: Sequence[Checkpoint], limits: Limits) -> Plan:
    ages = [time_of(one.ts) for one in checkpoints]
    if limits.before is not None and ages and all(age is not None and age < limits.before for age in ages):
        return Plan(tuple(one.key for one in checkpoints), 0)
    return plan(checkpoints, keep_last=limits.keep_last, before=limits.before)


def delete_runs(records: Records, agent: str, runs: Sequence[str]) -> None:
    """Delete what runs made, unless something else is rebuilt from it."""
    made = records.find(agent, made_by(runs)) if runs else []
    ids = {record.id for record in made}
    plans: list[tuple[str, dict[str, Checkpoint], Plan]] = []
    for thread in dict.fromkeys(record.keys["thread"] for record in made):
        found = _by_id(records, agent, in_thread(thread))
        planned = removable(list(found.values()), [one.key for key, one in found.items() if key in ids])
        if planned.spared:
            raise ConflictError(
                f"{planned.spared} checkpoints of these runs hold the history of channels that later checkpoints of "
                f"thread {thread!r} are rebuilt from",
                hint="delete the whole thread, or prune it first",
            )
        plans.append((thread, found, planned))
    for thread, found, planned in plans:
        _delete(records, agent, thread, found, planned)


def _delete(records: Records, agent: str, thread: str, found: Mapping[str, Checkpoint], planned: Plan) -> None:
    going = set(planned.doomed)
    if not going:
        return
    ids = [key for key, one in found.items() if one.key in going]
    for chunk in _chunks(ids, 10 * _CHUNK):
        records.delete(agent, chunk, Where((AnyOf("of", tuple(chunk)),)))
    scope = in_thread(thread)
    if len(going) == len(found) and not _by_id(records, agent, scope):
        records.delete(agent, (), scope)
    else:
        records.reclaim(agent, scope)


# -- copying --------------------------------------------------------------------------------------------
def copy(records: Records, agent: str, layout: Layout, source: str, target: str) -> None:
    """Copy a thread, a part at a time: values first, so that no reader finds a checkpoint without them.

    What others write to the thread meanwhile may be in the copy, and what they delete may be missing.
    """
    storable(target, "thread id")
    known = records.find(agent, in_thread(source))
    refs: dict[str, str] = {}
    for chunk in _chunks([one.id for one in known if kind_of(one) == "checkpoint"], _CHUNK):
        found = records.collect(agent, chunk)
        blobs = [blob for blob in map(to_blob, found.shared) if blob.ref not in refs]
        refs.update((blob.ref, layout.ref(target, blob.digest)) for blob in blobs)
        records.write(agent, keep=[layout.of_blob(target, blob._replace(ref=refs[blob.ref])) for blob in blobs])
        whole = [one for one in (*found.records, *found.parts) if refs.keys() >= set(one.head.get("refs", ()))]
        kept = {one.id: _moved(to_checkpoint(one), target, refs) for one in whole if kind_of(one) == "checkpoint"}
        moved = [layout.of_checkpoint(one) for one in kept.values()]
        parts = [one for one in whole if one.keys.get("of") in kept]
        moved += (layout.moved_writes(one, kept[one.keys["of"]].key, refs) for one in parts)
        records.write(agent, moved)


def _moved(one: Checkpoint, thread: str, refs: Mapping[str, str]) -> Checkpoint:
    values = {name: refs[value] if isinstance(value, str) else value for name, value in one.values.items()}
    return replace(one, key=one.key._replace(thread=thread), values=values)


# -- reading without contents ---------------------------------------------------------------------------
def _by_id(records: Records, agent: str, where: Where) -> dict[str, Checkpoint]:
    found = records.find(agent, where)
    return {record.id: to_checkpoint(record) for record in found if kind_of(record) == "checkpoint"}


def _chunks(items: Sequence[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk
