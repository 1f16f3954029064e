"""Conditions on memories that every engine understands, and the filter behind `recall`.

A `Where` is a conjunction of conditions; engines translate it, nothing else interprets it. Times are
RFC 3339 strings as `memanto.times.to_rfc3339` writes them, so that they compare exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:  # a saver of checkpoints needs no models, and does not wait for them
    from memanto.models import MemoryType, Status


@dataclass(frozen=True, slots=True)
class Equals:
    """The field holds this string (for a list: among its strings).

    Only strings: the embedded engine takes `True` for 1 and then matches no boolean.
    """

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The field holds one of these values; no values match nothing."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TimeRange:
    """The field's time lies in the range; an absent field never does."""

    field: str
    gt: str | None = None
    gte: str | None = None
    lt: str | None = None
    lte: str | None = None


@dataclass(frozen=True, slots=True)
class NumberRange:
    """The field's number lies in the range; compared as float64."""

    field: str
    gte: float | None = None
    lte: float | None = None


@dataclass(frozen=True, slots=True)
class HasVector:
    """The point carries a vector under this name."""

    name: str


@dataclass(frozen=True, slots=True)
class Either:
    """At least one of the alternatives holds."""

    alternatives: tuple[Where, ...]


@dataclass(frozen=True, slots=True)
class Where:
    """All of `must` hold and none of `must_not`. An empty `Where` matches every point of a namespace."""

    must: tuple[Condition, ...] = ()
    must_not: tuple[Condition, ...] = ()

    def also(self, *conditions: Condition) -> Where:
        """Return this filter with more conditions that must hold."""
        return Where(self.must + conditions, self.must_not)

    def without(self, *conditions: Condition) -> Where:
        """Return this filter with more conditions that must not hold."""
        return Where(self.must, self.must_not + conditions)


Condition: TypeAlias = Equals | AnyOf | TimeRange | NumberRange | HasVector | Either | Where


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallFilter:
    """Which memories a read may return; every part combines with every other.

    Attributes:
        types: Any of these types; empty means all.
        tags: All of these tags.
        any_tags: At least one of these tags.
        statuses: Any of these statuses. Empty means `active` alone, unless `everything` is set.
        everything: Also what is retired, quarantined or no longer true.
        min_confidence: 0..1.
        since: Event time (`valid_from`, else `recorded_at`) at or after.
        until: Event time at or before.
        changed_since: Recorded at or after.
        as_of: Knowledge time: what was believed then.
        valid_at: World time: what was true then.
        source: Who wrote it.
        run_id: Which run wrote it.
        key: The slot it fills.
        pinned: Only what is pinned.
        extra: Further conditions of a caller inside the project.
    """

    types: tuple[MemoryType, ...] = ()
    tags: tuple[str, ...] = ()
    any_tags: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = ()
    everything: bool = False
    min_confidence: float | None = None
    since: datetime | None = None
    until: datetime | None = None
    changed_since: datetime | None = None
    as_of: datetime | None = None
    valid_at: datetime | None = None
    source: str | None = None
    run_id: str | None = None
    key: str | None = None
    pinned: bool = False
    extra: Where = field(default_factory=Where)
