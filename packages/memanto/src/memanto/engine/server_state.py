"""What `ServerEngine` keeps about a namespace for itself: the last time handed out, and its vector names.

It is one point, outside the namespace (it lacks the tenant field), that only a compare-and-set moves.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from memanto.engine.server_collection import Collection
from memanto.engine.server_convert import TOKEN_FIELD, new_token
from memanto.errors import BackendTimeoutError, NotFoundError
from memanto.ids import meta_point_id, slot_point_id
from memanto.times import from_rfc3339, to_rfc3339

_STEP: Final = timedelta(microseconds=1)
_ATTEMPTS: Final = 200
_LONGEST_PAUSE: Final = 0.05


class NamespaceState:
    """Reads and moves the state points of a collection.

    Args:
        collection: Where they are.
        clock: Where times of recording come from.
    """

    def __init__(self, collection: Collection, clock: Callable[[], datetime]) -> None:
        self._collection = collection
        self._clock = clock
        self._locks: dict[str, threading.Lock] = {}
        self._names: dict[str, dict[str, int]] = {}

    def reserve(self, namespace: str, number: int, *, after: datetime | None = None) -> list[datetime]:
        """Return `number` times, each later than all that any writer reserved before.

        Args:
            namespace: Whose times.
            number: How many; 0 to take note of `after` alone.
            after: The newest time that an import is about to bring; all times from now on are later.

        Raises:
            NotFoundError: The namespace does not exist.
            BackendTimeoutError: Other writers got in between every time.
        """
        start = self._clock()

        def advance(state: Mapping[str, Any]) -> dict[str, Any]:
            nonlocal start
            last = max(filter(None, (after, from_rfc3339(state["last"]) if "last" in state else None)), default=None)
            start = self._clock() if last is None else max(self._clock(), last + _STEP)
            newest = start + (number - 1) * _STEP if number else last
            return {} if newest is None else {"last": to_rfc3339(newest)}

        self._move(namespace, advance)
        return [start + offset * _STEP for offset in range(number)]

    def vector_names(self, namespace: str, wanted: Iterable[str] | None = None) -> dict[str, int]:
        """Return the vector names this namespace uses; the collection may hold those of others too.

        Args:
            namespace: Whose names.
            wanted: What the caller is about to use. A remembered answer that has all of it is fresh enough, for
                names are never removed.

        Raises:
            NotFoundError: The namespace does not exist.
        """
        known = self._names.get(namespace)
        if known is None or wanted is None or not known.keys() >= set(wanted):
            _, state = self._read(namespace)
            known = self._names[namespace] = dict(state.get("vectors", {}))
        return dict(known)

    def add_vector_name(self, namespace: str, name: str, dimension: int) -> None:
        """Add a name to those this namespace uses.

        Raises:
            NotFoundError: The namespace does not exist.
            BackendTimeoutError: Other writers got in between every time.
        """
        self._names.pop(namespace, None)
        self._move(namespace, lambda state: {"vectors": {**state.get("vectors", {}), name: dimension}})

    def drop(self, namespace: str) -> None:
        """Remove the state of a namespace."""
        self._names.pop(namespace, None)
        self._collection.delete_ids([_point_id(namespace)])

    def forget(self) -> None:
        """Drop what is remembered: another connection may find another state."""
        self._names.clear()

    def _read(self, namespace: str) -> tuple[str | None, dict[str, Any]]:
        """Return the token (`None` when there is no state yet) and the fields."""
        meta_id, state_id = meta_point_id(namespace), _point_id(namespace)
        records = self._collection.retrieve([meta_id, state_id]) if self._collection.exists() else []
        found = {UUID(str(record.id)): record.payload or {} for record in records}
        if meta_id not in found:
            raise unknown(namespace)
        state = found.get(state_id, {})
        return state.pop(TOKEN_FIELD, None), state

    def _move(self, namespace: str, change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
        """Apply `change`, again and again while another writer gets in between."""
        point_id = _point_id(namespace)
        # Threads of this engine take turns; only other processes are left to race with.
        with self._locks.setdefault(namespace, threading.Lock()):
            for attempt in range(_ATTEMPTS):
                expected, state = self._read(namespace)
                token, changed = new_token(), {**state, **change(state), "state_of": namespace}
                if changed == state:
                    return
                payload = {**changed, TOKEN_FIELD: token}
                self._collection.swap(point_id, payload, expected)
                if self._collection.tokens([point_id]).get(point_id) == token:
                    return
                time.sleep(random.uniform(0, min(_LONGEST_PAUSE, 0.001 * 2 ** min(attempt, 8))))  # noqa: S311 - jitter
        raise BackendTimeoutError(
            f"namespace {namespace!r} has too many writers: {_ATTEMPTS} attempts to take a time failed",
            hint="try again, or write in larger batches",
        )


def unknown(namespace: str) -> NotFoundError:
    """Return the error for a namespace that does not exist."""
    return NotFoundError(f"namespace {namespace!r} does not exist", hint="create it first")


def _point_id(namespace: str) -> UUID:
    return slot_point_id(namespace, "engine", "state")
