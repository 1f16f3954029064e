"""Text for a person: colours where they are wanted, control characters made harmless, columns."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final, TextIO

_CODES: Final = {"id": "36", "strong": "1", "faint": "2", "good": "32", "warn": "33", "bad": "31"}
_PAINT: Final = re.compile(r"\x1b\[[0-9]+m")
_KEPT: Final = frozenset("\n\t")
_STEERING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that make a terminal show later text in another order than it is stored."""


class Palette:
    """Paints words for a terminal, or leaves them plain.

    Args:
        colour: Whether to write colour codes.
        terminal: Whether a terminal reads the text; then stored text cannot steer it.
    """

    def __init__(self, *, colour: bool = False, terminal: bool = False) -> None:
        self._colour = colour
        self._terminal = terminal

    def __call__(self, kind: str, text: object) -> str:
        """Return the text in the colour of a kind of word: `id`, `strong`, `faint`, `good`, `warn` or `bad`."""
        shown = self.safe(str(text))
        return f"\x1b[{_CODES[kind]}m{shown}\x1b[0m" if self._colour and shown else shown

    def safe(self, text: str) -> str:
        """Return stored text so that showing it on a terminal does nothing but show it."""
        if not self._terminal:
            return text
        return "".join(f"\\x{ord(c):02x}" if _steers(c) else c for c in text)


def palette_for(stream: TextIO) -> Palette:
    """Return the palette for a stream: plain unless a terminal reads it and the user did not opt out."""
    terminal = stream.isatty()
    colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Palette(colour=colour, terminal=terminal)


def _steers(character: str) -> bool:
    return character not in _KEPT and (unicodedata.category(character) == "Cc" or character in _STEERING)


def width(text: str) -> int:
    """Return how many columns a terminal needs for a text on one line, colour codes aside."""
    plain = _PAINT.sub("", text)
    if plain.isascii():
        return len(plain)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in plain)


def columns(rows: Iterable[Sequence[str]], *, indent: str = "") -> list[str]:
    """Return rows as lines whose cells stand below each other; the last column is not padded."""
    table = [[str(cell) for cell in row] for row in rows]
    if not table:
        return []
    widths = [max(width(row[i]) for row in table if i < len(row)) for i in range(max(map(len, table)))]
    lines = []
    for row in table:
        cells = [cell + " " * (widths[i] - width(cell)) for i, cell in enumerate(row[:-1])]
        lines.append((indent + "  ".join([*cells, row[-1]])).rstrip())
    return lines


def indented(text: str, indent: str = "    ") -> str:
    """Return a text with every line set in; nothing of it is cut."""
    return "\n".join(f"{indent}{line}" if line else "" for line in text.split("\n"))
