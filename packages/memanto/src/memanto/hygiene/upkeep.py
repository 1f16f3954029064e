"""One pass of upkeep over an agent: summary, detection over old and new, learning, policy, doctor.

Each step is done whatever became of the one before, and each failure is kept with its code: upkeep that stops at
the first fault would stop for good.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Final, TypeVar

from memanto.errors import MemantoError

if TYPE_CHECKING:
    from memanto.hygiene.port import Check, Keeper

MOST_DAYS: Final = 366
"""Days that one pass catches up at most."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySummary:
    """What a day's summary counts; its text is made anew whenever it is asked for."""

    day: date
    counts: dict[str, int]
    contradictions: int
    conflicts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What went wrong in a step."""

    step: str
    code: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepReport:
    """What a pass did.

    Attributes:
        agent: The agent.
        summaries: One per day since the last pass, oldest first.
        skipped_days: Days beyond what one pass catches up.
        examined: Memories that detection looked at.
        found: Open conflicts among them.
        backlog: Open conflicts in all.
        learned: Memories whose confidence moved.
        expired: Memories that the policy let expire.
        kept: Due memories that were kept, by reason.
        checks: Checks of the doctor.
        failed_checks: Names of those that failed, with what was found.
        problems: Steps that failed.
    """

    agent: str
    summaries: tuple[DaySummary, ...] = ()
    skipped_days: int = 0
    examined: int = 0
    found: int = 0
    backlog: int = 0
    learned: int = 0
    expired: int = 0
    kept: dict[str, int] = field(default_factory=dict)
    checks: int = 0
    failed_checks: dict[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every step was done and every check passed."""
        return not (self.problems or self.failed_checks)


def keep_up(
    memory: Keeper,
    *,
    since: date | None,
    zone: tzinfo,
    now: datetime,
    progress: Callable[[int, int], None] | None = None,
) -> UpkeepReport:
    """Do one pass.

    Args:
        memory: The agent's verbs.
        since: The day of the last pass, which is summed up again; `None` for today alone.
        zone: Where days begin at midnight.
        now: The present.
        progress: Of detection.
    """
    days, skipped = _days(since, now.astimezone(zone).date())
    attempt = _Attempts()
    summaries: list[DaySummary] = attempt("summary", lambda: [_summary(memory, day, zone) for day in days], list)
    detection = attempt("detection", lambda: memory.detect_conflicts(progress=progress), lambda: None)
    learned: Sequence[object] = attempt("learning", memory.learn, list)
    applied = attempt("policy", memory.apply_policy, lambda: None)
    checks: Sequence[Check] = attempt("doctor", memory.doctor, list)
    backlog: Sequence[object] = attempt("conflicts", memory.conflicts, list)
    return UpkeepReport(
        agent=memory.agent,
        summaries=tuple(summaries),
        skipped_days=skipped,
        examined=detection.examined if detection else 0,
        found=len(detection.conflicts) if detection else 0,
        backlog=len(backlog),
        learned=len(learned),
        expired=len(applied.expired) if applied else 0,
        kept=applied.kept if applied else {},
        checks=len(checks),
        failed_checks={check.name: check.detail for check in checks if not check.ok},
        problems=tuple(attempt.problems),
    )


class _Attempts:
    """Runs steps and keeps what went wrong."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def __call__(self, step: str, act: Callable[[], T], otherwise: Callable[[], T]) -> T:
        try:
            return act()
        except MemantoError as error:
            self.problems.append(Problem(step=step, code=error.code, message=error.message, hint=error.hint))
            return otherwise()


def _days(since: date | None, today: date) -> tuple[list[date], int]:
    first = today if since is None else min(since, today)
    span = (today - first).days + 1
    start = max(0, span - MOST_DAYS)
    return [first + timedelta(days=number) for number in range(start, span)], start


def _summary(memory: Keeper, day: date, zone: tzinfo) -> DaySummary:
    summary = memory.daily_summary(day, zone=zone)
    return DaySummary(
        day=day,
        counts=summary.counts,
        contradictions=len(summary.contradictions),
        conflicts=len(summary.conflicts),
    )
