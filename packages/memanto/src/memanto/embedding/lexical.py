"""The pre-pass that makes any text searchable by words.

The engine's word tokenizer cuts at everything that is not a letter or digit, lower-cases, folds accents,
drops English stop words and stems. Four things it cannot do are done here, the same way for documents and
queries, by rewriting the text before it is tokenized:

- one spelling for one thing: compatibility forms (full-width digits, ligatures), accents of every alphabet,
  Arabic and Hebrew points, digits of every script;
- scripts written without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) and Korean, whose particles
  cling to words: each run becomes its characters and its pairs of neighbours;
- names of things in code: the parts of `parseConfigFile`, `PROJ482` and `100ms` are added to the whole;
- identifiers: `1.2.3`, `PROJ-482`, `snake_case` and `index.ts` are found by any part, because the tokenizer
  cuts them, and ranked first by the whole, because one more token stands for it.

Additions change only which documents match and how they rank; nothing written here is ever shown.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from typing import Final

_MAX_NAME: Final = 64
"""Longer words (hashes, encoded data) are no names: their parts would only be noise."""

_JOINT: Final = "\u1427"
"""Stands for the punctuation inside an identifier. A letter (of Canadian syllabics, as good as never seen), so
that the tokenizer keeps the whole as one token, and one token that no ordinary word can equal."""

# `normalize` sorts runs of combining marks in quadratic time, so a long run is cut first. 30 is what
# Unicode's stream-safe text format allows (UAX #15, section 13).
_MARK_RUN: Final = re.compile(r"[^\w\s\x00-\x7f]{30}(?=[^\w\s\x00-\x7f])")

_IGNORED: Final = re.compile(
    "["
    "\u0300-\u036f"  # accents, split off by the decomposition
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew points
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc"  # Arabic points and the stretching bar
    "\u0e3a\u0e47-\u0e4c\u0e4e"  # Thai marks at which the tokenizer would cut
    "\u00ad\u2060\ufeff"  # soft hyphen, word joiner, byte order mark
    "]+"
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_FOREIGN_DIGIT: Final = re.compile(r"(?![0-9])\d")

_SPACELESS: Final = re.compile(
    "["
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b"  # iteration marks, zero
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
    "\u3105-\u312f\u31a0-\u31bf"  # bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"  # Hangul
    "\u0e01-\u0e39\u0e40-\u0e46\u0e4d"  # Thai
    "\u0e81-\u0edf\u1000-\u109f\u1780-\u17d3\u17d7\u17dc"  # Lao, Burmese, Khmer
    "]+"
)

_WORD: Final = re.compile(r"[^\W_]+(?:[-_.\u2010][^\W_]+)*")
_CONNECTOR: Final = re.compile(r"[-_.\u2010]")
# "dairy-free" and "dairy free" are the same words; only identifiers earn a token for the whole.
_PROSE: Final = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NUMBERED: Final = re.compile(r"([A-Za-z]+)([0-9]+)|([0-9]+)([A-Za-z]+)")
_THOUSANDS: Final = re.compile(r"(?<![0-9,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])")


def lexical_form(text: str) -> str:
    """Return the text that the word tokenizer should see, for documents and queries alike.

    Pure, deterministic, and linear in the length of the text whatever it holds.
    """
    folded = text if text.isascii() else _folded(text)
    added: list[str] = []
    if not folded.isascii():
        spaceless = _SPACELESS.findall(folded)
        for run in spaceless:
            added.extend(run)
            added.extend(map("".join, itertools.pairwise(run)))
        if spaceless:
            folded = _SPACELESS.sub(" ", folded)
    for match in _WORD.finditer(folded):
        word = match[0]
        # Only what can have parts: capitals inside, digits, or a connector.
        if len(word) <= _MAX_NAME and not (word.isalpha() and word[1:].islower()):
            _add_parts(word, added)
    added.extend(number.replace(",", "") for number in _THOUSANDS.findall(folded))
    return f"{folded} {' '.join(added)}" if added else folded


def _folded(text: str) -> str:
    """Return one spelling for one thing: no accents, no compatibility forms, ASCII digits."""
    text = _SURROGATE.sub(" ", text)
    text = _MARK_RUN.sub(r"\g<0> ", text)
    text = _IGNORED.sub("", unicodedata.normalize("NFKD", text))
    text = unicodedata.normalize("NFC", text)
    return _FOREIGN_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)


def _add_parts(word: str, added: list[str]) -> None:
    """Append to `added` what a word made of parts should be found by, besides what the tokenizer cuts."""
    pieces = _CONNECTOR.split(word)
    if len(pieces) > 1 and not _PROSE.fullmatch(word):
        added.append(_JOINT.join(pieces))
    for piece in pieces:
        parts = _CAMEL.split(piece)
        numbered = _NUMBERED.fullmatch(piece)
        if len(parts) > 1:
            added.extend(parts)
        elif numbered:
            added.extend(part for part in numbered.groups() if part)
