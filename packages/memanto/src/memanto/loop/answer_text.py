"""Write an answer in the memories' own words: quoted, numbered, dated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from typing import Final

from memanto.loop.answer_find import Found
from memanto.memory.recall import tokens
from memanto.memory.terms import Term, index_terms
from memanto.models import Memory

QUOTE: Final = 400
"""Characters up to which a memory is quoted whole."""

_SENTENCE: Final = re.compile(r"(?<=[.!?])[\"')\u201d]?\s+(?=\S)|(?<=[\u3002\uff01\uff1f])|\n+")
_END: Final = "?.\uff1f "
_TOGETHER: Final = 2
"""Sentences quoted of a longer memory."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, in order; lines count as sentences too."""
    return [part.strip() for part in _SENTENCE.split(text) if part and part.strip()]


def quote(memory: Memory, words: Sequence[Term], *, room: int = QUOTE) -> str:
    """Return what of a memory to quote: the whole, or the sentences that hold most of the words, in their order.

    Args:
        memory: The memory.
        words: What was asked about.
        room: Characters; a sentence that is longer is cut at a word and ends in an ellipsis.
    """
    whole = _plain(memory.content)
    if len(whole) <= room:
        return whole
    told = sentences(memory.content)
    shares = {i: sum(index_terms([text]).share(word) for word in words) for i, text in enumerate(told)}
    best = sorted(shares, key=lambda i: (-shares[i], i))[:_TOGETHER]
    picked = sorted(i for i in best if shares[i] > 0) or best[:1]
    while len(picked) > 1 and sum(len(told[i]) + 3 for i in picked) > room:
        picked.remove(min(picked, key=lambda i: (shares[i], -i)))
    pieces = []
    for place, index in enumerate(picked):
        gap = index > 0 if place == 0 else index != picked[place - 1] + 1
        pieces.append(f"{'… ' if gap else ''}{_plain(told[index])}")
    ending = " …" if picked[-1] < len(told) - 1 else ""
    return _cut(" ".join(pieces) + ending, room)


def _plain(text: str) -> str:
    """Return a text on one line, without the mark that ends a quotation."""
    return " ".join(text.split()).replace("\u201d", '"')


def _cut(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    head = text[: max(room - 2, 1)]
    return f"{head[: head.rfind(' ')] if ' ' in head else head} …"


def label(memory: Memory) -> str:
    """Return what a reader must know of a quoted memory: type, date and confidence."""
    date = memory.recorded_at.astimezone(UTC).date().isoformat()
    return f"{memory.type.value}, {date}, confidence {memory.confidence:g}"


def lacking(part: str) -> str:
    """Return the sentence for a part that memory does not answer."""
    return f"Memory has nothing on: {part.rstrip(_END)}."


def _no_room(part: str) -> str:
    return f"There is no room in the budget for what memory holds on: {part.rstrip(_END)}."


def extractive(found: Iterable[Found], numbers: Mapping[str, int], quotes: Mapping[str, str]) -> list[str]:
    """Return the text of each part: its memories quoted, or that there are none."""
    texts = []
    for one in found:
        lines = [
            f"\u201c{quotes[hit.memory.id]}\u201d [{numbers[hit.memory.id]}] ({label(hit.memory)})"
            for hit in one.hits
            if hit.memory.id in numbers
        ]
        texts.append("\n".join(lines) or (_no_room(one.part.text) if one.answered else lacking(one.part.text)))
    return texts


def joined(found: Sequence[Found], texts: Sequence[str]) -> str:
    """Return the parts' texts as one answer; with several parts each stands below its question."""
    if len(found) == 1:
        return texts[0]
    blocks = []
    for one, text in zip(found, texts, strict=True):
        if text in {lacking(one.part.text), _no_room(one.part.text)}:
            blocks.append(text)
        else:
            blocks.append("\n".join([_headed(one.part.text), *(f"  {line}" for line in text.split("\n"))]))
    return "\n".join(blocks)


def _headed(text: str) -> str:
    trimmed = text.rstrip(_END)
    return f"{trimmed[:1].upper()}{trimmed[1:]}:"


def fitting(quotes: Mapping[str, str], budget: int | None) -> tuple[dict[str, str], int]:
    """Return the quotes that fit a budget of tokens, first ones first, and how many do not."""
    if budget is None:
        return dict(quotes), 0
    kept: dict[str, str] = {}
    left = budget
    for memory_id, text in quotes.items():
        cost = tokens(text)
        if cost <= left:
            kept[memory_id] = text
            left -= cost
    return kept, len(quotes) - len(kept)
