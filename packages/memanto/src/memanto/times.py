"""Times: aware UTC values, their one text form, and the words people use for them.

A time lies in `MIN_TIME`..`MAX_TIME` with a resolution of one microsecond. What cannot be kept exactly is
refused rather than rounded: naive values, fractions below a microsecond, offsets that leave the range, and
`9999-12-31T23:59:59.999999Z`, which marks an open end in the store.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final, Literal
from zoneinfo import ZoneInfo

from memanto.errors import InvalidInputError, shown

Edge = Literal["start", "end"]

MIN_TIME: Final = datetime(1, 1, 1, tzinfo=UTC)
MAX_TIME: Final = datetime(9999, 12, 31, 23, 59, 59, 999_998, tzinfo=UTC)
"""The last time accepted as input: one microsecond before the mark of an open end."""

ACCEPTED_FORMS: Final = (
    "use a date (2026-06-01), a month (2026-06), a date and time (2026-06-01T10:00:00Z, 2026-06-01T10:00+02:00), "
    "'now', 'today', 'yesterday', 'this week', 'last month', 'last 7 days' or '3 hours ago'"
)

_STEP: Final = timedelta(microseconds=1)
_YEAR_FIRST: Final = re.compile(r"([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})")
_DAY_FIRST: Final = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})")
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})(?:-([0-9]{2}))?")
_DATETIME: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:[.,]([0-9]{1,30}))?"
    r" ?([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)
_NUMBER_WORDS: Final = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_NUMBERS: Final = {"a": 1, "an": 1} | {word: number for number, word in enumerate(_NUMBER_WORDS, 1)}
_NUMBER: Final = rf"(?P<number>{'|'.join(_NUMBERS)}|[1-9][0-9]{{0,8}})"
_UNIT: Final = r"(?P<unit>minute|hour|day|week|month|year)s?"
_AGO: Final = re.compile(rf"{_NUMBER} {_UNIT} ago")
_LAST: Final = re.compile(rf"(?:last|past) (?:{_NUMBER} )?{_UNIT}")
_CALENDAR: Final = re.compile(r"(this|last) (week|month|year)")


def utc_now() -> datetime:
    """Return the current time, aware and in UTC."""
    return datetime.now(UTC)


def utc(value: datetime) -> datetime:
    """Return an aware time in UTC, checked as input.

    Raises:
        InvalidInputError: The time is naive, leaves the range in UTC, or is the mark of an open end.
    """
    moment = _to_utc(value)
    if moment > MAX_TIME:
        raise InvalidInputError(
            f"time {value.isoformat()!r} marks an open end in the store and cannot be given",
            hint="leave the time out when there is no end",
        )
    return moment


def to_rfc3339(value: datetime) -> str:
    """Return the one text form of times: `2026-01-02T03:04:05.000006Z`, always 27 characters.

    Such texts sort as the times do. Every aware time that exists in UTC can be written, also the mark of an
    open end; input is checked by `utc`.

    Raises:
        InvalidInputError: The time is naive or leaves the range in UTC.
    """
    return _to_utc(value).isoformat(timespec="microseconds").replace("+00:00", "Z")


def from_rfc3339(text: str) -> datetime:
    """Return the time, in UTC, that an RFC 3339 text with a zone names; reads all that `to_rfc3339` writes.

    Raises:
        InvalidInputError: The text is not RFC 3339, has no zone, names no existing moment or cannot be kept
            exactly.
    """
    if len(text) == 27 and text[4] == text[7] == "-" and text[10] == "T" and text[19] == "." and text[26] == "Z":
        try:  # the form we write ourselves, read in C
            return datetime.fromisoformat(text)
        except ValueError:
            pass  # told below
    match = _DATETIME.fullmatch(text)
    if match is None:
        raise InvalidInputError(f"time {shown(text)} is not RFC 3339", hint="write it like 2026-01-02T03:04:05.000006Z")
    moment = _read(text, match)
    if moment.tzinfo is None:
        raise InvalidInputError(f"time {shown(text)} has no zone", hint="add 'Z' or an offset such as '+02:00'")
    return _to_utc(moment)


def parse_time(text: str, *, now: datetime, zone: tzinfo, edge: Edge) -> datetime:
    """Return the moment, in UTC, that a person's words for a time mean.

    A date, a month and words such as `last week` name a span of local time; `edge` chooses its first
    microsecond or its last one. `last 7 days` reaches from the same local time seven days ago to now. `now`,
    `3 hours ago` and a time of day name a moment, whatever the edge. Weeks begin on Monday; hours and minutes
    are exact durations; days, weeks, months and years keep the local time of day (the day of the month is
    lowered where the month is shorter). A date and time without zone is local. A local day begins when its
    midnight is first reached, or at the moment a clock change skips it.

    Args:
        text: What the person wrote; case and surrounding space do not matter.
        now: The moment relative words count from (aware).
        zone: The person's time zone.
        edge: `"end"` for options such as `--until` and `--as-of`, `"start"` for `--since`.

    Raises:
        InvalidInputError: The text is in none of the accepted forms, names a moment that does not exist or
            occurs twice in `zone`, or leaves the range of times.
    """
    words = " ".join(text.split()).lower()
    moment = utc(now)
    try:
        span = _absolute(text, words, zone) or _relative(words, moment, zone)
        if span is None:
            meant = _meant(words, moment, zone)
            hint = f"did you mean {meant!r}? {ACCEPTED_FORMS}" if meant else ACCEPTED_FORMS
            raise InvalidInputError(f"time {shown(text)} is not understood", hint=hint)
        return utc(span[0] if edge == "start" else span[1])
    except OverflowError as error:
        raise _out_of_range(text) from error


def _meant(words: str, now: datetime, zone: tzinfo) -> str | None:
    """Return what is understood and may have been meant: a date in another order or without its zeros, or `… ago`."""
    for order, pattern in ((1, _YEAR_FIRST), (-1, _DAY_FIRST)):
        if match := pattern.fullmatch(words):
            year, month, day = map(int, match.groups()[::order])
            with suppress(ValueError):
                return date(year, month, day).isoformat()
    ago = f"{words} ago"
    return ago if _relative(ago, now, zone) else None


def local_zone(environ: Mapping[str, str], *, localtime: Path = Path("/etc/localtime")) -> tzinfo:
    """Return the time zone of this machine's user: `TZ`, else the system's, with all its clock changes.

    Where neither can be read as a zone of the IANA database (a POSIX rule in `TZ`, or Windows), the returned
    zone asks the C library for each moment instead.
    """
    name = environ.get("TZ", "").removeprefix(":")
    try:
        if name:
            return ZoneInfo(name)
        if "TZ" not in environ:
            with localtime.open("rb") as file:
                return ZoneInfo.from_file(file, key=_zone_name(localtime))
    except (KeyError, ValueError, OSError):  # an unknown name is any of these, by its spelling
        pass
    return _SystemZone()


class _SystemZone(tzinfo):
    """The C library's idea of local time, which knows every rule but no name."""

    def utcoffset(self, value: datetime | None) -> timedelta:
        standard = timedelta(seconds=-time.timezone)
        if value is None:
            return standard
        try:
            return value.replace(tzinfo=None).astimezone().utcoffset() or timedelta(0)
        except (OverflowError, OSError, ValueError):  # beyond what the C library can convert
            return standard

    def dst(self, value: datetime | None) -> timedelta:
        return self.utcoffset(value) - timedelta(seconds=-time.timezone)

    def tzname(self, value: datetime | None) -> str:  # noqa: ARG002 - the signature is the standard library's
        return "local time"

    def fromutc(self, value: datetime) -> datetime:
        try:
            local = value.replace(tzinfo=UTC).astimezone()
        except (OverflowError, OSError, ValueError):
            return value + self.utcoffset(None)
        return local.replace(tzinfo=self)


def _zone_name(localtime: Path) -> str | None:
    parts = localtime.resolve().parts
    return "/".join(parts[parts.index("zoneinfo") + 1 :]) if "zoneinfo" in parts else None


def _to_utc(value: datetime) -> datetime:
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidInputError(
            f"time {value.isoformat()!r} has no time zone", hint="pass an aware datetime, for example with tzinfo=UTC"
        )
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise _out_of_range(value.isoformat()) from error


def _out_of_range(text: str) -> InvalidInputError:
    return InvalidInputError(
        f"time {shown(text)} is out of range",
        hint=f"times reach from {to_rfc3339(MIN_TIME)} to {to_rfc3339(MAX_TIME)}",
    )


def _read(text: str, match: re.Match[str]) -> datetime:
    """Return the date and time a match of `_DATETIME` spells, naive when it has no zone."""
    day, clock, fraction, offset = match.groups()
    digits = (fraction or "").rstrip("0")
    if len(digits) > 6:
        raise InvalidInputError(
            f"time {shown(text)} is finer than a microsecond", hint="give at most six digits after the second"
        )
    clock = clock if len(clock) == 8 else f"{clock}:00"
    try:
        return datetime.fromisoformat(f"{day}T{clock}.{digits:0<6}{(offset or '').upper()}")
    except ValueError as error:
        raise InvalidInputError(f"time {shown(text)} does not exist: {error}", hint=ACCEPTED_FORMS) from error


def _absolute(text: str, words: str, zone: tzinfo) -> tuple[datetime, datetime] | None:
    """Return the first and last moment of a date, month, or date and time; `None` for other words."""
    if match := _DATETIME.fullmatch(words):
        moment = _read(text, match)
        if moment.tzinfo is None:
            moment = _local(text, moment, zone)
        return moment, moment
    match = _DATE.fullmatch(words)
    if match is None:
        return None
    year, month, day = (int(part or 1) for part in match.groups())
    try:
        first = date(year, month, day)
    except ValueError as error:
        raise InvalidInputError(f"date {shown(text)} does not exist: {error}", hint=ACCEPTED_FORMS) from error
    return _days(first, "day" if match.group(3) else "month", zone)


def _relative(words: str, now: datetime, zone: tzinfo) -> tuple[datetime, datetime] | None:
    """Return the first and last moment that words relative to `now` name; `None` for other words."""
    if words == "now":
        return now, now
    today = now.astimezone(zone).date()
    if words in {"today", "yesterday"}:
        return _days(today - timedelta(days=words == "yesterday"), "day", zone)
    if match := _CALENDAR.fullmatch(words):
        which, unit = match.groups()
        first = _first_of(today, unit)
        return _days(_first_of(first - timedelta(days=1), unit) if which == "last" else first, unit, zone)
    if match := _AGO.fullmatch(words) or _LAST.fullmatch(words):
        then = _back(now, match, zone)
        return then, then if match.re is _AGO else now
    return None


def _days(first: date, unit: str, zone: tzinfo) -> tuple[datetime, datetime]:
    """Return the first and last microsecond of the local day, week, month or year from `first` on.

    What of the span lies outside the range of times is cut off, so that `0001-01-01` and `9999-12-31` mean
    something everywhere.
    """
    try:
        start = _midnight(first, zone)
    except OverflowError:
        start = MIN_TIME
    try:
        match unit:
            case "day":
                following = first + timedelta(days=1)
            case "week":
                following = first + timedelta(days=7)
            case _:
                following = _months_later(first, 1 if unit == "month" else 12)
        end = min(_midnight(following, zone) - _STEP, MAX_TIME)
    except OverflowError:
        end = MAX_TIME
    return start, end


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


def _first_of(day: date, unit: str) -> date:
    match unit:
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case _:
            return day.replace(month=1, day=1)


def _months_later(day: date, months: int) -> date:
    """Return the same day of another month, or that month's last day where it is shorter."""
    index = day.year * 12 + day.month - 1 + months
    year, month = index // 12, index % 12 + 1
    if not 1 <= year <= 9999:
        raise OverflowError(f"year {year} is out of range")
    for last in (31, 30, 29):
        try:
            return date(year, month, min(day.day, last))
        except ValueError:
            continue
    return date(year, month, 28)


def _back(now: datetime, match: re.Match[str], zone: tzinfo) -> datetime:
    """Return the moment the matched number of units before `now`."""
    word, unit = match.group("number") or "one", match.group("unit")
    number = _NUMBERS[word] if word in _NUMBERS else int(word)
    if unit in {"minute", "hour"}:
        return now - timedelta(minutes=number * (60 if unit == "hour" else 1))
    local = now.astimezone(zone)
    if unit in {"day", "week"}:
        day = local.date() - timedelta(days=number * (7 if unit == "week" else 1))
    else:
        day = _months_later(local.date(), -number * (12 if unit == "year" else 1))
    return datetime.combine(day, local.timetz()).astimezone(UTC)


def _local(text: str, value: datetime, zone: tzinfo) -> datetime:
    """Return a local date and time as a moment, when exactly one moment is called so."""
    first, second = value.replace(tzinfo=zone, fold=0), value.replace(tzinfo=zone, fold=1)
    if first.utcoffset() == second.utcoffset():
        return first
    # The two readings differ around a clock change: both are right when it repeats an hour, neither when it skips one.
    repeated = first.astimezone(UTC).astimezone(zone).replace(tzinfo=None) == value
    raise InvalidInputError(
        f"local time {shown(text)} {'occurs twice' if repeated else 'does not exist'} because the clocks change",
        hint="add a zone: 'Z' or an offset such as '+02:00'",
    )
