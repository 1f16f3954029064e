"""Answer a question from memory, with every claim cited, or say that memory does not hold the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import zip_longest

from memanto.counted import counted
from memanto.errors import InvalidInputError
from memanto.llm.port import LanguageModel, OnText
from memanto.loop.answer_conflict import alike, disagreements
from memanto.loop.answer_find import Found, Scope, find, happened
from memanto.loop.answer_model import write
from memanto.loop.answer_text import extractive, fitting, joined, lacking, quote
from memanto.loop.parts import PartKind, split_question
from memanto.memory.validation import check_limit, check_query
from memanto.models import Memory, MemoryType, Recollection

EXTRACTIVE = "extractive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A memory that an answer rests on.

    Attributes:
        number: What the answer cites it by, from 1.
        id: The memory's id.
        version: The version quoted.
        type: Its type.
        date: When that version was recorded.
        confidence: Its confidence, 0..1.
        quote: What is quoted of it.
        recollection: The memory as it was recalled, with the reasons for its rank.
    """

    number: int
    id: str
    version: int
    type: MemoryType
    date: datetime
    confidence: float
    quote: str
    recollection: Recollection


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPart:
    """The answer to one part of a question, in the memories' own words.

    Attributes:
        question: The part as it was asked.
        kind: What it was taken to ask for.
        text: The quotes with their numbers, or that memory has nothing.
        answered: Whether memory answers it.
        citations: Numbers of the memories it rests on; empty when memory has nothing, or nothing that fits.
        note: What a reader should know, or `""`.
    """

    question: str
    kind: PartKind
    text: str
    answered: bool
    citations: tuple[int, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer from memory.

    Attributes:
        question: What was asked.
        text: The answer, citing memories as `[n]`.
        parts: Each part of the question by itself.
        citations: The memories cited, by number.
        abstained: Memory answers no part.
        missing: The parts that memory does not answer.
        how: `"extractive"`, or the name of the language model that wrote `text`.
        notes: What was left out, dropped or done another way.
        as_of: What was believed then, or `None` for now.
    """

    question: str
    text: str
    parts: tuple[AnswerPart, ...]
    citations: tuple[Citation, ...] = ()
    abstained: bool = False
    missing: tuple[str, ...] = ()
    how: str = EXTRACTIVE
    notes: tuple[str, ...] = ()
    as_of: datetime | None = None


def look_up(question: str, scope: Scope) -> list[Found]:
    """Return what memory holds for each part of a question, memories that say nearly the same newest first.

    Raises:
        InvalidInputError: The question is blank or too long.
    """
    check_query(question)
    return [_arranged(find(part, scope)) for part in split_question(question)]


def answer(
    question: str,
    scope: Scope,
    *,
    limit: int,
    budget_tokens: int | None = None,
    model: LanguageModel | None = None,
    on_text: OnText | None = None,
) -> Answer:
    """Answer a question; see `Memanto.answer`."""
    check_limit(limit)
    if budget_tokens is not None and budget_tokens < 1:
        raise InvalidInputError(f"budget_tokens must be at least 1, not {budget_tokens!r}")
    composed = compose(question, look_up(question, scope), scope, limit=limit, budget_tokens=budget_tokens)
    return composed if model is None or not composed.citations else _rewritten(composed, model, on_text)


def compose(
    question: str, found: Sequence[Found], scope: Scope, *, limit: int, budget_tokens: int | None = None
) -> Answer:
    """Return the answer in the memories' own words, from what was found for each part."""
    words = [term for one in found for term in one.part.subject]
    first_ones_first = _interleaved([one.hits for one in found])
    chosen = {hit.memory.id: quote(hit.memory, words) for hit in first_ones_first[:limit]}
    quotes, unfit = fitting(chosen, budget_tokens)
    composed = _composed(found, quotes)
    notes = tuple(dict.fromkeys(_notes(found, len(first_ones_first) - len(chosen) + unfit, scope)))
    return replace(composed, question=question, notes=notes, as_of=scope.as_of)


def _interleaved(groups: Sequence[Sequence[Recollection]]) -> list[Recollection]:
    """Return the first of every group, then the second ones, and so on, each memory once."""
    turns = zip_longest(*groups)
    return list({hit.memory.id: hit for turn in turns for hit in turn if hit is not None}.values())


def _composed(found: Sequence[Found], quotes: Mapping[str, str]) -> Answer:
    """Return the extractive answer from these quotes, by memory id."""
    shown = {hit.memory.id: hit for one in found for hit in one.hits if hit.memory.id in quotes}
    numbers = {memory_id: number for number, memory_id in enumerate(shown, start=1)}
    texts = extractive(found, numbers, quotes)
    parts = tuple(
        AnswerPart(
            question=one.part.text,
            kind=one.part.kind,
            text=text,
            answered=one.answered,
            citations=tuple(numbers[hit.memory.id] for hit in one.hits if hit.memory.id in numbers),
            note=one.note,
        )
        for one, text in zip(found, texts, strict=True)
    )
    return Answer(
        question="",
        text=joined(found, texts),
        parts=parts,
        citations=tuple(
            _citation(number, shown[memory_id], quotes[memory_id]) for memory_id, number in numbers.items()
        ),
        abstained=not any(part.answered for part in parts),
        missing=tuple(part.question for part in parts if not part.answered),
    )


def _rewritten(composed: Answer, model: LanguageModel, on_text: OnText | None) -> Answer:
    """Return the answer in a model's words where they hold, else as it was composed, with a note that says why."""
    answered = [part.question for part in composed.parts if part.citations]
    memories = {one.number: (one.recollection.memory, one.quote) for one in composed.citations}
    written = write(model, answered, memories, on_text=on_text)
    notes = (*composed.notes, *written.notes)
    if not written.text:
        return replace(composed, notes=notes)
    return replace(
        composed,
        text="\n".join([written.text, *map(lacking, composed.missing)]),
        citations=tuple(one for one in composed.citations if one.number in written.cited),
        how=model.name,
        notes=notes,
    )


def _citation(number: int, hit: Recollection, quoted: str) -> Citation:
    memory = hit.memory
    return Citation(
        number=number,
        id=memory.id,
        version=memory.version,
        type=memory.type,
        date=memory.recorded_at,
        confidence=memory.confidence,
        quote=quoted,
        recollection=hit,
    )


def _arranged(found: Found) -> Found:
    """Return a part's memories newest first when some say nearly the same, with a note on those that disagree."""
    memories = [hit.memory for hit in found.hits]
    similar = any(alike(one, other) for i, one in enumerate(memories) for other in memories[i + 1 :])
    if not similar:
        return found
    hits = sorted(found.hits, key=lambda hit: happened(hit.memory), reverse=True)
    disagreeing = bool(disagreements(memories))
    note = "memories disagree here; the newest is shown first" if disagreeing else found.note
    return replace(found, hits=tuple(hits), note=note)


def _notes(found: Sequence[Found], left_out: int, scope: Scope) -> list[str]:
    notes = [f"{one.part.text.rstrip('?. ')}: {one.note}" for one in found if one.note]
    if left_out:
        notes.append(f"{counted(left_out, 'more memory')} did not fit the budget")
    if scope.as_of is not None and not any(one.considered for one in found) and not scope.recall(None, (), limit=1):
        notes.append(f"nothing was known at {scope.as_of.isoformat(timespec='seconds')}{_since(scope)}")
    return notes


def _since(scope: Scope) -> str:
    oldest: Memory | None = min(
        (hit.memory for hit in scope.memory.recall(None, limit=100)), key=lambda m: m.recorded_at, default=None
    )
    return "" if oldest is None else f"; there are memories from {oldest.recorded_at.date().isoformat()} on"
