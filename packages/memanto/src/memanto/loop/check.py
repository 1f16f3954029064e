"""Interrogate memory before it is trusted: what it answers, whether that holds, and where a miss arose."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeAlias

from memanto.counted import counted
from memanto.loop.answer import Answer, compose, look_up
from memanto.loop.answer_conflict import disagree
from memanto.loop.answer_find import Found, Scope
from memanto.loop.check_questions import CheckQuestion
from memanto.loop.check_stage import Miss, Stage, Stored, Version
from memanto.memory.validation import check_id_prefix
from memanto.models import MAX_LIMIT, Memory


class Verdict(enum.StrEnum):
    """Whether an answer of memory can be relied on."""

    SUPPORTED = "supported"  #: what was expected is cited, current and undisputed
    STALE = "stale"  #: what would answer is retired, or older than allowed
    CONFLICTING = "conflicting"  #: two believed memories disagree about it
    PARTLY = "partly"  #: some parts of the question are answered and others are not
    ABSENT = "absent"  #: memory does not answer, or answers something else


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One question with what memory said.

    Attributes:
        question: The question and what was expected.
        answer: The answer, in the memories' own words.
        cited: Ids of the memories it cites, by number.
        verdict: Whether it can be relied on.
        stage: Where a miss arose, or `None` when there is none.
        detail: What is wrong, and with which memory, or `""`.
    """

    question: CheckQuestion
    answer: str
    cited: tuple[str, ...]
    verdict: Verdict
    stage: Stage | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """What a check found.

    Attributes:
        agent: Whose memory.
        checked_at: When.
        task_type: What runs and failures were asked about, or `None`.
        passed: Every answer is supported.
        results: One per question, in their order.
    """

    agent: str
    checked_at: datetime
    task_type: str | None
    passed: bool
    results: tuple[CheckResult, ...]


def check(
    questions: Sequence[CheckQuestion], scope_for: Callable[..., Scope], *, task_type: str | None = None
) -> CheckReport:
    """Ask the questions; see `Memanto.check`.

    Args:
        questions: What to ask.
        scope_for: Returns where to look, given `types` and `as_of`.
        task_type: For the report.
    """
    scope = scope_for()
    results = tuple(_checked(one, scope_for(types=one.types, as_of=one.as_of)) for one in questions)
    return CheckReport(
        agent=scope.memory.agent,
        checked_at=scope.memory.clock(),
        task_type=task_type,
        passed=all(result.verdict is Verdict.SUPPORTED for result in results),
        results=results,
    )


def _checked(question: CheckQuestion, scope: Scope) -> CheckResult:
    found = look_up(question.question, scope)
    answer = compose(question.question, found, scope, limit=MAX_LIMIT)
    cited = [one.recollection.memory for one in answer.citations]
    verdict, stage, detail = _judged(question, found, answer, cited, scope=scope)
    return CheckResult(
        question=question,
        answer=answer.text,
        cited=tuple(memory.id for memory in cited),
        verdict=verdict,
        stage=stage,
        detail=detail,
    )


def _judged(
    question: CheckQuestion, found: Sequence[Found], answer: Answer, cited: Sequence[Memory], *, scope: Scope
) -> tuple[Verdict, Stage | None, str]:
    expected = [holds for _, holds in _expectations(question)]
    miss = _missing(question, found, answer, cited, scope=scope)
    if miss is not None:
        partly = not expected and not answer.abstained
        verdict = Verdict.STALE if miss.retired else Verdict.PARTLY if partly else Verdict.ABSENT
        return verdict, miss.stage, miss.detail
    bearing = [memory for memory in cited if any(holds(memory) for holds in expected)] or list(cited)
    considered = [hit.memory for one in found for hit in one.considered]
    for memory in bearing:
        other = next((other for other in considered if disagree(memory, other)), None)
        if other is not None:
            return Verdict.CONFLICTING, Stage.NOT_USABLE, f"{memory.id} and {other.id} disagree and both are believed"
    if question.max_age is not None:
        newest = max(bearing, key=lambda memory: memory.recorded_at)
        age = (scope.as_of or scope.memory.clock()) - newest.recorded_at
        if age > question.max_age:
            old = f"{counted(age.days, 'day')} old, more than {question.max_age.days}"
            told = f"the newest memory cited, {newest.id}, is {old}"
            return Verdict.STALE, Stage.NOT_USABLE, told
    return Verdict.SUPPORTED, None, ""


def _missing(
    question: CheckQuestion, found: Sequence[Found], answer: Answer, cited: Sequence[Memory], *, scope: Scope
) -> Miss | None:
    """Return the first thing that was expected and is not cited, with where it got lost."""
    considered = frozenset(hit.memory.id for one in found for hit in one.considered)
    expected = _expectations(question)
    for what, holds in expected:
        if not any(map(holds, cited)):
            return Stored(scope).miss(what, holds, considered)
    lacking = next((one for one in found if not one.answered), None)
    if lacking is not None and (not expected or answer.abstained):
        return Stored(scope).part_miss(lacking)
    return None


_Holds: TypeAlias = Callable[[Memory | Version], bool]


def _expectations(question: CheckQuestion) -> list[tuple[str, _Holds]]:
    """Return what the cited memories must hold: in words, and as a condition on one of them."""
    texts: list[tuple[str, _Holds]] = [(f"{text!r}", partial(_says, text)) for text in question.expect]
    ids: list[tuple[str, _Holds]] = [(f"memory {id_}", partial(_is, check_id_prefix(id_))) for id_ in question.ids]
    key: list[tuple[str, _Holds]] = (
        [] if question.key is None else [(f"key {question.key!r}", partial(_fills, question.key))]
    )
    return texts + ids + key


def _says(text: str, memory: Memory | Version) -> bool:
    return _plain(text) in _plain(f"{memory.title}\n{memory.content}")


def _is(prefix: str, memory: Memory | Version) -> bool:
    return memory.id.startswith(prefix)


def _fills(key: str, memory: Memory | Version) -> bool:
    return memory.key == key


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
