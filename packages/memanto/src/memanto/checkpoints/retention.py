"""Which checkpoints may go: pure decisions about one thread.

- The latest checkpoint of a namespace stays, so that the thread can go on.
- A subgraph that was called once has a namespace of its own; it goes with the last checkpoint of the graph that
  called it. A subgraph that keeps its state across calls has a namespace without a task id, which stays.
- A channel whose value is not in a checkpoint is rebuilt from its parents, so these stay as well, back to the
  one that has it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memanto.checkpoints.values import Checkpoint, Key


@dataclass(frozen=True, slots=True)
class Plan:
    """What goes, and how many were to go and stay because a later one is rebuilt from them."""

    doomed: tuple[Key, ...]
    spared: int


def plan(checkpoints: Sequence[Checkpoint], *, keep_last: int | None, before: datetime | None) -> Plan:
    """Return which checkpoints of a thread go.

    Args:
        checkpoints: All of the thread, in any order; their values do not matter.
        keep_last: So many of each namespace stay, at least 1; `None`: all of them.
        before: Those made before this moment go; `None`: none for its age.
    """
    by_namespace: dict[str, list[Checkpoint]] = defaultdict(list)
    for one in sorted(checkpoints, key=lambda one: one.key.id, reverse=True):
        by_namespace[one.key.ns].append(one)
    kept = [
        one
        for group in by_namespace.values()
        for position, one in enumerate(group)
        if position == 0 or not (_beyond(position, keep_last) or _older(one, before))
    ]
    oldest_root = min((one.key.id for one in kept if not one.key.ns), default="")
    kept = [one for one in kept if not _left_behind(one, oldest_root)]
    return _spare(checkpoints, {one.key for one in kept})


def removable(checkpoints: Sequence[Checkpoint], doomed: Iterable[Key]) -> Plan:
    """Return which of `doomed` no other checkpoint of the thread is rebuilt from."""
    going = set(doomed)
    return _spare(checkpoints, {one.key for one in checkpoints} - going)


def _spare(checkpoints: Sequence[Checkpoint], kept: set[Key]) -> Plan:
    by_key = {one.key: one for one in checkpoints}
    needed = set(kept)
    for key in kept:
        rest, at, seen = by_key[key].open, by_key[key], {key}
        while rest and at.parent is not None:
            ancestor = by_key.get(key._replace(id=at.parent))
            if ancestor is None or ancestor.key in seen:
                break
            seen.add(ancestor.key)
            rest &= ancestor.open
            at = ancestor
        needed |= seen
    doomed = tuple(one.key for one in checkpoints if one.key not in needed)
    return Plan(doomed, len(needed) - len(kept))


def _beyond(position: int, keep_last: int | None) -> bool:
    return keep_last is not None and position >= keep_last


def _older(one: Checkpoint, before: datetime | None) -> bool:
    made = time_of(one.ts)
    return before is not None and made is not None and made < before


def _left_behind(one: Checkpoint, oldest_root: str) -> bool:
    """Whether the call of a subgraph is over and the checkpoint it belongs to goes."""
    called_once = ":" in one.key.ns
    return called_once and one.root is not None and one.root < oldest_root


def time_of(ts: str) -> datetime | None:
    """Return the aware time of an ISO 8601 text, or `None` when it is none."""
    try:
        moment = datetime.fromisoformat(ts)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
