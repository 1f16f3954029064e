"""What memory says, as text for a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memanto.loop.fence import NOTICE, fence_one

if TYPE_CHECKING:
    from memanto.loop.handoff import Handoff
    from memanto.loop.pins import Pins


def handed(pins: Pins, taken: Handoff) -> str:
    """Return a baton behind the pins, fenced."""
    return "\n".join([NOTICE, *map(fence_one, pins.memories), fence_one(taken.memory)])
