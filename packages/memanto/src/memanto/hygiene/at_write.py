"""What a write asks about conflicts; a module of its own, since most writes need no more than the threshold."""

from __future__ import annotations

from collections.abc import Sequence

from memanto.hygiene.gates import least_cosine
from memanto.memory.namespace import Namespace
from memanto.models import ConflictNote, Memory


class WriteTimeJudge:
    """Compares a memory that was just stored with its neighbours, and records what it finds.

    Args:
        namespace: Where the memory is.
    """

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    def least(self, embedder: str | None) -> float:
        """Return the cosine that a neighbour must reach to be compared."""
        return least_cosine(embedder)

    def __call__(
        self, memory: Memory, near: Sequence[tuple[Memory, float]], embedder: str | None
    ) -> tuple[ConflictNote, ...]:
        """Return what a receipt says of the conflicts of a memory."""
        from memanto.hygiene.candidates import noted

        return noted(self._namespace, memory, near, embedder)
