"""What a read may see: the filter of `recall` as conditions an engine applies before ranking.

Knowledge time selects versions the store believed (`recorded_at <= T < retired_at`), world time selects what
was true (`valid_from <= V < valid_to`). A slot (`--key`) holds a value until its next one begins, so for
`valid_at` its earlier values count too; which of them holds at V takes the slot's whole history and is
decided by `value_at`.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Final

from memanto.engine.schema import OPEN_END
from memanto.filters import AnyOf, Condition, Either, Equals, NumberRange, RecallFilter, TimeRange, Where
from memanto.models import Memory, MemoryType, Status
from memanto.times import to_rfc3339

SUCCEEDS = "succeed"
"""Action of a version that gives its slot the next value."""
REASSERTS = "reassert"
"""Action of a version that keeps a slot's value after an earlier one was filled in."""


def where(query: RecallFilter, *, now: datetime, bounded: bool = True) -> Where:
    """Return the conditions for a read at `now` (aware UTC).

    Args:
        query: What to select.
        now: Decides what is still true, where no other time is asked about.
        bounded: Whether any current memory has a `valid_to`; when none has, one condition suffices.
    """
    if query.as_of is None and query.valid_at is None and not query.statuses and not query.everything:
        standing = live(query.types, now if bounded else None)
    else:
        standing = _standing(query, now)
    must = (*standing.must, *_attributes(query), *query.extra.must)
    return Where(must, standing.must_not + query.extra.must_not)


ENDING: Final = Where((Equals("marks", "ending"),))
"""Current, active memories with a `valid_to`."""


def live(types: Sequence[MemoryType], now: datetime | None) -> Where:
    """Return the condition for what is current, active and still true at `now`, by its marks.

    Without `now` it leaves out what has a `valid_to`, which is right, and much quicker, where nothing has one.
    """

    def marked(state: str) -> Condition:
        wanted = tuple(f"{state} {kind.value}" for kind in types) or (state,)
        return AnyOf("marks", wanted) if len(wanted) > 1 else Equals("marks", *wanted)  # the latter is quicker

    if now is None:
        return Where((marked("live"),))
    still_true = Where((marked("ending"), TimeRange("valid_to", gt=to_rfc3339(now))))
    return Where((Either((Where((marked("live"),)), still_true)),))


def _standing(query: RecallFilter, now: datetime) -> Where:
    must: list[Condition] = []
    must_not: list[Condition] = []
    if query.types:
        must.append(AnyOf("type", tuple(kind.value for kind in query.types)))
    must.append(_statuses(query))
    current = believed_at(query.as_of)
    if query.valid_at is None:
        must.extend(current)
        if not query.everything:
            must_not.append(_over(query.as_of or now))
    else:
        past_value = Where((Equals("marks", "keyed"), *known_at(query.as_of)))
        must.append(Either((Where(current), past_value)))
        must_not.extend((_over(query.valid_at), TimeRange("world_from", gt=to_rfc3339(query.valid_at))))
    return Where(tuple(must), tuple(must_not))


def _over(moment: datetime) -> Condition:
    """Return the condition for what was no longer true at `moment`; the mark spares the others a look."""
    return Where((Equals("marks", "ends"), TimeRange("valid_to", lte=to_rfc3339(moment))))


def believed_at(as_of: datetime | None) -> tuple[Condition, ...]:
    """Return the conditions for versions the store believed at `as_of`, or believes now."""
    if as_of is None:
        return (TimeRange("retired_at", gte=OPEN_END),)
    return (*known_at(as_of), TimeRange("retired_at", gt=to_rfc3339(as_of)))


def known_at(as_of: datetime | None) -> tuple[Condition, ...]:
    """Return the conditions for versions recorded by `as_of`."""
    return () if as_of is None else (TimeRange("recorded_at", lte=to_rfc3339(as_of)),)


def corpus(query: RecallFilter) -> Where | None:
    """Return the versions whose words count for document frequencies: all known at the time asked about."""
    return None if query.as_of is None else Where(known_at(query.as_of))


def wanted_statuses(query: RecallFilter) -> frozenset[Status]:
    """Return the statuses a read may show."""
    if query.statuses:
        return frozenset(query.statuses)
    return frozenset(Status) - {Status.FORGOTTEN} if query.everything else frozenset({Status.ACTIVE})


def value_at(
    history: Sequence[Memory], moment: datetime, statuses: AbstractSet[Status] = frozenset({Status.ACTIVE})
) -> Memory | None:
    """Return the version of one memory that held at `moment` in the world, or `None`.

    Args:
        history: The memory's versions known at the time asked about, ascending.
        moment: World time.
        statuses: Versions of any other standing hold no value.

    Later versions of the same value (edits, changes of standing) replace it. Among the values that hold at
    `moment`, the one that began last wins.
    """
    values: list[Memory] = []
    for version in history:
        action = version.decision.action if version.decision else ""
        if not values or action == SUCCEEDS:
            values.append(version)
        elif action == REASSERTS:
            index = max((i for i, old in enumerate(values) if old.content == version.content), default=0)
            values.pop(index)
            values.append(version)
        else:
            values[-1] = version
    holding = [
        (version.begins is not None, version.begins or moment, order, version)
        for order, version in enumerate(values)
        if version.status in statuses
        and (version.begins is None or version.begins <= moment)
        and (version.valid_to is None or moment < version.valid_to)
    ]
    return max(holding, key=lambda item: item[:3])[3] if holding else None


def _statuses(query: RecallFilter) -> Condition:
    wanted = tuple(status.value for status in Status if status in wanted_statuses(query))
    return Equals("status", *wanted) if len(wanted) == 1 else AnyOf("status", wanted)


def _attributes(query: RecallFilter) -> list[Condition]:
    conditions: list[Condition] = []
    conditions.extend(Equals("tags", tag) for tag in query.tags)
    if query.any_tags:
        conditions.append(AnyOf("tags", query.any_tags))
    if query.min_confidence is not None:
        # Half of the last kept decimal, so that a float that returns one ULP lower still passes.
        conditions.append(NumberRange("confidence", gte=query.min_confidence - 5e-7))
    if query.since is not None or query.until is not None:
        since = None if query.since is None else to_rfc3339(query.since)
        until = None if query.until is None else to_rfc3339(query.until)
        conditions.append(TimeRange("event_at", gte=since, lte=until))
    if query.changed_since is not None:
        conditions.append(TimeRange("recorded_at", gte=to_rfc3339(query.changed_since)))
    for name in ("source", "run_id", "key"):
        value = getattr(query, name)
        if value is not None:
            conditions.append(Equals(name, value))
    if query.pinned:
        conditions.append(Equals("marks", "pinned"))
    return conditions


def is_upkeep(memory: Memory) -> bool:
    """Whether this is a record of upkeep, kept as a part of a memory that is never stored, not what anybody said."""
    return memory.part > 0 and "upkeep" in memory.metadata
