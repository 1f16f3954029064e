"""Memories, receipts and results as the lines a person reads. Nothing of a memory's text is cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, tzinfo
from typing import Final

from memanto.cli.style import Palette, columns, indented
from memanto.counted import counted
from memanto.models import Memory, Receipt, Recollection, Status

SHORT_ID: Final = 18
"""Characters of an id in lists: its time of making and its counter, unique but for rare coincidences."""

_STATUS: Final = {
    Status.ACTIVE: "good",
    Status.QUARANTINED: "warn",
    Status.SUPERSEDED: "faint",
    Status.EXPIRED: "faint",
    Status.FORGOTTEN: "bad",
}


_RELATION: Final = {"update": "update", "duplicate": "repeat", "contradiction": "contradict"}


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Return for each id a prefix that no other of them has, at least `SHORT_ID` characters long."""
    known = sorted(set(ids))
    shown = {}
    for index, one in enumerate(known):
        neighbours = [*known[max(index - 1, 0) : index], *known[index + 1 : index + 2]]
        length = max([SHORT_ID, *(_shared(one, other) + 1 for other in neighbours)])
        shown[one] = one[:length]
    return shown


def _shared(one: str, other: str) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def stamp(moment: datetime | None, zone: tzinfo, *, absent: str = "", seconds: bool = False) -> str:
    """Return a moment in local time to the minute, or to the second, or `absent`."""
    if moment is None:
        return absent
    with suppress(OverflowError):  # the ends of the calendar do not exist in every zone
        moment = moment.astimezone(zone)
    return moment.replace(tzinfo=None).isoformat(" ", "seconds" if seconds else "minutes")


def byte_size(count: int) -> str:
    """Return a number of bytes in the largest unit of which there is a whole one."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


# -- receipts ---------------------------------------------------------------------------------------
def receipt_lines(done: str, receipt: Receipt, paint: Palette, *, stored: bool = True) -> Iterator[str]:
    """Yield what a write did, and what its writer should know; no id of its own unless it was stored."""
    known = receipt.duplicate or receipt.revived
    headline = "already known" if receipt.duplicate else "known again" if receipt.revived else done
    facts = [
        f"{receipt.type.value}{' (guessed)' if receipt.type_guessed else ''}",
        f"version {receipt.version}",
        paint(_STATUS[receipt.status], receipt.status.value),
        *([counted(len(receipt.part_ids), "part")] if receipt.part_ids else []),
        *(["found by words only"] if receipt.searchable == "lexical" else []),
    ]
    shown = f" {paint('id', receipt.id)}" if stored or known else ""
    yield f"{paint('strong', headline)}{shown}  {' · '.join(facts)}"
    for redaction in receipt.redactions:
        yield f"  {paint('warn', 'redacted')}: {redaction.kind} in {redaction.field}"
    for warning in receipt.warnings:
        if not receipt.type_guessed or not warning.startswith("type guessed"):  # the first line says so already
            yield f"  {paint('warn', 'warning')}: {paint.safe(warning)}"
    for note in receipt.conflicts:
        relation = paint("warn", f"may {_RELATION[note.kind]}")
        yield f"  {relation} {paint('id', note.other)}  (by {note.rule}; see `memanto conflicts`)"
    if receipt.similar:
        yield f"  similar to {', '.join(paint('id', one) for one in receipt.similar)}"


# -- results ----------------------------------------------------------------------------------------
def result_lines(results: Sequence[Recollection], zone: tzinfo, paint: Palette) -> Iterator[str]:
    """Yield numbered results: a line about each memory, then its whole text."""
    short = short_ids(result.memory.id for result in results)
    agents = {result.memory.namespace for result in results}
    for number, result in enumerate(results, start=1):
        memory = result.memory
        if number > 1:
            yield ""
        yield f"{number}. {_headline(memory, short[memory.id], zone, paint, agent=len(agents) > 1)}"
        if memory.title_given:
            yield f"   {paint('strong', memory.title)}"
        yield indented(paint.safe(memory.content), "   ")
        for note in result.why.notes:
            yield f"   {paint('faint', note)}"
        yield from _conflict_lines(result, zone, paint)


def _conflict_lines(result: Recollection, zone: tzinfo, paint: Palette) -> Iterator[str]:
    """Yield the older statements under a result, and what it contradicts; nothing is hidden without a trace."""
    for one in result.folded:
        when = stamp(one.memory.valid_from or one.memory.recorded_at, zone)
        yield f"   {paint('warn', 'before')} {when}: {paint.safe(' '.join(one.memory.content.split()))}"
        yield f"     {paint('faint', f'{one.memory.id}, open update {one.conflict}; --all unfolds')}"
    for conflict in result.conflicts:
        where = f"open conflict {conflict}; `memanto conflicts` decides it"
        yield f"   {paint('warn', 'contradicted')}  {paint('faint', where)}"


def _headline(memory: Memory, shown: str, zone: tzinfo, paint: Palette, *, agent: bool) -> str:
    parts = [
        paint("id", shown),
        paint("strong", memory.type.value) + (" (guessed)" if memory.type_guessed else ""),
        stamp(memory.recorded_at, zone),
        f"confidence {memory.confidence:g}",
        memory.source,
    ]
    if memory.status is not Status.ACTIVE:
        parts.append(paint(_STATUS[memory.status], memory.status.value))
    if memory.retired_at is not None:
        parts.append(paint("faint", f"version {memory.version}, until {stamp(memory.retired_at, zone)}"))
    if memory.valid_from or memory.valid_to:
        parts.append(f"true {stamp(memory.valid_from, zone, absent='…')} to {stamp(memory.valid_to, zone, absent='…')}")
    if memory.pinned:
        parts.append("pinned")
    if memory.tags:
        parts.append(" ".join(f"#{paint.safe(tag)}" for tag in memory.tags))
    if memory.parent_id is not None:
        parts.append(f"part {memory.part} of {memory.parent_id}")
    if agent:
        parts.append(f"agent {memory.namespace}")
    return "  ".join(parts)


def explanation_lines(results: Sequence[Recollection], paint: Palette) -> Iterator[str]:
    """Yield a table of every number that entered each score."""
    yield ""
    rows = [["#", "score", "by meaning", "by words", "fused", "neighbours", "recency", "confidence", "reranked"]]
    for number, result in enumerate(results, start=1):
        why = result.why
        rows.append(
            [
                str(number),
                f"{result.score:.4f}",
                _ranked(why.dense_rank, why.dense_score),
                _ranked(why.lexical_rank, why.lexical_score, why.lexical_weight),
                f"{why.fused:.4f}",
                f"+{why.neighbours:.4f}",
                f"x{why.recency:.3f}",
                f"x{why.confidence:.3f}",
                "-" if why.rerank_score is None else f"{why.rerank_score:.3f}",
            ]
        )
    header, *body = columns(rows)
    yield paint("strong", header)
    yield from body


def _ranked(rank: int | None, score: float | None, weight: float = 1.0) -> str:
    weighed = "" if weight == 1.0 else f" x{weight:.2f}"
    return "-" if rank is None else f"{rank} ({score or 0.0:.3f}){weighed}"


# -- one memory -------------------------------------------------------------------------------------
def memory_lines(memory: Memory, zone: tzinfo, paint: Palette) -> Iterator[str]:
    """Yield every field of a memory that is set, then its text."""
    decided = memory.decision
    fields: list[tuple[str, object]] = [
        ("id", memory.id),
        ("agent", memory.namespace),
        ("type", f"{memory.type.value}{' (guessed)' if memory.type_guessed else ''}"),
        ("status", memory.status.value),
        ("version", memory.version),
        ("title", memory.title),
        ("tags", ", ".join(memory.tags)),
        ("confidence", f"{memory.confidence:g}"),
        ("provenance", memory.provenance.value),
        ("source", memory.source),
        ("source ref", memory.source_ref),
        ("actor", memory.actor),
        ("run", memory.run_id),
        ("key", memory.key),
        ("pinned", "yes" if memory.pinned else None),
        ("recorded", stamp(memory.recorded_at, zone, seconds=True) + (" (imported)" if memory.imported else "")),
        ("retired", stamp(memory.retired_at, zone, seconds=True)),
        ("true from", stamp(memory.valid_from, zone, seconds=True)),
        ("true until", stamp(memory.valid_to, zone, seconds=True)),
        ("supersedes", ", ".join(memory.supersedes)),
        ("superseded by", memory.superseded_by),
        ("decision", None if decided is None else f"{decided.action} by {decided.actor}{_because(decided.reason)}"),
        ("part", f"{memory.part} of {memory.parent_id}" if memory.parent_id else None),
        ("parts", memory.parts or None),
        ("metadata", _compact(memory) if memory.metadata else None),
    ]
    yield from columns(
        [paint("faint", name), paint.safe(str(value))] for name, value in fields if value not in (None, "")
    )
    yield ""
    yield (
        paint.safe(memory.content)
        if memory.status is not Status.FORGOTTEN
        else paint("faint", "(forgotten: no text is left)")
    )


def history_lines(versions: Sequence[Memory], zone: tzinfo, paint: Palette) -> Iterator[str]:
    """Yield every version, oldest first: when, what was done, by whom, why, and its text."""
    yield f"{paint('id', versions[-1].id)}  {counted(len(versions), 'version')}"
    before: Memory | None = None
    for memory in versions:
        decided = memory.decision
        action = decided.action if decided else "remember"
        who = decided.actor if decided else memory.actor or memory.source
        why = _because(decided.reason) if decided else ""
        facts = [memory.type.value, memory.status.value, f"confidence {memory.confidence:g}"]
        until = f" to {stamp(memory.retired_at, zone, seconds=True)}" if memory.retired_at else ""
        when = f"{stamp(memory.recorded_at, zone, seconds=True)}{until}"
        yield ""
        yield f"{paint('strong', f'v{memory.version}')}  {when}  {action} by {paint.safe(who + why)}"
        yield f"    {paint('faint', ' · '.join(facts))}"
        if before is not None and before.content == memory.content:
            yield f"    {paint('faint', '(same text)')}"
        else:
            yield (
                indented(paint.safe(memory.content)) if memory.content else f"    {paint('faint', '(no text is left)')}"
            )
        before = memory


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


def _compact(memory: Memory) -> str:
    import json

    return json.dumps(dict(memory.metadata), ensure_ascii=False)
