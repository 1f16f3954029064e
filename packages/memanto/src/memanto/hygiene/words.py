"""Words as the rules compare them: folded, without endings, and weighed by how much they tell.

The lists are English; of other languages only negations are known, and numbers, dates and equal words compare in
any. Stems of this module are apart from the engine's, which no call from outside reaches.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterable
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP: Final = _words(
    """
    a an the this that these those there here it its itself i me my mine myself we us our ours you your yours he him
    his she her hers they them their theirs who whom whose which what when where why how
    is are was were be been being am do does did doing done have has had having will would shall should can could may
    might must ought of in on at to for from by with about into onto over under between among through during before
    after above below up down out off again further then once and or but if because as until while so than too very
    just also only own same such each both either neither nor all any some other others more most few much many
    s t d ll m re ve don now : = please ok okay oh hey hi yes well no not
    """
)
"""Words that say nothing about a subject."""

GENERIC: Final = _words(
    """
    person people one ones someone somebody anyone anybody everybody everyone something anything thing
    necessarily anymore longer yet ever actually hypothetically true possible evidence claim
    """
)
"""Words that stand for anybody or anything, or stress a statement without adding to it."""

_COMMON: Final = _words(
    """
    able add advice affect already although always amaze appreciate approximately area around ask attempt available
    avoid back bad base before best better big bit bring build call cause certain change check come
    consider could couple create
    current date day deal decrease definite different difficult discuss during early easy effect effective end enough
    ensure even every exact example excite expect explain far feel few figure final find fine first focus follow full
    fun general get give glad go good great grow guess guide happy hard hear help hope hour idea implement important
    improve include increase inform information interest interested issue keep kind kinda know last late lately later
    learn leave less let like likely line list little long look lot love main maintain make manage maybe mean mention
    method mind minute moment month per more move need new next nice note number offer often old
    option order other overall part
    particular perfect plan point prefer prepare pretty problem process provide put quality question quick quite read
    ready real realize really reason root recent recently recommend recommendation reduce regard relate remember result
    review right roughly say search second see seem set share should show side similar simple since small soon sort
    sound special specific spend start step still stuff such suggest suggestion support sure system take talk team tell
    thank thanks think though thought through time tip today together tomorrow tonight total toward trip try turn type
    understand update use useful usual various version visit want way week weekend wonder word work worry worth
    write wrong year yesterday
    """
)
"""Words that many texts share whatever they are about; their stems count a quarter."""

NUMBERS: Final = {
    **{word: str(number) for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
         "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty")
    )},
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90",
    "hundred": "100", "thousand": "1000", "million": "1000000", "dozen": "12", "single": "1", "double": "2",
}  # fmt: skip
ORDINALS: Final = {
    word: str(number)
    for number, word in enumerate("third fourth fifth sixth seventh eighth ninth tenth".split(), start=3)  # noqa: SIM905
}
"""Ordinals that count something; "first" and "second" mostly do not."""

_IRREGULAR: Final = {
    form: base
    for base, forms in {
        "be": "was were been", "become": "became", "begin": "began begun", "bite": "bit bitten", "blow": "blew blown",
        "break": "broke broken", "bring": "brought", "build": "built", "buy": "bought", "catch": "caught",
        "choose": "chose chosen", "come": "came", "cut": "cutting", "do": "did done", "draw": "drew drawn",
        "drink": "drank drunk", "drive": "drove driven", "eat": "ate eaten", "fall": "fell fallen", "feed": "fed",
        "feel": "felt", "fight": "fought", "find": "found", "fly": "flew flown", "forget": "forgot forgotten",
        "get": "got gotten", "give": "gave given", "go": "went gone goes going", "grow": "grew grown",
        "have": "has had", "hear": "heard", "hide": "hid hidden", "hold": "held", "keep": "kept",
        "know": "knew known", "lead": "led", "leave": "left", "lend": "lent", "lie": "lay lain lying", "lose": "lost",
        "make": "made", "mean": "meant", "meet": "met", "pay": "paid", "ride": "rode ridden", "rise": "rose risen",
        "run": "ran", "say": "said", "see": "saw seen", "sell": "sold", "send": "sent", "shoot": "shot",
        "sing": "sang sung", "sit": "sat", "sleep": "slept", "speak": "spoke spoken", "spend": "spent",
        "stand": "stood", "steal": "stole stolen", "swim": "swam swum", "take": "took taken", "teach": "taught",
        "tell": "told", "think": "thought", "use": "used using uses", "throw": "threw thrown",
        "understand": "understood", "wear": "wore worn", "win": "won", "write": "wrote written", "child": "children",
        "person": "people", "man": "men", "woman": "women", "foot": "feet", "mouse": "mice", "tooth": "teeth",
        "life": "lives", "wife": "wives", "die": "dying died", "tie": "tying tied", "good": "better best",
    }.items()
    for form in forms.split()
}  # fmt: skip


def fold(text: str) -> str:
    """Return a text in lower case, in one form of its characters, with plain apostrophes."""
    return unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")


@functools.lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Return a folded word without its endings: the same for its usual forms, and not always a word itself.

    A light stemmer after Harman, "How effective is suffixing?" (JASIS 42, 1991): plural, past, progressive, and a
    final "e"; irregular forms come from a list.
    """
    word = _IRREGULAR.get(word, word)
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word
    if word.endswith(("ies", "ied")) and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        base = word[: -len(ending)]
        if word.endswith(ending) and len(base) > 2 and any(letter in "aeiouy" for letter in base):
            word = base[:-1] if base[-1] == base[-2] and base[-1] not in "lsz" else base
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def weight(word: str) -> float:
    """Return how much a stem tells about a subject: 1, or a quarter where it is common."""
    return 0.25 if word in _COMMON_STEMS else 1.0


_COMMON_STEMS: Final = frozenset(stem(word) for word in _COMMON)


def mass(stems: Iterable[str]) -> float:
    """Return how much stems tell together."""
    return sum(map(weight, stems))


@functools.lru_cache(maxsize=16_384)
def telling(word: str) -> bool:
    """Whether a folded word says something about a subject; a single letter stands for anything."""
    if len(word) == 1 and word.isascii() and word.isalpha():
        return False
    return word not in STOP and word not in GENERIC and word.partition("'")[0] not in STOP


@functools.lru_cache(maxsize=16_384)
def telling_stem(word: str) -> str:
    """Return the stem of a telling word; a number word is its digits."""
    return NUMBERS.get(word) or stem(word.removesuffix("'s").removesuffix("'"))
