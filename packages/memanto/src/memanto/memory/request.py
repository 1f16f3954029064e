"""From what a caller passes to `recall` to a checked filter: every value is normalised as it was on writing."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from memanto.errors import InvalidInputError, shown
from memanto.filters import RecallFilter
from memanto.memory.validation import (
    check_confidence,
    check_list,
    check_name,
    check_source,
    check_tags,
    check_time,
    coerce_status,
    coerce_type,
)
from memanto.models import MEMORY_GROUPS, MemoryType


def recall_filter(
    *,
    types: Iterable[MemoryType | str],
    memory: str | None,
    tags: Iterable[str],
    any_tags: Iterable[str],
    status: Iterable[Any],
    min_confidence: float | None,
    source: str | None,
    run_id: str | None,
    key: str | None,
    pinned: bool,
    everything: bool,
    since: datetime | None,
    until: datetime | None,
    changed_since: datetime | None,
    as_of: datetime | None,
    valid_at: datetime | None,
) -> RecallFilter:
    """Return the filter of one `recall`; the arguments are those of `Memanto.recall`.

    Raises:
        InvalidInputError: A value is of another kind or out of its range.
    """
    kinds = [coerce_type(kind) for kind in check_list("types", types)]
    return RecallFilter(
        types=tuple(dict.fromkeys([*kinds, *_group(memory)])),
        tags=check_tags(tags),
        any_tags=check_tags(any_tags),
        statuses=tuple(coerce_status(one) for one in check_list("status", status)),
        everything=bool(everything),
        min_confidence=None if min_confidence is None else check_confidence(min_confidence),
        source=None if source is None else check_source(source),
        run_id=check_name("run_id", run_id),
        key=check_name("key", key),
        pinned=bool(pinned),
        since=_time("since", since),
        until=_time("until", until),
        changed_since=_time("changed_since", changed_since),
        as_of=_time("as_of", as_of),
        valid_at=_time("valid_at", valid_at),
    )


def _time(name: str, value: datetime | None) -> datetime | None:
    return None if value is None else check_time(name, value)


def check_similarity(value: float | None) -> float | None:
    """Return a cosine to be reached.

    Raises:
        InvalidInputError: It is not a number in -1..1.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (number and math.isfinite(value) and -1 <= value <= 1):
        raise InvalidInputError(
            f"min_similarity {shown(value)} is not a number from -1 to 1",
            hint="0.75 means much the same, 0.3 is related",
        )
    return value


def check_budget(value: int | None) -> int | None:
    """Return a budget in tokens.

    Raises:
        InvalidInputError: It is not a whole number from 1.
    """
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise InvalidInputError(
            f"budget_tokens {shown(value)} is not a whole number from 1",
            hint="such as 1000; a word takes about 1.3 tokens",
        )
    return value


def _group(memory: str | None) -> tuple[MemoryType, ...]:
    if memory is None:
        return ()
    if not isinstance(memory, str) or memory not in MEMORY_GROUPS:
        raise InvalidInputError(f"unknown kind of memory {shown(memory)}", hint=f"one of {', '.join(MEMORY_GROUPS)}")
    return MEMORY_GROUPS[memory]
