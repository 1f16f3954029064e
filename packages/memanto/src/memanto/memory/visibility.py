"""What a read may see: the filter of `recall` as conditions an engine applies before ranking.

Knowledge time selects versions the store believed (`recorded_at <= T < retired_at`), world time selects what
was true (`valid_from <= V < valid_to`). A slot (`--key`) holds a value until its next one begins, so for
`valid_at` its earlier values count too; which of them holds at V takes the slot's whole history and is
decided by `value_at`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memanto.engine.schema import OPEN_END
from memanto.filters import AnyOf, Condition, Either, Equals, NumberRange, RecallFilter, TimeRange, Where
from memanto.models import Memory, Status
from memanto.times import to_rfc3339

SUCCEEDS = "succeed"
"""Action of a version that gives its slot the next value."""
REASSERTS = "reassert"
"""Action of a version that keeps a slot's value after an earlier one was filled in."""

_KNOWN = tuple(status.value for status in Status if status is not Status.FORGOTTEN)


def where(query: RecallFilter, *, now: datetime) -> Where:
    """Return the conditions for a read at `now` (aware UTC)."""
    must: list[Condition] = []
    must_not: list[Condition] = []
    current = believed_at(query.as_of)
    if query.valid_at is None:
        must.extend(current)
        if not query.everything:
            must_not.append(TimeRange("valid_to", lte=to_rfc3339(query.as_of or now)))
    else:
        moment = to_rfc3339(query.valid_at)
        past_value = Where((Equals("marks", "keyed"), *known_at(query.as_of)))
        must.append(Either((Where(current), past_value)))
        must_not.extend((TimeRange("valid_to", lte=moment), TimeRange("world_from", gt=moment)))
    must.append(_statuses(query))
    must.extend(_attributes(query))
    return Where(tuple(must) + query.extra.must, tuple(must_not) + query.extra.must_not)


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


def value_at(history: Sequence[Memory], moment: datetime) -> Memory | None:
    """Return the version of one memory that held at `moment` in the world, or `None`.

    Args:
        history: The memory's versions known at the time asked about, ascending.
        moment: World time.

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
        if version.status is Status.ACTIVE
        and (version.begins is None or version.begins <= moment)
        and (version.valid_to is None or moment < version.valid_to)
    ]
    return max(holding, key=lambda item: item[:3])[3] if holding else None


def _statuses(query: RecallFilter) -> Condition:
    if query.statuses:
        return AnyOf("status", tuple(status.value for status in query.statuses))
    if query.everything:
        return AnyOf("status", _KNOWN)
    return Equals("status", Status.ACTIVE.value)


def _attributes(query: RecallFilter) -> list[Condition]:
    conditions: list[Condition] = []
    if query.types:
        conditions.append(AnyOf("type", tuple(kind.value for kind in query.types)))
    conditions.extend(Equals("tags", tag) for tag in query.tags)
    if query.any_tags:
        conditions.append(AnyOf("tags", query.any_tags))
    if query.min_confidence is not None:
        # Half of the last kept decimal, so that a float that returns one ULP lower still passes.
        conditions.append(NumberRange("confidence", gte=query.min_confidence - 5e-7))
    if query.since is not None or query.until is not None:
        since, until = (moment and to_rfc3339(moment) for moment in (query.since, query.until))
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
