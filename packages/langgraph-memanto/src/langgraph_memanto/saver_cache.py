"""What a saver remembers of the log, so that it need not ask again. Nothing here is needed for being right."""

from __future__ import annotations

from typing import Final

from langgraph_memanto.packing import Serialised
from langgraph_memanto.recent import Recent
from langgraph_memanto.states import Lineage, Unfolded
from memanto.checkpoints import Key

_BLOBS: Final = 5_000
_LINEAGES: Final = 256
_LATEST: Final = 32
_VALUES: Final = 64
_LARGEST: Final = 1 << 20
"""Bytes of a checkpoint's values up to which it is kept: at most 64 of them are."""


class Seen:
    """What was seen in the log.

    Attributes:
        blobs: Names of blobs that were there, and at which epoch of the log (-1 when it has none).
        lineages: What children of a checkpoint take over from it.
        values: What is behind a blob's name, which never changes; short ones only.
    """

    def __init__(self) -> None:
        self.blobs: Recent[str, int] = Recent(_BLOBS)
        self.lineages: Recent[Key, Lineage] = Recent(_LINEAGES)
        self.values: Recent[str, Serialised] = Recent(_VALUES)
        self._latest: Recent[tuple[str, str], tuple[object, Unfolded]] = Recent(_LATEST)

    def latest(self, thread: tuple[str, str], stamp: object) -> Unfolded | None:
        """Return the latest checkpoint of a thread's namespace if nothing was written since it was read.

        Args:
            thread: Thread and namespace.
            stamp: Of the log at this moment; `None` when it cannot tell.
        """
        found = self._latest.get(thread) if stamp is not None else None
        return found[1] if found is not None and found[0] == stamp else None

    def keep_latest(self, thread: tuple[str, str], before: object, after: object, found: Unfolded) -> None:
        """Remember the latest checkpoint, read between two stamps of the log."""
        if before is not None and before == after and found.size <= _LARGEST:
            self._latest.put(thread, (after, found))

    def clear(self) -> None:
        """Forget everything."""
        self.blobs.clear()
        self.lineages.clear()
        self.values.clear()
        self._latest.clear()
