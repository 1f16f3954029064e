"""A language model looks at conflicts that the rules found, and says how the two memories stand to each other.

It judges candidates that we chose and nothing else. What it says is kept beside the finding; at most a candidate is
set aside, which `memanto conflicts --all` shows and `--undo` takes back. No memory is changed. One pair is asked
about at a time: the text of a memory may try to talk the model into something, and so it can speak for its own pairs
only. A pair is set aside when the model says twice that the two go together, the second time with the memories
exchanged: small models say so of plain contradictions, too, but seldom both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from memanto.counted import counted
from memanto.errors import LanguageModelError
from memanto.hygiene.conflict import (
    KIND,
    OPEN,
    Conflict,
    Judgement,
    conflict_of,
    digests_of,
    finding_of,
    record_value,
    state_of,
    tags_of,
    text_of,
)
from memanto.hygiene.journal import TAG, Journal
from memanto.hygiene.judge_prompt import prompt, verdict_in
from memanto.llm.port import LanguageModel, Message
from memanto.memory.change import full_text
from memanto.models import Decision, Memory, Status

JUDGED: Final = "judge-conflict"
"""Action of a record's version that keeps what a language model said."""

_GIVE_UP: Final = 3
"""Failures in a row after which the model is not asked any more."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """What came of asking a language model about open conflicts.

    Attributes:
        model: Its name; `""` where none is set up.
        asked: Conflicts it was asked about.
        judged: Conflicts of which it gave a verdict.
        set_aside: Those of which it said that the two go together.
        unknown: Verdicts on pairs that it was not asked about; ignored.
        notes: What was left to the rules, and why.
    """

    model: str
    asked: int = 0
    judged: int = 0
    set_aside: int = 0
    unknown: int = 0
    notes: tuple[str, ...] = ()


UNSET: Final = Judging(
    model="",
    notes=("judged by rules alone: no language model is set up; see `memanto config set llm.base_url URL`",),
)


@dataclass(frozen=True, slots=True)
class _Told:
    """A conflict with its record, and both memories with their texts."""

    conflict: Conflict
    record: Memory
    memories: tuple[Memory, Memory]
    texts: tuple[str, str]


@dataclass(slots=True)
class _Tally:
    asked: int = 0
    set_aside: int = 0
    unknown: int = 0
    judged: dict[str, Conflict] = field(default_factory=dict)
    unclear: int = 0
    wavering: int = 0
    too_long: int = 0
    failures: list[str] = field(default_factory=list)
    in_a_row: int = 0


class ModelJudge:
    """Asks a language model about the open conflicts of one agent that no model has judged yet.

    Args:
        journal: The agent's records.
        model: The language model.
        actor: Who asks.
    """

    def __init__(self, journal: Journal, model: LanguageModel, *, actor: str) -> None:
        self._journal = journal
        self._log = journal.log
        self._model = model
        self._actor = actor

    def run(self, *, progress: Progress | None = None) -> tuple[Judging, Mapping[str, Conflict]]:
        """Ask about one pair after the other; each verdict is kept before the next pair is asked about.

        Returns:
            What came of it, and the conflicts that were judged, by id.
        """
        waiting = self._waiting()
        tally = _Tally()
        for number, told in enumerate(waiting, start=1):
            self._ask(told, tally)
            if progress is not None:
                progress(number, len(waiting))
            if tally.in_a_row >= _GIVE_UP:
                break
        return self._report(tally, len(waiting)), tally.judged

    def _waiting(self) -> list[_Told]:
        """Return the open conflicts that were not judged, oldest first, while their texts are what they were."""
        records = [(conflict_of(one), one) for one in self._journal.find([f"{TAG}:{KIND}"], [OPEN])]
        records = [(conflict, record) for conflict, record in records if conflict.judgement is None]
        records.sort(key=lambda pair: (pair[1].recorded_at, pair[0].id))
        ids = {i for conflict, _ in records for i in (conflict.older, conflict.newer)}
        heads, digests = self._log.heads_with_digests(ids)
        waiting = []
        for conflict, record in records:
            memories = [heads[i] for i in (conflict.older, conflict.newer) if i in heads]
            first, second = sorted((conflict.older, conflict.newer))
            same = digests_of(record) == (digests.get(first, ""), digests.get(second, ""))
            if same and [memory.status for memory in memories] == [Status.ACTIVE] * 2:
                texts = tuple(full_text(self._log, memory) for memory in memories)
                waiting.append(_Told(conflict, record, (memories[0], memories[1]), (texts[0], texts[1])))
        return waiting

    # -- asking -------------------------------------------------------------------------------------
    def _ask(self, told: _Told, tally: _Tally) -> None:
        """Ask about a pair, and keep a verdict that holds; "none" holds where it is said both ways."""
        pair, memories, texts = pair_id(told.conflict), told.memories, told.texts
        messages = prompt(self._model, pair, memories, texts)
        exchanged = prompt(self._model, pair, memories[::-1], texts[::-1])
        if messages is None or exchanged is None:
            tally.too_long += 1
            return
        tally.asked += 1
        judgement = self._judgement(told, messages, tally)
        if judgement is not None and judgement.verdict == "none":
            again = self._judgement(told, exchanged, tally)
            if again is not None and again.verdict != "none":
                tally.wavering += 1
                return
            judgement = judgement if again is not None else None
        kept = None if judgement is None else self._keep(told, judgement)
        if kept is not None:
            tally.judged[kept.id] = kept
            tally.set_aside += kept.is_set_aside

    def _judgement(self, told: _Told, messages: Sequence[Message], tally: _Tally) -> Judgement | None:
        """Return what the model says of a pair; `None` where it fails or gives no whole verdict."""
        tally.in_a_row += 1
        try:
            reply = self._model.complete(messages)
        except LanguageModelError as error:
            tally.failures.append(error.message)
            return None
        verdict, reason, unknown = verdict_in(reply.text, pair_id(told.conflict))
        tally.unknown += unknown
        if verdict is None or not reply.complete:
            tally.unclear += 1
            return None
        tally.in_a_row = 0
        return Judgement(verdict=verdict, reason=reason, model=self._model.name)

    # -- keeping ------------------------------------------------------------------------------------
    def _keep(self, told: _Told, judgement: Judgement) -> Conflict | None:
        """Record a judgement; `None` where somebody decided the conflict, or a text changed, in the meantime."""
        conflict, finding = told.conflict, finding_of(told.conflict)
        older, newer = conflict.older, conflict.newer
        first, second = digests_of(told.record)
        value = record_value(finding, older, newer, (first, second), judgement=judgement, found_at=conflict.found_at)
        version = self._journal.following(
            told.record,
            text_of(finding, older, newer),
            value,
            tags=tags_of(older, newer, state_of(None, judgement)),
            decision=Decision(actor=self._actor, action=JUDGED, reason=f"{judgement.model} says {judgement.verdict}"),
        )
        [stored] = self._log.append([version])
        return None if stored is None else conflict_of(stored)

    def _report(self, tally: _Tally, waiting: int) -> Judging:
        name, notes = self._model.name, []
        if tally.failures:
            notes.append(
                f"left to the rules: {name} failed {counted(len(tally.failures), 'time')}: {tally.failures[-1]}"
            )
        if tally.unclear:
            notes.append(
                f"left to the rules: {counted(tally.unclear, 'reply')} of {name} without a whole verdict on the pair"
            )
        if tally.wavering:
            pairs = counted(tally.wavering, "pair")
            notes.append(f"left to the rules: {pairs} of which {name} says none in one order of the two memories only")
        if tally.too_long:
            window = f"{self._model.context_tokens} tokens"
            notes.append(f"left to the rules: {counted(tally.too_long, 'pair')} too long for its {window}")
        if left := waiting - tally.asked - tally.too_long:
            notes.append(f"left to the rules: {counted(left, 'pair')}, since {_GIVE_UP} attempts in a row failed")
        if tally.unknown:
            notes.append(f"ignored {counted(tally.unknown, 'verdict')} on pairs that {name} was not asked about")
        return Judging(
            model=name,
            asked=tally.asked,
            judged=len(tally.judged),
            set_aside=tally.set_aside,
            unknown=tally.unknown,
            notes=tuple(notes),
        )


def pair_id(conflict: Conflict) -> str:
    """Return what a pair is called before a model: follows from ids that no writer of a memory can foresee."""
    return conflict.id[:8]
