"""Replay the log into a memory and ask its questions: the main job on the project's own data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from memanto.client import Memanto
from memanto.corpus import LogEntry, Operation, Question, load_log, load_questions
from memanto.models import Draft, Recollection
from memanto.testing import FixedClock


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with what came back.

    Attributes:
        question: The question.
        hits: The recollections, best first.
        expected_ids: Ids of the memories that answer it, the best first.
    """

    question: Question
    hits: tuple[Recollection, ...]
    expected_ids: tuple[str, ...]

    @property
    def rank(self) -> int | None:
        """1-based rank of the first memory that answers it, or `None` when none is among the hits."""
        return next((rank for rank, hit in enumerate(self.hits, 1) if hit.memory.id in self.expected_ids), None)

    @property
    def right_value(self) -> bool:
        """Whether the first right memory says what was right then, and no hit shows a later value."""
        if self.rank is None:
            return False
        content = self.hits[self.rank - 1].memory.content
        shown = " ".join(hit.memory.content for hit in self.hits)
        return self.question.expect_text in content and not (self.question.not_text and self.question.not_text in shown)


def replay(memory: Memanto, clock: FixedClock, log: Iterable[LogEntry] | None = None) -> dict[str, str]:
    """Write the log into `memory`, each line at its own time, and return the memory id of each ref.

    `clock` must be the clock `memory` was made with. Consecutive new memories of the log are written one by
    one, since each has a time of its own.
    """
    ids: dict[str, str] = {}
    for entry in load_log() if log is None else log:
        clock.set(entry.recorded_at)
        match entry.op:
            case Operation.REMEMBER:
                ids[entry.ref] = memory.remember(entry.draft()).id
            case Operation.EDIT:
                ids[entry.ref] = memory.edit(ids[_target(entry)], content=entry.content, reason=entry.reason).id
            case Operation.EXPIRE:
                ids[entry.ref] = memory.expire(ids[_target(entry)], reason=entry.reason).id
            case Operation.SUPERSEDE:
                ids[entry.ref] = memory.remember(entry.draft()).id
                memory.supersede(ids[_target(entry)], ids[entry.ref], reason=entry.reason)
    return ids


def ask(
    memory: Memanto, ids: dict[str, str], questions: Iterable[Question] | None = None, *, limit: int = 5
) -> list[Asked]:
    """Ask the questions and return what came back for each."""
    asked = []
    for question in load_questions() if questions is None else questions:
        hits = memory.recall(
            question.question,
            types=[question.type] if question.type else [],
            as_of=_moment(question.as_of, time.max),
            valid_at=_moment(question.valid_at, time(12)),
            limit=limit,
        )
        expected = tuple(ids[ref] for ref in question.expected)
        asked.append(Asked(question=question, hits=tuple(hits), expected_ids=expected))
    return asked


def drafts() -> list[Draft]:
    """Return the log's new memories without their times, for tests that only need content."""
    return [entry.draft() for entry in load_log() if entry.op is Operation.REMEMBER]


def _target(entry: LogEntry) -> str:
    if entry.target is None:
        raise ValueError(f"line {entry.ref!r} changes a memory and names none")
    return entry.target


def _moment(day: date | None, at: time) -> datetime | None:
    return None if day is None else datetime.combine(day, at, tzinfo=UTC)
