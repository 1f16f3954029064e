"""Import of JSON lines that `export` wrote: adds the versions that are not there yet, in their own times."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from memanto.memory.namespace import Namespace
from memanto.memory.prepare import indexed_text
from memanto.memory.spaces import Space
from memanto.memory.versions import NewVersion, VersionLog
from memanto.memory.visibility import is_upkeep
from memanto.models import Memory, Status
from memanto.portability.checking import read_versions

_BATCH: Final = 200


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did, or would do with `dry_run`.

    Attributes:
        memories: Memories in the input.
        versions: Versions in the input.
        stored: Versions added.
        present: Versions that were there already.
        conflicts: Ids of memories whose stored versions say something else; nothing of them was touched.
        redacted: Versions in which a secret was removed.
    """

    memories: int
    versions: int
    stored: int
    present: int
    conflicts: tuple[str, ...] = ()
    redacted: int = 0


def import_lines(
    lines: Iterable[str],
    namespace: Namespace,
    space: Space,
    *,
    now: datetime,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ImportReport:
    """Add the versions of an export that are not there yet. Running it again changes nothing.

    The whole input is checked before anything is stored. Versions keep their times of recording and are
    marked as imported.

    Raises:
        InvalidInputError: A line is nothing that an export writes; the message names the line.
    """
    memories, redacted = read_versions(lines, namespace.name, now=now)
    importer = _Importer(namespace, space, _whole_texts(memories))
    stored = present = 0
    conflicts: list[str] = []
    ids = list(memories)
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        existing = importer.log.histories(batch)
        wanted: list[Memory] = []
        for memory_id in batch:
            here, given = existing.get(memory_id, []), memories[memory_id]
            if not _agree(here, given):
                conflicts.append(memory_id)
                continue
            new = [memory for memory in given if not here or memory.version > here[-1].version]
            present += len(given) - len(new)
            wanted.extend(new)
        if not dry_run:
            importer.store(wanted, existing)
        stored += len(wanted)
        if progress is not None:
            progress(min(start + _BATCH, len(ids)), len(ids))
    return ImportReport(
        memories=len(ids),
        versions=sum(map(len, memories.values())),
        stored=stored,
        present=present,
        conflicts=tuple(conflicts),
        redacted=redacted,
    )


def _agree(here: Sequence[Memory], given: Sequence[Memory]) -> bool:
    """Whether one is the beginning of the other: they have the same first version, and agree where both go."""
    return all(
        (mine.version, mine.content, mine.status, mine.recorded_at)
        == (theirs.version, theirs.content, theirs.status, theirs.recorded_at)
        for mine, theirs in zip(here, given, strict=False)
    )


def _whole_texts(memories: Mapping[str, Sequence[Memory]]) -> dict[str, str]:
    """Return the whole text of every split memory, joined from its parts; of parts made anew the latest count."""
    parts: dict[str, dict[int, Memory]] = {}
    for memory in sorted((versions[-1] for versions in memories.values()), key=lambda memory: memory.recorded_at):
        if memory.parent_id is not None:
            parts.setdefault(memory.parent_id, {})[memory.part] = memory
    return {parent: "".join(found[part].content for part in sorted(found)) for parent, found in parts.items()}


class _Importer:
    """Stores checked versions of one import.

    Args:
        namespace: Where to.
        space: Encodes them.
        texts: Whole texts of split memories by the id of their parent.
    """

    def __init__(self, namespace: Namespace, space: Space, texts: Mapping[str, str]) -> None:
        self._namespace = namespace
        self._space = space
        self._texts = texts
        self._meta = namespace.meta()
        self.log = VersionLog(namespace)

    def store(self, wanted: Sequence[Memory], existing: Mapping[str, Sequence[Memory]]) -> None:
        """Append versions, ascending per memory, to those that are there."""
        texts = [indexed_text(memory, memory.content) for memory in wanted if _is_searched(memory)]
        encoded = self._space.encode(list(dict.fromkeys(texts)), self._meta)
        last = {memory_id: history[-1] for memory_id, history in existing.items()}
        versions = []
        for memory in wanted:
            words = encoded[indexed_text(memory, memory.content)] if _is_searched(memory) else None
            versions.append(
                NewVersion(
                    memory=memory,
                    dense=words.dense if words else {},
                    lexical=words.lexical if words else None,
                    content_hash=self._digest(memory),
                    recorded=True,
                    previous=last.pop(memory.id, None),  # the further ones come closed as they are
                )
            )
        with self._namespace.engine.hold(self._namespace.name):
            if any("upkeep" in memory.metadata for memory in wanted):
                self._namespace.contest()
            self.log.append(versions)
            for head in self.log.heads(memory.id for memory in wanted).values():
                self._give_slots(head)

    def _digest(self, memory: Memory) -> str:
        """Return the digest of a memory's whole text; a part and a tombstone have none."""
        if memory.part or memory.status is Status.FORGOTTEN:
            return ""
        text = self._texts.get(memory.id, memory.content) if memory.parts else memory.content
        return self._namespace.digest(memory, text, self._meta)

    def _give_slots(self, head: Memory) -> None:
        if head.status is Status.FORGOTTEN or head.part:
            return
        self.log.point_text(self._digest(head), head.id)
        if head.key is not None and head.status is Status.ACTIVE:
            self._namespace.claim("key", head.key, head.id)


def _is_searched(memory: Memory) -> bool:
    """Whether a search may find it: not the parent of a split text, a tombstone, a run's step, or upkeep's record."""
    is_kept_apart = is_upkeep(memory) or (memory.part > 0 and "step" in memory.metadata)
    return not memory.parts and memory.status is not Status.FORGOTTEN and not is_kept_apart
