"""Find out where an expected answer got lost: it was never stored, not retrieved, or retrieved and not usable."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from memanto.loop.answer_find import PLAN_SLOT, Found, Scope, reads_as_plan
from memanto.loop.parts import TYPES, PartKind
from memanto.memory.terms import index_terms
from memanto.models import MemoryType, Status
from memanto.times import from_rfc3339


class Stage(enum.StrEnum):
    """Where a miss arose."""

    NOT_STORED = "not_stored"  #: no version of any memory holds it: the write failed, or nobody wrote it
    NOT_RETRIEVED = "not_retrieved"  #: a believed memory holds it and was not among the candidates
    NOT_USABLE = "not_usable"  #: it is retired, quarantined or disputed, or was found and not taken for an answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """Something expected that is not in the answer.

    Attributes:
        stage: Where it got lost.
        detail: In words, with the memory's id where there is one.
        retired: It is known, and not believed any more.
    """

    stage: Stage
    detail: str
    retired: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What matters here of a stored version."""

    id: str
    version: int
    type: MemoryType
    content: str
    title: str
    recorded_at: datetime
    retired_at: datetime | None
    valid_to: datetime | None
    status: Status
    key: str | None
    parent_id: str | None

    @classmethod
    def read(cls, line: str) -> Version:
        """Return the version that a line of an export describes."""
        value = json.loads(line)
        moments = {name: value.get(name) for name in ("recorded_at", "retired_at", "valid_to")}
        return cls(
            id=value["id"],
            version=value["version"],
            type=MemoryType(value["type"]),
            content=value["content"],
            title=value["title"],
            status=Status(value.get("status", Status.ACTIVE)),
            key=value.get("key"),
            parent_id=value.get("parent_id"),
            **{name: text and from_rfc3339(text) for name, text in moments.items()},
        )

    def standing(self, as_of: datetime | None, now: datetime) -> str:
        """Return why this version is not believed now, or as of a moment, or `""` when it is."""
        at = as_of or now
        if self.retired_at is not None and (as_of is None or self.retired_at <= as_of):
            return "not the current version"
        if self.status is not Status.ACTIVE:
            return self.status.value
        if self.valid_to is not None and self.valid_to <= at:
            return f"true only until {self.valid_to.date().isoformat()}"
        return ""


class Stored:
    """Every version that an agent's store holds, read when something is missed.

    Args:
        scope: Whose memory, and the time asked about.
    """

    def __init__(self, scope: Scope) -> None:
        self._as_of, self._now = scope.as_of, scope.memory.clock()
        lines = iter(scope.memory.export())
        next(lines, None)  # the header
        versions = map(Version.read, lines)
        # Times of recording run a little ahead of a clock that stands still, so now is no bound.
        self._versions = [one for one in versions if self._as_of is None or one.recorded_at <= self._as_of]

    def miss(self, what: str, holds: Callable[[Version], bool], considered: frozenset[str]) -> Miss:
        """Return where memories that hold something got lost."""
        holding = [one for one in self._versions if one.status is not Status.FORGOTTEN and holds(one)]
        if not holding:
            return Miss(stage=Stage.NOT_STORED, detail=f"no memory holds {what}")
        believed = [one for one in holding if not one.standing(self._as_of, self._now)]
        if not believed:
            newest = max(holding, key=lambda one: (one.recorded_at, one.version))
            detail = (
                f"{newest.id} (version {newest.version}) holds {what} and is {newest.standing(self._as_of, self._now)}"
            )
            return Miss(stage=Stage.NOT_USABLE, detail=detail, retired=newest.status is not Status.QUARANTINED)
        seen = [one for one in believed if one.id in considered or one.parent_id in considered]
        if seen:
            told = (
                f"{seen[0].id} holds {what} and was found, but other memories fit the question better or it too little"
            )
            return Miss(stage=Stage.NOT_USABLE, detail=told)
        return Miss(stage=Stage.NOT_RETRIEVED, detail=f"{believed[0].id} holds {what} and was not found")

    def part_miss(self, found: Found) -> Miss:
        """Return why a part of a question has no answer: whether anything stored could be one."""
        part = found.part
        types, words = TYPES[part.kind], part.subject

        def could_answer(memory: Version) -> bool:
            if types and memory.type not in types:
                return False
            if part.kind is PartKind.PLAN and not words:
                return memory.key == PLAN_SLOT or reads_as_plan(memory.content)
            held = index_terms([memory.title, memory.content])
            return all(held.share(word) >= 1 for word in words)

        considered = frozenset(hit.memory.id for hit in found.considered)
        return self.miss(f"an answer to {part.text!r}", could_answer, considered)
