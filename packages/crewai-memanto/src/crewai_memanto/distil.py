"""What is worth keeping of a task's output: a few sentences, chosen without a model.

A finding should be understood on its own: it is a whole sentence, with the one before it where it only points back. Of
many, those are kept that name the most: figures, names, rare long words. Headings, tables, code, questions and talk
about the work itself are left out, and so is everything that memory had put into the prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Self

from memanto.loop.fence import is_fenced, whole

LONGEST: Final = 500
"""Characters of one finding at most."""
READ: Final = 50_000
"""Characters of a task and of its result that are looked at."""
_ABOUT: Final = 100

_HANDED: Final = ("Task: ", "Input: ")
"""How what CrewAI hands over begins: a task, who did it, what was expected, and the result."""
_FINAL: Final = re.compile(r"(?:\A|\n)[ \t]*Final Answer:[ \t]*")
_RECALLED: Final = re.compile(r"<\s*memory\s[^<>]*>.*?(?:<\s*/\s*memory\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_CODE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_NO_PROSE: Final = re.compile(r"[ \t]*(?:#{1,6}[ \t]|[|+=]|-{3,}|\*{3,}|!\[)")
_LEAD: Final = re.compile(r"[ \t]*(?:[-*+\u2022>][ \t]+|\(?\d{1,2}[.)][ \t]+)*")
_EMPHASIS: Final = re.compile(r"(\*\*|__|`)(?=\S)(.{1,500}?)(?<=\S)\1")
_END: Final = re.compile(r"(?<=[.!?])[\"')\]]*[ \t]+(?=[^\sa-z])|(?<=[\u3002\uff01\uff1f])")
_BACK: Final = re.compile(
    r"(?:it|its|this|that|these|those|they|their|he|she|so|therefore|thus|hence)\b", re.IGNORECASE
)
_TALK: Final = re.compile(
    r"(?:thought:|action:|action input:|observation:|sure\b|certainly\b|of course\b|okay\b|ok[,.]|here (?:is|are)\b"
    r"|as requested|i (?:now )?(?:can|know|have|will|hope)\b|let me\b|please\b|in summary[:,]?$|feel free"
    r"|the (?:final )?answer is (?:above|below))",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W_]+(?:[-'.,:/][^\W_]+)*")
_WIDE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
_FEWEST: Final = 3
_SPECIFIC: Final = 9
"""Letters from which a word counts as telling."""


class Finding(str):
    """One sentence of a task's output.

    Attributes:
        about: The task, in at most 100 characters; `""` where it is not known.
    """

    __slots__ = ("about",)
    about: str

    def __new__(cls, text: str, *, about: str = "") -> Self:
        """Return a finding, which is its text."""
        made = super().__new__(cls, text)
        made.about = about
        return made


def distil(output: str, limit: int, *, task: str | None = None) -> list[str]:
    """Return at most `limit` findings of an output, in its order; each carries what task it is about.

    Args:
        output: A text, or a task with its output as CrewAI hands it over. JSON is read field by field.
        limit: 0 keeps nothing.
        task: What was asked for, where the output does not say so itself.
    """
    asked, result = _parts(output) if task is None else (task, output)
    asked = " ".join(whole(asked[:READ]).split())
    about, told = asked[:_ABOUT], asked.casefold()
    found = list(dict.fromkeys(_joined(_sentences(_RECALLED.sub("\n", whole(_FINAL.split(result)[-1][:READ]))))))
    found = [text for text in found if _says_something(text, told) and not is_fenced(text)]
    best = sorted(range(len(found)), key=lambda index: (-_telling(found[index]), index))[: max(0, limit)]
    return [Finding(found[index], about=about) for index in sorted(best)]


def _parts(output: str) -> tuple[str, str]:
    """Return the task, `""` where none is named, and its result.

    A task may hold whatever a result begins with, and be longer than all that is looked at.
    """
    if not output.startswith(_HANDED):
        return "", output
    task, _, rest = output.partition("\nAgent: ")
    expected = rest.partition("\nExpected result: ")[2]
    result = (expected or rest).partition("\nResult: ")
    return (task.partition(": ")[2], result[2]) if result[1] else ("", output)


def _sentences(text: str) -> Iterator[str]:
    for line in _lines(_CODE.sub("\n", text)):
        for sentence in _END.split(_EMPHASIS.sub(r"\2", line)):
            if told := " ".join(sentence.split()):
                yield told


def _lines(text: str) -> Iterator[str]:
    """Yield lines of prose; of JSON, a line per value."""
    if text.strip().startswith(("{", "[")):
        try:
            yield from (_RECALLED.sub("\n", value) for value in _values("", json.loads(text)))  # it may be escaped
            return
        except (ValueError, RecursionError):
            pass  # it only begins like JSON
    for line in text.splitlines():
        if not _NO_PROSE.match(line):
            yield _LEAD.sub("", line, count=1)


def _values(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner, item in value.items():
            yield from _values(f"{name}.{inner}" if name else str(inner), item)
    elif isinstance(value, list):
        for item in value:
            yield from _values(name, item)
    elif value is not None:
        yield f"{name}: {value}" if name else str(value)


def _joined(sentences: Iterator[str]) -> Iterator[str]:
    """Yield sentences, one that only points back together with the one before it."""
    before = ""
    for sentence in sentences:
        joined = f"{before} {sentence}"
        if before and _BACK.match(sentence) and len(joined) <= LONGEST:
            before = joined
            continue
        if before:
            yield before
        before = _cut(sentence)
    if before:
        yield before


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1].rstrip()}…"


def _says_something(text: str, told: str) -> bool:
    """Return whether a sentence holds something that its task, in lower case, did not."""
    if text.endswith(("?", ":")) or _TALK.match(text):
        return False
    words = _WORD.findall(text)
    figure = len(words) > 1 and any(letter.isdigit() for letter in text)
    enough = len(words) >= _FEWEST or figure or len(_WIDE.findall(text)) >= 2 * _FEWEST
    return enough and text.casefold().rstrip(".!") not in told


def _telling(text: str) -> int:
    """Return how many figures, names and long words a text holds."""
    first, *others = _WORD.findall(text) or [""]
    told = {word for word in others if word[:1].isupper() or len(word) >= _SPECIFIC}
    told |= {word for word in (first, *others) if any(letter.isdigit() for letter in word)}
    return len(told) + len(set(_WIDE.findall(text))) // 4
