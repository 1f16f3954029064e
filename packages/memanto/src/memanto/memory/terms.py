"""The words of a text that count, compared the way search compares them: stemmed, folded, without stop words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from memanto.engine.bm25 import encode_query

_WORD: Final = re.compile(r"[^\W_]+(?:[-_.'\u2019][^\W_]+)*")
_LONGEST: Final = 64
"""Letters of the longest word that has forms: what is longer is data, and has as many beginnings as letters."""
_SHARED: Final = 6
"""Letters that two longer words must begin with alike to count as forms of one ("reconcile", "reconciliation")."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word as it was written, and the terms that search knows it by."""

    word: str
    ids: frozenset[int]

    @property
    def telling(self) -> bool:
        """Whether it holds a digit: a number, a version, an identifier."""
        return any(character.isdigit() for character in self.word)


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a text, to look words up in.

    Attributes:
        ids: What search knows them by.
        beginnings: Every beginning, of six letters or more, of its longer words.
        stems: Those words without their last two letters.
    """

    ids: frozenset[int]
    beginnings: frozenset[str]
    stems: frozenset[str]

    def share(self, term: Term) -> float:
        """Return how much of a term occurs here, 0..1; 1 also for another form of the same word."""
        found = len(term.ids & self.ids) / len(term.ids)
        return 1.0 if found < 1 and self._has_form_of(term.word) else found

    def _has_form_of(self, word: str) -> bool:
        if not _is_long(word):
            return False
        return _stem(word) in self.beginnings or any(part in self.stems for part in _beginnings(word))


def terms_of(text: str) -> list[Term]:
    """Return the distinct words of a text that count, in order; stop words are left out."""
    found: dict[str, Term] = {}
    for word in _WORD.findall(text):
        folded = word.casefold()
        if folded not in found and (ids := frozenset(encode_query(word).indices)):
            found[folded] = Term(folded, ids)
    return list(found.values())


def index_terms(texts: Iterable[str]) -> Terms:
    """Return the terms of all the texts together."""
    joined = "\n".join(texts)
    words = {folded for word in _WORD.findall(joined) if _is_long(folded := word.casefold())}
    beginnings = frozenset(part for word in words for part in _beginnings(word))
    return Terms(frozenset(encode_query(joined).indices), beginnings, frozenset(map(_stem, words)))


def _is_long(word: str) -> bool:
    return _SHARED <= len(word) <= _LONGEST and word.isalpha()


def _beginnings(word: str) -> list[str]:
    return [word[:length] for length in range(_SHARED, len(word) + 1)]


def _stem(word: str) -> str:
    return word[: max(_SHARED, len(word) - 2)]
