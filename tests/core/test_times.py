"""Times: one exact text form, and the words people use for moments and spans."""

from __future__ import annotations

import string
import struct
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memanto.engine.schema import OPEN_END
from memanto.errors import InvalidInputError
from memanto.times import (
    MAX_TIME,
    MIN_TIME,
    from_rfc3339,
    local_zone,
    parse_time,
    to_rfc3339,
    utc,
    utc_now,
)

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
NOW = datetime(2026, 7, 16, 13, 30, 5, 250, tzinfo=UTC)  # a Thursday

moments = st.datetimes(timezones=st.just(UTC))
offsets = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def start(text: str, *, now: datetime = NOW, zone: ZoneInfo = BERLIN) -> str:
    return to_rfc3339(parse_time(text, now=now, zone=zone, edge="start"))


def end(text: str, *, now: datetime = NOW, zone: ZoneInfo = BERLIN) -> str:
    return to_rfc3339(parse_time(text, now=now, zone=zone, edge="end"))


def test_the_text_form_always_has_four_digits_of_year_and_six_of_fraction() -> None:
    assert to_rfc3339(datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)) == "2026-01-02T03:04:05.000006Z"
    assert to_rfc3339(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00.000000Z"
    assert to_rfc3339(datetime(2026, 1, 2, 1, tzinfo=BERLIN)) == "2026-01-02T00:00:00.000000Z"


def test_the_mark_of_an_open_end_can_be_read_but_not_given() -> None:
    mark = from_rfc3339(OPEN_END)
    assert to_rfc3339(mark) == OPEN_END
    with pytest.raises(InvalidInputError, match="open end"):
        utc(mark)
    with pytest.raises(InvalidInputError, match="open end"):
        parse_time(OPEN_END, now=NOW, zone=UTC, edge="start")
    assert utc(MAX_TIME) == mark - timedelta(microseconds=1)


@given(moments)
def test_a_time_comes_back_from_its_text_as_it_was(moment: datetime) -> None:
    assert from_rfc3339(to_rfc3339(moment)) == moment
    assert from_rfc3339(to_rfc3339(moment)).tzinfo is UTC


@given(moments, moments)
def test_texts_sort_as_their_times_do(one: datetime, other: datetime) -> None:
    assert (to_rfc3339(one) < to_rfc3339(other)) == (one < other)


@given(st.datetimes(), offsets)
def test_a_time_with_an_offset_is_read_exactly_or_refused_as_out_of_range(naive: datetime, zone: timezone) -> None:
    text = naive.replace(tzinfo=zone).isoformat()
    elapsed = naive.replace(tzinfo=UTC) - MIN_TIME - zone.utcoffset(None)
    if timedelta(0) <= elapsed <= from_rfc3339(OPEN_END) - MIN_TIME:
        assert from_rfc3339(text) - MIN_TIME == elapsed
    else:
        with pytest.raises(InvalidInputError, match="out of range"):
            from_rfc3339(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2026-02-30T00:00:00Z", "2026-02-30T00:00:00Z"),
        ("2026-06-01T10:00:00", "no zone"),
        ("2026-06-01T24:00:00Z", "does not exist"),
        ("2026-06-01T10:00:60Z", "does not exist"),
        ("2026-06-01T10:00:00+25:00", "does not exist"),
        ("2026-06-01T10:00:00.1234567Z", "finer than a microsecond"),
        ("0001-01-01T00:00:00+00:01", "out of range"),
        ("9999-12-31T23:59:59-00:01", "out of range"),
        ("2026-06-01", "not RFC 3339"),
        ("٢٠٢٦-06-01T10:00:00Z", "not RFC 3339"),
        ("2026-06-01T10:00:00Z\n", "not RFC 3339"),
        ("", "not RFC 3339"),
    ],
)
def test_what_is_not_an_exact_moment_is_refused_with_its_value(text: str, says: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        from_rfc3339(text)
    assert says in caught.value.message
    assert repr(text) in caught.value.message
    assert caught.value.hint


def test_fractions_that_end_in_zeros_are_exact_and_kept() -> None:
    assert to_rfc3339(from_rfc3339("2026-06-01T10:00:00.1234560000Z")) == "2026-06-01T10:00:00.123456Z"


def test_naive_times_are_refused() -> None:
    naive = datetime(2026, 1, 1)  # noqa: DTZ001
    for function in (utc, to_rfc3339):
        with pytest.raises(InvalidInputError, match="no time zone"):
            function(naive)
    with pytest.raises(InvalidInputError, match="no time zone"):
        parse_time("today", now=naive, zone=UTC, edge="start")


def test_the_current_time_is_aware_and_in_utc() -> None:
    assert utc_now().tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-06-01", "2026-05-31T22:00:00.000000Z", "2026-06-01T21:59:59.999999Z"),
        ("2026-06", "2026-05-31T22:00:00.000000Z", "2026-06-30T21:59:59.999999Z"),
        ("today", "2026-07-15T22:00:00.000000Z", "2026-07-16T21:59:59.999999Z"),
        ("Yesterday ", "2026-07-14T22:00:00.000000Z", "2026-07-15T21:59:59.999999Z"),
        ("this week", "2026-07-12T22:00:00.000000Z", "2026-07-19T21:59:59.999999Z"),
        ("last  week", "2026-07-05T22:00:00.000000Z", "2026-07-12T21:59:59.999999Z"),
        ("this month", "2026-06-30T22:00:00.000000Z", "2026-07-31T21:59:59.999999Z"),
        ("last month", "2026-05-31T22:00:00.000000Z", "2026-06-30T21:59:59.999999Z"),
        ("this year", "2025-12-31T23:00:00.000000Z", "2026-12-31T22:59:59.999999Z"),
        ("LAST YEAR", "2024-12-31T23:00:00.000000Z", "2025-12-31T22:59:59.999999Z"),
        ("last 7 days", "2026-07-09T13:30:05.000250Z", "2026-07-16T13:30:05.000250Z"),
        ("last seven days", "2026-07-09T13:30:05.000250Z", "2026-07-16T13:30:05.000250Z"),
        ("past week", "2026-07-09T13:30:05.000250Z", "2026-07-16T13:30:05.000250Z"),
        ("last 24 hours", "2026-07-15T13:30:05.000250Z", "2026-07-16T13:30:05.000250Z"),
        ("last hour", "2026-07-16T12:30:05.000250Z", "2026-07-16T13:30:05.000250Z"),
        ("last 5 months", "2026-02-16T14:30:05.000250Z", "2026-07-16T13:30:05.000250Z"),
        ("last twelve months", "2025-07-16T13:30:05.000250Z", "2026-07-16T13:30:05.000250Z"),
    ],
)
def test_dates_and_words_name_spans_of_local_time(text: str, first: str, last: str) -> None:
    assert (start(text), end(text)) == (first, last)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("now", "2026-07-16T13:30:05.000250Z"),
        ("3 hours ago", "2026-07-16T10:30:05.000250Z"),
        ("an hour ago", "2026-07-16T12:30:05.000250Z"),
        ("Two Weeks Ago", "2026-07-02T13:30:05.000250Z"),
        ("12 minutes ago", "2026-07-16T13:18:05.000250Z"),
        ("2026-06-01T10:00:00Z", "2026-06-01T10:00:00.000000Z"),
        ("2026-06-01T10:00+02:00", "2026-06-01T08:00:00.000000Z"),
        ("2026-06-01 10:00:00.5 +0200", "2026-06-01T08:00:00.500000Z"),
        ("2026-06-01T10:00:00,25-03", "2026-06-01T13:00:00.250000Z"),
        ("2026-06-01T10:00", "2026-06-01T08:00:00.000000Z"),
        ("2026-12-01t10:00z", "2026-12-01T10:00:00.000000Z"),
    ],
)
def test_moments_are_the_same_at_either_edge(text: str, moment: str) -> None:
    assert start(text) == end(text) == moment


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-03-29", 23), ("2026-03-30", 24), ("2026-10-25", 25), ("2026-10-26", 24)]
)
def test_a_local_day_is_as_long_as_the_clock_change_makes_it(day: str, hours: int) -> None:
    length = from_rfc3339(end(day)) - from_rfc3339(start(day))
    assert length == timedelta(hours=hours) - timedelta(microseconds=1)


def test_days_ago_keep_the_local_time_and_hours_ago_the_duration_across_a_clock_change() -> None:
    now = datetime(2026, 3, 29, 12, tzinfo=BERLIN)
    assert start("1 day ago", now=now) == to_rfc3339(datetime(2026, 3, 28, 12, tzinfo=BERLIN))
    assert start("24 hours ago", now=now) == to_rfc3339(datetime(2026, 3, 28, 11, tzinfo=BERLIN))


def test_months_ago_fall_back_to_the_last_day_of_a_shorter_month() -> None:
    now = datetime(2026, 3, 31, 12, tzinfo=UTC)
    assert start("1 month ago", now=now, zone=ZoneInfo("UTC")) == "2026-02-28T12:00:00.000000Z"
    leap = datetime(2028, 2, 29, 12, tzinfo=UTC)
    assert start("1 year ago", now=leap, zone=ZoneInfo("UTC")) == "2027-02-28T12:00:00.000000Z"
    assert start("48 months ago", now=leap, zone=ZoneInfo("UTC")) == "2024-02-29T12:00:00.000000Z"


def test_what_day_it_is_depends_on_the_persons_zone() -> None:
    now = datetime(2026, 7, 16, 2, tzinfo=UTC)
    assert start("today", now=now, zone=NEW_YORK) == "2026-07-15T04:00:00.000000Z"
    assert start("today", now=now, zone=BERLIN) == "2026-07-15T22:00:00.000000Z"


def test_a_day_whose_midnight_is_skipped_begins_at_the_change() -> None:
    assert start("2018-11-04", zone=ZoneInfo("America/Sao_Paulo")) == "2018-11-04T03:00:00.000000Z"


@pytest.mark.parametrize(
    ("text", "says"),
    [("2026-03-29T02:30", "does not exist"), ("2026-10-25T02:30", "occurs twice")],
)
def test_a_local_time_that_no_moment_or_two_moments_have_needs_an_offset(text: str, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says) as caught:
        start(text)
    assert "offset" in caught.value.hint
    assert start(f"{text}+01:00")


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "UTC"])
def test_the_first_and_last_dates_mean_something_in_every_zone(zone: str) -> None:
    assert from_rfc3339(start("0001-01-01", zone=ZoneInfo(zone))) >= MIN_TIME
    assert from_rfc3339(end("9999-12-31", zone=ZoneInfo(zone))) <= MAX_TIME
    assert end("9999-12-31", zone=NEW_YORK) == to_rfc3339(MAX_TIME)


@pytest.mark.parametrize(
    "text",
    ["", "  ", "2026-02-30", "2026-13", "20260601", "soon", "last fortnight", "0 days ago", "last -1 days", "this day"],
)
def test_other_texts_are_refused_with_the_accepted_forms(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        start(text)
    assert repr(text) in caught.value.message
    assert "2026-06-01T10:00:00Z" in caught.value.hint
    assert "last 7 days" in caught.value.hint


@pytest.mark.parametrize(
    "text", ["999999999 years ago", "last 999999999 days", "99999 months ago", "0001-01-01T00:00:00+10:00"]
)
def test_words_that_lead_out_of_the_range_are_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="out of range"):
        start(text)


words = st.sampled_from(["last", "this", "ago", "week", "days", "12", "999999999", "yesterday", "2026-10-25", "T02:30"])


@given(
    st.text() | st.lists(words).map(" ".join) | st.text(string.digits + "-:+TZ. "), st.sampled_from(["start", "end"])
)
def test_any_text_is_a_time_in_range_or_invalid_input(text: str, edge: str) -> None:
    try:
        moment = parse_time(text, now=NOW, zone=BERLIN, edge=edge)  # type: ignore[arg-type]
    except InvalidInputError as error:
        assert error.hint
    else:
        assert MIN_TIME <= moment <= MAX_TIME


@given(
    st.dates(),
    st.sampled_from(["Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "Africa/Cairo"]),
)
def test_a_day_ends_one_microsecond_before_the_next_begins(day: object, name: str) -> None:
    zone = ZoneInfo(name)
    last = parse_time(str(day), now=NOW, zone=zone, edge="end")
    if last < MAX_TIME:
        following = last + timedelta(microseconds=1)
        assert parse_time(str(day), now=NOW, zone=zone, edge="start") < last
        assert following.astimezone(zone).date() > last.astimezone(zone).date()


def test_the_local_zone_comes_from_tz_then_from_the_system(tmp_path: Path) -> None:
    link = tmp_path / "localtime"
    assert local_zone({"TZ": ":Asia/Tokyo"}, localtime=link) == ZoneInfo("Asia/Tokyo")
    database = tmp_path / "zoneinfo" / "Europe"
    database.mkdir(parents=True)
    # The smallest file of the format (RFC 9636): no transition, one local time type, 90 minutes ahead.
    (database / "Nowhere").write_bytes(struct.pack(">4s16x6l lBB4s", b"TZif", 0, 0, 0, 0, 1, 4, 5400, 0, 0, b"NOW"))
    link.symlink_to(database / "Nowhere")
    zone = local_zone({}, localtime=link)
    assert str(zone) == "Europe/Nowhere"
    assert NOW.astimezone(zone).utcoffset() == timedelta(minutes=90)


@pytest.mark.parametrize("name", ["CET-1CEST,M3.5.0,M10.5.0/3", "No/Such", "../etc", ""])
def test_a_zone_without_a_name_in_the_database_follows_the_c_library(name: str, tmp_path: Path) -> None:
    zone = local_zone({"TZ": name}, localtime=tmp_path / "none")
    for moment in (NOW, datetime(2026, 1, 1, tzinfo=UTC), MIN_TIME + timedelta(days=2), MAX_TIME - timedelta(days=2)):
        local = moment.astimezone(zone)
        assert local.astimezone(UTC) == moment
    assert NOW.astimezone(zone).utcoffset() == NOW.astimezone().utcoffset()
    assert start("2026-06-01", zone=zone) < end("2026-06-01", zone=zone)  # type: ignore[arg-type]
