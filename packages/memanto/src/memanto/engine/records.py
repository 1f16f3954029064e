"""The port for records: texts without vectors, as the checkpoints of a graph are kept.

Beside memories an agent may have records, in a place of their own: a shard under `checkpoints/` of the store's
folder, or a second collection on a server. A namespace exists from its first record on; in one that does not,
nothing is found.

A payload field costs an engine about 3 µs each time a record is written, so a record has few of them: the keys
that conditions name, and two texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from memanto.filters import Where

OF: Final = "of"
AT: Final = "at"
REFS: Final = "refs"
SHARED: Final = "shared"
NAME: Final = "id"


class Record(NamedTuple):
    """One record.

    Attributes:
        id: Its id, a UUID as 32 hexadecimal digits.
        keys: What conditions may name, all texts: `thread`, `line`, `run`; `of`, the record that this one is a
            part of, by its id; `at`, an RFC 3339 time that orders records.
        head: JSON, small, which every reading returns. The engine knows three fields of it: `id`, a text that
            orders records of one time; `refs`, the records that this one needs, by their ids; and
            `shared`, true for one that lives as long as another one of its thread needs it.
        body: A text of any size, which only some readings return; else it is empty.
    """

    id: str
    keys: Mapping[str, str]
    head: Mapping[str, Any]
    body: str = ""


class Found(NamedTuple):
    """Records with what belongs to them.

    Attributes:
        records: In the order asked for.
        parts: Whatever names one of them in `of`, in no particular order.
        shared: Whatever the records and their parts need, each once.
    """

    records: Sequence[Record]
    parts: Sequence[Record]
    shared: Sequence[Record]


class Written(NamedTuple):
    """What became of a write.

    Attributes:
        missing: Those of the needed records that are not there. If there are any, nothing was stored.
        taken: Those of the added records whose ids others had. They were not stored, the rest was.
    """

    missing: Sequence[str]
    taken: Sequence[str]


@dataclass(frozen=True, slots=True)
class RecordsInfo:
    """Figures about one namespace.

    Attributes:
        records: Number of records of every kind.
        disk_bytes: Allocated bytes on this machine, or `None` on a server.
        location: Folder or URL (never with a secret).
    """

    records: int
    disk_bytes: int | None
    location: str


class Records(Protocol):
    """What `EdgeRecords` and `ServerRecords` implement. All methods may be called from any thread.

    Everything acknowledged survives the death of the process.
    """

    def open(self) -> None: ...

    def close(self) -> None:
        """Flush and let go of everything. Idempotent."""

    def namespaces(self) -> list[str]:
        """Return the namespaces that exist, sorted."""

    def drop(self, namespace: str) -> None:
        """Remove a namespace and everything in it, if it exists."""

    def write(
        self,
        namespace: str,
        put: Sequence[Record] = (),
        *,
        keep: Sequence[Record] = (),
        add: Sequence[Record] = (),
        needs: Sequence[str] = (),
        epoch: int | None = None,
    ) -> Written:
        """Store records; embedded, all of them or none. No id occurs twice.

        Args:
            namespace: Made when it does not exist.
            put: Take the place of what has their ids.
            keep: Stored where nothing has their ids; equal ids mean equal records.
            add: Stored where nothing has their ids; the caller learns which were not.
            needs: Must be there.
            epoch: One at which all of them were there; while it lasts nobody looks again.
        """

    def delete(self, namespace: str, ids: Sequence[str], where: Where | None = None) -> None:
        """Delete records by id, and those that match `where`; also damaged ones.

        Raises:
            StoreDamagedError: Embedded, where some of these cannot be read at all: others cannot be read, either.
                Nothing was deleted; delete all of them at once.
        """

    def reclaim(self, namespace: str, scope: Where) -> int:
        """Delete the shared records of a scope that no other record of it needs; returns how many.

        Embedded, nothing gets in between. On a server, what was stored within the last minutes stays.
        """

    def find(
        self,
        namespace: str,
        where: Where,
        *,
        newest_first: bool = False,
        limit: int | None = None,
        bodies: bool = False,
    ) -> list[Record]:
        """Return matching records.

        Args:
            namespace: May be missing.
            where: What they match.
            newest_first: Only those that have a time, by (`at`, `id`) descending. Else in no particular order.
            limit: Return so many, and with `newest_first` whatever has the time of the last of them, too.
            bodies: With their bodies.
        """

    def collect(self, namespace: str, which: Sequence[str] | Where, limit: int | None = None) -> Found:
        """Return records by id, or the newest that match, with what belongs to them and all bodies.

        See `find` for `limit`.
        """

    def values(self, namespace: str, key: str) -> list[str]:
        """Return the values that records have under a key, sorted; also those of records that are damaged."""

    def stamp(self, namespace: str) -> object:
        """Return a value that stays equal as long as nothing of the namespace changes, or `None` when unknown.

        Costs about a microsecond, so that a caller may keep what it has read.
        """

    def epoch(self, namespace: str) -> int | None:
        """Return a number that changes whenever something of the namespace is deleted, or `None` when unknown."""

    def compact(self, namespace: str) -> None:
        """Give disk space back and destroy the bytes of what was deleted, where that is up to this store."""

    def flush(self, namespace: str) -> None:
        """Make everything acknowledged survive a power cut."""

    def info(self, namespace: str) -> RecordsInfo: ...


# -- the same for every engine --------------------------------------------------------------------------
def in_order(found: Sequence[Record]) -> list[Record]:
    """Return those records that have a time by (`at`, `id`) descending."""
    timed = [one for one in found if AT in one.keys]
    return sorted(timed, key=lambda one: (one.keys[AT], one.head[NAME]), reverse=True)


def unreferenced(scope: Sequence[Record]) -> list[Record]:
    """Return the shared records that no other one needs."""
    needed = {ref for record in scope for ref in record.head.get(REFS, ())}
    return [record for record in scope if record.head.get(SHARED) and record.id not in needed]
