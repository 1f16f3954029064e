"""What the reader asks after ranking, so that of two statements that cannot both hold the newer one is shown.

Which statements those are is upkeep's to know (`hygiene.folding`); this is the seam.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, Protocol

from memanto.models import Recollection

MORE: Final = 30
"""Results looked at beyond those asked for, where some of these are folded: the newer statement may rank lower."""


class Folder(Protocol):
    """Folds older statements under newer ones."""

    def __call__(
        self,
        results: Sequence[Recollection],
        more: Callable[[int], list[Recollection]],
        *,
        limit: int,
        as_of: datetime | None,
    ) -> list[Recollection]:
        """Return at most `limit` results, in their order, the older ones of updates under the newer ones.

        Args:
            results: The best `limit` results.
            more: Returns so many of the best results; only asked where something is to be folded.
            limit: How many to return.
            as_of: Only what was found by then counts.
        """
