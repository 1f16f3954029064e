"""Recognises text that this project itself wrote out, so that it is never taken in again as something new.

Whatever hands memories to a model fences each one as `<memory id="…" type="…" …>…</memory>`. A model or a
hook that stores its whole prompt would otherwise multiply what is known already, under another author.
"""

from __future__ import annotations

import re
from typing import Final

from memanto.errors import InvalidInputError

_FENCE: Final = re.compile(r"<\s*memory\s[^<>]*\bid\s*=\s*[\"']?[0-9a-f]{8}(?:-[0-9a-f]{4}|\b)", re.IGNORECASE)
"""The opening tag with an id, also a shortened one. The closing tag is not asked for: cut output is output too."""


def refuse_fenced(text: str) -> None:
    """Refuse to take in what this project wrote out.

    Raises:
        InvalidInputError: The text holds a fenced memory.
    """
    if is_fenced(text):
        raise InvalidInputError(
            "the text holds memories as they were recalled, which are known already",
            hint="store only what is new; name a memory by its id, without the <memory ...> around it",
        )


def is_fenced(text: str) -> bool:
    """Return whether a text holds a memory as this project fences it for a prompt."""
    return "memory" in text.lower() and _FENCE.search(text) is not None
