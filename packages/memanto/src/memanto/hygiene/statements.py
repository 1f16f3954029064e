"""From a text to what it states: sentences, their clauses with polarity, their values, and claims about a subject."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memanto.hygiene.claims import ATTRIBUTE_STEMS, Claim, claim
from memanto.hygiene.lexicon import (
    AUXILIARIES,
    BEYOND,
    COMMANDING,
    DESCRIBING,
    LEADING,
    MODALS,
    NEGATIONS,
    UNNAMED,
    opposites_of,
)
from memanto.hygiene.values import Value, is_subject, values
from memanto.hygiene.words import NUMBERS, fold, stem, telling, telling_stem

_FENCED: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_FORMULA: Final = re.compile(r"\\\(.*?\\\)|\\\[.*?\\\]|\$\$.*?\$\$", re.DOTALL)
"""What TeX sets apart as a formula."""
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
        act: Stem of the act that it denies or forbids ("never write …", "must not be written"), or `""`.
        unnamed: It speaks of nobody in particular ("a man is …", "there are …").
        subject: Stem of the word it begins with, where that is a telling one.
        claim: What it says of its subject, where it says one value.
        bag: The telling words as a set.
        core: Stems of all words but articles and auxiliaries.
        against: What says the opposite of one of these.
        beyond: Its relations that do not hold the other way round.
    """

    stems: tuple[str, ...]
    words: tuple[str, ...]
    denials: int = 0
    always: bool = False
    act: str = ""
    unnamed: bool = False
    subject: str = ""
    claim: Claim | None = None
    bag: frozenset[str] = frozenset()
    core: frozenset[str] = frozenset()
    against: frozenset[str] = frozenset()
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
    """What a text states, and which of it each rule looks at.

    Attributes:
        sentences: In order.
        clauses: Those of all sentences.
        stems: Those of all clauses.
        denied: The clauses that deny.
        claiming: The clauses that claim a value of something in particular.
        valued: The sentences with values.
        core: That of all clauses.
        against: That of all clauses.
        apart: Code and formulas, which no rule reads; texts that differ in them do not say the same.
    """

    sentences: tuple[Sentence, ...]
    clauses: tuple[Clause, ...]
    stems: frozenset[str]
    denied: tuple[Clause, ...]
    claiming: tuple[Clause, ...]
    valued: tuple[Sentence, ...]
    core: frozenset[str]
    against: frozenset[str]
    apart: tuple[str, ...]


@functools.lru_cache(maxsize=8192)
def read(text: str) -> Told:
    """Return what a text states; code between fences and formulas are left out."""
    prose = _FORMULA.sub(" ", _FENCED.sub("\n", text))
    sentences = tuple(filter(None, map(_sentence, _SENTENCE.split(prose))))
    clauses = tuple(clause for sentence in sentences for clause in sentence.clauses)
    return Told(
        sentences=sentences,
        clauses=clauses,
        stems=frozenset().union(*(clause.bag for clause in clauses)),
        denied=tuple(clause for clause in clauses if clause.denials),
        claiming=tuple(clause for clause in clauses if clause.claim is not None and not clause.unnamed),
        valued=tuple(sentence for sentence in sentences if sentence.values),
        core=frozenset().union(*(clause.core for clause in clauses)),
        against=frozenset().union(*(clause.against for clause in clauses)),
        apart=(*_FENCED.findall(text), *_FORMULA.findall(_FENCED.sub("", text))),
    )


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
    core = frozenset(stem(word) for word in kept if word not in AUXILIARIES)
    return Clause(
        stems=stems,
        words=kept,
        denials=denials,
        always=denials > 0 and ("never" in words or "any" in words),
        act=_denied_act(words) if denials else "",
        unnamed=first in UNNAMED or first in NUMBERS or first.isdigit(),
        subject=_subject(kept),
        claim=claim(kept),
        bag=frozenset(stems),
        core=core,
        against=frozenset().union(*map(opposites_of, core)),
        beyond=BEYOND.intersection(kept),
    )


def _denied_act(words: Sequence[str]) -> str:
    """Return the stem of the act that a clause denies or forbids; `""` where it denies something else.

    It does so with "never", with "must", "may" or "should" beside the denial, or where the denial leads it, as in an
    imperative.
    """
    for place, word in enumerate(words):
        if word in NEGATIONS or word.endswith("n't"):
            before, after = words[:place], words[place + 1 :]
            modal = MODALS.intersection((*before[-1:], *after[:1])) or word.removesuffix("n't") in MODALS
            leads = word in COMMANDING and LEADING.issuperset(before)
            acts = (telling_stem(one) for one in after if telling(one) and one not in MODALS)
            return next(acts, "") if modal or leads or word == "never" else ""
    return ""


def _subject(words: Sequence[str]) -> str:
    """Return the stem of the first word, what stands before a noun aside, where it tells something; pronouns do not."""
    first = next((word for word in words if word not in ("the", "a", "an") and word not in DESCRIBING), "")
    return telling_stem(first) if first and telling(first) else ""
