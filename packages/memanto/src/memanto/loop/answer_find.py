"""Find the memories that answer each part of a question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from memanto.loop.answer_evidence import Evidence, Rule, best, weigh
from memanto.loop.failures import task_type_of
from memanto.loop.parts import TYPES, Part, PartKind
from memanto.loop.port import Verbs
from memanto.memory.terms import Term, index_terms, terms_of
from memanto.memory.validation import unfilled_template
from memanto.models import Memory, MemoryType, Recollection

GOAL_SLOT: Final = "loop/goal"
PLAN_SLOT: Final = "loop/plan"
_SLOTS: Final = {PartKind.GOAL: GOAL_SLOT, PartKind.PLAN: PLAN_SLOT}

CANDIDATES: Final = 50
"""Memories looked at per part; the rarity of words is counted over them."""

PER_PART: Final = 3
"""Memories that one part is answered from, where it does not ask for more."""

_JOINTS: Final = re.compile(r"[-_/.:]+")
_PLAN: Final = re.compile(r"^\W*(?:current\s+)?plan\b", re.IGNORECASE)
_WIDENED: Final[Mapping[PartKind, tuple[MemoryType, ...]]] = {
    PartKind.PATH: tuple(kind for kind in MemoryType if kind not in {MemoryType.GOAL, MemoryType.CONTEXT}),
    PartKind.DECISION: (),
}
"""Kinds that memories of other types may answer too, after their own. The rest are answered by theirs alone: a fact
about ledgers is not what the last run concluded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where and how to look.

    Attributes:
        memory: The verbs of memory.
        rule: How candidates are weighed.
        rerank: Whether the cross-encoder judges candidates.
        types: The only types to look among; none means all.
        as_of: What was believed then.
        per_part: Memories that one part may be answered from.
    """

    memory: Verbs
    rule: Rule
    rerank: bool = False
    types: tuple[MemoryType, ...] = ()
    as_of: datetime | None = None
    per_part: int = PER_PART

    def recall(self, query: str | None, types: Sequence[MemoryType], **options: Any) -> list[Recollection]:
        """Return what is active and current, or was at the time asked about, but no template left unfilled."""
        hits = self.memory.recall(
            query,
            types=types,
            as_of=self.as_of,
            rerank=self.rerank and query is not None,
            **{"limit": CANDIDATES, **options},
        )
        return [hit for hit in hits if not unfilled_template(hit.memory.content)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What memory holds for one part of a question.

    Attributes:
        part: The part.
        hits: The memories that answer it, in the order to show them; empty when memory has nothing on it.
        considered: Every memory that was looked at.
        note: What a reader should know about them, or `""`.
    """

    part: Part
    hits: tuple[Recollection, ...] = ()
    considered: tuple[Recollection, ...] = ()
    note: str = ""

    @property
    def answered(self) -> bool:
        """Whether memory answers the part."""
        return bool(self.hits)


def find(part: Part, scope: Scope) -> Found:
    """Return the memories that answer a part, decided by what was retrieved alone."""
    implied = TYPES[part.kind]
    types = tuple(kind for kind in implied if not scope.types or kind in scope.types) or scope.types or implied
    if part.kind in _SLOTS and not part.subject:
        return _slotted(part, scope, types)
    if part.kind is not PartKind.OPEN and not part.subject:
        return _of_kind(part, scope, types)
    return _about(part, scope, types)


def _slotted(part: Part, scope: Scope, types: Sequence[MemoryType]) -> Found:
    """Return the current goal or plan: what its slot holds, else the newest that reads as one."""
    newest = scope.recall(None, types, key=_SLOTS[part.kind], limit=1)
    others = scope.recall(None, types)
    if not newest:
        newest = [hit for hit in others if part.kind is PartKind.GOAL or reads_as_plan(hit.memory.content)]
    wanted = scope.per_part if part.several else 1
    return Found(
        part=part,
        hits=tuple(newest[:wanted]),
        considered=tuple({hit.memory.id: hit for hit in [*newest, *others]}.values()),
    )


def _of_kind(part: Part, scope: Scope, types: Sequence[MemoryType]) -> Found:
    """Return memories of the part's kind: those about the topic of the whole question, else the newest."""
    newest = scope.recall(None, types)
    wanted = scope.per_part if part.several or part.kind is PartKind.FACT else 1
    if part.topic and newest:
        words = terms_of(part.topic)
        found = scope.recall(part.topic, types)
        weighed = best(weigh(words, found, scope.rule), scope.rule)
        on_topic = _united(_of_task(part, words, found), _hits(weighed))[:wanted]
        if on_topic:
            return Found(part=part, hits=on_topic, considered=tuple(newest))
        note = f"nothing of this kind is about {part.topic!r}; the newest is shown"
        return Found(part=part, hits=tuple(newest[:wanted]), considered=tuple(newest), note=note)
    return Found(part=part, hits=tuple(newest[:wanted]), considered=tuple(newest))


def _about(part: Part, scope: Scope, types: Sequence[MemoryType]) -> Found:
    """Return memories about the part's subject, those of the implied types first."""
    words = terms_of(part.query) if part.kind is PartKind.OPEN else list(part.subject)
    own = frozenset(types)
    pool = _WIDENED[part.kind] if part.kind in _WIDENED and not scope.types else tuple(types)
    hits = scope.recall(part.query, pool)
    rule = scope.rule.loosely if part.asking or part.kind is PartKind.RUN else scope.rule
    weighed = weigh(words, hits, rule)
    if part.kind is PartKind.RUN:
        fitting = _newest_runs(weighed, part)
    else:
        fitting = sorted(best(weighed, rule), key=lambda one: one.recollection.memory.type not in own)
    own_task = _of_task(part, words, hits)
    return Found(part=part, hits=_united(own_task, _hits(fitting))[: scope.per_part], considered=tuple(hits))


def _of_task(part: Part, words: Sequence[Term], hits: Sequence[Recollection]) -> tuple[Recollection, ...]:
    """Return the failures that were recorded for the kind of task asked about, whatever their text says.

    Either the words asked are all among those of the task type, or those of the task type all among the words.
    """
    if part.kind is not PartKind.FAILURE or not words:
        return ()
    asked = index_terms([" ".join(word.word for word in words)])

    def meant(hit: Recollection) -> bool:
        task = _JOINTS.sub(" ", task_type_of(hit.memory))
        own, held = terms_of(task), index_terms([task])
        return bool(own) and (
            all(held.share(word) >= 1 for word in words) or all(asked.share(word) >= 1 for word in own)
        )

    return tuple(hit for hit in hits if meant(hit))


def _united(first: Sequence[Recollection], others: Sequence[Recollection]) -> tuple[Recollection, ...]:
    return tuple({hit.memory.id: hit for hit in (*first, *others)}.values())


def _newest_runs(weighed: Sequence[Evidence], part: Part) -> list[Evidence]:
    """Return every event on the subject, newest first, or only the newest: the last run counts, not the best match."""
    fitting = [one for one in weighed if one.supports]
    fitting.sort(key=lambda one: happened(one.recollection.memory), reverse=True)
    return fitting if part.several else fitting[:1]


def reads_as_plan(text: str) -> bool:
    """Return whether a text begins as a plan does."""
    return _PLAN.match(text) is not None


def happened(memory: Memory) -> datetime:
    """Return when what a memory tells happened: from when it is true, else when it was recorded."""
    return memory.valid_from or memory.recorded_at


def _hits(evidence: Iterable[Evidence]) -> tuple[Recollection, ...]:
    return tuple(one.recollection for one in evidence)
