"""TimeQA's dated values as timelines, and what is true on each at a moment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from tests.benchmarks.harness import Bench

VALUES = "timeqa_human.jsonl.xz"
RELATIONS = "timeqa_relations.json.xz"
DAY: Final = timedelta(days=1)

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE: Final = r"(?:([A-Z][a-z]{2}) )?(\d{4})"
_SPAN: Final = re.compile(rf"from {_DATE} to {_DATE}")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A value that held from `begins` until `ends` (exclusive)."""

    begins: datetime
    ends: datetime
    value: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """The values of one relation of one subject, in order of their beginning."""

    id: str
    subject: str
    relation: str
    spans: tuple[Span, ...]

    @property
    def one_at_a_time(self) -> bool:
        """Whether no two values begin at once, so that a slot can tell which came later."""
        starts = [span.begins for span in self.spans]
        return len(set(starts)) == len(starts)

    def moments(self) -> list[datetime]:
        """Return the middle of every interval and gap, each boundary and the day before it."""
        found: set[datetime] = set()
        for span in self.spans:
            found |= {span.begins, span.begins - DAY, span.ends, span.ends - DAY, middle(span.begins, span.ends)}
        over = self.spans[0].ends
        for span in self.spans[1:]:
            if over < span.begins:
                found.add(middle(over, span.begins))
            over = max(over, span.ends)
        return sorted(found)


def load(bench: Bench) -> list[Timeline]:
    """Return the timelines with at least two dated values; a value the set does not know is left out."""
    meanings = {name: relation["meaning"] for name, relation in bench.load(RELATIONS).items()}
    timelines = []
    for row in bench.load(VALUES):
        spans = sorted(set(_spans(row["questions"])))
        if len(spans) > 1:
            subject = row["link"].rpartition("/")[2].replace("_", " ")
            timelines.append(Timeline(row["index"], subject, meanings.get(row["type"], row["type"]), tuple(spans)))
    return timelines


def _spans(questions: Iterable[tuple[str, list[str]]]) -> Iterator[Span]:
    for question, answers in questions:
        match = _SPAN.search(question)
        if match is None or not answers[0]:
            continue
        begins, ends = _date(match[1], match[2]), _date(match[3], match[4])
        if begins is not None and ends is not None and begins < ends:
            yield Span(begins, ends, " / ".join(dict.fromkeys(answers)))


def _date(month: str | None, year: str) -> datetime | None:
    if month is None:
        return datetime(int(year), 1, 1, tzinfo=UTC)
    return datetime(int(year), _MONTHS.index(month.lower()) + 1, 1, tzinfo=UTC) if month.lower() in _MONTHS else None


def middle(one: datetime, other: datetime) -> datetime:
    """Return the moment half-way between two."""
    return one + (other - one) / 2


def true_together(spans: Sequence[Span], moment: datetime) -> set[Span]:
    """Return every span that holds at a moment: what independent statements say."""
    return {span for span in spans if span.begins <= moment < span.ends}


def true_in_slot(spans: Sequence[Span], moment: datetime) -> set[Span]:
    """Return the span that holds at a moment where a slot has one value at a time: the one that began last."""
    holding = true_together(spans, moment)
    return {max(holding, key=lambda span: span.begins)} if holding else set()
