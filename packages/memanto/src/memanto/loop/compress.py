"""Keeping the window small: a long tool result becomes a pointer, many memories become a line each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memanto.counted import counted
from memanto.errors import InvalidInputError
from memanto.loop.port import Verbs
from memanto.memory.recall import BYTES_PER_TOKEN, tokens
from memanto.memory.splitting import split
from memanto.models import MAX_TITLE, Memory, MemoryType, Provenance, Receipt

OVER: Final = 1_000
"""Tokens from which a result is kept outside the window. Our choice."""
PAGE: Final = 4_000
"""Characters of a page, about 1,000 tokens."""
LINE: Final = 40
"""Tokens one line of a distillate takes at most."""
_SHORTEST: Final = 28
_HEAD: Final = 200
_KINDS: Final = (
    MemoryType.ERROR, MemoryType.DECISION, MemoryType.LEARNING, MemoryType.INSTRUCTION, MemoryType.FACT,
    MemoryType.COMMITMENT, MemoryType.GOAL, MemoryType.ARTIFACT, MemoryType.EVENT, MemoryType.PREFERENCE,
    MemoryType.RELATIONSHIP, MemoryType.OBSERVATION, MemoryType.CONTEXT,
)  # fmt: skip
"""What is kept first when not everything fits: what changes the next action, then what can be looked up again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A tool's result as it should stand in the window.

    Attributes:
        text: The result itself when it is short, else the pointer to it.
        tokens: About how many tokens the whole result takes.
        receipt: Of the `artifact` memory that holds the payload; `None` when nothing was stored.
        pages: How many pages `page` divides it into; 0 when nothing was stored.
    """

    text: str
    tokens: int
    receipt: Receipt | None = None
    pages: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a long memory: its text, its number from 1, and how many there are."""

    memory: Memory
    text: str
    number: int
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """Memories as one line each.

    Attributes:
        lines: In the order of the memories.
        left_out: Ids of those that did not fit.
        tokens: About how many tokens the lines take; never more than the budget.
    """

    lines: tuple[str, ...]
    left_out: tuple[str, ...]
    tokens: int


def keep_result(
    verbs: Verbs,
    text: str,
    *,
    title: str,
    over_tokens: int = OVER,
    source: str | None = None,
    run_id: str | None = None,
) -> Kept:
    """Store a result that is longer than `over_tokens` as an `artifact` and return what stands for it in the window.

    Raises:
        InvalidInputError: The text is blank or longer than 5,000,000 characters, or the bound is below 1.
    """
    if over_tokens < 1:
        raise InvalidInputError(f"over_tokens {over_tokens!r} is not valid", hint="a number of tokens from 1 on")
    size = tokens(text)
    if size <= over_tokens:
        return Kept(text=text, tokens=size)
    name = " ".join(title.split())[:MAX_TITLE]
    receipt = verbs.remember(
        text, type=MemoryType.ARTIFACT, title=name, provenance=Provenance.OBSERVED, source=source, run_id=run_id
    )
    pages = len(split(text, PAGE))
    head = " ".join(text[:_HEAD].split())
    pointer = (
        f"[artifact {receipt.id}] {name}: about {size:,} tokens on {counted(pages, 'page')}, kept outside the window; "
        f"`memanto show {receipt.id} --page N` reads one. It begins: {head} …"
    )
    return Kept(text=pointer, tokens=size, receipt=receipt, pages=pages)


def page(verbs: Verbs, memory_id: str, number: int) -> Page:
    """Return one page of a memory's text; a text that was split is put together first.

    Raises:
        InvalidInputError: There is no such page.
    """
    memory = verbs.show(memory_id)
    texts = split(memory.content, PAGE)
    if not 1 <= number <= len(texts):
        raise InvalidInputError(f"there is no page {number!r}", hint=f"memory {memory.id} has pages 1 to {len(texts)}")
    return Page(memory=memory, text=texts[number - 1], number=number, pages=len(texts))


def distil(memories: Sequence[Memory], budget_tokens: int) -> Distilled:
    """Return one line per memory within a budget.

    Lines get shorter before any is left out. What is left out first: what can be looked up again, and of one type
    the least sure, then the oldest.

    Raises:
        InvalidInputError: The budget is below 1.
    """
    if budget_tokens < 1:
        raise InvalidInputError(f"budget {budget_tokens!r} is not valid", hint="a number of tokens from 1 on")
    size = max(_SHORTEST, min(LINE, budget_tokens // max(1, len(memories))))
    lines = {memory.id: line_of(memory, size) for memory in memories}
    kept: set[str] = set()
    spent = 0
    for memory in sorted(memories, key=_importance):
        cost = tokens(lines[memory.id])
        if memory.id not in kept and spent + cost <= budget_tokens:
            kept.add(memory.id)
            spent += cost
    shown = [memory for memory in {one.id: one for one in memories}.values() if memory.id in kept]
    left_out = tuple(dict.fromkeys(memory.id for memory in memories if memory.id not in kept))
    return Distilled(lines=tuple(lines[memory.id] for memory in shown), left_out=left_out, tokens=spent)


def line_of(memory: Memory, size: int = LINE) -> str:
    """Return a memory as one line of at most `size` tokens: type, date, text, and the beginning of its id."""
    lead, tail = f"{memory.type.value} {memory.recorded_at:%Y-%m-%d}: ", f" [{memory.id[:18]}]"
    return f"{lead}{shortened(memory.content, size - tokens(lead + tail))}{tail}"


def shortened(text: str, size: int) -> str:
    """Return the beginning of a text on one line in at most `size` tokens (at least one word), cut between words."""
    words = text.split()
    room = max(1, size) * BYTES_PER_TOKEN
    if len(" ".join(words).encode("utf-8", "surrogatepass")) <= room:
        return " ".join(words)
    kept = ""
    for word in words:
        longer = f"{kept} {word}".strip()
        if len(longer.encode("utf-8", "surrogatepass")) + 4 > room:
            break
        kept = longer
    kept = kept or words[0].encode("utf-8", "surrogatepass")[: max(1, room - 4)].decode("utf-8", "ignore")
    return f"{kept} …"


def _importance(memory: Memory) -> tuple[int, float, float]:
    age = memory.recorded_at.timestamp() if math.isfinite(memory.recorded_at.timestamp()) else 0.0
    return (_KINDS.index(memory.type), -memory.confidence, -age)
