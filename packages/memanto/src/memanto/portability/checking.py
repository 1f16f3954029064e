"""What an import accepts: the versions that an export can hold, and nothing else.

Everything is checked before anything is stored, since a stored version must be one like any other: addressable
by its id, with one current version per memory, readable and erasable.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final
from uuid import UUID

from memanto.errors import InvalidInputError
from memanto.memory.prepare import default_title
from memanto.memory.redaction import redact, redact_draft
from memanto.memory.validation import check_confidence, check_draft, check_name, check_source, check_time
from memanto.models import MAX_BATCH, MAX_CONTENT, MAX_REASON, MAX_TEXT, Decision, Draft, Memory, Status
from memanto.portability.jsonl import check_header, memory_from_json, parse_json
from memanto.times import to_rfc3339

CLOCK_SKEW: Final = timedelta(hours=1)
"""How far ahead of this machine's clock a time of recording may lie."""

MAX_VERSION: Final = 1_000_000
"""Forgetting computes the id of every version before, so a made-up number must not run away."""

_STORED_REASON: Final = 2 * MAX_REASON  #: a reason grows when a mark takes the place of a shorter secret
_ACTION: Final = 64

Numbered = tuple[int, Memory]
"""A version with the number of its line."""


def read_versions(lines: Iterable[str], namespace: str, *, now: datetime) -> tuple[dict[str, list[Memory]], int]:
    """Return the versions of an export by memory, ascending, redacted and marked as imported.

    Returns:
        The versions, and in how many of them a secret was removed.

    Raises:
        InvalidInputError: A line is nothing that an export writes, breaks a limit, or does not fit the other
            versions of its memory. The message names the line.
    """
    if isinstance(lines, str | bytes) or not isinstance(lines, Iterable):
        raise InvalidInputError(f"an import takes lines, not {type(lines).__name__}", hint="pass a list of texts")
    memories: dict[str, list[Numbered]] = {}
    redacted = 0
    for number, line in enumerate(lines, start=1):
        with _named(number):
            memory, changed = _read(line, namespace, now) or (None, False)
        if memory is not None:
            memories.setdefault(memory.id, []).append((number, memory))
            redacted += changed
    for versions in memories.values():
        versions.sort(key=lambda one: one[1].version)
        _check_history(versions)
    return {memory_id: [memory for _, memory in versions] for memory_id, versions in memories.items()}, redacted


@contextmanager
def _named(number: int) -> Iterator[None]:
    """Name the line in an error."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"line {number}: {error.message}", hint=error.hint or "nothing was imported") from error


def _read(line: str, namespace: str, now: datetime) -> tuple[Memory, bool] | None:
    """Return a line's version, checked, and whether a secret was removed; `None` for a header or a blank line."""
    if not isinstance(line, str):
        raise InvalidInputError(f"{type(line).__name__} is not text")
    if not line.strip():
        return None
    value = parse_json(line)
    if not isinstance(value, dict):
        raise InvalidInputError("not a JSON object")
    if "format" in value:
        check_header(value)
        return None
    if set(value) == {"lines"}:
        raise InvalidInputError(
            "this is what `export --json` writes",
            hint="export without --json, or take the lines out of it: jq -c '.lines[]'",
        )
    return _checked(memory_from_json(value, namespace), now)


def _checked(memory: Memory, now: datetime) -> tuple[Memory, bool]:
    """Check a version like a draft and more, redact it, and mark it as imported."""
    if not 1 <= memory.version <= MAX_VERSION:
        raise InvalidInputError(f"version {memory.version} is not a number from 1 to {MAX_VERSION:,}")
    if memory.recorded_at > now + CLOCK_SKEW:
        raise InvalidInputError(f"recorded_at {to_rfc3339(memory.recorded_at)} lies in the future")
    if memory.begins is not None:
        check_time("begins", memory.begins)
    _check_parts(memory)
    decision, secret = _checked_decision(memory.decision)
    memory = dataclasses.replace(memory, decision=decision, imported=True)
    if memory.status is Status.FORGOTTEN:
        _check_tombstone(memory)
        checked = memory
    else:
        checked, found = _redacted(memory)
        secret = secret or found
    _check_ids(checked)
    return checked, secret


def _redacted(memory: Memory) -> tuple[Memory, bool]:
    """Return a version whose fields passed the checks of a draft, and whether a secret was removed."""
    derived = not memory.title_given and memory.title == default_title(memory.content)
    if memory.title_given and not memory.title:
        raise InvalidInputError("title_given is true, yet the title is empty")
    given = Draft(
        content=memory.content,
        title=None if derived else memory.title,
        type=memory.type,
        tags=memory.tags,
        confidence=memory.confidence,
        provenance=memory.provenance,
        source=memory.source,
        source_ref=memory.source_ref,
        run_id=memory.run_id,
        actor=memory.actor,
        valid_from=memory.valid_from,
        valid_to=memory.valid_to,
        key=memory.key,
        pinned=memory.pinned,
        metadata=memory.metadata,
    )
    draft, redactions = redact_draft(check_draft(given))
    draft = check_draft(draft)
    if len(draft.content) > MAX_CONTENT:
        raise InvalidInputError(f"content has {len(draft.content):,} characters; a version holds {MAX_CONTENT:,}")
    names = {field.name for field in dataclasses.fields(Draft)} - {"title", "type", "provenance"}
    title = default_title(draft.content) if derived else draft.title or " ".join(memory.title.split())
    return dataclasses.replace(memory, title=title, **{name: getattr(draft, name) for name in names}), bool(redactions)


def _check_parts(memory: Memory) -> None:
    for name, number in (("part", memory.part), ("parts", memory.parts)):
        if not 0 <= number <= MAX_TEXT:
            raise InvalidInputError(f"{name} {number} is not a number from 0 to {MAX_TEXT:,}")
    if (memory.parent_id is None) != (memory.part == 0):
        raise InvalidInputError(f"part {memory.part} does not go with parent_id {memory.parent_id!r:.80}")
    if memory.parts == 1 or (memory.part and memory.parts):
        raise InvalidInputError(f"parts {memory.parts} is not the number of parts of a split text")


def _checked_decision(decision: Decision | None) -> tuple[Decision | None, bool]:
    """Return a decision without secrets, and whether there was one."""
    if decision is None:
        return None, False
    if not decision.action.isprintable() or not 1 <= len(decision.action) <= _ACTION:
        raise InvalidInputError(f"the decision's action {decision.action!r:.80} is not 1 to {_ACTION} characters long")
    if len(decision.reason) > _STORED_REASON or _has_surrogate(decision.reason):
        raise InvalidInputError(f"the decision's reason is not text of at most {MAX_REASON:,} characters")
    (action, more), (actor, some), (reason, others) = map(redact, (decision.action, decision.actor, decision.reason))
    if actor:
        check_name("the decision's actor", actor)
    return Decision(actor=actor, action=action, reason=reason), bool(more or some or others)


def _check_tombstone(memory: Memory) -> None:
    """Refuse a tombstone that says anything about what was forgotten."""
    bare = Memory(
        id=memory.id,
        version=memory.version,
        namespace=memory.namespace,
        type=memory.type,
        content="",
        title="",
        recorded_at=memory.recorded_at,
        retired_at=memory.retired_at,
        confidence=check_confidence(memory.confidence),
        provenance=memory.provenance,
        source=check_source(memory.source),
        status=memory.status,
        decision=memory.decision,
        imported=memory.imported,
        parent_id=memory.parent_id,
        part=memory.part,
        parts=memory.parts,
    )
    for field in dataclasses.fields(Memory):
        if getattr(memory, field.name) != getattr(bare, field.name):
            raise InvalidInputError(f"a forgotten memory has no {field.name}")


def _check_ids(memory: Memory) -> None:
    if len(memory.supersedes) > MAX_BATCH:
        raise InvalidInputError(f"supersedes names {len(memory.supersedes):,} memories; at most {MAX_BATCH:,} can be")
    named = [("id", memory.id), ("parent_id", memory.parent_id), ("superseded_by", memory.superseded_by)]
    for field, text in [*named, *(("supersedes", one) for one in memory.supersedes)]:
        if text is not None and not _is_id(text):
            raise InvalidInputError(f"{field} {redact(repr(text)[:80])[0]} is not the id of a memory")
    if memory.parent_id == memory.id:
        raise InvalidInputError(f"memory {memory.id} cannot be a part of itself")


def _is_id(text: object) -> bool:
    """Whether it is a UUID in the one form that is stored: lower case, with hyphens."""
    try:
        return isinstance(text, str) and str(UUID(text)) == text
    except ValueError:
        return False


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _check_history(versions: Sequence[Numbered]) -> None:
    """Check that a memory's versions, ascending, follow each other without a gap and that only the last is current."""
    first = versions[0][1]
    # What came before a tombstone was erased.
    start = first.version if first.status is Status.FORGOTTEN else 1
    for expected, (number, memory) in enumerate(versions, start=start):
        with _named(number):
            if memory.version != expected:
                raise InvalidInputError(
                    f"memory {memory.id} has version {memory.version} where {expected} belongs: "
                    "some are missing or there more than once"
                )
            if memory.status is Status.FORGOTTEN and memory is not first:
                raise InvalidInputError(f"memory {memory.id} was forgotten, yet earlier versions of it are there")
            if (memory.parent_id, memory.part) != (first.parent_id, first.part):
                raise InvalidInputError(f"memory {memory.id} is not the same part of a text in all its versions")
    for (number, memory), (_, following) in pairwise(versions):
        with _named(number):
            if memory.recorded_at >= following.recorded_at:
                raise InvalidInputError(f"version {memory.version} was not recorded before version {following.version}")
            if memory.retired_at != following.recorded_at:
                raise InvalidInputError(
                    f"version {memory.version} is not retired when version {following.version} was recorded, at "
                    f"{to_rfc3339(following.recorded_at)}"
                )
    number, last = versions[-1]
    if last.retired_at is not None:
        with _named(number):
            raise InvalidInputError(f"memory {last.id} has no current version: its last one is retired too")
