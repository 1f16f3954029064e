"""A number with its noun, as a person says it: 1 memory, 2 memories, 1,000 checkpoints."""

from __future__ import annotations

from typing import Final

_VOWELS: Final = frozenset("aeiou")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it must be.

    Args:
        number: Written with commas between thousands.
        noun: In the singular; of several words the last one changes. Regular English nouns only.

    Examples:
        >>> counted(1, "memory"), counted(2, "memory"), counted(1_000, "tool call")
        ('1 memory', '2 memories', '1,000 tool calls')
    """
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a regular English noun."""
    if noun.endswith("y") and noun[-2:-1] not in _VOWELS:
        return f"{noun[:-1]}ies"
    return f"{noun}{'es' if noun.endswith(('s', 'x', 'ch', 'sh')) else 's'}"
