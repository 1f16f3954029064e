"""The project's own corpus: a fictional team's engineering log, and questions whose answers are known.

The log is what agents and people of a team that runs a payments ledger wrote down over four months of
2026: every type of memory, values that change, decisions taken back, failures with their fixes. Teams,
systems, clients and addresses are invented, and nobody is named. The demo, the tests and the docs share it.

Replaying the log means doing what each line says, in order, at the line's time. A line's `ref` names the
memory it wrote; after an edit, or another value under the same `key`, the later line's `ref` names the same
memory at its newer version.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from importlib import resources
from typing import Any, Final

from memanto.models import DEFAULT_CONFIDENCE, Draft, MemoryType, Provenance

__all__ = ["LogEntry", "Operation", "Question", "QuestionKind", "load_log", "load_questions"]

_LOG: Final = "engineering_log.jsonl"
_QUESTIONS: Final = "questions.jsonl"


class Operation(enum.StrEnum):
    """What a line of the log does."""

    REMEMBER = "remember"  #: write a memory; under a known `key`, the next version of that slot's memory
    EDIT = "edit"  #: write the next version of `target`, with new content
    EXPIRE = "expire"  #: end `target`; the line has no content
    SUPERSEDE = "supersede"  #: write a new memory that takes the place of `target`


class QuestionKind(enum.StrEnum):
    """What makes a question hard."""

    LEXICAL = "lexical"  #: shares rare words with its answer
    PARAPHRASE = "paraphrase"  #: shares no word with its answer that fewer than 5 % of the memories hold
    AS_OF = "as_of"  #: asks what was believed at an earlier date; today's answer differs
    VALID_AT = "valid_at"  #: asks what was true at an earlier date
    NONE = "none"  #: has no answer in the log


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One line of the log.

    Attributes:
        ref: Name of the line, `"m001"` and so on in order of time.
        recorded_at: When it was written (aware, UTC); strictly increasing from line to line.
        source: Who wrote it: a team, an agent or a tool.
        op: What it does.
        target: The `ref` of any earlier line of the memory that is edited, expired or superseded.
        reason: Why, for those operations.
        type: The memory's type; `None` when the line expires something.
        content: The text, or `""` when the line expires something.
        key: The slot this value fills, such as `"ledger.database"`. The next value retires it.
        valid_from: From when it was true in the world, or `None`.
        valid_to: Until when it was true in the world (exclusive), or `None`.
    """

    ref: str
    recorded_at: datetime
    source: str
    op: Operation = Operation.REMEMBER
    target: str | None = None
    reason: str = ""
    type: MemoryType | None = None
    content: str = ""
    title: str | None = None
    tags: tuple[str, ...] = ()
    confidence: float = DEFAULT_CONFIDENCE
    provenance: Provenance = Provenance.EXPLICIT_STATEMENT
    key: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    def draft(self) -> Draft:
        """Return what `remember` is handed for this line; its time and operation stay behind."""
        return Draft(
            content=self.content,
            type=self.type,
            title=self.title,
            tags=self.tags,
            confidence=self.confidence,
            provenance=self.provenance,
            source=self.source,
            valid_from=self.valid_from,
            valid_to=self.valid_to,
            key=self.key,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to the replayed log, and what a right answer holds.

    Attributes:
        id: `"q01"` and so on.
        question: The words to ask.
        kind: What makes it hard.
        expected: Refs of the lines whose memory answers it, the best first; empty when nothing does.
        expect_text: A part of the content that the right version of the best memory holds, or `""`.
        not_text: A part of today's answer that an answer as of the asked date must not show, or `""`.
        as_of: Ask for what was believed at the end of this day. No line of the answer's memory falls within
            a day of it, so the local time zone does not matter.
        valid_at: Ask for what was true on this day.
        type: Ask only among memories of this type.
    """

    id: str
    question: str
    kind: QuestionKind
    expected: tuple[str, ...] = ()
    expect_text: str = ""
    not_text: str = ""
    as_of: date | None = None
    valid_at: date | None = None
    type: MemoryType | None = None


def load_log() -> list[LogEntry]:
    """Read the log: some 240 lines, in the order in which they were written."""
    return [_entry(record) for record in _records(_LOG)]


def load_questions() -> list[Question]:
    """Read the 40 questions, in order of their ids."""
    return [_question(record) for record in _records(_QUESTIONS)]


def _records(name: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON object of each line of a data file."""
    text = resources.files(__name__).joinpath(name).read_text(encoding="utf-8")
    # Not `splitlines`: it would also break at U+2028 and other characters that JSON allows in a string.
    for line in text.split("\n"):
        if line:
            yield json.loads(line)


def _entry(record: dict[str, Any]) -> LogEntry:
    convert = {
        "recorded_at": datetime.fromisoformat,
        "valid_from": datetime.fromisoformat,
        "valid_to": datetime.fromisoformat,
        "op": Operation,
        "type": MemoryType,
        "provenance": Provenance,
        "tags": tuple,
    }
    return LogEntry(**_converted(record, convert))


def _question(record: dict[str, Any]) -> Question:
    convert = {
        "kind": QuestionKind,
        "type": MemoryType,
        "as_of": date.fromisoformat,
        "valid_at": date.fromisoformat,
        "expected": tuple,
    }
    return Question(**_converted(record, convert))


def _converted(record: dict[str, Any], convert: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record with the named fields turned from JSON's values into ours."""
    return {name: convert[name](value) if name in convert else value for name, value in record.items()}
