"""The leases of a process: one per resource, a bound on how many are open, and what becomes of them at a fork.

A forked child starts with an empty registry: it closes the descriptors it inherited without unlocking (a lock
belongs to the open file, which it shares with its parent), never touches the parent's resource, and takes a
lease of its own when it needs one.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from memanto.engine.fork import close_descriptors_below, never_finalise
from memanto.engine.lease import Lease
from memanto.errors import MemantoError

L = TypeVar("L", bound=Lease[Any])

_log = logging.getLogger(__name__)


class Registry:
    """The leases of this process, one per resource."""

    def __init__(self) -> None:
        self._leases: dict[Path, Lease[Any]] = {}
        self._roots: set[Path] = set()
        self._lock = threading.Lock()

    def lease(self, root: Path, path: Path, make: Callable[[], L]) -> L:
        """Return the lease of the resource at `path`, made at the first call.

        Args:
            root: Real path of a folder that holds the resource's files and its lock files.
            path: Identifies the resource.
            make: Makes the lease.
        """
        with self._lock:
            self._roots.add(root)
            lease = self._leases.get(path)
            if lease is None:
                self._leases[path] = lease = make()
        return cast("L", lease)

    def limit_open(self, limit: int) -> None:
        """Close the least recently used resources that no thread is inside of, until `limit` are open."""
        opened = sorted((lease for lease in list(self._leases.values()) if lease.is_open), key=_last_used)
        excess = len(opened) - limit
        for lease in opened:
            if excess <= 0:
                return
            excess -= _let_go(lease, 0.0)

    def close(self) -> None:
        """Close everything, waiting two seconds at most for threads that are inside."""
        for lease in list(self._leases.values()):
            _let_go(lease, 2.0)

    def abandon(self) -> None:
        """Leave everything to the parent process, in a forked child."""
        kept = [item for lease in list(self._leases.values()) for item in lease.abandon()]
        never_finalise(kept)
        close_descriptors_below(self._roots)


_registry: Registry | None = None  # made at the first use, replaced in a forked child
_armed = False


def registry() -> Registry:
    """Return the registry of this process."""
    global _registry, _armed
    if not _armed:
        _armed = True
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_after_fork)
        atexit.register(_at_exit)
    if _registry is None:
        _registry = Registry()
    return _registry


def _let_go(lease: Lease[Any], timeout: float) -> bool:
    """Close one of several: its failure must not keep the others from being closed."""
    try:
        return lease.let_go(timeout)
    except MemantoError as error:
        _log.warning("%s: %s", lease.what, error)
        return True


def _last_used(lease: Lease[Any]) -> float:
    return lease.last_used


def _after_fork() -> None:
    global _registry
    inherited, _registry = _registry, None
    if inherited is not None:
        inherited.abandon()


def _at_exit() -> None:
    if _registry is not None:
        _registry.close()
