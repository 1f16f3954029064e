"""The append-only log of versions: reading heads and histories, and appending with compare-and-set.

A memory's versions are points whose ids follow from (namespace, memory id, version), inserted only where
none exists. So of several writers that build on version n exactly one stores n + 1; the others learn it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memanto.counted import counted
from memanto.engine.codec import closing, decode, encode
from memanto.engine.port import Candidate, Change, Point, SparseVector, Vector
from memanto.engine.schema import OPEN_END
from memanto.errors import BackendError, InvalidInputError, NotFoundError, VersionConflictError
from memanto.filters import AnyOf, Equals, TimeRange, Where
from memanto.ids import version_point_id
from memanto.memory.namespace import Namespace
from memanto.models import Decision, Memory, Status
from memanto.times import from_rfc3339, to_rfc3339

_LOOKUP = 256


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """A version to append.

    Attributes:
        memory: With the version number it is to have; `recorded_at` is a placeholder unless `recorded`.
        dense: Its vectors by name; empty where it has none.
        lexical: Its words, or `None` for a version that no search should find.
        content_hash: Keyed digest of the full text.
        follows: It gives its slot the next value, so unless `memory.begins` says otherwise it begins when recorded.
        recorded: Keep `memory.recorded_at` and `memory.retired_at` (imports only).
        previous: The version it retires, or `None`.
    """

    memory: Memory
    dense: Mapping[str, Vector] = dataclasses.field(default_factory=dict)
    lexical: SparseVector | None = None
    content_hash: str = ""
    follows: bool = False
    recorded: bool = False
    previous: Memory | None = None


class VersionLog:
    """Versions of the memories of one namespace."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._engine = namespace.engine
        self._name = namespace.name

    # -- reading ------------------------------------------------------------------------------------
    def head(self, memory_id: str) -> Memory:
        """Return the current version (a tombstone included).

        Raises:
            NotFoundError: No memory has this id.
        """
        found = self.heads([memory_id])
        if memory_id not in found:
            raise NotFoundError(
                f"no memory {memory_id!r} in agent {self._name!r}", hint="`memanto recall --recent` lists ids"
            )
        return found[memory_id]

    def heads(self, memory_ids: Iterable[str]) -> dict[str, Memory]:
        """Return the current versions of those memories that exist."""
        payloads = self._head_payloads(memory_ids)
        return {memory_id: decode(self._name, payload) for memory_id, payload in payloads.items()}

    def heads_with_digests(self, memory_ids: Iterable[str]) -> tuple[dict[str, Memory], dict[str, str]]:
        """Return the current versions, and the digests of their texts, of those memories that exist."""
        payloads = self._head_payloads(memory_ids)
        heads = {memory_id: decode(self._name, payload) for memory_id, payload in payloads.items()}
        return heads, {memory_id: payload.get("content_hash", "") for memory_id, payload in payloads.items()}

    def point_text(self, digest: str, memory_id: str) -> None:
        """Make a memory the one that a text is recognised by, unless another says the same now."""
        slot = ("hash", digest)
        owner, token = self._namespace.slots([slot]).get(slot, (None, None))
        if owner == memory_id:
            return
        if owner is not None:
            heads, digests = self.heads_with_digests([owner])
            if owner in heads and heads[owner].status is Status.ACTIVE and digests[owner] == digest:
                return
        self._namespace.claim(*slot, memory_id, token=token)

    def _head_payloads(self, memory_ids: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        wanted = list(dict.fromkeys(memory_ids))
        current = TimeRange("retired_at", gte=OPEN_END)
        heads: dict[str, Mapping[str, Any]] = {}
        overtaken: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []
        for start in range(0, len(wanted), _LOOKUP):
            where = Where((AnyOf("memory_id", tuple(wanted[start : start + _LOOKUP])), current))
            for point in sorted(self._engine.scan(self._name, where), key=lambda p: int(p.payload["version"])):
                older = heads.get(point.payload["memory_id"])
                if older is not None:
                    overtaken.append((older, point.payload))
                heads[point.payload["memory_id"]] = point.payload
        for older, newer in overtaken:  # a writer is between adding a version and closing the one before, or died there
            self.close(decode(self._name, older), decode(self._name, newer).recorded_at)
        return heads

    def close(self, memory: Memory, at: datetime) -> None:
        """Retire a version whose successor is stored already."""
        point_id = version_point_id(self._name, memory.id, memory.version)
        self._engine.set_payload(self._name, point_id, {**closing(memory), "retired_at": to_rfc3339(at)})

    def history(self, memory_id: str, *, as_of: datetime | None = None) -> list[Memory]:
        """Return all versions of a memory known at `as_of`, ascending; empty when there is none."""
        return self.histories([memory_id], as_of=as_of).get(memory_id, [])

    def histories(self, memory_ids: Sequence[str], *, as_of: datetime | None = None) -> dict[str, list[Memory]]:
        """Return all versions of several memories known at `as_of`, ascending."""
        known = () if as_of is None else (TimeRange("recorded_at", lte=to_rfc3339(as_of)),)
        found: dict[str, list[Memory]] = {}
        for start in range(0, len(memory_ids), _LOOKUP):
            where = Where((AnyOf("memory_id", tuple(memory_ids[start : start + _LOOKUP])), *known))
            for point in self._engine.scan(self._name, where):
                memory = decode(self._name, point.payload, as_of=as_of)
                found.setdefault(memory.id, []).append(memory)
        return {memory_id: sorted(versions, key=lambda m: m.version) for memory_id, versions in found.items()}

    def parts(self, parent_id: str) -> list[Memory]:
        """Return the current versions of a split memory's parts, in order."""
        where = Where((Equals("parent_id", parent_id), TimeRange("retired_at", gte=OPEN_END)))
        found = [decode(self._name, point.payload) for point in self._engine.scan(self._name, where)]
        return sorted(found, key=lambda memory: memory.part)

    def resolve(self, prefix: str) -> str:
        """Return the id of the one memory whose id begins with `prefix` (checked, lower case, with hyphens).

        Raises:
            NotFoundError: No memory's id does.
            InvalidInputError: Several do.
        """
        if len(prefix) == 36:
            return self.head(prefix).id
        current = Where((TimeRange("retired_at", gte=OPEN_END),))
        points = self._engine.scan(self._name, current, fields=["memory_id"])
        matches = sorted({p.payload["memory_id"] for p in points if p.payload["memory_id"].startswith(prefix)})
        if not matches:
            raise NotFoundError(f"no memory id begins with {prefix!r}", hint="`memanto recall --recent` lists ids")
        if len(matches) > 1:
            shown = ", ".join(matches[:4])
            raise InvalidInputError(
                f"{len(matches)} memory ids begin with {prefix!r}: {shown}", hint="give more characters"
            )
        return str(matches[0])

    def points(self, memories: Sequence[Memory], *, vectors: bool = True) -> dict[str, Point]:
        """Return the stored points of these versions by memory id.

        Raises:
            VersionConflictError: Another process has forgotten one since it was read.
        """
        ids = {version_point_id(self._name, memory.id, memory.version): memory.id for memory in memories}
        points = {ids[i]: point for i, point in self._engine.get(self._name, list(ids), vectors=vectors).items()}
        for memory in memories:
            if memory.id not in points:
                raise VersionConflictError(
                    f"memory {memory.id} was forgotten by somebody else meanwhile", hint="read it again"
                )
        return points

    def not_overtaken(self, found: Sequence[Candidate | Point], *, as_of: datetime | None = None) -> set[object]:
        """Return the ids of those versions whose successor is not there yet.

        Only an engine that adds a version before it closes the one before can hold others.
        """
        ids: set[object] = {item.id for item in found}
        if self._engine.atomic_commit or not ids:
            return ids
        successors = {
            version_point_id(self._name, item.payload["memory_id"], item.payload["version"] + 1): item.id
            for item in found
        }
        for successor, point in self._engine.get(self._name, list(successors)).items():
            if as_of is None or from_rfc3339(point.payload["recorded_at"]) <= as_of:
                ids.discard(successors[successor])
        return ids

    # -- appending ----------------------------------------------------------------------------------
    def append(self, versions: Sequence[NewVersion], *, erase: Sequence[UUID] | None = None) -> list[Memory | None]:
        """Append versions, each closing the one before it, and read them back.

        Args:
            versions: At most one per memory and version number.
            erase: Points to destroy in the same step.

        Returns:
            The versions as a reader finds them, or `None` where somebody else stored that version first, or has
            forgotten the memory since.

        Raises:
            BackendError: A version the engine acknowledged was not found on reading back.
        """
        changes = [self._change(new) for new in versions]
        if erase is None:
            times = self._engine.commit(self._name, changes)
        else:
            times = self._engine.erase(self._name, erase, changes)
        won = {
            change.point.id: new.memory.id
            for change, new, time in zip(changes, versions, times, strict=True)
            if time is not None
        }
        found = self._engine.get(self._name, list(won))
        missing = [memory_id for point_id, memory_id in won.items() if point_id not in found]
        heads = self.heads(missing) if missing else {}
        lost = [one for one in missing if one not in heads or heads[one].status is not Status.FORGOTTEN]
        if lost:
            raise BackendError(
                f"{len(lost)} of {counted(len(won), 'stored version')} not found on reading back",
                hint="nothing was reported as remembered; run `memanto doctor`",
            )
        return [
            decode(self._name, found[change.point.id].payload) if change.point.id in found else None
            for change in changes
        ]

    def append_one(self, version: NewVersion) -> Memory:
        """Append one version or fail.

        Raises:
            VersionConflictError: Somebody else stored that version first.
        """
        [stored] = self.append([version])
        if stored is None:
            memory = version.memory
            raise VersionConflictError(
                f"memory {memory.id} was changed by somebody else: version {memory.version} is there already",
                hint="read it again and repeat the change",
            )
        return stored

    def _change(self, new: NewVersion) -> Change:
        memory = new.memory
        payload = encode(memory, content_hash=new.content_hash)
        stamp: tuple[str, ...] = ()
        if not new.recorded:
            stamp = ("recorded_at",)
            if memory.valid_from is None:
                stamp += ("event_at",)
            if new.follows and memory.begins is None:
                stamp += ("world_from",)
        point = Point(version_point_id(self._name, memory.id, memory.version), payload, dict(new.dense), new.lexical)
        if new.previous is None:
            return Change(point, stamp)
        before = version_point_id(self._name, memory.id, new.previous.version)
        closed = closing(new.previous)
        return Change(
            point, stamp, before, {**closed, "retired_at": payload["recorded_at"]} if new.recorded else closed
        )


def next_version(head: Memory, *, decision: Decision, **changes: Any) -> Memory:
    """Return the version after `head`, with these fields changed and this decision as its reason.

    Lineage that described how `head` came about (`supersedes`, `imported`) is not carried on.
    """
    fields: dict[str, Any] = {"supersedes": (), "imported": False, "retired_at": None, "decision": decision}
    if head.status is not Status.SUPERSEDED or changes.get("status") is not None:
        fields["superseded_by"] = None
    return dataclasses.replace(head, version=head.version + 1, **{**fields, **changes})
