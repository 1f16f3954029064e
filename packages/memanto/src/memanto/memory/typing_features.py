"""What of a text counts for guessing its type: cues, shapes, words and pairs of words.

Names of features begin with a mark: `@` a cue, `^` a cue at the very beginning, `#` a shape, `w:` a word, `b:` two
neighbouring words, `c:` one to three neighbouring characters of a script without spaces. Everything is linear in the
length of the text: phrases are found by looking tokens up, and the patterns of shapes have bounded repetitions.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from memanto.memory.typing_cues import CUES, IMPERATIVES, SHAPES

HEAD: Final = 500
"""Characters of a text that are looked at."""

_SPACELESS: Final = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"  # Han, kana, Hangul
_RUN: Final = re.compile(f"[{_SPACELESS}]+")
_GAP: Final = re.compile(rf"(?<=[{_SPACELESS}])\s+(?=[{_SPACELESS}])")
_TOKEN: Final = re.compile(
    rf"[{_SPACELESS}]+|[^\W\d_{_SPACELESS}]+(?:'[^\W\d_{_SPACELESS}]+)?|\d+|[^\w\s]"
)


@dataclass(frozen=True, slots=True)
class _Phrases:
    """Cues by what begins them.

    Attributes:
        spaced: Phrases as tokens, by their first token, each with its cue.
        stems: Beginnings of words, each with its cues.
        runs: Phrases of scripts without spaces, each with its cues.
        longest: Characters of the longest of `runs`.
    """

    spaced: dict[str, list[tuple[tuple[str, ...], str]]]
    stems: dict[str, list[str]]
    runs: dict[str, list[str]]
    longest: int


def features(text: str) -> set[str]:
    """Return the features of the first `HEAD` characters of a text."""
    head = normal(text)
    tokens = _TOKEN.findall(head)
    found = {name for cue, first in _cues(tokens) for name in ((f"@{cue}", f"^{cue}") if first else (f"@{cue}",))}
    found.update(f"#{name}" for name, pattern in _shapes() if pattern.search(head))
    if tokens and tokens[0] in _imperatives() and not (len(tokens) > 1 and tokens[1].isdigit()):
        found.add("#imperative")
    found.update(_words(tokens))
    return found


def normal(text: str) -> str:
    """Return the head of a text in one spelling: compatibility forms and case folded, straight apostrophes."""
    head = unicodedata.normalize("NFKC", text[:HEAD])[: 2 * HEAD].strip().casefold().replace("\u2019", "'")
    return _GAP.sub("", head)


def _cues(tokens: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield each cue that occurs, and whether the text begins with it."""
    phrases = _phrases()
    for index, token in enumerate(tokens):
        if _RUN.match(token):
            for start in range(len(token)):
                for end in range(start + 1, min(len(token), start + phrases.longest) + 1):
                    for cue in phrases.runs.get(token[start:end], ()):
                        yield cue, index == start == 0
            continue
        for wanted, cue in phrases.spaced.get(token, ()):
            if tuple(tokens[index : index + len(wanted)]) == wanted:
                yield cue, index == 0
        for end in range(3, min(len(token), 16) + 1):
            for cue in phrases.stems.get(token[:end], ()):
                yield cue, index == 0


def _words(tokens: list[str]) -> Iterator[str]:
    plain = []
    for token in tokens:
        if _RUN.match(token):
            for size in (1, 2, 3):
                yield from (f"c:{token[i : i + size]}" for i in range(len(token) - size + 1))
            plain.append("…")
        else:
            plain.append("0" if token.isdigit() else token)
    yield from (f"w:{word}" for word in plain)
    yield from (f"b:{first} {second}" for first, second in itertools.pairwise(["^", *plain, "$"]))


@functools.cache
def _phrases() -> _Phrases:
    spaced: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    stems: dict[str, list[str]] = {}
    runs: dict[str, list[str]] = {}
    for cue, listing in CUES.items():
        for phrase in dict.fromkeys(normal(part) for part in " ".join(listing.split()).split(",")):
            tokens = tuple(_TOKEN.findall(phrase.removesuffix("*")))
            if len(tokens) == 1 and phrase.endswith("*"):
                stems.setdefault(tokens[0], []).append(cue)
            elif len(tokens) == 1 and _RUN.match(phrase):
                runs.setdefault(phrase, []).append(cue)
            elif tokens:
                spaced.setdefault(tokens[0], []).append((tokens, cue))
    return _Phrases(spaced, stems, runs, max(map(len, runs)))


@functools.cache
def _shapes() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(pattern)) for name, pattern in SHAPES.items())


@functools.cache
def _imperatives() -> frozenset[str]:
    return frozenset(IMPERATIVES.split())
