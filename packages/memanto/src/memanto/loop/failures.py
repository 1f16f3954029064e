"""Failure records: what went wrong, why, and what to do instead, phrased as a trigger.

A record is an `error` memory. Its text reads "When X, do Y — root cause: Z"; the six fields are kept in its
metadata under `failure`. A plain text of that form is a trigger too: it is read, not rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from memanto.errors import InvalidInputError
from memanto.loop.port import Verbs
from memanto.models import MAX_TAG, MAX_TAGS, Draft, Memory, MemoryType, Provenance, Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRecord:
    """The six fields of a failure record; empty where nothing is known.

    Attributes:
        task_type: What kind of task it was.
        attempted: The action that was tried.
        wrong: What was seen to go wrong.
        cause: The root cause, once it is known.
        fix: The correction that worked.
        trigger: "When you see X, do Y instead", or just X.
    """

    task_type: str = ""
    attempted: str = ""
    wrong: str = ""
    cause: str = ""
    fix: str = ""
    trigger: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A trigger taken apart: in which situation, what to do, and why; empty where the text does not say."""

    when: str
    do: str = ""
    cause: str = ""


FAILED_ON_THE_WAY: Final = "Failed on the way:"
"""Opens the last part of the text that a run leaves: what went wrong in it."""
_OPENING: Final = re.compile(
    r"^\s*(?:when(?:ever)?(?:\s+you\s+see)?|if|once|wenn|falls|sobald|quand|lorsque|lorsqu'|si|cuando)\s+",
    re.IGNORECASE,
)
# What parts two clauses is not in these patterns but stripped afterwards: at its every blank a search would start anew.
_CAUSE: Final = re.compile(
    r"(?<=[\s(\u2013\u2014])(?:root\s+cause|ursache|grund|cause(?:\s+racine)?|causa(?:\s+ra[ií]z)?)\s*[:=]\s*",
    re.IGNORECASE,
)
_BECAUSE: Final = re.compile(r"(?<=\s)(?:because|since|weil|denn|parce\s+qu[e'’]|car|porque|ya que)\s+", re.IGNORECASE)  # noqa: RUF001
_THEN: Final = re.compile(r"(?<=\s)(?:then|dann|alors|entonces)\s+", re.IGNORECASE)
_COMMA: Final = re.compile(r"(?:[,:]|(?<=\s)[\u2013\u2014-])\s+")
_LEADING: Final = re.compile(r"^(?:[,:]+\s+)++")
"""What a condition must not begin with: it would be taken for the end of one."""
_SPACE: Final = (
    " \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_PARTING: Final = f"{_SPACE},;.(-\u2013\u2014"
_QUOTED: Final = re.compile(
    r"`[^`\n]+`|\"[^\"\n]+\"|\u201c[^\u201c\u201d\n]+\u201d|(?<!\w)'[^'\n]+'(?!\w)|\u2018[^\u2018\u2019\n]+\u2019|\([^()\n]*\)|\u00ab[^\u00ab\u00bb\n]+\u00bb"
)

_QUOTED_ONLY: Final = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"")


def parse_rule(text: str) -> Rule | None:
    """Return the parts of a text that is phrased as a trigger, or `None` when it is not.

    Understood: "When X, do Y — root cause: Z" with any dash, a full stop or brackets before the cause; "If X then Y
    because Z"; the same in German, French and Spanish. Commas inside quotes and brackets do not end X.
    """
    opening = _OPENING.match(text)
    if opening is None:
        return None
    body, cause = _cut(_CAUSE, text[opening.end() :].strip())
    shielded = _shielded(body)
    cut = _THEN.search(shielded) or _COMMA.search(shielded)
    when, do = (body[: cut.start()].strip(), body[cut.end() :].strip()) if cut is not None else ("", "")
    if cut is not None and cut.re is _THEN:
        when = when.rstrip(",:").rstrip()
    if not when or not do:  # nothing to do is named, or no condition stands before it
        return Rule(when=body.rstrip(" ."), cause=cause) if body.strip(_PARTING) else None
    if not cause and _cut(_BECAUSE, do)[0]:
        do, cause = _cut(_BECAUSE, do)
    return Rule(when=when, do=do, cause=cause)


def _cut(mark: re.Pattern[str], text: str) -> tuple[str, str]:
    """Return what stands before and behind the first mark outside quotes; all of it and `""` without one."""
    found = mark.search(_QUOTED_ONLY.sub(lambda match: "\0" * len(match[0]), text))
    if found is None:
        return text, ""
    return text[: found.start()].rstrip(_PARTING), text[found.end() :].strip().rstrip(")").strip()


def _shielded(text: str) -> str:
    return _QUOTED.sub(lambda match: "\0" * len(match[0]), text)


def record_of(memory: Memory) -> FailureRecord | None:
    """Return the record kept with a memory, or `None` when it was stored as plain text."""
    stored = memory.metadata.get("failure")
    if not isinstance(stored, Mapping):
        return None
    names = {field.name for field in fields(FailureRecord)}
    return FailureRecord(**{name: str(value) for name, value in stored.items() if name in names})


def task_tag(task_type: str) -> str | None:
    """Return the tag by which the failures of a task type are found, or `None` where it cannot be one."""
    tag = f"task:{' '.join(task_type.split())}"
    return tag if task_type.strip() and len(tag) <= MAX_TAG and "," not in tag else None


def task_type_of(memory: Memory) -> str:
    """Return the kind of task that a failure was recorded for, or `""`."""
    record = record_of(memory)
    return record.task_type if record is not None else ""


def rule_of(memory: Memory) -> Rule:
    """Return an error memory as a rule; one that is not phrased as a trigger is its own condition."""
    record = record_of(memory)
    if record is None:
        return parse_rule(memory.content) or Rule(when=memory.content)
    return _rule(record)


def _rule(record: FailureRecord) -> Rule:
    given = parse_rule(record.trigger) or Rule(when=record.trigger)
    return Rule(when=given.when or _condition(record), do=given.do or record.fix, cause=record.cause or given.cause)


def record_failure(
    verbs: Verbs,
    record: FailureRecord,
    *,
    confidence: float | None = None,
    provenance: Provenance | str | None = Provenance.OBSERVED,
    tags: tuple[str, ...] = (),
    source: str | None = None,
    run_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Receipt:
    """Store a failure record as an `error` memory phrased as a trigger.

    Raises:
        InvalidInputError: It says neither in which situation it applies nor what to do then.
    """
    from memanto.memory.validation import coerce_provenance

    clean = FailureRecord(**{name: " ".join(value.split()) for name, value in asdict(record).items()})
    tag = task_tag(clean.task_type)
    draft = Draft(
        content=trigger_text(clean),
        type=MemoryType.ERROR,
        confidence=confidence,
        provenance=None if provenance is None else coerce_provenance(provenance),
        tags=tags if tag is None or len(tags) >= MAX_TAGS else tuple(dict.fromkeys((*tags, tag))),
        source=source,
        run_id=run_id,
        metadata={**(metadata or {}), "failure": {name: value for name, value in asdict(clean).items() if value}},
    )
    return verbs.remember(draft)


def trigger_text(record: FailureRecord) -> str:
    """Return the sentence that a record is stored as.

    Raises:
        InvalidInputError: The situation or the correction is missing.
    """
    rule = _rule(record)
    when, aside = _cut(_CAUSE, rule.when)
    when = _LEADING.sub("", when.strip()).rstrip(" .,")
    do, cause = rule.do.rstrip(" ."), (rule.cause or aside).rstrip(" .")
    if not when:
        raise InvalidInputError(
            "a failure record needs the situation it applies to",
            hint="give a trigger, or what was attempted and what went wrong",
        )
    if not do:
        if not record.attempted:
            raise InvalidInputError(
                f"the failure {when[:60]!r} says nothing to do differently",
                hint="give the fix, or what was attempted and must not be repeated",
            )
        do = f"do not repeat it as it was: {record.attempted.rstrip('.')}"
    head = f"When {when}, {do}"
    return f"{head} \u2014 root cause: {cause}" if cause else head


def _condition(record: FailureRecord) -> str:
    attempted, wrong = record.attempted.rstrip(" ."), record.wrong.rstrip(" .")
    if attempted and wrong:
        return f"{attempted} ends in {wrong}"
    return wrong or attempted or (f"a task is of type {record.task_type}" if record.task_type and record.fix else "")
