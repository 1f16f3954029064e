"""Read the citations of a model's reply and keep only what they carry.

A model may cite what it was not given, claim without citing, or cite a memory that says something else. What is
left here is sentence by sentence: at least one citation of a memory that was sent, and no number or name that
neither those memories nor the question hold. Small models repeat a memory and forget to cite it; a sentence without a
citation is given that of the memory which holds its every word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from memanto.loop.answer_conflict import denies
from memanto.loop.answer_text import sentences
from memanto.memory.terms import Term, Terms, index_terms, terms_of

_CITED: Final = re.compile(r"(?<!\s)\s*\[\s*(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\s*\]")
_LIST_MARK: Final = re.compile(r"^(?:[-*\u2022]|\d{1,2}[.)])\s+")
_REFUSAL: Final = re.compile(
    r"\bI(?:'m| am)? (?:cannot|can't|can not|won't|unable|not able|sorry)\b|\bI (?:do not|don't) (?:know|have)\b"
    r"|\bas an? (?:AI|language model)\b",
    re.IGNORECASE,
)
_ENDS: Final = frozenset({"", ".", "!", "?", ":", '"', "\u201c"})
_ASKS_FOR_SOMETHING: Final = re.compile(
    r"\W*(?:what|which|who|whom|whose|where|when|why|how|welche[rsnm]?|wer|wen|wem|wann|wo|warum|wieso|wie|qu[ée]"
    r"|cu[áa]l(?:es)?|qui[ée]n(?:es)?|cu[áa]ndo|d[óo]nde|c[óo]mo|quel(?:le)?s?|qui|quand|o[ùu]|pourquoi|comment)\b",
    re.IGNORECASE,
)
"""Begins a question that yes or no do not answer; what only repeats its words says nothing."""
_LEAST_SHARED: Final = 0.25
"""Share of a sentence's words that the cited memories or the question must hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What is left of a reply.

    Attributes:
        text: Its supported sentences with their citations, or `""`.
        cited: The numbers cited, in order of appearance.
        unknown: Numbers cited that were not sent.
        attributed: Sentences that cited nothing and were given the citation of the memory they repeat.
        echoes: Sentences left out because they hold no word that the question does not, which asks for something.
        uncited: Sentences left out because they cite nothing that was sent.
        unsupported: Sentences left out because the memories they cite do not say so.
        refused: The reply refuses or says that it does not know.
    """

    text: str
    cited: tuple[int, ...] = ()
    unknown: tuple[int, ...] = ()
    attributed: int = 0
    echoes: int = 0
    uncited: int = 0
    unsupported: int = 0
    refused: bool = False


def check_reply(reply: str, sources: Mapping[int, str], question: str) -> Checked:
    """Return a reply without what its citations do not carry.

    Args:
        reply: The model's words.
        sources: The texts that were sent, by number.
        question: What was asked; its words need no source.
    """
    reader = _Reader(sources, question)
    lines: list[str] = []
    cited: dict[int, None] = {}
    unknown: dict[int, None] = {}
    fates: Counter[_Fate] = Counter()
    for line in reply.split("\n"):
        read = [reader.read(sentence) for sentence in _with_citations(sentences(line))]
        kept = [one for one in read if one.fate in {"kept", "attributed"}]
        fates.update(one.fate for one in read)
        unknown.update(dict.fromkeys(n for one in read for n in one.unknown))
        cited.update(dict.fromkeys(n for one in kept for n in one.numbers))
        if kept:
            lines.append(" ".join(f"{one.claim} {''.join(f'[{n}]' for n in one.numbers)}" for one in kept))
    return Checked(
        text="\n".join(lines),
        cited=tuple(cited),
        unknown=tuple(unknown),
        attributed=fates["attributed"],
        echoes=fates["echo"],
        uncited=fates["uncited"],
        unsupported=fates["unsupported"],
        refused=not lines and _REFUSAL.search(reply) is not None,
    )


_Fate = Literal["blank", "echo", "uncited", "unsupported", "attributed", "kept"]


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a reply: its claim, the numbers it cites of what was sent and of what was not, and what becomes."""

    claim: str
    numbers: tuple[int, ...]
    unknown: tuple[int, ...]
    fate: _Fate


class _Reader:
    """Holds the sentences of one reply against the memories that were sent and the question."""

    def __init__(self, sources: Mapping[int, str], question: str) -> None:
        self._sources = sources
        self._question = question
        self._asked = index_terms([question])
        self._asks_for_something = _ASKS_FOR_SOMETHING.match(question) is not None
        self._held: dict[tuple[int, ...], Terms] = {}

    def read(self, sentence: str) -> _Sentence:
        """Return a sentence with what becomes of it."""
        numbers = [int(n) for group in _CITED.findall(sentence) for n in re.findall(r"\d+", group)]
        known = tuple(dict.fromkeys(n for n in numbers if n in self._sources))
        unknown = tuple(dict.fromkeys(n for n in numbers if n not in self._sources))
        claim = _CITED.sub("", sentence).strip()
        words = terms_of(_LIST_MARK.sub("", claim))
        new = [word for word in words if not _is_held(word, self._asked)]
        fate: _Fate = "kept"
        if not numbers and (repeated := self._repeated(claim, new)) is not None:
            known, fate = (repeated,), "attributed"
        if not words:
            fate = "blank"
        elif not known:
            fate = "uncited"
        elif not new and self._asks_for_something:
            fate = "echo"
        elif not self._carries(known, claim, words):
            fate = "unsupported"
        return _Sentence(claim, known, unknown, fate)

    def _carries(self, numbers: tuple[int, ...], claim: str, words: Sequence[Term]) -> bool:
        """Return whether memories, or the question, hold enough of a claim's words, and all its numbers and names."""
        if numbers not in self._held:
            self._held[numbers] = index_terms([*(self._sources[n] for n in numbers), self._question])
        held = self._held[numbers]
        if sum(held.share(word) for word in words) < _LEAST_SHARED * len(words):
            return False
        names = _names(claim)
        return all(_is_held(word, held) for word in words if word.telling or word.word in names)

    def _repeated(self, claim: str, new: Sequence[Term]) -> int | None:
        """Return the number of the memory that a claim without a citation repeats, or `None`.

        It holds every word of the claim that the question does not, and denies where the claim does. One such word is
        enough where it is a number or a name.
        """
        if not new or (len(new) == 1 and not new[0].telling and new[0].word not in _names(claim)):
            return None
        for number, text in self._sources.items():
            held = index_terms([text])
            if all(_is_held(word, held) for word in new) and denies(text) == denies(claim):
                return number
        return None


def _with_citations(parts: list[str]) -> list[str]:
    """Return sentences with a citation that stands after the full stop joined to the sentence before it."""
    joined: list[str] = []
    for part in parts:
        leading = re.match(rf"(?:{_CITED.pattern})+", part)
        if leading and joined:
            joined[-1] += leading[0]
            part = part[leading.end() :].strip()  # noqa: PLW2901 - what follows the citation is its own sentence
        if part:
            joined.append(part)
    return joined


def _is_held(word: Term, held: Terms) -> bool:
    return held.share(word) >= 1


def _names(claim: str) -> set[str]:
    """Return the words written with a capital where no sentence begins: names, in most languages."""
    text = _LIST_MARK.sub("", claim)
    found = set()
    for match in re.finditer(r"[^\W_]+(?:[-_.'\u2019][^\W_]+)*", text):
        word = match[0]
        before = match.start()
        while before > 0 and text[before - 1].isspace():
            before -= 1
        inside = text[max(before - 1, 0) : before] not in _ENDS
        if (inside and word[0].isupper()) or any(c.isupper() for c in word[1:]):
            found.add(word.casefold())
    return found
