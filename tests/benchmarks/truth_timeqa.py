"""TimeQA through the product: what was true, and what was known, at moments that decide."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tests.benchmarks import timelines as tl
from tests.benchmarks.harness import Figures
from tests.benchmarks.models import RememberingEmbedder
from tests.benchmarks.timelines import Span, Timeline

from memanto import Draft, InMemory, Memanto
from memanto.models import MemoryType, Recollection
from memanto.testing import FixedClock

_CUTS = 2
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Variant:
    """How a timeline is written.

    Attributes:
        keyed: Each timeline is a slot; else each value is a memory of its own.
        dated: The text tells its span; else a value that comes back is the same text again.
    """

    keyed: bool
    dated: bool

    @property
    def name(self) -> str:
        return f"{'one slot a timeline' if self.keyed else 'unkeyed'}, {'dated text' if self.dated else 'bare text'}"


VARIANTS = (Variant(False, True), Variant(True, True), Variant(False, False), Variant(True, False))


@dataclass(slots=True)
class Count:
    """Right answers out of those asked for, and the first few wrong ones."""

    asked: int = 0
    right: int = 0
    wrong: list[dict[str, object]] = field(default_factory=list)

    def add(self, timeline: Timeline, moment: datetime, expected: set[Span], got: set[Span]) -> None:
        self.asked += 1
        self.right += expected == got
        if expected != got and len(self.wrong) < 5:
            shown = {"expected": sorted(s.value for s in expected), "got": sorted(s.value for s in got)}
            self.wrong.append({"timeline": timeline.id, "at": moment.isoformat(), **shown})

    def figures(self) -> Figures:
        return {"asked": self.asked, "right": self.right} | ({"first wrong": self.wrong} if self.wrong else {})


class Ingested:
    """Timelines written in shuffled order in three helpings, with the moment after each of the first two."""

    def __init__(
        self, memory: Memanto, clock: FixedClock, timelines: Sequence[Timeline], how: Variant, seed: int
    ) -> None:
        self.memory = memory
        self.how = how
        self._name = {timeline.id: f"timeline-{number}" for number, timeline in enumerate(timelines)}
        rows = [(timeline, span) for timeline in timelines for span in timeline.spans]
        random.Random(seed).shuffle(rows)
        self.swallowed = 0
        self.cuts: list[datetime] = []
        self.known: list[dict[str, list[Span]]] = []
        written: dict[str, list[Span]] = {timeline.id: [] for timeline in timelines}
        size = -(-len(rows) // (_CUTS + 1))
        for start in range(0, len(rows), size):
            helping = rows[start : start + size]
            receipts = memory.remember_many([self._draft(timeline, span) for timeline, span in helping])
            self.swallowed += sum(receipt.duplicate for receipt in receipts)
            for timeline, span in helping:
                written[timeline.id].append(span)
            clock.advance(_HOUR)
            self.cuts.append(clock())
            self.known.append({name: list(spans) for name, spans in written.items()})
            clock.advance(_HOUR)

    def _draft(self, timeline: Timeline, span: Span) -> Draft:
        name = self._name[timeline.id]
        when = f" from {span.begins:%B %Y} to {span.ends:%B %Y}" if self.how.dated else ""
        return Draft(
            content=f"{timeline.subject}, {timeline.relation}{when}: {span.value}",
            type=MemoryType.FACT,
            tags=(name,),
            key=name if self.how.keyed else None,
            valid_from=span.begins,
            valid_to=span.ends,
        )

    def spans_of(self, timeline: Timeline, hits: Sequence[Recollection]) -> set[Span]:
        """Return the spans that these results stand for, by their validity and text."""
        found = set()
        for hit in hits:
            memory = hit.memory
            if self._name[timeline.id] in memory.tags and memory.valid_from and memory.valid_to:
                found.add(Span(memory.valid_from, memory.valid_to, memory.content.partition(": ")[2]))
        return found

    def ask(self, timeline: Timeline, valid_at: datetime, as_of: datetime | None = None) -> set[Span]:
        """Return what the product says of one timeline."""
        hits = self.memory.recall(tags=[self._name[timeline.id]], limit=100, valid_at=valid_at, as_of=as_of)
        return self.spans_of(timeline, hits)


def measure(timelines: Sequence[Timeline], embedder: RememberingEmbedder | None, seed: int) -> Figures:
    """Return, by way of writing, how many questions about time got exactly the right values."""
    slots = [timeline for timeline in timelines if timeline.one_at_a_time]
    figures: Figures = {
        "timelines": len(timelines),
        "values": sum(len(timeline.spans) for timeline in timelines),
        "timelines that fit a slot": len(slots),
        "values that come back unchanged": sum(_repeats(timeline) for timeline in timelines),
        "by way of writing": {},
    }
    for how in VARIANTS:
        chosen = slots if how.keyed else timelines
        clock = FixedClock()
        with Memanto("bench", store=InMemory(), embedder=embedder, clock=clock) as memory:
            store = Ingested(memory, clock, chosen, how, seed)
            figures["by way of writing"][how.name] = _questions(store, chosen)
    return figures


def _questions(store: Ingested, timelines: Sequence[Timeline]) -> Figures:
    rule: Callable[[Sequence[Span], datetime], set[Span]] = tl.true_in_slot if store.how.keyed else tl.true_together
    now, then, ranked = Count(), [Count() for _ in range(_CUTS)], Count()
    for timeline in timelines:
        for moment in timeline.moments():
            now.add(timeline, moment, rule(timeline.spans, moment), store.ask(timeline, valid_at=moment))
        for span in timeline.spans:
            for cut in range(_CUTS):
                known = store.known[cut][timeline.id]
                for moment in (span.begins, tl.middle(span.begins, span.ends)):
                    got = store.ask(timeline, valid_at=moment, as_of=store.cuts[cut])
                    then[cut].add(timeline, moment, rule(known, moment), got)
            moment = tl.middle(span.begins, span.ends)
            hits = store.memory.recall(f"{timeline.subject}, {timeline.relation}", valid_at=moment, limit=10)
            ranked.add(timeline, moment, rule(timeline.spans, moment), store.spans_of(timeline, hits))
    return {
        "duplicates reported": store.swallowed,
        "valid_at": now.figures(),
        **{f"valid_at and as_of, cut {cut + 1}": count.figures() for cut, count in enumerate(then)},
        "valid_at by query among all": ranked.figures(),
    }


def _repeats(timeline: Timeline) -> int:
    values = [span.value for span in timeline.spans]
    return len(values) - len(set(values))
