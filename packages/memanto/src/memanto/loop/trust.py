"""What the loop may act on: standing and provenance decide, never what a text says of itself.

A memory *directs* when it may steer an agent without anybody looking at it first: as goal, plan, constraint,
runbook or handoff. Only what a person or the agent stated, corrected or checked does. What a tool's result
said (`observed`), what came from elsewhere (`imported`) and what a model concluded (`inferred`) informs at
most, and is shown as unconfirmed; `verify` lets it direct.
"""

from __future__ import annotations

from typing import Final

from memanto.memory.trust import TRUST
from memanto.models import Memory, Provenance, Status

_DIRECTING: Final = TRUST[Provenance.EXPLICIT_STATEMENT]


def directs(memory: Memory) -> bool:
    """Return whether a memory may steer an agent: active, and stated, corrected or validated."""
    return memory.status is Status.ACTIVE and TRUST[memory.provenance] >= _DIRECTING


def informs(memory: Memory) -> bool:
    """Return whether a memory may be shown as something known: active, and more than an inference."""
    return memory.status is Status.ACTIVE and TRUST[memory.provenance] > TRUST[Provenance.INFERRED]
