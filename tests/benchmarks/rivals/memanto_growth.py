"""memanto with the reads that only it has, for the growth curves."""

from __future__ import annotations

from datetime import datetime

import memanto_log
import protocol


class Store(memanto_log.Store):
    def as_of(self, item: protocol.Item, moment: str) -> None:
        """Ask what was known at a moment; the memory must be found, or the figure would be of something else."""
        found = self._memory.recall(item[1], as_of=datetime.fromisoformat(moment), limit=10)
        if item[1] not in [hit.memory.content for hit in found]:
            raise LookupError(f"{item[1]!r} was not found as of {moment}")

    def recent(self, item: protocol.Item) -> None:
        """Ask for the newest."""
        self._memory.recall(limit=10)

    def settle(self) -> None:
        self._memory.optimize()


if __name__ == "__main__":
    protocol.serve(Store)
