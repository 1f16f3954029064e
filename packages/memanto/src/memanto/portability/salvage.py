"""Export from a damaged store: what can be saved, in the form of any other export, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from memanto.engine.codec import decode
from memanto.engine.port import Engine, Point
from memanto.errors import MemantoError
from memanto.ids import meta_point_id
from memanto.memory.namespace import decode_meta
from memanto.models import Agent, Decision, Memory, Status
from memanto.portability.jsonl import lines_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvaged:
    """What was saved of an agent.

    Attributes:
        lines: An export, which `import` reads as any other.
        missing: What is known to be missing, one item each; empty when everything was saved.
    """

    lines: tuple[str, ...]
    missing: tuple[str, ...]


def salvage(engine: Engine, name: str, *, now: datetime) -> Salvaged:
    """Save what can be read of an agent; changes nothing.

    Raises:
        StoreDamagedError: Nothing is left.
        BackendError: The files belong to a server.
    """
    saved = engine.salvage(name)
    missing = list(saved.lost)
    memories: list[Memory] = []
    for point in saved.points.values():
        if point.payload.get("kind") == "version":
            try:
                memories.append(decode(name, point.payload))
            except MemantoError as error:
                missing.append(error.message)
    histories = _histories(memories)
    for history in histories:
        missing += _gaps(history)
    missing += _parts(memories)
    whole = sorted((one for history in histories for one in _closed_up(history)), key=_recorded)
    agent = _agent(name, saved.points.get(meta_point_id(name)), missing)
    return Salvaged(lines=tuple(lines_of(agent, whole, now=now)), missing=tuple(missing))


def _agent(name: str, point: Point | None, missing: list[str]) -> Agent:
    try:
        if point is not None:
            return decode_meta(name, point.payload).agent
    except MemantoError as error:
        missing.append(error.message)
    else:
        missing.append(f"the description of agent {name!r}")
    return Agent(id=name)


def _recorded(memory: Memory) -> datetime:
    return memory.recorded_at


def _histories(memories: Sequence[Memory]) -> list[list[Memory]]:
    """Return the versions that are there by memory, ascending; of a forgotten one the tombstone alone."""
    found: dict[str, list[Memory]] = {}
    for memory in sorted(memories, key=lambda memory: memory.version):
        found.setdefault(memory.id, []).append(memory)
    return [[one for one in history if one.status is Status.FORGOTTEN] or history for history in found.values()]


def _gaps(history: Sequence[Memory]) -> Iterator[str]:
    """Yield which versions the others tell to be missing."""
    last = history[-1]
    if last.status is Status.FORGOTTEN:
        return
    there = {memory.version for memory in history}
    gone = [number for number in range(1, last.version) if number not in there]
    yield from (f"version {number} of memory {last.id}; the later ones move up" for number in gone)
    if last.retired_at is not None:
        yield f"the current version of memory {last.id}; version {last.version} is kept as expired"


def _closed_up(history: Sequence[Memory]) -> Iterator[Memory]:
    """Yield a history that `import` accepts: numbers without a gap, each version closed when the next began.

    A version that had been overtaken must not be believed again because what overtook it is lost.
    """
    last = history[-1]
    if last.status is Status.FORGOTTEN:
        yield last
        return
    for number, (memory, following) in enumerate(pairwise(history), start=1):
        yield replace(memory, version=number, retired_at=following.recorded_at)
    if last.retired_at is None:
        yield replace(last, version=len(history))
        return
    lost = Decision(actor="", action="salvage", reason="the version after this one was lost")
    yield replace(last, version=len(history), retired_at=None, status=Status.EXPIRED, decision=lost)


def _parts(memories: Sequence[Memory]) -> Iterator[str]:
    """Yield which split texts are not whole."""
    there: dict[str | None, set[int]] = {}
    for memory in memories:
        there.setdefault(memory.parent_id, set()).add(memory.part)
    for memory in memories:
        if memory.parts and memory.retired_at is None and len(there.get(memory.id, ())) < memory.parts:
            yield f"parts of the text of memory {memory.id}"
