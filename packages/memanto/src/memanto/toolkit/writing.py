"""Tools that write: remember, record_failure, handoff, feedback; and what a model is told of a write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from memanto.loop.fence import NOTICE, fence_one
from memanto.models import Receipt, Status

if TYPE_CHECKING:
    from memanto.client import Memanto

Told: TypeAlias = tuple[str, Any]
"""What a model reads, and what a program may use beside it: plain values that JSON can hold."""

_UNSOURCED: Final = (
    "stored as inferred and quarantined: nothing acts on it. Remember it again with source_ref and how you know it, "
    "or let a person who has checked it verify it"
)
_INFERRED: Final = "quarantined: an inferred fact is not believed until a person who has checked it verifies it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """For whom a tool writes.

    Attributes:
        source: Who writes, 1..64 of `[A-Za-z0-9._-]`.
        run_id: The run that it belongs to, or `None`.
        metadata: Kept with what is remembered; a program's, never a model's.
    """

    source: str
    run_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def remember(
    memory: Memanto,
    by: Author,
    *,
    content: str,
    type: str,  # noqa: A002 - the word models know it by
    provenance: str,
    source_ref: str | None = None,
    tags: Iterable[str] = (),
    confidence: float | None = None,
) -> Told:
    """Store one memory. A fact that cannot be looked up is inferred, however sure the model is."""
    looked_up = source_ref if source_ref and source_ref.strip() else None
    unsourced = type == "fact" and looked_up is None
    receipt = memory.remember(
        content,
        type=type,
        provenance="inferred" if unsourced else provenance,
        source=by.source,
        source_ref=looked_up,
        tags=tags,
        confidence=confidence,
        run_id=by.run_id,
        metadata=by.metadata,
    )
    text, kept = told_of(receipt, "remembered as")
    if receipt.status is Status.QUARANTINED:
        text += f"\n{_UNSOURCED if unsourced and provenance != 'inferred' else _INFERRED}"
    return text, kept


def record_failure(memory: Memanto, by: Author, *, provenance: str = "observed", **fields: Any) -> Told:
    """Record a failure as a trigger; the fields are those of `memanto.FailureRecord`."""
    receipt = memory.record_failure(
        **fields, provenance=provenance, source=by.source, run_id=by.run_id, metadata=by.metadata
    )
    return told_of(receipt, "recorded as")


def handoff(memory: Memanto, by: Author, *, action: str, lane: str = "main", **fields: Any) -> Told:
    """Leave, take, acknowledge or show a baton; the fields are those of `memanto.Baton`.

    What a session says of its own work is stated: the next one takes the baton unasked.
    """
    if action == "write":
        receipt = memory.write_handoff(**fields, lane=lane, source=by.source, run_id=by.run_id).receipt
        return told_of(receipt, "left the baton")
    if action == "ack":
        done = memory.ack_handoff(lane=lane, by=by.source)
        return f"acknowledged the baton {done.memory.id}", {"ids": [done.memory.id]}
    if action == "take":
        taken = memory.take_handoff(lane=lane, by=by.source)
        found = [] if taken is None else [taken]
    else:
        found = memory.show_handoff(lane=lane)
    if not found:
        return f"no baton waits in lane {lane!r}", {"ids": []}
    shown = [NOTICE, *map(fence_one, memory.pins().memories)]
    for one in found:
        whose = f" by {one.by}" if one.by else ""
        shown.append(f"baton of lane {one.lane!r}, {one.state}{whose}{'' if one.confirmed else ', unconfirmed'}:")
        shown.append(fence_one(one.memory))
    return "\n".join(shown), {"ids": [one.memory.id for one in found]}


def feedback(
    memory: Memanto,
    by: Author,  # noqa: ARG001 - as every act is called
    *,
    id: str,  # noqa: A002 - the word models know it by
    verdict: Literal["helped", "wrong", "irrelevant"],
    reason: str = "",
) -> Told:
    """Say what became of a memory."""
    return told_of(memory.feedback(id, verdict, reason=reason), "noted on")


def told_of(receipt: Receipt, what: str) -> Told:
    """Return what a model is told of a write, and the receipt as plain values."""
    lines = [f"{what} {receipt.id} (version {receipt.version}, {receipt.type.value}, {receipt.status.value})"]
    if receipt.duplicate:
        lines.append("it was known already; nothing was added")
    lines += receipt.warnings
    if receipt.redactions:
        lines.append(f"secrets were removed: {', '.join(sorted({one.kind for one in receipt.redactions}))}")
    for one in receipt.conflicts:
        lines.append(f"it may not go together with memory {one.other} ({one.kind})")
    if receipt.similar:
        lines.append(f"similar memories: {', '.join(receipt.similar)}")
    kept = {
        "id": receipt.id,
        "version": receipt.version,
        "status": receipt.status.value,
        "type": receipt.type.value,
        "duplicate": receipt.duplicate,
        "similar": list(receipt.similar),
        "conflicts": [one.other for one in receipt.conflicts],
    }
    return "\n".join(lines), kept
