"""Handing work over: offer, claim, acknowledge. Exactly one of several takers gets a baton.

A baton is an active `context` memory whose text opens with SESSION HANDOFF. Where it stands is kept in its
metadata under `baton` and changed by appending versions with compare-and-set, so nothing rests on a lock.
A claim that is not acknowledged in time falls back: a taker that dies loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from memanto.counted import counted
from memanto.errors import ConflictError, InvalidInputError, NotFoundError, VersionConflictError
from memanto.loop.baton import HEADING, MAIN, Baton, lane_of, make_baton, parse_baton
from memanto.loop.pins import Pins, current_goal, without_label
from memanto.loop.port import Verbs
from memanto.loop.trust import directs
from memanto.memory.batons import is_baton
from memanto.models import MAX_LIMIT, Memory, MemoryType, Provenance, Receipt, Status
from memanto.times import from_rfc3339, to_rfc3339

MAX_LANE: Final = 50
MAX_TAKER: Final = 64
TAG: Final = "handoff"
CLAIM: Final = timedelta(minutes=30)
"""How long a claim holds unless the taker says otherwise. Our choice: longer than a start, shorter than a shift."""
MAX_CLAIM: Final = timedelta(days=7)
_ATTEMPTS: Final = 16
_FEW: Final = 20
"""The newest memories that are looked through for a plain baton, besides those that words find."""

State = Literal["offered", "claimed", "acknowledged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """A baton and where it stands.

    Attributes:
        memory: The memory that holds it.
        baton: Its fields.
        lane: The line of work it belongs to.
        state: `"offered"`, `"claimed"` or `"acknowledged"`; an expired claim reads as offered.
        offered_at: When it was written.
        by: Who claimed or acknowledged it, or `None`.
        claimed_until: When the claim falls back, or `None`.
        confirmed: Whether its writer may direct; one that is not is shown and not taken unasked.
    """

    memory: Memory
    baton: Baton
    lane: str
    state: State
    offered_at: datetime
    by: str | None = None
    claimed_until: datetime | None = None
    confirmed: bool = True

    def text(self, pins: Pins | None = None) -> str:
        """Return the baton as text, led by the pins, which are named as such and never cut.

        A pinned goal that is the baton's is not said twice.
        """
        lines = [line for line in (pins.lines() if pins is not None else []) if line != f"Goal: {self.baton.goal}"]
        return "\n".join([*(f"Pinned {line[:1].lower()}{line[1:]}" for line in lines), self.baton.text()])


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffReceipt:
    """What `write_handoff` did: the memory's receipt and the ids of the batons it took the place of."""

    receipt: Receipt
    lane: str
    replaced: tuple[str, ...] = ()


# -- reading ----------------------------------------------------------------------------------------
def live(verbs: Verbs, lane: str = MAIN, *, as_of: datetime | None = None) -> list[Handoff]:
    """Return the live baton of a lane, if one waits or is claimed, then those that may not direct, newest first.

    Live is the newest that may direct. Older ones are past, however they were written: a plain text that was
    remembered retires none before it, and its lane has one live baton all the same. One that tells nothing but a goal
    does not hide a richer one that waits. Those that may not direct follow, so that a forged one hides nothing.
    """
    handoffs = _all(verbs, lane, as_of)
    unconfirmed = [one for one in handoffs if not one.confirmed]
    return [one for one in [*_standing(handoffs)[:1], *unconfirmed] if one.state != "acknowledged"]


def latest(verbs: Verbs, lane: str = MAIN, *, as_of: datetime | None = None) -> Handoff | None:
    """Return the lane's newest baton that may direct, acknowledged or not: what the present shift began with.

    One that tells nothing but a goal counts only where there is no other.
    """
    confirmed = [one for one in _all(verbs, lane, as_of) if one.confirmed]
    return next((one for one in confirmed if not one.baton.is_empty), next(iter(confirmed), None))


def _standing(handoffs: Iterable[Handoff]) -> list[Handoff]:
    """Return the batons that may direct, the one that counts first: the newest, unless it is empty and a richer waits.

    The first may be acknowledged; of the others only those that are not are kept.
    """
    confirmed = [one for one in handoffs if one.confirmed]
    rich = next((one for one in confirmed if not one.baton.is_empty), None)
    first = confirmed[:1] if rich is None or rich.state == "acknowledged" else [rich]
    return first + [one for one in confirmed if one not in first and one.state != "acknowledged"]


def _all(verbs: Verbs, lane: str, as_of: datetime | None) -> list[Handoff]:
    check_lane(lane)
    found = _batons(verbs, lane, as_of or verbs.clock(), as_of)
    return sorted(found, key=lambda one: (one.confirmed, one.offered_at, one.memory.id), reverse=True)


def _batons(verbs: Verbs, lane: str, now: datetime, as_of: datetime | None) -> Iterator[Handoff]:
    seen: set[str] = set()
    reads = [verbs.recall(tags=[TAG, _lane_tag(lane)], limit=MAX_LIMIT, as_of=as_of)]
    if lane == MAIN:
        contexts = [MemoryType.CONTEXT]
        reads.append(verbs.recall(HEADING, types=contexts, limit=_FEW, as_of=as_of, words_only=True))
        reads.append(verbs.recall(types=contexts, limit=_FEW, as_of=as_of))
    for found in (one.memory for read in reads for one in read):
        if found.id not in seen and is_baton(found.content):
            seen.add(found.id)
            handoff = handoff_of(found, now)
            if handoff is not None and handoff.lane == lane:
                yield handoff


def handoff_of(memory: Memory, now: datetime) -> Handoff | None:
    """Return a memory as a handoff at `now`, or `None` when it is none."""
    baton = parse_baton(memory.content)
    if baton is None or memory.status is not Status.ACTIVE:
        return None
    kept = _kept(memory)
    until = _moment(kept, "claimed_until")
    state: State = "acknowledged" if kept.get("state") == "acknowledged" else "offered"
    if kept.get("state") == "claimed" and until is not None and until > now:
        state = "claimed"
    return Handoff(
        memory=memory,
        baton=baton,
        lane=lane_of(memory.content),
        state=state,
        offered_at=_moment(kept, "offered_at") or memory.recorded_at,
        by=str(kept["by"]) if state != "offered" and "by" in kept else None,
        claimed_until=until if state == "claimed" else None,
        confirmed=directs(memory),
    )


def check_lane(lane: str) -> str:
    """Return a lane's name when it is 1 to 64 printable characters without outer space.

    Raises:
        InvalidInputError: It is not.
    """
    if not isinstance(lane, str) or not lane.strip() or lane != lane.strip() or len(lane) > MAX_LANE:
        raise InvalidInputError(f"lane {lane!r} is not valid", hint=f"use 1 to {MAX_LANE} characters, such as 'main'")
    if not lane.isprintable() or any(mark in lane for mark in "[],"):
        raise InvalidInputError(f"lane {lane!r} is not valid", hint="use letters, digits and '-'")
    return lane


# -- writing ----------------------------------------------------------------------------------------
def write(
    verbs: Verbs,
    baton: Baton,
    *,
    lane: str = MAIN,
    source: str | None = None,
    provenance: Provenance | str | None = Provenance.EXPLICIT_STATEMENT,
    run_id: str | None = None,
) -> HandoffReceipt:
    """Offer a baton; it takes the place of the lane's former one. A missing goal is the current one.

    Raises:
        InvalidInputError: The shift has nothing to tell and would replace a baton that does, or its goal is all
            there is to offer.
    """
    if baton.is_empty:
        _refuse_empty(baton, live(verbs, lane), lane)
    if not baton.goal and (goal := current_goal(verbs)) is not None:
        baton = replace(baton, goal=make_baton(goal=without_label(goal.content)).goal)
    kept = {"lane": lane, "state": "offered", "offered_at": to_rfc3339(verbs.clock())}
    receipt = verbs.remember(
        baton.text(None if lane == MAIN else lane),
        type=MemoryType.CONTEXT,
        tags=(TAG, _lane_tag(lane)),
        source=source,
        provenance=provenance,
        run_id=run_id,
        metadata={"baton": kept},
    )
    written = verbs.show(receipt.id)
    if not directs(written):
        return HandoffReceipt(receipt=receipt, lane=lane)
    if receipt.duplicate:
        receipt = _offer_again(verbs, receipt.id, kept)
    replaced = tuple(old for old in _leave_the_newest(verbs, lane) if old != receipt.id)
    return HandoffReceipt(receipt=receipt, lane=lane, replaced=replaced)


def _refuse_empty(baton: Baton, standing: list[Handoff], lane: str) -> None:
    richer = next((one for one in standing if one.confirmed and not one.baton.is_empty), None)
    if richer is not None:
        raise InvalidInputError(
            f"an empty shift cannot replace the baton {richer.memory.id} of lane {lane!r}, which tells "
            f"{counted(richer.baton.weight, 'thing')}",
            hint="say what was done or what is next; `memanto handoff show` prints the one that stays",
        )
    if not baton.goal:
        raise InvalidInputError("the baton is empty", hint="give at least what was done, the state or what is next")


def _offer_again(verbs: Verbs, memory_id: str, kept: Mapping[str, Any]) -> Receipt:
    """Offer a baton anew whose text has not changed, whatever became of it before."""
    for _ in range(_ATTEMPTS):
        memory = verbs.show(memory_id)
        metadata = {**memory.metadata, "baton": dict(kept)}
        try:
            return verbs.edit(memory.id, reason="offered again", expected_version=memory.version, metadata=metadata)
        except VersionConflictError:
            continue
    raise VersionConflictError(f"baton {memory_id} keeps changing", hint="write it again")


def _leave_the_newest(verbs: Verbs, lane: str) -> tuple[str, ...]:
    """Let a lane's newest baton take the place of all others, and return their ids.

    Read after one's own baton was stored: of several writers at once, the one that stored last sees all of them, and
    all agree which is the newest. So one is left, be it another's.
    """
    retired: list[str] = []
    for _ in range(_ATTEMPTS):
        newest, *others = [one.memory.id for one in _standing(_all(verbs, lane, None))] or [""]
        if not others:
            return tuple(retired)
        for old in others:
            try:
                verbs.supersede(old, newest, reason=f"a newer handoff of lane {lane}")
            except (VersionConflictError, InvalidInputError):
                break  # it was claimed, or one of the two was retired: look again
            retired.append(old)
    raise VersionConflictError(f"the batons of lane {lane!r} keep changing", hint="write the handoff again")


def take(
    verbs: Verbs, *, lane: str = MAIN, by: str, hold: timedelta = CLAIM, unconfirmed: bool = False
) -> Handoff | None:
    """Claim the live baton of a lane; `None` when there is none to be had.

    Of any number of takers, in any processes, exactly one gets it. It can be taken again when the claim has
    expired without `ack`.

    Args:
        verbs: The memory.
        lane: Which one.
        by: Who takes it; `ack` asks for the same name.
        hold: How long the claim holds, up to seven days.
        unconfirmed: Also take a baton whose writer may not direct.
    """
    _check_by(by)
    if not timedelta(0) < hold <= MAX_CLAIM:
        raise InvalidInputError(
            f"a claim of {hold} is not valid", hint=f"more than nothing and at most {MAX_CLAIM.days} days"
        )
    for _ in range(_ATTEMPTS):
        found = next(iter(live(verbs, lane)), None)
        if found is None or found.state == "claimed" or not (found.confirmed or unconfirmed):
            return None
        now = verbs.clock()
        kept = {
            "lane": lane,
            "state": "claimed",
            "offered_at": to_rfc3339(found.offered_at),
            "by": by,
            "claimed_at": to_rfc3339(now),
            "claimed_until": to_rfc3339(now + hold),
        }
        try:
            _change(verbs, found.memory, kept, f"claimed by {by}")
        except VersionConflictError:
            continue  # somebody was faster: look again at what is live now
        return handoff_of(verbs.show(found.memory.id), now)
    raise VersionConflictError(f"the baton of lane {lane!r} keeps changing hands", hint="try again")


def ack(verbs: Verbs, *, lane: str = MAIN, by: str) -> Handoff:
    """Record that the taker of a lane's baton has read it and works on; it is done for good.

    Raises:
        NotFoundError: The lane has no baton that is waiting for it.
        ConflictError: Somebody else holds the claim, or nobody does.
    """
    _check_by(by)
    for _ in range(_ATTEMPTS):
        handoffs = live(verbs, lane)
        if not handoffs:
            raise NotFoundError(f"lane {lane!r} has no baton", hint="`memanto handoff show` lists what there is")
        mine = next((one for one in handoffs if one.state == "claimed" and one.by == by), None)
        if mine is None:
            _refuse_ack(handoffs[0], by)
            continue
        if mine.confirmed:
            _leave_the_newest(verbs, lane)  # what a writer that died had meant to retire does not come back to life
        kept = {**_kept(mine.memory), "state": "acknowledged", "acknowledged_at": to_rfc3339(verbs.clock())}
        try:
            _change(verbs, mine.memory, kept, f"acknowledged by {by}")
        except VersionConflictError:
            continue
        done = handoff_of(verbs.show(mine.memory.id), verbs.clock())
        if done is not None:
            return done
    raise VersionConflictError(f"the baton of lane {lane!r} keeps changing hands", hint="try again")


def _refuse_ack(found: Handoff, by: str) -> None:
    if found.state == "claimed":
        raise ConflictError(
            f"the baton of lane {found.lane!r} is claimed by {found.by!r}, not by {by!r}",
            hint=f"only {found.by!r} can acknowledge it, until {found.claimed_until}",
        )
    raise ConflictError(
        f"{by!r} holds no claim on the baton of lane {found.lane!r}",
        hint="take it first; a claim that expired, or whose baton was replaced, is gone",
    )


def _change(verbs: Verbs, memory: Memory, kept: Mapping[str, Any], reason: str) -> Receipt:
    metadata = {**memory.metadata, "baton": dict(kept)}
    return verbs.edit(memory.id, reason=reason, expected_version=memory.version, metadata=metadata)


def _kept(memory: Memory) -> dict[str, Any]:
    kept = memory.metadata.get("baton")
    return dict(kept) if isinstance(kept, Mapping) else {}


def without_asides(item: str) -> str:
    """Return an item without what stands in brackets, such as "(done, tested)"."""
    return re.sub(r"\([^()]*\)", " ", item)


def _moment(kept: Mapping[str, Any], name: str) -> datetime | None:
    """Return a time from metadata, which anybody may have written, or `None` when it is none."""
    try:
        return from_rfc3339(str(kept[name])) if name in kept else None
    except ValueError:
        return None


def _lane_tag(lane: str) -> str:
    return f"lane:{lane}"


def _check_by(by: str) -> None:
    if not isinstance(by, str) or not by.strip() or len(by) > MAX_TAKER:
        raise InvalidInputError(f"taker {by!r} is not valid", hint=f"a name of 1 to {MAX_TAKER} characters")
