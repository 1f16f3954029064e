"""The handoff that a hook leaves at the end of a session, and when it leaves none."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from memanto.connect.transcript import Shift
from memanto.loop.baton import Baton, make_baton
from memanto.loop.pins import without_label

if TYPE_CHECKING:
    from memanto.client import Memanto
    from memanto.loop.handoff import Handoff

_STEPS: Final = 20
_RECENT: Final = timedelta(hours=12)
"""How long ago a step of the ledger may be to belong to a session whose beginning is unknown."""


def leave(memory: Memanto, shift: Shift, *, client: str, session: str) -> str | None:
    """Leave a baton made from a transcript and the ledger; return its id, or `None` when none is left.

    None is left by a session that did nothing, nor in place of one that tells more. What the same session left before
    is brought up to date.
    """
    steps = _steps(memory, shift)
    if not shift.calls and not steps:
        return None
    goal = memory.goal()
    baton = make_baton(
        goal=without_label(goal.content) if goal is not None else shift.asked,
        done=(*shift.done, *steps),
        state=shift.said,
        next=shift.left[:10],
        artifacts=shift.files,
    )
    if baton.is_empty:
        return None
    run = f"session:{client}:{session}"[:200]
    standing = next((one for one in memory.show_handoff() if one.confirmed), None)
    if standing is not None and standing.memory.run_id == run and standing.state == "offered":
        if standing.memory.content == baton.text():
            return standing.memory.id
        return memory.edit(standing.memory.id, content=baton.text(), reason="the session went on").id
    if standing is not None and standing.memory.run_id != run and tells_more(standing, baton):
        return None
    return memory.write_handoff(baton, source=client, run_id=run).receipt.id


def tells_more(standing: Handoff, baton: Baton) -> bool:
    """Return whether a waiting baton has a field that another lacks, or more in all; its goal does not count."""
    told = standing.baton
    lacking = any(
        getattr(told, field.name) and not getattr(baton, field.name) for field in fields(Baton) if field.name != "goal"
    )
    return lacking or told.weight > baton.weight


def _steps(memory: Memanto, shift: Shift) -> list[str]:
    """Return what the unfinished run recorded since the session began."""
    since: datetime = shift.began or memory.clock() - _RECENT
    for run in memory.runs(state="unfinished", limit=1):
        return [step.outcome for step in memory.run_steps(run.id) if step.at >= since][-_STEPS:]
    return []
