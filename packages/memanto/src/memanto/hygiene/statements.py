"""From a text to what it states: sentences, their clauses with polarity, their values, and claims about a subject."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memanto.hygiene.claims import ATTRIBUTE_STEMS, Claim, claim
from memanto.hygiene.lexicon import AUXILIARIES, BEYOND, NEGATIONS, UNNAMED
from memanto.hygiene.values import Value, is_subject, values
from memanto.hygiene.words import NUMBERS, fold, stem, telling, telling_stem

_FENCED: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE: Final = re.compile(r"(?<=[.!?;])[\"')\]]*\s+|\n+")
_CLAUSE: Final = re.compile(
    r"(?:,\s+|\s+)(?:but|because|although|though|whereas|considering|given that|even though|so that)\s+"
    r"|,\s+(?:and|so|or|which|while|since|as)\s+|,\s+(?=[\w']+\s+[\w']+\s+[\w']+)"
    r"|\s+[-\u2013\u2014]+\s+|;\s*",
    re.IGNORECASE,
)
_HEADING: Final = 4
"""Words that a heading has at most, and that what follows it has more than."""
_LETTERED: Final = re.compile(r"\b([A-Za-z]{2,}) ([A-HJ-Z])\b(?!')")
"""A noun and the capital that tells one of its kind from the others: "customer A"."""
_TOKEN: Final = re.compile(
    r"[$\u20ac\u00a3]?\d[\d.,:/\u2013-]*\d\w*%?|[$\u20ac\u00a3]?\d\w*%?|[^\W\d_]\w*(?:[-.'\u2019/@][^\W_]+)*|[:=]"
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence that is affirmed or denied as a whole.

    Attributes:
        stems: Telling words in order, without what negates them.
        words: All words in order, folded, without what negates them.
        denials: How often it is negated.
        always: The denial is of every case ("never", "not any").
        unnamed: It speaks of nobody in particular ("a man is …", "there are …").
        subject: Stem of the word it begins with, where that is a telling one.
        claim: What it says of its subject, where it says one value.
        bag: The telling words as a set.
        core: Stems of all words but articles and auxiliaries.
        beyond: Its relations that do not hold the other way round.
    """

    stems: tuple[str, ...]
    words: tuple[str, ...]
    denials: int = 0
    always: bool = False
    unnamed: bool = False
    subject: str = ""
    claim: Claim | None = None
    bag: frozenset[str] = frozenset()
    core: frozenset[str] = frozenset()
    beyond: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence.

    Attributes:
        stems: Those of all its clauses.
        clauses: In order.
        values: In order.
        text: As it was written.
        before: The telling words that stand right before each telling word.
    """

    stems: frozenset[str]
    clauses: tuple[Clause, ...]
    values: tuple[Value, ...]
    text: str
    before: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Told:
    """What a text states."""

    sentences: tuple[Sentence, ...]
    clauses: tuple[Clause, ...]
    stems: frozenset[str]


@functools.lru_cache(maxsize=4096)
def read(text: str) -> Told:
    """Return what a text states; code between fences is left out."""
    prose = _FENCED.sub("\n", text)
    sentences = tuple(filter(None, map(_sentence, _SENTENCE.split(prose))))
    clauses = tuple(clause for sentence in sentences for clause in sentence.clauses)
    return Told(sentences, clauses, frozenset().union(*(clause.bag for clause in clauses)))


def _sentence(text: str) -> Sentence | None:
    folded = _without_heading(fold(_LETTERED.sub(r"\1-\2", text)))
    split = [words for part in _CLAUSE.split(folded) if (words := _TOKEN.findall(part))]
    if not split:
        return None
    clauses = tuple(map(_clause, split))
    words = [word for words in split for word in words]
    before: dict[str, frozenset[str]] = {}
    for one, next_one in itertools.pairwise(words):
        if one not in NUMBERS and is_subject(one) and is_subject(next_one):
            noun = telling_stem(next_one)
            before[noun] = before.get(noun, frozenset()) | {telling_stem(one)}
    return Sentence(
        frozenset().union(*(clause.bag for clause in clauses)), clauses, values(words), text.strip(), before
    )


def sentence_about(told: Told, words: Iterable[str]) -> str:
    """Return the sentence that holds most of these words, the first of several; `""` where there is none."""
    wanted = set(words)

    def held(sentence: Sentence) -> int:
        return len(wanted & (sentence.stems | {value.text for value in sentence.values}))

    return max(told.sentences, key=held).text if told.sentences else ""


def _without_heading(text: str) -> str:
    """Return a sentence without a heading or speaker before it ("Note: …"); "owner: Alice" states something."""
    heading, colon, rest = text.partition(": ")
    words = heading.split()
    states = any(stem(word.strip("*_-#> ")) in ATTRIBUTE_STEMS for word in words)
    return rest if colon and len(words) <= _HEADING and len(rest.split()) > _HEADING and not states else text


def _clause(words: Sequence[str]) -> Clause:
    kept = tuple(word for word in words if word not in NEGATIONS and not word.endswith("n't"))
    denials = len(words) - len(kept)
    if denials == 2 and "without" in words:  # "not without" affirms
        denials = 0
    first = kept[0] if kept else ""
    stems = tuple(telling_stem(word) for word in kept if telling(word))
    return Clause(
        stems=stems,
        words=kept,
        denials=denials,
        always=denials > 0 and ("never" in words or "any" in words),
        unnamed=first in UNNAMED or first in NUMBERS or first.isdigit(),
        subject=_subject(kept),
        claim=claim(kept),
        bag=frozenset(stems),
        core=frozenset(stem(word) for word in kept if word not in AUXILIARIES),
        beyond=BEYOND.intersection(kept),
    )


def _subject(words: Sequence[str]) -> str:
    """Return the stem of the first word, articles aside, where it tells something; pronouns do not."""
    first = words[1] if len(words) > 1 and words[0] in ("the", "a", "an") else words[0] if words else ""
    return telling_stem(first) if first and telling(first) else ""
