"""The trust gate: what may be believed at once, and what waits in quarantine.

Trust follows from provenance, not from what a writer says of itself or from its confidence. A `fact` that
was only inferred is quarantined: it is recallable on request, labelled, and cannot take the place of a
trusted memory until somebody verifies it.
"""

from __future__ import annotations

from typing import Final

from memanto.models import Memory, MemoryType, Provenance, Status

TRUST: Final = {
    Provenance.INFERRED: 0,
    Provenance.IMPORTED: 1,
    Provenance.OBSERVED: 1,
    Provenance.EXPLICIT_STATEMENT: 2,
    Provenance.CORRECTED: 2,
    Provenance.VALIDATED: 2,
}
"""Rank of each provenance; a lower one never takes the place of a higher one unasked."""


def initial_status(kind: MemoryType, provenance: Provenance) -> Status:
    """Return the status a new memory begins with."""
    if kind is MemoryType.FACT and provenance is Provenance.INFERRED:
        return Status.QUARANTINED
    return Status.ACTIVE


def may_replace(kind: MemoryType, provenance: Provenance, head: Memory) -> bool:
    """Return whether a new statement may become the current version in `head`'s place.

    What is not believed any more can always be replaced by something believed; a quarantined claim never
    replaces an active memory, and an inference never replaces what was stated, corrected or validated.
    """
    if initial_status(kind, provenance) is Status.QUARANTINED:
        return head.status is not Status.ACTIVE
    if head.status is not Status.ACTIVE:
        return True
    return TRUST[provenance] > 0 or TRUST[head.provenance] == 0
