"""The daily summary: what a day left in memory, a line each, and what in it cannot both hold.

It is computed from the versions as they were known at the end of the day and stored nowhere. So it is the same
however often and whenever a past day is asked for, and forgetting a memory leaves nothing of it behind here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from memanto.engine.codec import decode
from memanto.filters import Condition, Equals, NumberRange, TimeRange, Where
from memanto.hygiene.conflict import KIND, OPEN, RESOLVED, SET_ASIDE, Conflict, conflict_of
from memanto.hygiene.journal import FIELD, TAG, Journal
from memanto.memory.batons import is_baton
from memanto.memory.namespace import Namespace
from memanto.memory.recall import tokens
from memanto.memory.versions import VersionLog
from memanto.models import Memory, MemoryType, Status
from memanto.times import to_rfc3339

LINE: Final = 200
"""Characters of a line; a longer text ends in "…" and its id leads to the rest."""

HEADINGS: Final[Mapping[str, tuple[MemoryType, ...]]] = {
    "Learned": (MemoryType.LEARNING,),
    "Failed": (MemoryType.ERROR,),
    "Decided": (MemoryType.DECISION,),
    "Promised": (MemoryType.COMMITMENT,),
    "Handed over": (),
    "Goals": (MemoryType.GOAL,),
    "Facts": (MemoryType.FACT,),
    "Rules": (MemoryType.INSTRUCTION,),
    "Preferences": (MemoryType.PREFERENCE,),
    "Relations": (MemoryType.RELATIONSHIP,),
    "Observed": (MemoryType.OBSERVATION,),
    "Kept": (MemoryType.ARTIFACT,),
    "Situation": (MemoryType.CONTEXT,),
    "Happened": (MemoryType.EVENT,),
}
"""Headings in their order, with the types under each; "handed over" are the situations that are session handoffs."""

_HANDED_OVER: Final = "Handed over"
_HEADING_OF: Final = {kind: heading for heading, kinds in HEADINGS.items() for kind in kinds}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One memory of the day.

    Attributes:
        id: The memory.
        type: Its type.
        heading: Where it stands.
        line: Its text on one line.
        what: `"new"`, or what happened to it last that day ("edit", "expire", "supersede", …).
        status: Its standing at the end of the day.
        at: When that was recorded.
        source: Who wrote it.
        confidence: 0..1.
    """

    id: str
    type: MemoryType
    heading: str
    line: str
    what: str
    status: Status
    at: datetime
    source: str
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DailySummary:
    """What a span of time left in one agent's memory.

    Attributes:
        agent: The agent.
        since: Start of the span (aware, UTC), included.
        until: Its end, excluded.
        run_id: The run it is limited to, or `None`.
        items: By heading, then in the order they were recorded.
        left_out: Items that a budget left out, by heading.
        contradictions: Open conflicts in which one of the day's memories takes part.
        conflicts: Conflicts found that day.
        decided: Conflicts decided that day.
        set_aside: Conflicts found that day of which a language model said that the two go together.
        backlog: Open conflicts of the agent at the end of the span.
        digest: What a language model says of the day, every sentence citing items by number, or `""`.
        cited: Ids of the items that the digest cites, by number.
        notes: What the reader should know.
    """

    agent: str
    since: datetime
    until: datetime
    run_id: str | None = None
    items: tuple[Item, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    contradictions: tuple[Conflict, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    decided: tuple[Conflict, ...] = ()
    set_aside: tuple[Conflict, ...] = ()
    backlog: int = 0
    digest: str = ""
    cited: Mapping[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Number of items per heading, those left out included."""
        found = dict.fromkeys(HEADINGS, 0)
        for item in self.items:
            found[item.heading] += 1
        for heading, number in self.left_out.items():
            found[heading] += number
        return {heading: number for heading, number in found.items() if number}


def summarise(
    namespace: Namespace,
    since: datetime,
    until: datetime,
    *,
    now: datetime,
    run_id: str | None = None,
    budget_tokens: int | None = None,
) -> DailySummary:
    """Return what a span of time left in memory, as it was known at its end.

    Args:
        namespace: The agent's memories.
        since: Start, included.
        until: End, excluded; one that lies ahead means now.
        now: The present.
        run_id: Only what this run wrote, and its steps.
        budget_tokens: Bound on the lines; what does not fit is counted, never dropped silently.
    """
    as_of = None if until >= now else until
    items = [_item(versions) for versions in _changed(namespace, since, until, run_id, as_of)]
    order = list(HEADINGS)
    items.sort(key=lambda item: (order.index(item.heading), item.at, item.id))
    kept, left_out = _within(items, budget_tokens)
    changed, open_now = _conflicts(namespace, since, until, as_of)
    ids = {item.id for item in items}
    return DailySummary(
        agent=namespace.name,
        since=since,
        until=until,
        run_id=run_id,
        items=tuple(kept),
        left_out=left_out,
        contradictions=tuple(one for one in open_now if {one.older, one.newer} & ids),
        conflicts=tuple(one for one in changed if one.is_open and not one.is_set_aside),
        decided=tuple(one for one in changed if not one.is_open),
        set_aside=tuple(one for one in changed if one.is_set_aside),
        backlog=len(open_now),
    )


def _changed(
    namespace: Namespace, since: datetime, until: datetime, run_id: str | None, as_of: datetime | None
) -> list[list[Memory]]:
    """Return the versions recorded in the span, by memory; upkeep's records and parts of texts are left out."""
    within = TimeRange("recorded_at", gte=to_rfc3339(since), lt=to_rfc3339(until))
    must: tuple[Condition, ...] = (within,) if run_id is None else (within, Equals("run_id", run_id))
    where = Where(must, (NumberRange("part", gte=1),))
    if run_id is not None:  # the steps of a run are its parts, and tell what it did
        where = Where(must, (Equals("tags", TAG),))
    memories: dict[str, list[Memory]] = {}
    for point in namespace.engine.scan(namespace.name, where, order_by="recorded_at", descending=False):
        memory = decode(namespace.name, point.payload, as_of=as_of)
        if FIELD not in memory.metadata:
            memories.setdefault(memory.id, []).append(memory)
    return list(memories.values())


def _item(versions: Sequence[Memory]) -> Item:
    last = versions[-1]
    action = last.decision.action if last.decision is not None else "new"
    heading = _HANDED_OVER if is_baton(last.content) else _HEADING_OF[last.type]
    return Item(
        id=last.id,
        type=last.type,
        heading=heading,
        line=one_line(last.content),
        what="new" if versions[0].version == 1 and last.status is Status.ACTIVE else action,
        status=last.status,
        at=last.recorded_at,
        source=last.source,
        confidence=last.confidence,
    )


def one_line(text: str) -> str:
    """Return a text on one line; a longer one ends in "…"."""
    line = " ".join(text.split())
    return line if len(line) <= LINE else f"{line[: LINE - 1].rstrip()}…"


def _within(items: Sequence[Item], budget: int | None) -> tuple[list[Item], dict[str, int]]:
    if budget is None:
        return list(items), {}
    kept: list[Item] = []
    left_out: dict[str, int] = {}
    for item in items:
        cost = tokens(item.line)
        if cost <= budget:
            budget -= cost
            kept.append(item)
        else:
            left_out[item.heading] = left_out.get(item.heading, 0) + 1
    return kept, left_out


def _conflicts(
    namespace: Namespace, since: datetime, until: datetime, as_of: datetime | None
) -> tuple[list[Conflict], list[Conflict]]:
    """Return the conflicts that were found or decided in the span, and those open at its end."""
    found = Journal(namespace).find([f"{TAG}:{KIND}"], [OPEN, SET_ASIDE, RESOLVED], as_of=as_of)
    records = [conflict_of(record) for record in found]
    records.sort(key=lambda one: (one.found_at or since, one.id))
    changed = [one for one in records if one.found_at is not None and since <= one.found_at < until]
    standing = _active(namespace, {i for one in records for i in (one.older, one.newer)}, as_of)
    waiting = [one for one in records if one.is_open and not one.is_set_aside]
    return changed, [one for one in waiting if {one.older, one.newer} <= standing]


def _active(namespace: Namespace, ids: set[str], as_of: datetime | None) -> set[str]:
    log = VersionLog(namespace)
    if as_of is None:
        heads = log.heads(ids)
    else:
        histories = log.histories(sorted(ids), as_of=as_of)
        heads = {memory_id: versions[-1] for memory_id, versions in histories.items()}
    return {memory_id for memory_id, head in heads.items() if head.status is Status.ACTIVE}
