"""Claims: (subject, value) where a clause says the one value that its subject has at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memanto.hygiene.lexicon import ATTRIBUTES, BEING, CHANGING, LINKS, PLACING
from memanto.hygiene.words import stem, telling, telling_stem

_LONGEST: Final = 5
"""Telling words a value has at most; longer predicates describe rather than name a value."""
_PERSONS: Final = frozenset({"i", "we", "he", "she", "they", "my", "our", "his", "her", "their"})
_ENDS: Final = frozenset({"for", "because", "since", "when", "while", "that", "which", "who", "where", "if", "than"})
_FILLING: Final = frozenset({"now", "currently", "again", "just", "also", "been", "still", "actually", "only", "back"})
_BETWEEN: Final = frozenset({"who", "which", "that", "has", "have", "had", "is", "was"})
"""Words that may stand between a subject and its verb."""
_JOINING: Final = frozenset({"of", "the"})
"""Words that may stand within a subject."""
ATTRIBUTE_STEMS: Final = frozenset(map(stem, ATTRIBUTES))


@dataclass(frozen=True, slots=True)
class Claim:
    """What a clause says of its subject.

    Attributes:
        subject: Stems of what it speaks of; a pronoun stands for itself.
        value: Stems of what it says, in order.
        certain: The subject names an attribute, or the value looks like a name: another value excludes this one.
    """

    subject: frozenset[str]
    value: tuple[str, ...]
    certain: bool


def claim(words: Sequence[str]) -> Claim | None:
    """Return the claim of a clause's folded words, or `None` where it makes none."""
    for place, word in enumerate(words):
        if place and (word in PLACING or word in (":", "=")):
            return _claim(words[:place], word, words[place + 1 :])
    return None


def _claim(before: Sequence[str], verb: str, after: Sequence[str]) -> Claim | None:
    subject = _phrase(before) if verb in CHANGING or verb == "=" else list(before)
    if verb in CHANGING and "to" in after:
        cut = after.index("to")
        moved = [word for word in after[:cut] if word not in _FILLING and word != "from"]
        if any(map(telling, moved)):
            subject = moved
        after = after[cut + 1 :]
    value = _value(after)
    named = frozenset(telling_stem(word) for word in subject if telling(word))
    about = named or frozenset(word for word in subject[:1] if word in _PERSONS)
    stems = tuple(telling_stem(word) for word in value if telling(word))
    if not about or not 0 < len(stems) <= _LONGEST:
        return None
    attribute = bool(ATTRIBUTE_STEMS & named)
    if verb == ":" and not attribute:  # a speaker, or a remark that another one follows
        return None
    return Claim(about, stems, attribute or verb not in BEING or any(map(_is_name, value)))


def _phrase(before: Sequence[str]) -> list[str]:
    """Return the words that name who or what does something, from those before its verb: "… my friend Rachel who"."""
    end = len(before)
    while end and (before[end - 1] in _FILLING | _BETWEEN or before[end - 1].endswith("ly")):
        end -= 1
    start = end
    while start and (before[start - 1] in _JOINING or telling(before[start - 1])):
        start -= 1
    return list(before[max(0, start - 1) : end])  # with the pronoun or article that it begins with


def _value(after: Sequence[str]) -> list[str]:
    """Return the words of the value: without links before it, up to what qualifies it."""
    value: list[str] = []
    for word in after:
        if word in _ENDS:
            break
        if value or (word not in LINKS and word not in _FILLING and word not in PLACING):
            value.append(word)
    return value


def _is_name(word: str) -> bool:
    return any(character.isdigit() or character in "-/.@_" for character in word)
