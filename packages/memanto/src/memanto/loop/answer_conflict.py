"""Notice memories that say the same with another value."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from memanto.models import Memory, MemoryType

ALIKE: Final = 0.6
"""Share of common words (Jaccard), values aside, from which two texts are about the same. Our choice: a sentence in
which one word of five differs still reaches it."""

_Told: TypeAlias = tuple[frozenset[str], frozenset[str], bool]
"""A text's words, its values, and whether it denies."""
_LEAST: Final = 3
_HAPPENINGS: Final = frozenset({MemoryType.EVENT, MemoryType.CONTEXT, MemoryType.ARTIFACT, MemoryType.OBSERVATION})
"""Types of which two may differ in a number without either being wrong: each tells of a time or a thing of its own."""

_WORD: Final = re.compile(r"[^\W_]+(?:[-_.,:/'\u2019][^\W_]+)*%?")
_NEGATIONS: Final = frozenset(
    """
    no not never without cannot can't don't doesn't isn't aren't won't mustn't shouldn't wasn't didn't
    nicht kein keine nie niemals ohne ni sin nunca jamás ne pas jamais sans
    """.split()  # noqa: SIM905 - words are read more easily than a list of strings
)


def disagree(one: Memory, other: Memory) -> bool:
    """Return whether two believed memories cannot both be current.

    They hold the same slot, or nearly the same words with other numbers or another negation. Two different memories
    are meant; what happened twice with different numbers (events, situations, pointers) never disagrees.
    """
    return _disagree(one, other, _told)


def _disagree(one: Memory, other: Memory, told: Callable[[str], _Told]) -> bool:
    if one.id == other.id or one.type in _HAPPENINGS or other.type in _HAPPENINGS:
        return False
    if one.key is not None and one.key == other.key:
        return one.content != other.content
    words, values, denials = told(one.content)
    other_words, other_values, other_denials = told(other.content)
    if not _share(words, other_words):
        return False
    differs = bool(values - other_values) and bool(other_values - values)
    return differs or denials != other_denials


def alike(one: Memory, other: Memory) -> bool:
    """Return whether two memories say nearly the same, their values aside."""
    return _share(_told(one.content)[0], _told(other.content)[0])


def denies(text: str) -> bool:
    """Return whether a text holds a negation."""
    return _told(text)[2]


def disagreements(memories: Sequence[Memory]) -> list[tuple[Memory, Memory]]:
    """Return the pairs that disagree, the newer of each first."""
    told = functools.cache(_told)
    return [
        (max(pair, key=_recorded), min(pair, key=_recorded))
        for pair in itertools.combinations(memories, 2)
        if _disagree(*pair, told)
    ]


def _share(words: frozenset[str], others: frozenset[str]) -> bool:
    shared = len(words & others)
    return shared >= _LEAST and shared >= ALIKE * len(words | others)


def _recorded(memory: Memory) -> tuple[object, str]:
    return memory.recorded_at, memory.id


def _told(text: str) -> _Told:
    """Return a text's words, its values (whatever holds a digit), and whether it denies."""
    found = {word.casefold().replace("\u2019", "'") for word in _WORD.findall(text)}
    values = frozenset(word for word in found if any(character.isdigit() for character in word))
    denials = found & _NEGATIONS
    return frozenset(found - values - denials), values, bool(denials)
