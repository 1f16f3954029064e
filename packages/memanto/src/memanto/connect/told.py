"""Which warnings a session has had already, so that a hook says each once."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from memanto.connect import targets
from memanto.errors import MemantoError

T = TypeVar("T")
_KEPT: Final = 7 * 86_400
"""Seconds after which a session's list is forgotten."""


class Told:
    """The warnings given in one session of one tool; without a session's id none is remembered.

    A window that is compacted has lost them, so `forget` begins anew. What cannot be read or written counts as not
    told: a warning twice is better than none.
    """

    def __init__(self, folder: Path, client: str, session: str) -> None:
        self._folder = folder
        name = hashlib.sha256(f"{client}\0{session}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
        self._path = folder / f"{name}.json" if session else None

    def new(self, items: Sequence[T], *, key: Callable[[T], str]) -> list[T]:
        """Return those items that were not told yet, and note that they are now."""
        before = self._read()
        fresh = [one for one in items if key(one) not in before]
        if fresh and self._path is not None:
            with suppress(MemantoError):
                targets.replace(self._path, json.dumps([*before, *map(key, fresh)]).encode(), mode=0o600)
        return fresh

    def forget(self) -> None:
        """Begin anew."""
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink()

    def prune(self) -> None:
        """Remove the lists of sessions that are long over."""
        with suppress(OSError):
            for path in self._folder.glob("*.json"):
                if time.time() - path.stat().st_mtime > _KEPT:
                    path.unlink()

    def _read(self) -> list[str]:
        if self._path is None:
            return []
        try:
            known = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return []
        return [one for one in known if isinstance(one, str)] if isinstance(known, list) else []
