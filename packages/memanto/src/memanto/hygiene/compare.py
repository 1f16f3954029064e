"""Compare two memories: an update, a duplicate, a contradiction, or none of these."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from memanto.hygiene.lexicon import CUES
from memanto.hygiene.rules import RULES, Difference
from memanto.hygiene.statements import Told, read
from memanto.hygiene.words import fold, mass
from memanto.memory.batons import is_baton
from memanto.models import Memory, MemoryType, Provenance

SAME_WORDS: Final = 0.9
"""Share of common telling words (Jaccard by weight) from which two texts without a difference say the same."""
NOTHING_SHARED: Final = 0.25
"""Weight of shared telling words below which no rule can hold."""
LEAST_WORDS: Final = 2.0
"""Weight of the telling words that a duplicate has at least."""

_OCCASIONS: Final = frozenset({MemoryType.EVENT, MemoryType.CONTEXT})
"""Types that tell of a time of their own: two of them only meet where they tell of the same one."""
_CUES: Final = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(CUES, key=len, reverse=True)))})\b")


class Kind(enum.StrEnum):
    """How two memories stand to each other."""

    UPDATE = "update"  #: the newer one says what holds now
    DUPLICATE = "duplicate"  #: they say the same
    CONTRADICTION = "contradiction"  #: they cannot both hold, and nothing says which does


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What two memories differ or agree in.

    Attributes:
        kind: How they stand to each other.
        rule: What found it: `"negation"`, `"opposite"`, `"order"`, `"value"`, `"number"`, `"date"`, `"time"`,
            `"words"` or `"model"`.
        older: Telling words of the older text.
        newer: Telling words of the newer text.
        cue: The words that make it an update, or `""`.
    """

    kind: Kind
    rule: str
    older: tuple[str, ...] = ()
    newer: tuple[str, ...] = ()
    cue: str = ""


def in_order(one: Memory, other: Memory) -> tuple[Memory, Memory]:
    """Return two memories, the one that tells of the earlier time first: `valid_from`, else when recorded."""
    first, second = sorted((one, other), key=lambda m: (said_at(m), m.recorded_at, m.id))
    return first, second


def said_at(memory: Memory) -> datetime:
    """Return the time that a memory tells of: `valid_from`, else when it was recorded."""
    return memory.valid_from or memory.recorded_at


def compare(older: Memory, newer: Memory) -> Finding | None:
    """Return what two memories of one agent differ or agree in, or `None` where they go side by side.

    No two memories are compared that their writers keep apart: in slots of their own, as handoffs, as parts of one
    long text, or as events and situations of different occasions. Of a text that was split the parts are compared, and
    never the whole, which holds its beginning only; those of a long artifact are no statements.
    """
    if not comparable(older, newer):
        return None
    found = compare_texts(older.content, newer.content)
    if found is None or found.kind is not Kind.CONTRADICTION:
        return found
    if newer.provenance is Provenance.CORRECTED:
        return _as_update(found, "corrected")
    if newer.valid_from is not None and newer.valid_from > (older.valid_from or older.recorded_at):
        return _as_update(found, "valid_from")
    return found


def comparable(one: Memory, other: Memory) -> bool:
    """Return whether two memories may be about the same."""
    if one.parts or other.parts or whole_id(one) == whole_id(other):
        return False
    if is_kept_output(one) or is_kept_output(other):
        return False
    if one.key is not None and other.key is not None:
        return False
    if one.type in _OCCASIONS or other.type in _OCCASIONS:
        return one.type is other.type and _same_occasion(one, other)
    return True


def is_kept_output(memory: Memory) -> bool:
    """Return whether a memory is a part of a long artifact: a log or a page, kept to be read and no statement."""
    return memory.part > 0 and memory.type is MemoryType.ARTIFACT


def whole_id(memory: Memory) -> str:
    """Return the id of a memory, or of the split text that it is a part of."""
    return memory.parent_id if memory.part and memory.parent_id is not None else memory.id


def _same_occasion(one: Memory, other: Memory) -> bool:
    if one.run_id != other.run_id:
        return False
    return said_at(one).date() == said_at(other).date()


def compare_texts(older: str, newer: str) -> Finding | None:
    """Return what two texts differ or agree in, by rules alone.

    A handoff is told of a moment, so that it goes side by side with the ones before it and with everything else.
    """
    if is_baton(older) or is_baton(newer):
        return None
    one, other = read(older), read(newer)
    if mass(one.stems & other.stems) < NOTHING_SHARED:
        return None
    for rule in RULES:
        difference = rule(one, other)
        if difference is not None:
            return _judged(difference, newer)
    return _duplicate(one, other)


def _judged(difference: Difference, newer: str) -> Finding:
    cue = _CUES.search(fold(newer))
    kind = Kind.CONTRADICTION if cue is None else Kind.UPDATE
    older_words, newer_words = difference.words
    return Finding(
        kind=kind, rule=difference.rule, older=older_words, newer=newer_words, cue=cue.group() if cue else ""
    )


def _duplicate(one: Told, other: Told) -> Finding | None:
    shared = one.stems & other.stems
    if one.apart != other.apart:
        return None
    if mass(shared) < LEAST_WORDS or mass(shared) < SAME_WORDS * mass(one.stems | other.stems):
        return None
    if {v.amount for s in one.sentences for v in s.values} != {v.amount for s in other.sentences for v in s.values}:
        return None
    words = tuple(sorted(shared))
    return Finding(kind=Kind.DUPLICATE, rule="words", older=words, newer=words)


def _as_update(found: Finding, cue: str) -> Finding:
    return Finding(kind=Kind.UPDATE, rule=found.rule, older=found.older, newer=found.newer, cue=cue)
