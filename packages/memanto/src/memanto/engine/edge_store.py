"""A folder of shards, one per namespace, each behind a lease: what the two embedded stores have in common."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Literal, TypeVar

from memanto.engine import edge_calls as calls
from memanto.engine.edge_calls import Call, Request
from memanto.engine.edge_lease import ShardLease
from memanto.engine.edge_shard import Shard
from memanto.engine.layout import Place, list_namespaces, namespaces_root, prepare_root, translated_os
from memanto.engine.leases import Registry, registry
from memanto.engine.network_fs import refuse_network_file_system
from memanto.errors import BackendUnavailableError, NotFoundError
from memanto.ids import check_agent_id
from memanto.times import utc_now

T = TypeVar("T")


class EdgeStore:
    """Shards in a folder of this machine.

    Several stores, threads and processes may use one folder at the same time: one process at a time has the
    lease of a namespace and works for the others meanwhile, or they take turns. Forked children may go on
    using a store they inherited.

    Args:
        root: The store's folder, made when missing; namespaces live in a folder below it.
        durability: `"log"`: what is acknowledged survives the process, and a power cut once it was flushed,
            within a second of idleness. `"full"`: its log is on the disk before it is acknowledged.
        clock: Tells the time of recording (aware); never goes back within a namespace even if this does.
        lock_timeout: Seconds to wait for other processes before `StoreLockedError`.
        max_open: Namespaces this process keeps open, each about 110 MB of file-backed memory.
        relay: Ask the process that has a namespace open, and answer others while this one has (on a Unix
            socket in the store's folder); otherwise processes only take turns.
    """

    below: ClassVar = "namespaces"
    """The folder of the namespaces, below the store's own."""
    shard: ClassVar[type[Shard]] = Shard

    def __init__(
        self,
        root: Path,
        *,
        durability: Literal["log", "full"] = "log",
        clock: Callable[[], datetime] = utc_now,
        lock_timeout: float = 30.0,
        max_open: int = 8,
        relay: bool = True,
    ) -> None:
        self._home = Path(root)
        self._durability = durability
        self._clock = clock
        self._timeout = lock_timeout
        self._max_open = max_open
        self._relay = relay
        self._root: Path | None = None
        self._closed = False
        self._used: set[str] = set()
        self._places: dict[str, Place] = {}
        self._leases: dict[str, tuple[Registry, ShardLease]] = {}

    def open(self) -> None:
        refuse_network_file_system(self._home)
        root = namespaces_root(self._home, self.below)
        with translated_os(self._home):
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            prepare_root(root)
        self._root, self._closed = root, False

    def close(self) -> None:
        leases = [self._lease(namespace) for namespace in sorted(self._used)]
        self._used.clear()
        self._leases.clear()
        self._closed = True
        with contextlib.ExitStack() as stack:  # goes on after one that fails, then raises
            for lease in leases:
                stack.callback(self._let_go, lease)

    # -- namespaces ---------------------------------------------------------------------------------
    def namespaces(self) -> list[str]:
        return list_namespaces(self._folder())

    def exists(self, namespace: str) -> bool:
        known = self._leases.get(namespace)  # what is open exists, and each verb asks
        if known is not None and known[0] is registry() and known[1].is_open:
            return True
        return self._place(namespace).exists()

    def drop(self, namespace: str) -> None:
        place = self._existing(namespace)
        lease = self._lease(namespace)
        with translated_os(place.folder), lease.writing(self._timeout), lease.exclusive(self._timeout):
            if not place.exists():
                raise _unknown(namespace)
            place.drop()

    @contextlib.contextmanager
    def hold(self, namespace: str) -> Iterator[None]:
        self._existing(namespace)
        with self._lease(namespace).kept(self._timeout, ask=self._relay):
            yield

    def flush(self, namespace: str) -> None:
        self._run(namespace, calls.Flush())

    # -- inside -------------------------------------------------------------------------------------
    def _create(self, namespace: str, fill: Callable[[Shard], object] | None = None) -> bool:
        """Make a namespace, whose first generation `fill` fills; `False` when it exists."""
        place = self._place(namespace)
        if place.exists():
            return False
        lease = self._lease(namespace)
        with translated_os(place.folder), lease.writing(self._timeout), lease.exclusive(self._timeout):
            if place.exists():
                return False
            with place.building() as draft:
                shard = self.shard.create(draft, 1, {})
                try:
                    if fill is not None:
                        fill(shard)
                finally:
                    shard.close()
                draft.switch(1)
        return True

    def _run(self, namespace: str, call: Call[T]) -> T:
        lease = self._lease(namespace)
        if not lease.is_open:  # what is open exists
            self._existing(namespace)
        request = Request(call, settle=self._durability == "full")
        with translated_os(self._place(namespace).folder):
            return lease.perform(request, self._clock, self._timeout, ask=self._relay)

    def _let_go(self, lease: ShardLease) -> None:
        lease.disconnect()
        if not lease.let_go(timeout=1.0):
            lease.flush()  # another store of this process is inside; it closes what it uses

    def _existing(self, namespace: str) -> Place:
        place = self._place(namespace)
        if not place.exists():
            raise _unknown(namespace)
        return place

    def _place(self, namespace: str) -> Place:
        root = self._folder()
        place = self._places.get(namespace)
        if place is None or place.root != root:
            place = self._places[namespace] = Place(root, check_agent_id(namespace))
        return place

    def _folder(self) -> Path:
        if self._closed:
            raise BackendUnavailableError("the store was closed", hint="open it again first")
        if self._root is None:
            self.open()
        assert self._root is not None
        return self._root

    def _lease(self, namespace: str) -> ShardLease:
        known = self._leases.get(namespace)
        if known is not None and known[0] is registry():  # a forked child has another registry
            return known[1]
        place = self._place(namespace)
        self._used.add(namespace)

        def load() -> Shard:
            if not place.exists():  # dropped while this process waited
                raise _unknown(namespace)
            registry().limit_open(self._max_open - 1)
            place.remove_leftovers()
            return self.shard.load(place, place.generation(), self._timeout)

        lease = registry().lease(place.root, place.folder, lambda: ShardLease(place, load, self._clock))
        lease.serves |= self._relay
        self._leases[namespace] = (registry(), lease)
        return lease


def _unknown(namespace: str) -> NotFoundError:
    return NotFoundError(f"agent {namespace!r} does not exist", hint=f"run `memanto agent create {namespace}`")
