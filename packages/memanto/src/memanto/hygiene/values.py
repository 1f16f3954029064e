"""The values in a sentence: numbers, amounts of money, shares, times, dates, days, and how often."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memanto.hygiene.lexicon import LABELLED, NEGATIONS
from memanto.hygiene.words import NUMBERS, ORDINALS, stem, telling, telling_stem

REACH: Final = 5
"""Telling words on either side of a value that may say what it is a value of."""

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sep sept", "october oct", "november nov", "december dec"),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_DAYS: Final = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())  # noqa: SIM905
_OFTEN: Final = frozenset("daily weekly biweekly monthly quarterly yearly annually hourly nightly".split())  # noqa: SIM905
_TIMES: Final = {"once": "1", "twice": "2", "thrice": "3"}
_SPELLED: Final[dict[str, tuple[str, str]]] = {
    **{
        word: ("number", digits)
        for word, digits in (NUMBERS | ORDINALS | _TIMES).items()
        if word not in ("one", "single", "double")
    },
    **{word: ("often", word) for word in _OFTEN},
    **{day + plural: ("day", day) for day in _DAYS for plural in ("", "s")},
}
"""Values in words. "One" is rather a pronoun, and "single" and "double" rather describe."""
_DIGIT: Final = re.compile(r"\d")
_CLOCK: Final = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?(?:am|pm)?|\d{1,2}(?:am|pm)")
_DATE: Final = re.compile(r"\d{4}-\d{1,2}(?:-\d{1,2})?|\d{1,2}/\d{1,2}(?:/\d{2,4})?")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_VERSION: Final = re.compile(r"v\d[\w.]*|\d[\w.]*")
_AMOUNT: Final = re.compile(r"([$\u20ac\u00a3]?)(\d[\d.,]*\d|\d)([\w%]*)")
_RANGE: Final = re.compile(r"\d{1,3}[-\u2013]\d{1,3}")
_ENDINGS: Final = frozenset({"st", "nd", "rd", "th"})


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a sentence.

    Attributes:
        kind: `"number"`, `"money"`, `"share"`, `"time"`, `"date"`, `"year"`, `"day"`, `"often"`, `"version"`,
            or `"label"` for a number that names one of several things ("run 12").
        amount: In one spelling, so that equal values are equal strings.
        unit: Stem of what is counted, of what a label names, or of what is "monthly"; else `""`.
        near: Stems around it.
        text: As it was written, folded.
    """

    kind: str
    amount: str
    unit: str
    near: frozenset[str]
    text: str


def values(words: Sequence[str]) -> tuple[Value, ...]:
    """Return the values among folded words, in order."""
    subject = 1 if words[:1] and words[0] in ("the", "a", "an") else 0
    return tuple(
        _described(kind, amount, words, place, numbered=place == subject + 1 and is_subject(words[subject]))
        for place, word in enumerate(words)
        for kind, amount in _kinds(word, words, place)
    )


@functools.lru_cache(maxsize=16_384)
def is_subject(word: str) -> bool:
    """Whether a folded word may say what a value is a value of."""
    return (
        telling(word)
        and word not in NEGATIONS
        and word not in _MONTHS
        and word.removesuffix("s") not in _DAYS
        and _DIGIT.search(word) is None
    )


def _described(kind: str, amount: str, words: Sequence[str], place: int, *, numbered: bool) -> Value:
    reach = 2 * REACH
    before = [telling_stem(word) for word in words[max(0, place - reach) : place] if is_subject(word)][-REACH:]
    after = [telling_stem(word) for word in words[place + 1 : place + 1 + reach] if is_subject(word)][:REACH]
    previous, following = words[place - 1] if place else "", words[place + 1] if place + 1 < len(words) else ""
    names = kind == "number" and is_subject(previous) and not is_subject(following)  # "page 200 of"
    unit = after[0] if after and kind == "number" and not names else ""
    if kind == "often" and is_subject(following):  # "monthly report"
        unit = telling_stem(following)
    if (
        kind == "number"
        and words[place][0].isdigit()
        and (numbered or previous in LABELLED or stem(previous) in LABELLED)
    ):
        kind, unit = "label", stem(previous)
    return Value(kind, amount, unit, frozenset(before + after), words[place])


def _kinds(word: str, words: Sequence[str], place: int) -> list[tuple[str, str]]:
    """Return the kind and one spelling of a value; nothing for another word."""
    spelled = _SPELLED.get(word)
    if spelled is not None:
        return [spelled]
    if _DIGIT.search(word) is None:
        return []
    if place and words[place - 1] in _MONTHS:
        day = re.match(r"\d+", word)
        return [("date", f"{_MONTHS[words[place - 1]]}-{day.group()}")] if day and len(day.group()) <= 2 else []
    return _digits(word, words[place + 1] if place + 1 < len(words) else "")


def _digits(word: str, after: str) -> list[tuple[str, str]]:
    if after in ("am", "pm") or _CLOCK.fullmatch(word):
        return [("time", word + (after if after in ("am", "pm") else ""))]
    if _DATE.fullmatch(word):
        return [("date", word)]
    if _YEAR.fullmatch(word):
        return [("year", word)]
    if _RANGE.fullmatch(word):  # "5-6 hours"
        return [("number", word)]
    match = _AMOUNT.fullmatch(word)
    if match is None:
        return [("version", word)] if _VERSION.fullmatch(word) else []
    sign, digits, tail = match.groups()
    kind = "money" if sign else "share" if tail == "%" else "number"
    return [(kind, f"{sign}{digits.replace(',', '')}{'' if tail in _ENDINGS else tail}")]
