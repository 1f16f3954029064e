"""Recognising a session handoff by its text; apart from `classify`, which loads what guesses types."""

from __future__ import annotations

import re
from typing import Final

_BATON: Final = re.compile(r"^\W{0,20}(session[\s_-]{0,5})?handoff\b", re.IGNORECASE)
_HEAD: Final = 60
"""Characters that the pattern can reach: 20 before the words, and the words with what parts them."""


def is_baton(text: str) -> bool:
    """Return whether a text is a session handoff: it opens with those words."""
    return _BATON.match(text[:_HEAD]) is not None
