"""A connection to a store that the first call opens, for whoever has one: memories, checkpoints."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from memanto.errors import InvalidInputError, shown

if TYPE_CHECKING:
    from memanto.stores import Store


class _Connection(Protocol):
    def open(self) -> None: ...

    def close(self) -> None: ...


_C = TypeVar("_C", bound=_Connection)


class Opened(Generic[_C]):
    """What a store connects to, opened when it is first asked for and again after `close`. Any thread may call it.

    Args:
        store: `None` for what the user configured.
        connect: Makes the connection, which is not open yet.

    Raises:
        InvalidInputError: What was given is no store.
    """

    def __init__(self, store: Store | None, connect: Callable[[Store], _C]) -> None:
        self._given = _checked(store)
        self._connect = connect
        self._connection: _C | None = None
        self._lock = threading.RLock()

    @property
    def store(self) -> Store:
        """The store; reading it for the first time reads the user's settings if none was given.

        Raises:
            ConfigurationError: They name none that can be used.
        """
        with self._lock:
            if self._given is None:
                from memanto.composition import configured_store

                self._given = configured_store()
            return self._given

    def get(self) -> _C:
        """Return the connection, open."""
        found = self._connection
        if found is not None:
            return found
        with self._lock:
            if self._connection is None:
                connection = self._connect(self.store)
                connection.open()
                self._connection = connection
            return self._connection

    def close(self) -> None:
        """Flush and let go of the store. Idempotent."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()
                self.store.release()


def _checked(store: Store | None) -> Store | None:
    """Return a store as it is; a path, an address or a class of stores is none."""
    # By what it can do: a store may be anybody's class.
    if store is None or (callable(getattr(store, "connect", None)) and not isinstance(store, type)):
        return store
    path = shown(str(store)) if isinstance(store, str | Path) else "path"
    raise InvalidInputError(
        f"store {shown(store)} is no store", hint=f"pass Embedded({path}), InMemory() or Server(url)"
    )
