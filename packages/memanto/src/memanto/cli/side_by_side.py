"""Two texts beside each other with what differs marked: pure text, so that it can be tested without a terminal."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from memanto.cli.style import Palette, width

Marked = Sequence[tuple[str, bool]]
"""Words with whether the other text lacks them there."""

_WORD = re.compile(r"\S+")


def differing(one: str, other: str) -> tuple[Marked, Marked]:
    """Return the words of two texts, each marked where the other differs; case counts, spacing does not."""
    first, second = _WORD.findall(one), _WORD.findall(other)
    left, right = [True] * len(first), [True] * len(second)
    matcher = difflib.SequenceMatcher(None, [_bare(word) for word in first], [_bare(word) for word in second], False)
    for block in matcher.get_matching_blocks():
        left[block.a : block.a + block.size] = [False] * block.size
        right[block.b : block.b + block.size] = [False] * block.size
    return list(zip(first, left, strict=True)), list(zip(second, right, strict=True))


def beside(
    headings: tuple[Sequence[str], Sequence[str]], texts: tuple[str, str], paint: Palette, columns: int, *, colour: bool
) -> Iterator[str]:
    """Yield lines that show two texts beside each other under their headings.

    Args:
        headings: Lines above each text.
        texts: The older one and the newer one.
        paint: Paints the marks.
        columns: Width of the terminal.
        colour: Whether paint shows; else marked words stand between »«.
    """
    each = max(20, (columns - 3) // 2)
    words = differing(*texts)
    sides = []
    for heading, marked, kind in zip(headings, words, ("bad", "good"), strict=True):
        lines = [line for one in heading for line in _wrapped([(word, False) for word in one.split()], each)]
        painted = [" ".join(word for word, _ in line) for line in lines]
        body = _wrapped(marked, each - 0 if colour else each)
        painted += [" ".join(_mark(word, paint, kind, colour) if on else paint.safe(word) for word, on in line)
                    for line in body]  # fmt: skip
        sides.append(painted)
    for left, right in zip_longest(*sides, fillvalue=""):
        yield f"{left}{' ' * max(0, each - width(left))} │ {right}".rstrip()


def _bare(word: str) -> str:
    return word.strip(".,;:!?\"'()")


def _mark(word: str, paint: Palette, kind: str, colour: bool) -> str:
    return paint(kind, word) if colour else f"»{paint.safe(word)}«"


def _wrapped(words: Marked, columns: int) -> list[list[tuple[str, bool]]]:
    """Return words in lines that fit; a word that is longer than a line is broken."""
    lines: list[list[tuple[str, bool]]] = [[]]
    used = 0
    for word, marked in words:
        for start in range(0, len(word), columns - 2):
            piece = word[start : start + columns - 2]
            size = width(piece) + (2 if marked else 0)
            if used and used + 1 + size > columns:
                lines.append([])
                used = 0
            lines[-1].append((piece, marked))
            used += size + (1 if used else 0)
    return lines
