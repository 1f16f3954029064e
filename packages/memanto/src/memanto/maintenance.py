"""`status` and `doctor`: what a store holds, and whether it works, found out by trying."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from memanto.counted import counted
from memanto.embedding.port import Embedder
from memanto.engine.codec import decode
from memanto.engine.port import Engine
from memanto.engine.schema import LEXICAL_VECTOR, OPEN_END
from memanto.errors import MemantoError
from memanto.filters import Equals, HasVector, NumberRange, RecallFilter, TimeRange, Where
from memanto.memory.namespace import Namespace, vector_name
from memanto.memory.spaces import embed
from memanto.memory.versions import VersionLog
from memanto.memory.visibility import live
from memanto.models import Agent, Memory, MemoryType, Status
from memanto.times import utc_now

LOW_DISK: Final = 1 << 30
"""Free bytes below which `doctor` warns; writes are refused below 64 MB."""

_CANARIES: Final = 8
_AHEAD: Final = timedelta(hours=1)
"""How far a memory may be ahead of the clock, as in an import: clocks of machines differ."""

_CURRENT: Final = Where((TimeRange("retired_at", gte=OPEN_END),))
_PART: Final = NumberRange("part", gte=1)
_EVERY_VERSION: Final = Where((TimeRange("recorded_at", lte=OPEN_END),))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    """Figures about one agent.

    Attributes:
        agent: The agent.
        engine: `"edge"` or `"server"`.
        location: Folder or URL.
        memories: Number of memories; a split text counts once, tombstones do not count.
        versions: Number of versions of all of them.
        by_type: Active memories per type; types without any are left out.
        by_status: Memories per status.
        oldest: When the first version was recorded, or `None`.
        newest: When the last version was recorded, or `None`.
        embedder: Name of the embedder whose vectors are searched, or `None` while it is lexical only.
        indexed_vectors: Vectors in a graph index.
        disk_bytes: Allocated bytes, or `None` on a server.
    """

    agent: Agent
    engine: str
    location: str
    memories: int
    versions: int
    by_type: dict[MemoryType, int]
    by_status: dict[Status, int]
    oldest: datetime | None
    newest: datetime | None
    embedder: str | None
    indexed_vectors: int
    disk_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """One thing `doctor` looked at.

    Attributes:
        name: Stable name of the check.
        ok: Whether it is sound.
        detail: What was found.
        fix: The command or step that mends it, or `""`.
        repaired: Whether `repair` mended it just now.
    """

    name: str
    ok: bool
    detail: str
    fix: str = ""
    repaired: bool = False


def status(namespace: Namespace) -> StoreStatus:
    """Return figures about a namespace."""
    engine, name = namespace.engine, namespace.name
    with engine.hold(name):
        meta = namespace.meta()
        whole = _CURRENT.without(_PART)
        by_status = engine.facet(name, "status", whole)
        by_type = engine.facet(name, "type", live((), utc_now()).without(_PART))
        ends = [
            engine.scan(name, _EVERY_VERSION, order_by="recorded_at", descending=down, limit=1)
            for down in (False, True)
        ]
        oldest, newest = (decode(name, found[0].payload).recorded_at if found else None for found in ends)
        info = engine.info(name)
        return StoreStatus(
            agent=meta.agent,
            engine=engine.name,
            location=info.location,
            memories=sum(count for one, count in by_status.items() if one != Status.FORGOTTEN),
            versions=engine.count(name, _EVERY_VERSION),
            by_type={kind: by_type[kind.value] for kind in MemoryType if kind.value in by_type},
            by_status={one: by_status[one.value] for one in Status if one.value in by_status},
            oldest=oldest,
            newest=newest,
            embedder=meta.space.name if meta.space else None,
            indexed_vectors=info.indexed_vectors,
            disk_bytes=info.disk_bytes,
        )


def examine(
    engine: Engine, agent: str, model: tuple[Embedder | None, str], *, now: datetime, repair: bool = False
) -> list[Checkup]:
    """Check a store by using it.

    Args:
        engine: The open store.
        agent: The agent to look at in detail, if it exists.
        model: The embedder in use, or `None` and what to do about that.
        now: The present.
        repair: Also mend lineage that a dying writer left half done, and damaged files that can be mended whole.
    """
    checks: list[Callable[[], Iterator[Checkup]]] = [
        lambda: _canary(engine),
        lambda: _disk(engine, agent),
        lambda: _model(*model),
        lambda: _damage(engine, repair=repair),
    ]
    if engine.exists(agent):
        namespace = Namespace(engine, agent)
        checks += [lambda: _clock(namespace, now)]
        checks += [lambda: _vectors(namespace, model[0]), lambda: _lineage(namespace, repair=repair)]
        checks += [lambda: _kept(namespace, now)]
    return [result for check in checks for result in _tried(check)]


def unreachable(error: MemantoError, model: tuple[Embedder | None, str]) -> list[Checkup]:
    """Return what can be checked without a store, led by why there is none.

    Args:
        error: What opening the store raised.
        model: See `examine`.
    """
    way_out = (
        "`memanto config show` says where the store is; `memanto config backend embedded` goes back to this machine"
    )
    fix = f"{error.hint}; {way_out}" if error.hint else way_out
    return [Checkup(name="store", ok=False, detail=error.message, fix=fix), *_tried(lambda: _model(*model))]


def _tried(check: Callable[[], Iterator[Checkup]]) -> list[Checkup]:
    """Return what a check found; one that raises has failed."""
    results: list[Checkup] = []
    try:
        results.extend(check())
    except MemantoError as error:
        results.append(Checkup(name=error.code, ok=False, detail=error.message, fix=error.hint))
    return results


def _canary(engine: Engine) -> Iterator[Checkup]:
    """Write, read and remove a memory in a namespace of its own."""
    from memanto.memory.prepare import Defaults
    from memanto.memory.recall import Reader, Request
    from memanto.memory.remember import Writer
    from memanto.memory.spaces import Space
    from memanto.models import Draft

    # Lock files are never removed, so the names come from a small pool.
    namespace = Namespace(engine, f"doctor-canary-{os.getpid() % _CANARIES}")
    now = utc_now()
    namespace.create(Agent(id=namespace.name, description="canary of memanto doctor", created_at=now))
    try:
        space = Space(namespace, lambda: None)
        draft = Draft(content="The canary sings at dawn.", type=MemoryType.OBSERVATION)
        [receipt] = Writer(namespace, space, durable="log").remember([draft], Defaults(), now=now)
        engine.flush(namespace.name)
        found = Reader([(namespace, space)]).recall(Request(query="canary", filter=RecallFilter(), limit=1), now=now)
        ok = [hit.memory.id for hit in found] == [receipt.id]
        detail = "a memory was written, read back and removed" if ok else "a memory that was written is not found"
        yield Checkup(
            name="write-and-read", ok=ok, detail=detail, fix="" if ok else "report this with `memanto status --json`"
        )
    finally:
        engine.drop(namespace.name)


def _disk(engine: Engine, agent: str) -> Iterator[Checkup]:
    if engine.name != "edge":
        return
    names = engine.namespaces()
    if not names:
        return
    folder = Path(engine.info(agent if agent in names else names[0]).location)
    free = shutil.disk_usage(folder).free
    yield Checkup(
        name="disk-space",
        ok=free >= LOW_DISK,
        detail=f"{free / 1e9:.1f} GB free",
        fix="" if free >= LOW_DISK else "free some space; below 64 MB nothing is written",
    )


def _model(embedder: Embedder | None, hint: str) -> Iterator[Checkup]:
    if embedder is None:
        yield Checkup(name="embedder", ok=False, detail="no embedder: recall finds words, not meanings", fix=hint)
        return
    [vector] = embed(embedder, ["The canary sings at dawn."])
    yield Checkup(name="embedder", ok=True, detail=f"{embedder.identity.name}, {len(vector)} dimensions")


def _damage(engine: Engine, *, repair: bool) -> Iterator[Checkup]:
    names = engine.namespaces()
    sound = True
    for name in names:
        found = list(_damage_of(engine, name, repair=repair))
        sound &= not found
        yield from found
    if sound:
        yield Checkup(name="store", ok=True, detail=f"{counted(len(names), 'agent')}, files sound")


def _damage_of(engine: Engine, name: str, *, repair: bool) -> Iterator[Checkup]:
    try:
        problems = engine.problems(name)
        lost: tuple[str, ...] = ()
        if problems and repair:
            lost = engine.mend(name)
            if not lost:
                problems = engine.problems(name)
                yield Checkup(
                    name="store", ok=not problems, detail=f"{name}: built anew, nothing is lost", repaired=not problems
                )
    except MemantoError as error:
        yield Checkup(name=error.code, ok=False, detail=f"{name}: {error.message}", fix=error.hint)
        return
    fix = f"`memanto doctor --repair` mends it if nothing is lost; `memanto export --agent {name}` saves what is left"
    for problem in (*problems, *lost):
        yield Checkup(name="store", ok=False, detail=f"{name}: {problem}", fix=fix)


def _clock(namespace: Namespace, now: datetime) -> Iterator[Checkup]:
    """Compare the newest memory with this machine's clock."""
    found = namespace.engine.scan(namespace.name, _EVERY_VERSION, order_by="recorded_at", limit=1)
    ahead = decode(namespace.name, found[0].payload).recorded_at - now if found else timedelta()
    if ahead <= _AHEAD:
        yield Checkup(name="clock", ok=True, detail="no memory is from the future")
        return
    yield Checkup(
        name="clock",
        ok=False,
        detail=f"the newest memory was recorded {ahead.total_seconds() / 86400:.1f} days ahead of this machine's clock",
        fix="set the clock; new memories are recorded after that one, in order, until its time has come",
    )


def _kept(namespace: Namespace, now: datetime) -> Iterator[Checkup]:
    """Ask how well the store is kept: quarantine, growth, duplicates, conflicts."""
    from memanto.hygiene.health import health

    for found in health(namespace, now):
        yield Checkup(name=found.name, ok=found.ok, detail=found.detail, fix=found.fix)


def _vectors(namespace: Namespace, embedder: Embedder | None) -> Iterator[Checkup]:
    """Compare the namespace's vectors with the embedder, and count versions without one."""
    engine, name = namespace.engine, namespace.name
    space = namespace.meta().space
    fix = f"memanto reindex --agent {name}"
    searchable = Where((HasVector(LEXICAL_VECTOR),))
    if space is None:
        total = engine.count(name, searchable)
        if total and embedder is not None:
            yield Checkup(
                name="vectors", ok=False, detail=f"{counted(total, 'version')} stored without vectors", fix=fix
            )
        return
    if embedder is not None and embedder.identity != space:
        yield Checkup(
            name="vectors",
            ok=False,
            detail=f"vectors come from {space.name!r}, in use is {embedder.identity.name!r}",
            fix=fix,
        )
        return
    # A hook leaves its handoff without a model: handoffs are found by tag and words. Of a very long artifact only the
    # first parts are embedded.
    words_do = (Equals("tags", "handoff"), Equals("type", MemoryType.ARTIFACT.value))
    missing = engine.count(name, searchable.without(HasVector(vector_name(space)), *words_do))
    detail = f"{counted(missing, 'version')} without a vector" if missing else "every version has its vector"
    yield Checkup(name="vectors", ok=not missing, detail=detail, fix=fix if missing else "")


def _lineage(namespace: Namespace, *, repair: bool) -> Iterator[Checkup]:
    """Look for gaps in version numbers, versions not closed, and parts without their whole."""
    engine, name = namespace.engine, namespace.name
    memories: dict[str, list[Memory]] = {}
    for point in engine.scan(name, _EVERY_VERSION, order_by="recorded_at", descending=False):
        memory = decode(name, point.payload)
        memories.setdefault(memory.id, []).append(memory)
    gaps, open_ends, parts = [], [], []
    for memory_id, versions in memories.items():
        versions.sort(key=lambda memory: memory.version)
        numbers = [memory.version for memory in versions]
        forgotten = versions[-1].status is Status.FORGOTTEN or any(v.status is Status.FORGOTTEN for v in versions)
        if numbers != list(range(1, len(numbers) + 1)) and not forgotten:
            gaps.append(memory_id)
        open_ends += [(old, new) for old, new in itertools.pairwise(versions) if old.retired_at is None]
        head = versions[-1]
        if head.parts and head.status is not Status.FORGOTTEN:
            here = sum(1 for other in memories.values() if other[-1].parent_id == memory_id)
            if here < head.parts:
                parts.append(memory_id)
    for old, new in open_ends if repair else []:
        VersionLog(namespace).close(old, new.recorded_at)
    found = [
        *(f"memory {memory_id} lacks a version" for memory_id in gaps),
        *(f"memory {memory_id} lacks parts of its text" for memory_id in parts),
    ]
    left = found if repair else [*found, *(f"memory {old.id} has two current versions" for old, _ in open_ends)]
    if left:
        fix = (
            "`memanto doctor --repair` closes open versions"
            if open_ends and not repair
            else "import an export that has them"
        )
        yield Checkup(name="lineage", ok=False, detail="; ".join(left[:5]), fix=fix)
        return
    mended = bool(open_ends)
    whole = sum(1 for versions in memories.values() if not versions[-1].part)  # no parts, steps or records of upkeep
    detail = f"{counted(whole, 'memory')}, every version in its place" + (
        f"; closed {len(open_ends)}" if mended else ""
    )
    yield Checkup(name="lineage", ok=True, detail=detail, repaired=mended)
