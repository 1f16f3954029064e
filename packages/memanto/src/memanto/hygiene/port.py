"""What a pass of upkeep asks of a memory: a few of `Memanto`'s verbs; see there for what they promise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, tzinfo
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from memanto.hygiene.conflict import Conflict
    from memanto.hygiene.detect import Detection
    from memanto.hygiene.expiry import Application
    from memanto.hygiene.learning import Learned
    from memanto.hygiene.summary import DailySummary


class Check(Protocol):
    """A result of `doctor`."""

    @property
    def name(self) -> str: ...

    @property
    def ok(self) -> bool: ...

    @property
    def detail(self) -> str: ...


class Keeper(Protocol):
    """The verbs of upkeep."""

    @property
    def agent(self) -> str: ...

    def daily_summary(self, day: date | None = None, *, zone: tzinfo = ...) -> DailySummary: ...

    def detect_conflicts(self, *, progress: Callable[[int, int], None] | None = None) -> Detection: ...

    def conflicts(self) -> list[Conflict]: ...

    def learn(self) -> list[Learned]: ...

    def apply_policy(self) -> Application: ...

    def doctor(self) -> Sequence[Check]: ...
