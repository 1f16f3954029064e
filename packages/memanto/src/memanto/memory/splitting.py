"""Splitting a text that is longer than one memory holds, without losing a character."""

from __future__ import annotations

import re
from typing import Final

PART_LENGTH: Final = 2_000
"""Longest part in characters: about the 512 tokens that the default embedder reads of a text."""

_BREAKS: Final = (re.compile(r"\n\s*\n"), re.compile(r"\n"), re.compile(r"[.!?。！？]\s*"), re.compile(r"\s"))  # noqa: RUF001


def split(text: str, length: int = PART_LENGTH) -> list[str]:
    """Return consecutive parts of at most `length` characters whose concatenation is `text`.

    A part ends at the last paragraph, else line, else sentence, else word that ends in its second half, and
    in a text without any of them after `length` characters. No part is blank.
    """
    parts: list[str] = []
    start = 0
    while len(text) - start > length:
        window = text[start : start + length]
        end = next((cut for cut in (_last_break(window, pattern) for pattern in _BREAKS) if cut), length)
        parts.append(text[start : start + end])
        start += end
    parts.append(text[start:])
    return _without_blank(parts)


def _last_break(window: str, pattern: re.Pattern[str]) -> int:
    cut = 0
    for match in pattern.finditer(window, len(window) // 2):
        cut = match.end()
    return cut


def _without_blank(parts: list[str]) -> list[str]:
    kept: list[str] = []
    lead = ""
    for part in parts:
        if part.strip():
            kept.append(lead + part)
            lead = ""
        elif kept:
            kept[-1] += part
        else:
            lead += part
    return kept
