"""Applying a policy: what expires and why, with a guard against expiring much at once. `restore` brings each back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from memanto.counted import counted
from memanto.engine.codec import decode
from memanto.errors import InvalidInputError, VersionConflictError
from memanto.filters import NumberRange
from memanto.hygiene.journal import Journal, value_of
from memanto.hygiene.policy import DEFAULT_PRESET, Policy, policy_of, policy_value, preset
from memanto.loop import runs
from memanto.loop.run_codec import record_of, step_of
from memanto.memory.batons import is_baton
from memanto.memory.change import By, Editor
from memanto.memory.namespace import Namespace
from memanto.memory.visibility import live
from memanto.models import Decision, Memory, MemoryType
from memanto.times import to_rfc3339

_KIND: Final = "policy"
_NAME: Final = "policy"
_SPARED: Final = frozenset({"restore", "verify"})
"""Actions of a person after which low confidence alone expires nothing."""
_FEW: Final = 10
"""Memories that a run may expire whatever their share, so that the guard does not stop a small store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiring:
    """A memory that a policy lets expire.

    Attributes:
        memory: Its current version.
        reason: Why, as it is recorded.
    """

    memory: Memory
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """What applying a policy did, or would do.

    Attributes:
        policy: The policy.
        live: Live memories before.
        expiring: What expires, oldest first.
        kept: How many were kept although they are due, by reason.
        expired: Ids of what has expired; empty in a dry run.
        skipped: Ids of what somebody changed meanwhile.
        dry_run: Whether nothing was changed.
    """

    policy: Policy
    live: int
    expiring: tuple[Expiring, ...]
    kept: dict[str, int]
    expired: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    dry_run: bool = False

    @property
    def share(self) -> float:
        """Share of the live memories that expires."""
        return len(self.expiring) / self.live if self.live else 0.0

    @property
    def allowed(self) -> int:
        """How many one run may let expire unasked."""
        return max(_FEW, math.floor(self.policy.max_share * self.live))


class PolicyKeeper:
    """Keeps and applies one agent's policy.

    Args:
        namespace: The agent's memories.
        editor: Changes them.
    """

    def __init__(self, namespace: Namespace, editor: Editor) -> None:
        self._namespace = namespace
        self._editor = editor
        self._journal = Journal(namespace)

    # -- which policy -------------------------------------------------------------------------------
    def policy(self) -> Policy:
        """Return the agent's policy; the default preset while none was chosen."""
        head = self._journal.read(_KIND, _NAME)
        return preset(DEFAULT_PRESET) if head is None else policy_of(value_of(head))

    def choose(self, policy: Policy, by: By) -> Policy:
        """Record a policy as the agent's, with who chose it and why; its half-lives rank from now on.

        Raises:
            VersionConflictError: Somebody else chose one at the same moment.
        """
        text = f"Forgetting policy, begun as {policy.preset}."
        decision = Decision(actor=by.actor, action="set-policy", reason=by.reason)
        stored = self._journal.put(_KIND, _NAME, text, policy_value(policy), decision=decision)
        meta = self._namespace.meta()
        spans = {
            kind.value: one.half_life.total_seconds() for kind, one in policy.types.items() if one.half_life is not None
        }
        self._namespace.update_meta(meta, ageing=(*meta.ageing, (to_rfc3339(stored.recorded_at), spans)))
        return policy

    # -- applying it --------------------------------------------------------------------------------
    def apply(self, by: By, *, now: datetime, dry_run: bool = False, yes: bool = False) -> Application:
        """Let expire what the policy says, or say what would.

        Raises:
            InvalidInputError: More than the policy's share would expire, and `yes` is not set; nothing was changed.
        """
        policy = self.policy()
        found = self._due(policy, now)
        if dry_run or not found.expiring:
            return Application(
                policy=policy, live=found.live, expiring=found.expiring, kept=found.kept, dry_run=dry_run
            )
        if len(found.expiring) > found.allowed and not yes:
            raise InvalidInputError(
                f"{len(found.expiring)} of {counted(found.live, 'live memory')} would expire, more than the "
                f"{found.allowed} that one run may ({policy.max_share:.0%})",
                hint="look at `memanto policy apply --dry-run`, then add --yes or set another --max-share",
            )
        expired, skipped = [], []
        for one in found.expiring:
            try:
                self._editor.expire(one.memory.id, By(actor=by.actor, reason=one.reason))
                expired.append(one.memory.id)
            except VersionConflictError:
                skipped.append(one.memory.id)
        return Application(
            policy=policy,
            live=found.live,
            expiring=found.expiring,
            kept=found.kept,
            expired=tuple(expired),
            skipped=tuple(skipped),
        )

    def _due(self, policy: Policy, now: datetime) -> Application:
        name = self._namespace.name
        where = live((), now).without(NumberRange("part", gte=1))
        memories = [decode(name, point.payload) for point in self._namespace.engine.scan(name, where)]
        due = [(memory, reason) for memory in memories if (reason := reason_to_expire(memory, policy, now)) is not None]
        kept: Counter[str] = Counter()
        expiring = []
        delivered, used = self._deliveries() if due else (Counter(), set())
        for memory, reason in sorted(due, key=lambda one: (one[0].recorded_at, one[0].id)):
            why_kept = _reason_to_keep(memory, policy, delivered, used)
            if why_kept is None:
                expiring.append(Expiring(memory=memory, reason=reason))
            else:
                kept[why_kept] += 1
        return Application(policy=policy, live=len(memories), expiring=tuple(expiring), kept=dict(kept))

    def _deliveries(self) -> tuple[Counter[str], set[str]]:
        """Return in how many runs each memory was delivered, and which memories a run used."""
        return deliveries(self._steps())

    def _steps(self) -> list[Memory]:
        name = self._namespace.name
        where = live((MemoryType.EVENT,), None).also(NumberRange("part", gte=1))
        found = [decode(name, point.payload) for point in self._namespace.engine.scan(name, where)]
        return [memory for memory in found if "step" in memory.metadata]


def deliveries(steps: Iterable[Memory]) -> tuple[Counter[str], set[str]]:
    """Return in how many runs each memory was delivered, and which memories a run used, from the runs' steps."""
    shown: set[tuple[str, str]] = set()
    used: set[str] = set()
    for memory in steps:
        step = step_of(memory)
        shown.update((memory.parent_id or "", one) for one in step.delivered)
        used.update(step.used)
    return Counter(one for _, one in shown), used


def reason_to_expire(memory: Memory, policy: Policy, now: datetime) -> str | None:
    """Return why a policy lets a live memory expire, or `None`.

    Age counts from when the text was true or was last touched, so that a restored memory begins anew.
    """
    mine = policy.of(memory.type)
    age = now - max(memory.recorded_at, memory.valid_from or memory.recorded_at)
    if mine.time_to_live is not None and age > mine.time_to_live:
        return f"policy {policy.preset}: {memory.type.value} older than {days(mine.time_to_live)}"
    decided = memory.decision.action if memory.decision is not None else ""
    floor = mine.confidence_floor
    if floor is not None and memory.confidence < floor and decided not in _SPARED:
        return f"policy {policy.preset}: confidence {memory.confidence:g} below {floor:g}"
    return None


def _reason_to_keep(memory: Memory, policy: Policy, delivered: Counter[str], used: set[str]) -> str | None:
    if memory.pinned:
        return "pinned"
    if is_baton(memory.content):
        return "handoff"
    if record_of(memory) is not None or runs.TAG in memory.tags:
        return "run of the ledger"
    if policy.keep_used and memory.id in used:
        return "used by a run"
    if policy.keep_delivered and delivered[memory.id] >= policy.keep_delivered:
        return f"delivered in {counted(policy.keep_delivered, 'run')} or more"
    return None


def days(span: timedelta) -> str:
    """Return a span in words."""
    hours = span.total_seconds() / 3600
    return f"{hours / 24:g} days" if hours >= 48 else f"{hours:g} {'hour' if hours == 1 else 'hours'}"
