"""A daily summary as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, tzinfo

from memanto.hygiene.conflict import Conflict
from memanto.hygiene.summary import HEADINGS, DailySummary, Item
from memanto.models import Status


def markdown(summary: DailySummary, zone: tzinfo) -> str:
    """Return a summary as a page; the same for the same summary."""
    return "\n".join(_lines(summary, zone)) + "\n"


def _lines(summary: DailySummary, zone: tzinfo) -> Iterator[str]:
    yield f"# {_title(summary, zone)}"
    yield ""
    if not summary.items and not summary.left_out:
        yield "Nothing was recorded."
    else:
        yield ", ".join(f"{heading.lower()} {number}" for heading, number in summary.counts.items()) + "."
    if summary.digest:
        yield ""
        yield from summary.digest.split("\n")
    for note in summary.notes:
        yield ""
        yield f"*{note}*"
    numbers = {item.id: number for number, item in enumerate(summary.items, start=1)}
    for heading in HEADINGS:
        yield from _section(heading, summary, numbers, zone)
    yield from _conflicts(summary)


def _title(summary: DailySummary, zone: tzinfo) -> str:
    if summary.run_id is not None:
        return f"{summary.agent}: run {summary.run_id}"
    first, last = summary.since.astimezone(zone), summary.until.astimezone(zone)
    whole_day = (first.hour, first.minute) == (last.hour, last.minute) == (0, 0) and (last.date() - first.date()).days
    if whole_day == 1:
        return f"{summary.agent}: {first.date().isoformat()}"
    return f"{summary.agent}: {_stamp(first, zone)} to {_stamp(last, zone)}"


def _section(heading: str, summary: DailySummary, numbers: Mapping[str, int], zone: tzinfo) -> Iterator[str]:
    items = [item for item in summary.items if item.heading == heading]
    left_out = summary.left_out.get(heading, 0)
    if not items and not left_out:
        return
    yield ""
    yield f"## {heading} ({len(items) + left_out})"
    yield ""
    flagged = {i for one in summary.contradictions for i in (one.older, one.newer)}
    for item in items:
        yield _item_line(item, numbers[item.id], zone, flagged=item.id in flagged)
    if left_out:
        yield f"- {left_out} more did not fit the budget"


def _item_line(item: Item, number: int, zone: tzinfo, *, flagged: bool) -> str:
    about = [item.at.astimezone(zone).strftime("%H:%M"), item.source, item.id]
    if item.what != "new":
        about.insert(1, item.what)
    if item.status is not Status.ACTIVE:
        about.insert(1, item.status.value)
    mark = "⚠ " if flagged else ""
    return f"{number}. {mark}{item.line or '(no text)'} ({', '.join(about)})"


def _conflicts(summary: DailySummary) -> Iterator[str]:
    yield ""
    yield f"## Conflicts ({summary.backlog} open)"
    yield ""
    if not (summary.contradictions or summary.conflicts or summary.decided or summary.set_aside):
        yield "None in this span of time."
        return
    new = {one.id for one in summary.conflicts}
    shown = {one.id: one for one in (*summary.contradictions, *summary.conflicts)}
    for one in shown.values():
        yield f"- {_what(one)}: {one.older} and {one.newer} ({'found now, ' if one.id in new else ''}{one.id})"
    for one in summary.decided:
        who = f" by {one.decision.actor}" if one.decision is not None else ""
        yield f"- decided{who}, {one.action}: {one.older} and {one.newer} ({one.id})"
    for one in summary.set_aside:
        model = f" by {one.judgement.model}" if one.judgement is not None else ""
        yield f"- set aside{model}: {one.older} and {one.newer} ({one.id})"
    if summary.backlog:
        yield ""
        yield "`memanto conflicts` walks through them."


def _what(conflict: Conflict) -> str:
    return f"{conflict.kind.value} by {conflict.rule}"


def _stamp(moment: datetime, zone: tzinfo) -> str:
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M")
