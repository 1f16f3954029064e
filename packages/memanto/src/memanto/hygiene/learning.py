"""Confidence that learns: what the ledger and the conflicts say of a memory, folded into its confidence.

The rule is that of `loop.feedback`: the mean of a Beta distribution whose prior is the writer's confidence, worth
four observations. A run that used a memory and succeeded is one success; a run that used it and failed, and an open
contradiction, are half a failure each. Evidence counts from when the confidence was last set by hand (by a writer,
`edit` or `verify`). Everything is counted anew each time, so folding twice changes nothing, a contradiction that is
settled counts no more, and a memory gets at most one such version a day, the one at the end of a run included.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from memanto.counted import counted
from memanto.errors import VersionConflictError
from memanto.filters import Where
from memanto.hygiene.compare import Kind
from memanto.hygiene.conflict import Conflict
from memanto.loop.feedback import confidence_of, tally_of
from memanto.loop.port import Verbs
from memanto.loop.runs import RunRecord
from memanto.memory.namespace import Namespace
from memanto.memory.versions import VersionLog
from memanto.memory.visibility import believed_at
from memanto.models import Memory, Receipt, Status
from memanto.times import from_rfc3339, to_rfc3339

_NAMES: Final = {
    "runs_helped": ("successful run", " that used it"),
    "runs_failed": ("failed run", " that used it"),
    "contradicted": ("open contradiction", ""),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """A memory whose confidence moved.

    Attributes:
        receipt: Of its new version.
        before: Its confidence before.
        after: Its confidence after.
        why: The evidence in words.
    """

    receipt: Receipt
    before: float
    after: float
    why: str


def fold(
    verbs: Verbs,
    namespace: Namespace,
    records: Sequence[RunRecord],
    conflicts: Iterable[Conflict],
    *,
    now: datetime,
) -> list[Learned]:
    """Fold what runs and conflicts say into the confidence of the memories they are about.

    Args:
        verbs: The agent's memory.
        namespace: Where it is kept.
        records: All runs.
        conflicts: The open conflicts.
        now: The present.
    """
    log = VersionLog(namespace)
    # Also what was counted before and is not any more.
    evidence = dict.fromkeys(judged_ids(namespace), ()) | _evidence(records, conflicts)
    heads = log.heads(evidence)
    learned = []
    for memory_id, events in evidence.items():
        head = heads.get(memory_id)
        if head is not None and head.status in (Status.ACTIVE, Status.QUARANTINED):
            one = _fold_one(verbs, log, head, events, now)
            learned += [one] if one is not None else []
    return learned


def _evidence(records: Sequence[RunRecord], conflicts: Iterable[Conflict]) -> dict[str, Sequence[tuple[str, datetime]]]:
    """Return by memory what happened to it and when."""
    found: dict[str, list[tuple[str, datetime]]] = {}
    for record in records:
        if record.is_over and record.ended_at is not None:
            what = "runs_helped" if record.state == "success" else "runs_failed"
            for memory_id in record.credited:
                found.setdefault(memory_id, []).append((what, record.ended_at))
    for conflict in conflicts:
        if conflict.kind is Kind.CONTRADICTION and conflict.found_at is not None:
            for memory_id in (conflict.older, conflict.newer):
                found.setdefault(memory_id, []).append(("contradicted", conflict.found_at))
    return dict(found)


def _fold_one(
    verbs: Verbs, log: VersionLog, head: Memory, events: Sequence[tuple[str, datetime]], now: datetime
) -> Learned | None:
    tally = tally_of(head)
    today = now.date().isoformat()
    if tally.get("day") == today:
        return None
    since = from_rfc3339(tally["since"]) if "since" in tally else _set_at(log, head)
    counts = {name: sum(1 for what, at in events if what == name and at >= since) for name in _NAMES}
    if all(tally.get(name, 0) == number for name, number in counts.items()):
        return None
    tally |= {**counts, "since": to_rfc3339(since), "day": today}
    tally["confidence"] = confidence_of(tally)
    why = _why(counts)
    try:
        receipt = verbs.edit(
            head.id,
            reason=f"learned: {why}",
            expected_version=head.version,
            confidence=tally["confidence"],
            metadata={**head.metadata, "feedback": tally},
        )
    except VersionConflictError:
        return None  # somebody changed it just now; the next run sees what they made of it
    return Learned(receipt=receipt, before=head.confidence, after=tally["confidence"], why=why)


def _set_at(log: VersionLog, head: Memory) -> datetime:
    """Return when the confidence that a memory's tally begins with was set by hand."""
    since = head
    for version in reversed(log.history(head.id) if head.version > 1 else ()):
        begins_anew = _has_learned(version) and not _has_learned(since)
        if tally_of(version)["prior"] != tally_of(head)["prior"] or begins_anew:
            break
        since = version
    return since.recorded_at


def _has_learned(memory: Memory) -> bool:
    """Return whether a memory's confidence comes from a tally."""
    kept = memory.metadata.get("feedback")
    return isinstance(kept, Mapping) and kept.get("confidence") == memory.confidence


def _why(counts: Mapping[str, int]) -> str:
    told = [counted(number, _NAMES[name][0]) + _NAMES[name][1] for name, number in counts.items() if number]
    return "; ".join(told) or "nothing is left"


# -- calibration ------------------------------------------------------------------------------------
BINS: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Memories of a range of confidence, and what became of their use.

    Attributes:
        low: Lower bound, included.
        high: Upper bound, excluded but for 1.
        uses: Runs that used a memory of this confidence, and verdicts on one.
        confidence: Mean confidence at the time of use; 0 without uses.
        right: Share of the uses that went well; 0 without uses.
    """

    low: float
    high: float
    uses: int
    confidence: float
    right: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Whether confidence says how often a memory proves right.

    Attributes:
        bins: By range of confidence.
        uses: All uses.
        error: Expected calibration error (Naeini et al., AAAI 2015): the mean distance between confidence and share
            right, weighed by uses; 0 without uses.
    """

    bins: tuple[Bin, ...]
    uses: int
    error: float


def calibrate(log: VersionLog, records: Sequence[RunRecord], judged: Iterable[str]) -> Calibration:
    """Compare the confidence that memories had when they were used with how it turned out.

    A use is a run that was shown a memory and used it (right when the run succeeded), or a verdict of `feedback`
    (right when it helped).

    Args:
        log: Versions of the memories.
        records: All runs.
        judged: Ids of the memories that got a verdict.
    """
    outcomes: list[tuple[float, bool]] = []
    ids = sorted({*judged, *(one for record in records if record.is_over for one in record.credited)})
    histories = log.histories(ids)
    for record in records:
        for memory_id in record.credited if record.is_over else ():
            then = [m for m in histories.get(memory_id, []) if m.recorded_at <= (record.ended_at or record.started_at)]
            if then:
                outcomes.append((then[-1].confidence, record.state == "success"))
    for history in histories.values():
        outcomes += _verdicts(history)
    return _table(outcomes)


def judged_ids(namespace: Namespace) -> list[str]:
    """Return the ids of the current memories that somebody gave a verdict on."""
    points = namespace.engine.scan(namespace.name, Where(believed_at(None)), fields=["memory_id", "metadata"])
    return [str(point.payload["memory_id"]) for point in points if "feedback" in str(point.payload.get("metadata", ""))]


def _verdicts(history: Sequence[Memory]) -> list[tuple[float, bool]]:
    found = []
    for before, after in itertools.pairwise(history):
        tally: Any = after.metadata.get("feedback")
        earlier: Any = before.metadata.get("feedback") or {}
        for name, right in (("helped", True), ("wrong", False)):
            if isinstance(tally, Mapping) and tally.get(name, 0) > earlier.get(name, 0):
                found.append((before.confidence, right))
    return found


def _table(outcomes: Sequence[tuple[float, bool]]) -> Calibration:
    bins = []
    error = 0.0
    for low, high in itertools.pairwise(BINS):
        mine = [(c, right) for c, right in outcomes if low <= c < high or (high == BINS[-1] and c == high)]
        mean = sum(c for c, _ in mine) / len(mine) if mine else 0.0
        share = sum(right for _, right in mine) / len(mine) if mine else 0.0
        error += abs(mean - share) * len(mine) / max(1, len(outcomes))
        bins.append(Bin(low=low, high=high, uses=len(mine), confidence=round(mean, 4), right=round(share, 4)))
    return Calibration(bins=tuple(bins), uses=len(outcomes), error=round(error, 4))
