"""Deciding a conflict, and taking a decision back. Nothing is deleted: every effect is a version with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from memanto.errors import InvalidInputError, NotFoundError, VersionConflictError
from memanto.hygiene.candidates import OPEN_EACH
from memanto.hygiene.conflict import (
    KIND,
    OPEN,
    RESOLVED,
    SET_ASIDE,
    Action,
    Conflict,
    Effect,
    conflict_of,
    digests_of,
    finding_of,
    of,
    record_value,
    state_of,
    tags_of,
    text_of,
)
from memanto.hygiene.journal import TAG, Journal
from memanto.memory.change import By, Editor, full_text
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
    def all(self, *, is_open: bool, set_aside: bool = False) -> list[Conflict]:
        """Return open or decided conflicts, oldest first; among the open ones on request those that were set aside.

        An open one whose memories are not both active any more has settled itself and is left out.
        """
        states = ([OPEN, SET_ASIDE] if set_aside else [OPEN]) if is_open else [RESOLVED]
        records = self._journal.find([f"{TAG}:{KIND}"], states)
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
        """Return the current versions of both memories with their whole texts, the older first."""
        older, newer = (self._log.head(i) for i in (conflict.older, conflict.newer))
        return self._whole(older), self._whole(newer)

    def _whole(self, memory: Memory) -> Memory:
        if not memory.parts or memory.status is Status.FORGOTTEN:
            return memory
        return replace(memory, content=full_text(self._log, memory))

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
        heads = {i: self._log.head(i) for i in (conflict.older, conflict.newer)}
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
        judgement = conflict.judgement
        value: dict[str, Any] = record_value(
            finding, older, newer, (digests[0], digests[1]), action=action, effects=effects, judgement=judgement
        )
        version = self._journal.following(
            head,
            text_of(finding, older, newer, action),
            value,
            tags=tags_of(older, newer, state_of(action, judgement)),
            decision=decision,
        )
        return conflict_of(self._log.append_one(version))

    def _digests(self, conflict: Conflict) -> tuple[str, str]:
        first, second = sorted((conflict.older, conflict.newer))
        _, digests = self._log.heads_with_digests([first, second])
        return digests.get(first, ""), digests.get(second, "")

    def may_wait(self, decided: Conflict) -> bool:
        """Whether pairs of the older memory may have found no room while this conflict was open."""
        if self._log.head(decided.older).status is not Status.ACTIVE:
            return False
        records = self._journal.find([f"{TAG}:{KIND}"], [of(decided.older)])
        return sum(1 for record in records if conflict_of(record).older == decided.older) >= OPEN_EACH

    # -- taking back --------------------------------------------------------------------------------
    def undo(self, conflict: Conflict, by: By) -> Conflict:
        """Take a decision back: every memory it changed says and stands again as before, as a new version.

        Of a conflict that is not decided the judgement of a language model is taken back.

        Raises:
            InvalidInputError: There is nothing to take back, or a memory has changed since, which this would undo too.
        """
        if conflict.is_open and conflict.judgement is not None and not conflict.judgement.overruled:
            overruled = replace(conflict, judgement=replace(conflict.judgement, overruled=True))
            return self._record(overruled, None, by.decision(UNDONE), ())
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
        pairs = [(before, head)]
        for part in self._log.parts(head.id) if head.parts else ():
            then = next(m for m in reversed(self._log.history(part.id)) if m.status is before.status)
            pairs.append((then, part))
        points = self._log.points([then for then, _ in pairs])
        return [
            NewVersion(
                memory=replace(then, version=now.version + 1, retired_at=None, decision=decision, imported=False),
                dense=points[then.id].dense,
                lexical=points[then.id].lexical,
                content_hash=str(points[then.id].payload.get("content_hash", "")),
                previous=now,
            )
            for then, now in pairs
        ]


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
            # The one that has a slot keeps it, and a text that was split cannot be edited; else the newer one goes on.
            keeps = (heads[old].key is not None and heads[new].key is None) or heads[new].parts
            kept, other = (old, new) if keeps and not heads[old].parts else (new, old)
            return _Plan(edited=kept, superseded=(other, kept))
        case "expire-old":
            return _Plan(expired=old)
        case "expire-new":
            return _Plan(expired=new)


def _never() -> Any:
    from memanto.times import MIN_TIME

    return MIN_TIME
