"""Targets that read a few words: times, agent ids, settings and filters."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final
from zoneinfo import ZoneInfo

from tests.fuzz.kit import refused, refusing, scratch, target

from memanto.config import get_value, load_settings, set_value
from memanto.config_keys import KEYS
from memanto.ids import check_agent_id, decode_agent_id, encode_agent_id
from memanto.memory.request import check_budget, check_similarity, recall_filter
from memanto.memory.validation import (
    check_id_prefix,
    check_limit,
    check_name,
    check_query,
    check_reason,
    check_source,
    coerce_provenance,
    coerce_status,
    coerce_type,
)
from memanto.times import MAX_TIME, MIN_TIME, from_rfc3339, parse_time, to_rfc3339

_ZONES: Final = (UTC, ZoneInfo("Europe/Berlin"), ZoneInfo("America/St_Johns"), timezone(timedelta(hours=-12)))
_NOW: Final = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)  # the clocks of Berlin change half an hour before


@target(
    "times",
    seeds=(
        "2026-06-01", "2026-06", "2026-06-01T10:00:00Z", "2026-06-01 10:00+02:00", "2026-01-02T03:04:05.000006Z",
        "now", "today", "yesterday", "this week", "last month", "last 7 days", "3 hours ago", "a year ago",
        "0001-01-01", "9999-12-31", "9999-12-31T23:59:59.999999Z", "2026-W01-1T03:04:05.000006Z",
        "last 999999999 days",
    ),
    words=(
        "last ", "past ", "this ", " ago", "minute", "hour", "day", "week", "month", "year", "twelve", "999999999",
        "0001-01-01", "9999-12-31", "T", "Z", "+14:00", "-12:00", "+23:59", ":60", "24:00:00", ".999999", "2026-W01-1",
        "02:30", "2026-10-25", "2026-03-29", "\u0663", "\u2212", " ",
    ),
)  # fmt: skip
def times(text: str) -> None:
    """A time is in range and in UTC, begins before it ends, and has one text form that reads back equal."""
    for zone in _ZONES:
        with refusing():
            start = parse_time(text, now=_NOW, zone=zone, edge="start")
            end = parse_time(text, now=_NOW, zone=zone, edge="end")
            assert MIN_TIME <= start <= end <= MAX_TIME
            assert start.tzinfo is UTC
            assert from_rfc3339(to_rfc3339(end)) == end
    with refusing():
        moment = from_rfc3339(text)
        written = to_rfc3339(moment)
        assert from_rfc3339(written) == moment
        assert len(written) == 27
        # Whatever was accepted says the same to a person's reader: no form is known to one of the two alone.
        if moment <= MAX_TIME:
            assert parse_time(text, now=_NOW, zone=UTC, edge="end") == moment


@target(
    "agent-id",
    seeds=("nightly-reconciler", "A.b_c-1", "CON", "com1", "nul.txt", "a" * 64, "~41", "con~2e"),
    words=("con", "aux", "lpt9", ".", "~", "~41", "~2e", "..", "/", "\x00", "\n", "\u0130", "\u212a", "\uff21"),
)
def agent_id(text: str) -> None:
    """A valid id becomes one folder name that every file system takes, and comes back; anything is decoded."""
    assert isinstance(decode_agent_id(text), str)
    if refused(lambda: check_agent_id(text)):
        return
    name = encode_agent_id(text)
    assert decode_agent_id(name) == text
    assert name == name.lower()
    assert name.isascii()
    assert not set(name) & set('/\\:*?"<>|. \x00')
    assert len(name) <= 3 * len(text)
    assert name not in {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}


@target(
    "config-set",
    seeds=(
        "offline=yes", "backend=on-prem", "qdrant_url=http://localhost:6333", "llm.model=qwen", "llm_timeout=30",
        "llm_max_tokens=1e3", "embed_model_path=~/models", "durability=full", "llm.base_url=http://127.0.0.1:1/v1",
        "api_key_env=QDRANT_KEY", "agent=mine", "embed_model_path=~nobody-has-this-name/x", "llm_timeout=nan",
    ),
    words=(
        *KEYS, "llm.", "=", "http://", "[::1]", ":65536", "@", "?", "#", "~", "~root", "\x00", "1e400", "-inf", "nan",
        "1_000", "\u0663\u0660", "'''", '"', "\\", "\r", "\n", "\x7f", "\ufeff",
    ),
)  # fmt: skip
def config_set(text: str) -> None:
    """A value that is set is what is got afterwards, from the file and from the environment; else nothing changed."""
    name, _, value = text.partition("=")
    home = scratch() / "set"
    home.mkdir(exist_ok=True)
    file = home / "config.toml"
    file.write_text('# mine\nllm_model = "kept"\n', "utf-8")
    before = file.read_bytes()
    here = {"home": home}
    if refused(lambda: set_value(home, name, value)):
        assert file.read_bytes() == before
    else:
        held = get_value(load_settings({}, home, here), name)
        set_value(home, name, str(held))
        assert get_value(load_settings({}, home, here), name) == held
        assert file.read_text("utf-8").startswith("# mine\n")
    with refusing():
        get_value(load_settings({}, home, here), name)
    for key in KEYS.values():
        with refusing():
            load_settings({key.variable: value}, home, here)
    with refusing():
        load_settings({"MEMANTO_HOME": value}, home)


@target(
    "filters",
    seeds=(
        '{"types": ["fact", "error"], "memory": "episodic"}',
        '{"tags": ["a", "b"], "any_tags": ["c"], "min_confidence": 0.5, "limit": 3}',
        '{"status": ["active"], "source": "claude code", "key": "db", "run_id": "r1", "query": "x"}',
        '{"as_of": "2026-06-01", "since": "last week", "min_similarity": -1, "budget_tokens": 9}',
        '{"types": "fact", "tags": {"a": 1}, "status": [[]], "memory": []}',
    ),
    words=(
        '"types": ', '"memory": ', '"tags": ', '"status": ', '"source": ', '"as_of": ', '"limit": ',
        "NaN", "Infinity", "1e999", "-0.0", "null", "true", "[]", "{}", '"\\ud800"', '"e\\u0301"', '"\\u200b"',
    ),
)  # fmt: skip
def filters(text: str) -> None:
    """Whatever a caller passes as filters is checked into one, or refused."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = {"source": text, "key": text, "tags": [text], "types": [text], "memory": text, "query": text}
    if not isinstance(given, dict):
        given = {"types": given, "tags": given, "memory": given, "min_confidence": given, "as_of": given}
    for name, check in _ARGUMENTS.items():
        if name in given:
            refused(lambda check=check, name=name: check(given[name]))  # type: ignore[misc]
    wanted = {**_NONE, **{name: given[name] for name in _NONE if name in given}}
    for name in _TIMES:
        text_given = isinstance(wanted[name], str)
        if text_given and refused(lambda name=name: wanted.update({name: _moment(wanted[name])})):  # type: ignore[misc]
            wanted[name] = None
    with refusing():
        found = recall_filter(**wanted)
        assert found.min_confidence is None or 0 <= found.min_confidence <= 1
        again = {name: getattr(found, "statuses" if name == "status" else name) for name in _NONE if name != "memory"}
        assert recall_filter(**again, memory=None) == found


def _moment(text: str) -> datetime:
    return parse_time(text, now=_NOW, zone=UTC, edge="end")


_TIMES: Final = ("since", "until", "changed_since", "as_of", "valid_at")
_NONE: Final[dict[str, Any]] = {
    "types": (), "memory": None, "tags": (), "any_tags": (), "status": (), "min_confidence": None, "source": None,
    "run_id": None, "key": None, "pinned": False, "everything": False, **dict.fromkeys(_TIMES),
}  # fmt: skip
_ARGUMENTS: Final[dict[str, Any]] = {
    "limit": check_limit,
    "min_similarity": check_similarity,
    "budget_tokens": check_budget,
    "query": check_query,
    "reason": check_reason,
    "id": check_id_prefix,
    "source": check_source,
    "key": lambda value: check_name("key", value),
    "types": coerce_type,
    "provenance": coerce_provenance,
    "status": coerce_status,
}
