"""The words of a text as they are compared: folded, without the ones every text holds, names kept whole."""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+(?:[-_.:/@#][^\W_]+)*")
_JOINT: Final = re.compile(r"[-_.:/@#]")
_NAME: Final = re.compile(r"[\d_/@#:.]")
_SPACELESS: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\u0e00-\u0e7f]{2,}")
_LONGEST: Final = 64
_REMEMBERED: Final = 2_048
"""Texts whose terms are kept: a loop compares the same failures with one action after the other."""
_SUFFIXES: Final = (("ions", 4), ("ion", 4), ("ing", 4), ("ed", 4), ("es", 3), ("s", 3))
"""Endings that are dropped, each with the letters that must be left."""

STOP: Final = frozenset(
    re.findall(
        r"\w+",
        """
    a about after all also am an and any are as at be because been before being both but by can cannot could did do
    does doing don done dont each either else ever every few first for from further get gets getting give given go
    going got had has have having he hello help her here hers hi him his how however i if in instead into is it its
    just kindly know last let like likely ll look looking made make makes may maybe me might more most much must my
    need needed needs never new no none nor not now of off ok okay on once one only or other otherwise our ours out
    over own per please put re really right run said same say see seems set shall she should so some still such sure
    take taking than thank thanks that the their them then there these they thing things this those though through
    to too try trying two under until up upon us use used using ve very via want wants was way we well were what when
    whenever where whether which while who whom whose why will with within without would yes yet you your yours
    das der die den dem des ein eine einen einer und oder wenn falls dann ist sind war nicht mit von zu im auf fur
    le la les un une des du et ou si quand alors est sont pas avec pour dans sur au aux
    el los las una unos y o cuando entonces es son con por para en del al no
    """,
    )
)
"""Words that tell nothing about a situation: English, and the commonest of German, French and Spanish."""


@functools.lru_cache(_REMEMBERED)
def terms(text: str) -> frozenset[str]:
    """Return the distinct terms of a text; see `spellings`. Those of the latest texts are kept."""
    return frozenset(spellings(text))


def spellings(text: str) -> dict[str, str]:
    """Return the distinct terms of a text, each with how it was first written (folded).

    A name (with a digit, or a joint such as `_`, `/` or `.`) is one term, and a name of plain words its words too,
    so that `update_flights` meets "update the flights" while `mia_li_3668` meets only itself. Other words lose
    their ending, so that "retries" meets "retry" and "planned" meets "plan". Runs of scripts without spaces
    become their pairs of characters.
    """
    found: dict[str, str] = {}
    for match in _WORD.finditer(_folded(text)):
        word = match[0]
        if len(word) > _LONGEST:
            continue
        if not _NAME.search(word):
            parts = _JOINT.split(word)
        else:
            found.setdefault(word, word)
            whole_only = "/" not in word and any(character.isdigit() for character in word)
            parts = [] if whole_only else [part for part in _JOINT.split(word) if part.isalpha() and len(part) > 2]
        for part in parts:
            found.setdefault(_plain(part), part)
    for run in _SPACELESS.findall(text):
        found.update({pair: pair for pair in map("".join, itertools.pairwise(run))})
    return {term: word for term, word in found.items() if len(term) > 1 and term not in STOP}


def is_name(term: str) -> bool:
    """Return whether a term is the name of one thing (an id, a path, a version) rather than a word."""
    return _NAME.search(term) is not None


def _folded(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    if folded.isascii():
        return folded
    return "".join(c for c in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(c))


@functools.lru_cache(maxsize=8192)
def _plain(word: str) -> str:
    if word in STOP:
        return word
    for suffix, left in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= left:
            word = word[: -len(suffix)]
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    if len(word) > 3 and word[-1] in "ey":
        word = word[:-1] + ("i" if word[-1] == "y" else "")
    return word
