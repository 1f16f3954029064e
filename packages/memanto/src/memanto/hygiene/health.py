"""What `doctor` says of a store's upkeep: lineage, quarantine, growth, duplicates, open conflicts, detection.

Each finding comes with one command that mends it. Thresholds are our choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from memanto.counted import counted
from memanto.engine.codec import decode
from memanto.filters import Condition, Equals, NumberRange, TimeRange, Where
from memanto.hygiene.compare import Kind
from memanto.hygiene.conflict import KIND, OPEN, Conflict, conflict_of
from memanto.hygiene.detect import last_detection
from memanto.hygiene.journal import TAG, Journal
from memanto.memory.namespace import Namespace
from memanto.memory.versions import VersionLog
from memanto.memory.visibility import believed_at, live
from memanto.models import Memory, Status
from memanto.times import to_rfc3339

LONG_QUARANTINE: Final = timedelta(days=30)
DUPLICATES: Final = 0.05
"""Share of the live memories that take part in an open duplicate."""
BACKLOG: Final = 20
"""Open conflicts, duplicates aside."""
LONG_OPEN: Final = timedelta(days=14)
LONG_UNSEEN: Final = timedelta(days=7)
FEW: Final = 100
"""Live memories below which neither growth nor a missing detection is worth a word."""
SUDDEN: Final = 5
"""Times the growth of the weeks before from which growth is sudden."""

_WEEK: Final = timedelta(days=7)
_PART: Final = NumberRange("part", gte=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """One finding.

    Attributes:
        name: Stable name of the check.
        ok: Whether it is sound.
        detail: What was found.
        fix: The command that mends it, or `""`.
    """

    name: str
    ok: bool
    detail: str
    fix: str = ""


def health(namespace: Namespace, now: datetime) -> Iterator[Health]:
    """Look at how well one agent's store is kept."""
    count = _counter(namespace)
    alive = count(*live((), now).must)
    conflicts = _open_conflicts(namespace)
    yield _lineage(namespace)
    yield _quarantine(namespace, now)
    yield _growth(count, alive, now)
    yield _duplicates(conflicts, alive)
    yield _backlog(conflicts, now)
    yield _detection(namespace, alive, now)


def _counter(namespace: Namespace) -> Callable[..., int]:
    def count(*must: Condition) -> int:
        return namespace.engine.count(namespace.name, Where(must, (_PART,)))

    return count


def _heads(namespace: Namespace, *must: Condition) -> list[Memory]:
    where = Where((*must, *believed_at(None)), (_PART,))
    return [decode(namespace.name, point.payload) for point in namespace.engine.scan(namespace.name, where)]


def _lineage(namespace: Namespace) -> Health:
    """Whether what superseded a memory is there."""
    superseded = _heads(namespace, Equals("status", Status.SUPERSEDED.value))
    named = {memory.superseded_by for memory in superseded if memory.superseded_by is not None}
    heads = VersionLog(namespace).heads(named)
    gone = [
        memory
        for memory in superseded
        if memory.superseded_by is None
        or memory.superseded_by not in heads
        or heads[memory.superseded_by].status is Status.FORGOTTEN
    ]
    if not gone:
        told = f"every successor of {counted(len(superseded), 'superseded memory')} is there"
        return Health(name="succession", ok=True, detail=told if superseded else "nothing is superseded")
    detail = f"{counted(len(gone), 'memory')} superseded by what is gone: {', '.join(m.id for m in gone[:3])}"
    return Health(name="succession", ok=False, detail=detail, fix=f"memanto restore {gone[0].id}")


def _quarantine(namespace: Namespace, now: datetime) -> Health:
    waiting = _heads(namespace, Equals("status", Status.QUARANTINED.value))
    if not waiting:
        return Health(name="quarantine", ok=True, detail="nothing waits in quarantine")
    oldest = min(waiting, key=lambda memory: (memory.recorded_at, memory.id))
    age = now - oldest.recorded_at
    detail = f"{len(waiting)} in quarantine, the oldest for {counted(age.days, 'day')}"
    if age < LONG_QUARANTINE:
        return Health(name="quarantine", ok=True, detail=detail)
    return Health(
        name="quarantine",
        ok=False,
        detail=f"{detail}: {oldest.id}",
        fix="memanto recall --status quarantined, then `verify` or `expire` each",
    )


def _growth(count: Callable[..., int], alive: int, now: datetime) -> Health:
    """Compare what was recorded in the last week with the four weeks before."""

    def recorded(since: datetime, until: datetime) -> int:
        return count(TimeRange("recorded_at", gte=to_rfc3339(since), lt=to_rfc3339(until)))

    week = recorded(now - _WEEK, now) / 7
    before = recorded(now - 5 * _WEEK, now - _WEEK) / 28
    detail = f"{week:.1f} versions a day in the last week, {before:.1f} in the four before"
    sudden = alive >= FEW and before > 0 and week > SUDDEN * before
    fix = "memanto policy apply --dry-run" if sudden else ""
    return Health(name="growth", ok=not sudden, detail=detail, fix=fix)


def _open_conflicts(namespace: Namespace) -> list[Conflict]:
    records = [conflict_of(record) for record in Journal(namespace).find([f"{TAG}:{KIND}"], [OPEN])]
    heads = VersionLog(namespace).heads({i for one in records for i in (one.older, one.newer)})
    active = {i for i, head in heads.items() if head.status is Status.ACTIVE}
    return [one for one in records if one.older in active and one.newer in active]


def _duplicates(conflicts: list[Conflict], alive: int) -> Health:
    involved = {one.older for one in conflicts if one.kind is Kind.DUPLICATE}
    share = len(involved) / alive if alive else 0.0
    ok = share <= DUPLICATES
    detail = f"said again by another: {len(involved)} of {counted(alive, 'live memory')} ({share:.0%})"
    return Health(name="duplicates", ok=ok, detail=detail, fix="" if ok else "memanto conflicts")


def _backlog(conflicts: list[Conflict], now: datetime) -> Health:
    waiting = [one for one in conflicts if one.kind is not Kind.DUPLICATE]
    if not waiting:
        return Health(name="conflicts", ok=True, detail="no update or contradiction is open")
    oldest = min(one.found_at or now for one in waiting)
    days = (now - oldest).days
    ok = len(waiting) <= BACKLOG and now - oldest < LONG_OPEN
    detail = f"{counted(len(waiting), 'open update or contradiction')}, the oldest for {counted(days, 'day')}"
    return Health(name="conflicts", ok=ok, detail=detail, fix="" if ok else "memanto conflicts")


def _detection(namespace: Namespace, alive: int, now: datetime) -> Health:
    last = last_detection(namespace)
    fix = "memanto detect-conflicts"
    if last is None:
        ok = alive < FEW
        detail = f"conflicts were never looked for among {counted(alive, 'live memory')}"
        return Health(name="detection", ok=ok, detail=detail, fix="" if ok else fix)
    days = (now - last).days
    when = f"{counted(days, 'day')} ago" if days else "within the last day"
    ok = now - last < LONG_UNSEEN or alive < FEW
    return Health(name="detection", ok=ok, detail=f"conflicts were looked for {when}", fix="" if ok else fix)
