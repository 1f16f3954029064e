"""What became of a memory that was used, and how far its confidence moves for it.

Confidence is read as the mean of a Beta distribution that is worth `PRIOR_WEIGHT` observations. Each "helped" is
one success, each "wrong" one failure: `(c0 * n0 + helped) / (n0 + helped + wrong)`, the posterior mean of a
Beta-binomial model (Gelman et al., Bayesian Data Analysis, 3rd ed., section 2.4). "Irrelevant" says that it was
shown at the wrong time, not that it is false: it is counted and moves nothing.

What is learned from runs and conflicts is counted in the same tally: a run that used the memory is a success, or half
a failure, as it ended; an open contradiction is half a failure. A memory gets at most one version a day for these: the
first successful run of a day is counted when it ends, whatever else there is by upkeep, which counts all of it anew
from the ledger (`hygiene.learning`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

from memanto.errors import InvalidInputError, VersionConflictError
from memanto.loop.port import Verbs
from memanto.models import Memory, Receipt, Status

Verdict = Literal["helped", "wrong", "irrelevant"]

PRIOR_WEIGHT: Final = 4.0
"""How many observations the writer's own confidence is worth. Our choice: two failures in a row take 0.8 below 0.6."""
INDIRECT: Final = 0.5
"""What a run's failure or an open contradiction counts: either may have another cause. Our choice."""
VERDICTS: Final = ("helped", "wrong", "irrelevant")
LEARNED: Final = ("runs_helped", "runs_failed", "contradicted")
"""Counts beside the verdicts, taken from runs and conflicts."""
_ATTEMPTS: Final = 16


def feedback(verbs: Verbs, memory_id: str, verdict: Verdict, *, reason: str = "") -> Receipt:
    """Append a version with the verdict counted and the confidence it leads to.

    Raises:
        InvalidInputError: The verdict is unknown, or the memory was forgotten.
        NotFoundError: No memory has this id.
    """
    if verdict not in get_args(Verdict):
        raise InvalidInputError(f"unknown verdict {verdict!r}", hint=f"one of {', '.join(get_args(Verdict))}")
    for _ in range(_ATTEMPTS):
        memory = verbs.show(memory_id)
        if memory.status is Status.FORGOTTEN:
            raise InvalidInputError(f"memory {memory.id} was forgotten", hint="there is nothing left to judge")
        tally = _counted(memory, verdict)
        try:
            return verbs.edit(
                memory.id,
                reason=f"feedback: {verdict}" + (f"; {reason}" if reason else ""),
                expected_version=memory.version,
                confidence=tally["confidence"],
                metadata={**memory.metadata, "feedback": tally},
            )
        except VersionConflictError:
            continue  # somebody else judged it at the same time: count on from there
    raise VersionConflictError(f"memory {memory_id} keeps changing", hint="try again")


def credit(verbs: Verbs, memory_id: str, run_id: str) -> Receipt | None:
    """Count a run that used a memory and succeeded; `None` where the memory has learned today and upkeep will count it.

    Raises:
        NotFoundError: No memory has this id.
        VersionConflictError: Somebody else changed it just now.
    """
    memory = verbs.show(memory_id)
    tally, today = tally_of(memory), verbs.clock().date().isoformat()
    if memory.status is Status.FORGOTTEN or tally.get("day") == today:
        return None
    tally |= {"runs_helped": tally.get("runs_helped", 0) + 1, "day": today}
    tally["confidence"] = confidence_of(tally)
    return verbs.edit(
        memory.id,
        reason=f"feedback: helped; used in run {run_id}, which ended in success",
        expected_version=memory.version,
        confidence=tally["confidence"],
        metadata={**memory.metadata, "feedback": tally},
    )


def posterior(prior: float, helped: float, wrong: float) -> float:
    """Return the confidence (0..1) after so many observations."""
    return round((prior * PRIOR_WEIGHT + helped) / (PRIOR_WEIGHT + helped + wrong), 6)


def tally_of(memory: Memory) -> dict[str, Any]:
    """Return what is counted of a memory; it begins anew where its confidence was set by hand meanwhile."""
    kept = memory.metadata.get("feedback")
    tally: dict[str, Any] = {"prior": memory.confidence, **dict.fromkeys(VERDICTS, 0)}
    if isinstance(kept, Mapping) and kept.get("confidence") == memory.confidence:
        names = (*tally, *LEARNED, "since", "day")
        tally |= {name: kept[name] for name in names if isinstance(kept.get(name), int | float | str)}
    return tally


def confidence_of(tally: Mapping[str, Any]) -> float:
    """Return the confidence (0..1) that a tally leads to."""
    counted = {name: tally.get(name, 0) for name in LEARNED}
    wrong = tally["wrong"] + INDIRECT * (counted["runs_failed"] + counted["contradicted"])
    return posterior(tally["prior"], tally["helped"] + counted["runs_helped"], wrong)


def _counted(memory: Memory, verdict: Verdict) -> dict[str, Any]:
    """Return the tally with one more verdict."""
    tally = tally_of(memory)
    tally[verdict] += 1
    return {**tally, "confidence": confidence_of(tally)}
