"""What of a text counts for guessing its type: cues, shapes, words and pairs of words.

A cue is a concept (a promise, a hedge, a deadline), not a type: the weights say how much it speaks for and against each
type. `typing_cues.json` lists the phrases of each, in many languages. They are matched as whole words, case-folded;
one word with a trailing `*` stands for any ending; phrases in Chinese, Japanese and Korean match anywhere.

Names of features begin with a mark: `@` a cue, `^` a cue at the very beginning, `#` a shape, `w:` a word, `b:` two
neighbouring words, `c:` one to three neighbouring characters of a script without spaces. Everything is linear in the
length of the text: phrases are found by looking tokens up, and the patterns of shapes have bounded repetitions.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HEAD: Final = 500
"""Characters of a text that are looked at."""

CUES: Final = "typing_cues.json"

_SPACELESS: Final = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"  # Han, kana, Hangul
_RUN: Final = re.compile(f"[{_SPACELESS}]+")
_GAP: Final = re.compile(rf"(?<=[{_SPACELESS}])\s+(?=[{_SPACELESS}])")
_TOKEN: Final = re.compile(rf"[{_SPACELESS}]+|[^\W\d_{_SPACELESS}]+(?:'[^\W\d_{_SPACELESS}]+)?|\d+|[^\w\s]")

# What is no word: addresses, dates, codes, who speaks; matched case-folded.
_SHAPES: Final[Mapping[str, str]] = {
    "url": r"https?://|s3://|git@|\bwww\.",
    "path": r"(?<![\w/:.])(?:/|~/|\.{1,2}/)?(?:[\w.-]{1,40}/){1,8}[\w.-]{0,40}",
    "file": r"\.(?:ya?ml|jsonl?|pdf|docx?|xlsx?|csv|sh|rs|py|js|ts|md|onnx|parquet|toml|sql|proto|ipynb|mp3|png|svg|dwg"
    r"|tar|gz|txt|log|html)\b",
    "whole": r"^[!-~]{4,400}$",
    "ticket": r"\b[a-z]{2,8}-\d{2,9}\b|#\d{2,9}|\b\d{1,4}-\d{3,9}",
    "date": r"\b\d{4}-\d\d-\d\d\b|\d{1,2}\s?[月日]|[一二三四五六七八九十]月|\d{1,2}월"
    r"|\b\d{1,2}\.? (?:de )?(?:jan|feb|fév|fev|mar|mär|apr|avr|abr|mai|may|jun|jul|aug|aoû|ago|sep|oct|okt|out|nov|dec"
    r"|dez|déc|dic|янв|фев|апр|мая|июн|июл|авг|сен|окт|ноя|дек)",
    "clock": r"\b\d{1,2}:\d\d\b|\b\d{1,2} ?h\b",
    "year": r"\b(?:19|20)\d\d\b",
    "percent": r"%|percent|prozent|por ciento|pour cent|por cento|パーセント|百分之|[一二三四五六七八九]成",
    "error name": r"\b[a-z]{2,40}(?:error|exception)\b|\b[45]\d\d\b|traceback|exit code|\bcode \d",
    "label": r"^[^\s:]{1,20}(?:\s[^\s:]{1,20}){0,2}\s?:",
    "possessive": r"\bis [\w .]{1,30}'s\b|\w's \w{1,20} (?:is|are|runs)\b",
    "past": r"\b\w{2,20}ed\b",
    "bars": r"\|",
    "numbered run": r"\b(?:run|lauf|job|session|ejecución|exécution|execução) (?:nr\.? |no\.? |n\. )?\d",
    "quoted": r'"[^"\n]{1,60}"|«[^»\n]{1,60}»|“[^”\n]{1,60}”|「[^」\n]{1,60}」',
    "if quoted": r'^(?:if|when|si|quand|lorsque|cuando|se|quando|wenn)\b.{1,60}["«“]',
    "semicolon": r";",
    "by date": r"\b(?:by|before|no later than|until|bis zum|bis|avant le|antes del|até) (?:the )?\d{1,2}\b",
    "trigger": r"^(?:if|when|wenn|falls|cuando|si|quand|lorsque|quando|se)\b.{10,400}"
    r"\b(?:root cause|ursache|cause|causa)\b"
    r"|^(?:当|如果|若).{4,400}原因|(?:たら|場合|とき).{4,400}原因",
    "sentences": r"[.。!?] ?\S.{10,400}[.。!?]",
    "i": r"\b(?:i|i'm|my|me|i'll|i'd|ich|mir|mein|yo|je|eu|io|ik|я)\b|我|私|저는",
    "we": r"\b(?:we|our|us|wir|unser|nous|notre|nuestro|nossa|nosso|wij|мы)\b|我们|我々|우리",
}

# English verbs that open an order.
_IMPERATIVES: Final = (
    "add answer ask avoid call check close confirm copy create delete do document ensure escalate escape follow "
    "give hand include keep leave limit log mark move notify only open page pin prefer put quote read rebase record "
    "remember remove reply report respect restart return review round run send set sort start stop store switch tag "
    "tell test treat turn update use validate verify wait wear wrap write "
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
    listed = json.loads(Path(__file__).with_name(CUES).read_text("utf-8"))
    for cue, phrases in listed.items():
        for phrase in map(normal, phrases):
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
    return tuple((name, re.compile(pattern)) for name, pattern in _SHAPES.items())


@functools.cache
def _imperatives() -> frozenset[str]:
    return frozenset(_IMPERATIVES.split())
