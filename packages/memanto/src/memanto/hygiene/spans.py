"""Days and spans of time in a zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo

from memanto.errors import InvalidInputError
from memanto.times import MIN_TIME, utc


def span_of(
    day: date | None,
    since: datetime | None,
    until: datetime | None,
    *,
    now: datetime,
    zone: tzinfo,
    of_a_run: bool = False,
) -> tuple[datetime, datetime]:
    """Return the start (included) and end (excluded) of what a summary covers, in UTC.

    Raises:
        InvalidInputError: Both a day and a span are given, or the span is empty.
    """
    if day is not None and (since is not None or until is not None):
        raise InvalidInputError(f"both a day ({day}) and a span are given", hint="give one of them")
    if since is None and until is None and (day is not None or not of_a_run):
        return day_span(day or now.astimezone(zone).date(), zone)
    first = MIN_TIME if since is None else utc(since)
    last = day_span(now.astimezone(zone).date(), zone)[1] if until is None else utc(until)
    if last <= first:
        raise InvalidInputError(f"the span from {first.isoformat()} to {last.isoformat()} is empty")
    return first, last


def day_span(day: date, zone: tzinfo) -> tuple[datetime, datetime]:
    """Return midnight at the start and at the end of a local day; 23 or 25 hours apart where clocks change."""
    first, last = (datetime.combine(one, time(), zone) for one in (day, day + timedelta(days=1)))
    return first.astimezone(UTC), last.astimezone(UTC)
