"""Read the citations of a model's reply and keep only what they carry.

A model may cite what it was not given, claim without citing, or cite a memory that says something else. What is
left here is sentence by sentence: at least one citation of a memory that was sent, and no number or name that
neither those memories nor the question hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from memanto.loop.answer_text import sentences
from memanto.memory.terms import Term, Terms, index_terms, terms_of

_CITED: Final = re.compile(r"\s*\[\s*(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\s*\]")
_LIST_MARK: Final = re.compile(r"^(?:[-*\u2022]|\d{1,2}[.)])\s+")
_REFUSAL: Final = re.compile(
    r"\bI(?:'m| am)? (?:cannot|can't|can not|won't|unable|not able|sorry)\b|\bI (?:do not|don't) (?:know|have)\b"
    r"|\bas an? (?:AI|language model)\b",
    re.IGNORECASE,
)
_ENDS: Final = frozenset({"", ".", "!", "?", ":", '"', "\u201c"})
_LEAST_SHARED: Final = 0.25
"""Share of a sentence's words that the cited memories or the question must hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What is left of a reply.

    Attributes:
        text: Its supported sentences with their citations, or `""`.
        cited: The numbers cited, in order of appearance.
        unknown: Numbers cited that were not sent.
        uncited: Sentences left out because they cite nothing that was sent.
        unsupported: Sentences left out because the memories they cite do not say so.
        refused: The reply refuses or says that it does not know.
    """

    text: str
    cited: tuple[int, ...] = ()
    unknown: tuple[int, ...] = ()
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
    lines: list[str] = []
    cited: dict[int, None] = {}
    unknown: dict[int, None] = {}
    uncited = unsupported = 0
    for line in reply.split("\n"):
        kept = []
        for sentence in _with_citations(sentences(line)):
            numbers = [int(n) for group in _CITED.findall(sentence) for n in re.findall(r"\d+", group)]
            known = list(dict.fromkeys(n for n in numbers if n in sources))
            unknown.update(dict.fromkeys(n for n in numbers if n not in sources))
            claim = _CITED.sub("", sentence).strip()
            if not terms_of(claim):
                continue
            if not known:
                uncited += 1
            elif not _carried(claim, [sources[n] for n in known], question):
                unsupported += 1
            else:
                cited.update(dict.fromkeys(known))
                kept.append(f"{claim} {''.join(f'[{n}]' for n in known)}")
        if kept:
            lines.append(" ".join(kept))
    return Checked(
        text="\n".join(lines),
        cited=tuple(cited),
        unknown=tuple(unknown),
        uncited=uncited,
        unsupported=unsupported,
        refused=not lines and _REFUSAL.search(reply) is not None,
    )


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


def _carried(claim: str, sources: list[str], question: str) -> bool:
    """Return whether the sources hold enough of a claim's words, and all of its numbers and names."""
    held = index_terms([*sources, question])
    words = terms_of(_LIST_MARK.sub("", claim))
    if sum(held.share(word) for word in words) < _LEAST_SHARED * len(words):
        return False
    return all(_is_held(word, held) for word in words if word.telling or word.word in _names(claim))


def _is_held(word: Term, held: Terms) -> bool:
    return held.share(word) >= 1


def _names(claim: str) -> set[str]:
    """Return the words written with a capital where no sentence begins: names, in most languages."""
    text = _LIST_MARK.sub("", claim)
    found = set()
    for match in re.finditer(r"[^\W_]+(?:[-_.'\u2019][^\W_]+)*", text):
        word = match[0]
        inside = match.start() > 0 and text[: match.start()].rstrip()[-1:] not in {
            "",
            ".",
            "!",
            "?",
            ":",
            '"',
            "\u201c",
        }
        if (inside and word[0].isupper()) or any(c.isupper() for c in word[1:]):
            found.add(word.casefold())
    return found
