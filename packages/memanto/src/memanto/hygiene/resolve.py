"""Deciding a conflict, and taking a decision back. Nothing is deleted: every effect is a version with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from memanto.errors import InvalidInputError, NotFoundError, VersionConflictError
from memanto.hygiene.conflict import (
    KIND,
    OPEN,
    RESOLVED,
    Action,
    Conflict,
    Effect,
    conflict_of,
    digests_of,
    finding_of,
    record_value,
    tags_of,
    text_of,
)
from memanto.hygiene.journal import TAG, Journal
from memanto.memory.change import By, Editor
from memanto.memory.versions import NewVersion
from memanto.models import Decision, Memory, Status

UNDONE: Final = "undo"
"""Action of the versions that take a decision back."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What an action does: the memory whose text changes, and what becomes of the others."""

    edited: str | None = None
    superseded: tuple[str, str] | None = None
    expired: str | None = None


class Resolver:
    """Decides conflicts of one agent.

    Args:
        journal: The agent's records.
        editor: Changes memories.
    """

    def __init__(self, journal: Journal, editor: Editor) -> None:
        self._journal = journal
        self._log = journal.log
        self._editor = editor

    # -- reading ------------------------------------------------------------------------------------
    def all(self, *, is_open: bool) -> list[Conflict]:
        """Return open or decided conflicts, oldest first.

        An open one whose memories are not both active any more has settled itself and is left out.
        """
        records = self._journal.find([f"{TAG}:{KIND}"], [OPEN if is_open else RESOLVED])
        found = [conflict_of(record) for record in records]
        if is_open:
            heads = self._log.heads({i for one in found for i in (one.older, one.newer)})
            active = {i for i, head in heads.items() if head.status is Status.ACTIVE}
            found = [one for one in found if one.older in active and one.newer in active]
        return sorted(found, key=lambda one: (one.found_at or _never(), one.id))

    def get(self, prefix: str) -> Conflict:
        """Return the conflict whose id begins so.

        Raises:
            NotFoundError: There is none.
            InvalidInputError: There are several.
        """
        records = self._journal.find([f"{TAG}:{KIND}"])
        matches = [record for record in records if record.id.startswith(prefix.strip().lower())]
        if not matches:
            raise NotFoundError(f"no conflict id begins with {prefix!r}", hint="`memanto conflicts --list` shows them")
        if len(matches) > 1:
            shown = ", ".join(record.id for record in matches[:4])
            raise InvalidInputError(
                f"{len(matches)} conflict ids begin with {prefix!r}: {shown}", hint="give more characters"
            )
        return conflict_of(matches[0])

    def memories(self, conflict: Conflict) -> tuple[Memory, Memory]:
        """Return the current versions of both memories, the older first."""
        return self._log.head(conflict.older), self._log.head(conflict.newer)

    # -- deciding -----------------------------------------------------------------------------------
    def resolve(self, conflict: Conflict, action: Action, by: By, *, text: str | None = None) -> Conflict:
        """Carry out a decision and record it.

        Raises:
            InvalidInputError: It was decided already, a memory is not active any more, or the text is missing or
                given where none belongs.
            VersionConflictError: Somebody else changed one of them meanwhile.
        """
        if not conflict.is_open:
            raise InvalidInputError(
                f"conflict {conflict.id} was decided: {conflict.action}",
                hint=f"`memanto conflicts --undo {conflict.id}`",
            )
        if (action in ("merge", "replace")) != (text is not None and bool(text.strip())):
            needs = "needs a text" if action in ("merge", "replace") else "takes no text"
            raise InvalidInputError(f"the action {action!r} {needs}", hint="--text TEXT goes with merge and replace")
        heads = {memory.id: memory for memory in self.memories(conflict)}
        for memory in heads.values():
            if memory.status is not Status.ACTIVE:
                raise InvalidInputError(f"memory {memory.id} is {memory.status.value}, so there is nothing to decide")
        effects = self._carry_out(_plan(conflict, action, heads), heads, by, action, text)
        return self._record(conflict, action, by.decision(action), effects)

    def _carry_out(
        self, plan: _Plan, heads: Mapping[str, Memory], by: By, action: Action, text: str | None
    ) -> tuple[Effect, ...]:
        effects = []
        if plan.edited is not None and text is not None:
            head = heads[plan.edited]
            receipt = self._editor.edit(head.id, {"content": text}, by, expected_version=head.version)
            effects.append(Effect(id=head.id, before=head.version, after=receipt.version))
        if plan.superseded is not None:
            loser, winner = plan.superseded
            receipt = self._editor.supersede(loser, winner, replace(by, reason=by.reason or action))
            effects.append(Effect(id=loser, before=heads[loser].version, after=receipt.version))
        if plan.expired is not None:
            receipt = self._editor.expire(plan.expired, replace(by, reason=by.reason or action))
            effects.append(Effect(id=plan.expired, before=heads[plan.expired].version, after=receipt.version))
        return tuple(effects)

    def _record(
        self, conflict: Conflict, action: Action | None, decision: Decision, effects: tuple[Effect, ...]
    ) -> Conflict:
        head = self._log.head(conflict.id)
        digests = self._digests(conflict) if action is not None else digests_of(head)
        finding = finding_of(conflict)
        older, newer = conflict.older, conflict.newer
        value: dict[str, Any] = record_value(
            finding, older, newer, (digests[0], digests[1]), action=action, effects=effects
        )
        version = self._journal.following(
            head,
            text_of(finding, older, newer, action),
            value,
            tags=tags_of(older, newer, is_open=action is None),
            decision=decision,
        )
        return conflict_of(self._log.append_one(version))

    def _digests(self, conflict: Conflict) -> tuple[str, str]:
        first, second = sorted((conflict.older, conflict.newer))
        _, digests = self._log.heads_with_digests([first, second])
        return digests.get(first, ""), digests.get(second, "")

    # -- taking back --------------------------------------------------------------------------------
    def undo(self, conflict: Conflict, by: By) -> Conflict:
        """Take a decision back: every memory it changed says and stands again as before, as a new version.

        Raises:
            InvalidInputError: It is not decided, or a memory has changed since, which this would undo too.
        """
        if conflict.is_open:
            raise InvalidInputError(f"conflict {conflict.id} is open", hint="there is no decision to take back")
        heads = self._log.heads([effect.id for effect in conflict.effects])
        for effect in conflict.effects:
            head = heads.get(effect.id)
            if head is None or head.version != effect.after:
                raise InvalidInputError(
                    f"memory {effect.id} has changed since, so the decision cannot be taken back alone",
                    hint=f"`memanto history {effect.id}` shows what happened",
                )
        decision = by.decision(UNDONE)
        versions = [one for effect in conflict.effects for one in self._as_before(effect, decision)]
        stored = self._log.append(versions) if versions else []
        if any(memory is None for memory in stored):
            raise VersionConflictError("a memory changed meanwhile", hint="look at it and undo again")
        for version in versions:
            if version.content_hash:
                self._log.point_text(version.content_hash, version.memory.id)
        return self._record(conflict, None, decision, ())

    def _as_before(self, effect: Effect, decision: Decision) -> list[NewVersion]:
        """Return the versions that bring a memory, and the parts of a split one, back to an earlier version."""
        history = self._log.history(effect.id)
        before, head = (next(m for m in history if m.version == number) for number in (effect.before, effect.after))
        point = self._log.points([before])[before.id]
        memory = replace(before, version=head.version + 1, retired_at=None, decision=decision, imported=False)
        digest = str(point.payload.get("content_hash", ""))
        return [NewVersion(memory=memory, dense=point.dense, lexical=point.lexical, content_hash=digest, previous=head)]


def _plan(conflict: Conflict, action: Action, heads: Mapping[str, Memory]) -> _Plan:
    old, new = conflict.older, conflict.newer
    match action:
        case "keep-old":
            return _Plan(superseded=(new, old))
        case "keep-new":
            return _Plan(superseded=(old, new))
        case "keep-both":
            return _Plan()
        case "merge" | "replace":
            # The one that has a slot keeps it; else the newer one carries the text on.
            kept, other = (old, new) if heads[old].key is not None and heads[new].key is None else (new, old)
            return _Plan(edited=kept, superseded=(other, kept))
        case "expire-old":
            return _Plan(expired=old)
        case "expire-new":
            return _Plan(expired=new)


def _never() -> Any:
    from memanto.times import MIN_TIME

    return MIN_TIME
