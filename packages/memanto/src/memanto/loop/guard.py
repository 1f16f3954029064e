"""Looking before acting: which recorded failures and finished steps speak of the action about to be taken.

By words first and without a model, so that it answers as a hook that was started cold. A trigger matches when
the situation shares enough rare words with its condition. It stays silent when a run of the same kind that went well
resembles the situation better: a request that succeeds is no reason to warn of another one's failure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from memanto.errors import InvalidInputError
from memanto.loop import handoff
from memanto.loop.baton import MAIN
from memanto.loop.failures import FAILED_ON_THE_WAY, FailureRecord, Rule, record_of, rule_of
from memanto.loop.fence import whole
from memanto.loop.matching import Match, Rarity
from memanto.loop.port import Verbs
from memanto.loop.trust import directs, informs
from memanto.loop.words import is_name, spellings, terms
from memanto.models import MAX_QUERY, Memory, MemoryType, Provenance, Recollection

MAX_TRIGGERS: Final = 20
CANDIDATES: Final = 40
SUCCESSES: Final = 20

EVIDENCE: Final = 4.0
"""Least weight of the shared words: two rare ones, or a rare one and two common ones."""
COVERAGE: Final = 0.3
"""Least share of the slighter text's weight; not asked for where both name the same id, path or version."""
BETTER: Final = 1.1
"""How much more a failure must share with the situation than a success that names as much. On tau-bench airline
either half of the tasks leads to this value; see `docs/howto/failures-and-guard.md`."""
MET: Final = 0.6
"""Share of a condition's weight from which no success speaks against its trigger."""
ITEM: Final = 0.6
"""Share of a do-not-redo item's weight that the action must share, every name in it included."""
SURE: Final = 0.5
"""Confidence below which a trigger is unconfirmed."""
SIMILAR: Final = 0.75
"""Cosine from which a failure counts as matched by meaning, when asked for."""

Kind = Literal["failure", "do_not_redo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """A recorded failure, or a step of the live handoff not to be redone, that matches an action.

    Attributes:
        memory: Where it comes from.
        kind: `"failure"` or `"do_not_redo"`.
        when: The situation it applies to.
        do: What to do; empty where the record does not say.
        cause: The root cause, or `""`.
        why_matched: The shared words, rarest first, in a sentence.
        score: Orders triggers of one call, higher first.
        confirmed: Whether it may stop an action: confidence of at least 0.5, and stated, validated or recorded as a
            failure by whoever saw it.
    """

    memory: Memory
    kind: Kind
    when: str
    do: str
    cause: str
    why_matched: str
    score: float
    confirmed: bool


@dataclass(frozen=True, slots=True)
class _Known:
    memory: Memory
    record: FailureRecord | None
    rule: Rule
    terms: frozenset[str]

    @property
    def task_type(self) -> str:
        return self.record.task_type if self.record is not None else ""


def guard(
    verbs: Verbs,
    situation: str = "",
    *,
    tool: str | None = None,
    args: Mapping[str, Any] | Sequence[Any] | str | None = None,
    limit: int = 3,
    lane: str = MAIN,
    by_meaning: bool = False,
) -> list[Trigger]:
    """Return what memory has to say against an action: failures first, then steps not to be redone.

    Args:
        verbs: The memory.
        situation: What is about to be done, or what is going on.
        tool: Name of the tool about to be called.
        args: Its arguments; names and values count.
        limit: 1..20 failures, and as many steps.
        lane: The line of work whose latest handoff says what not to redo.
        by_meaning: Also match failures by meaning; loads the embedder.

    Raises:
        InvalidInputError: There is nothing to judge, or the limit is out of range.
    """
    if not 1 <= limit <= MAX_TRIGGERS:
        raise InvalidInputError(f"limit {limit!r} is not valid", hint=f"1 to {MAX_TRIGGERS}")
    query = action_text(situation, tool, args)
    action = spellings(query)
    failures = matching_failures(verbs, query, action, by_meaning=by_meaning)
    return failures[:limit] + _not_to_redo(verbs, lane, action)[:limit]


def action_text(situation: str, tool: str | None, args: Mapping[str, Any] | Sequence[Any] | str | None) -> str:
    """Return an action as one text: the situation, the tool's name, names and values of its arguments.

    Raises:
        InvalidInputError: All of them are blank.
    """
    given = args if isinstance(args, str) else "" if args is None else _as_json(args)
    text = " ".join(part for part in (situation, tool or "", given) if part.strip())
    if not text:
        raise InvalidInputError("nothing to guard", hint="say what is about to be done, or name a tool")
    return whole(text[:MAX_QUERY])


def _as_json(args: Mapping[str, Any] | Sequence[Any]) -> str:
    try:
        return json.dumps(args, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError) as error:  # names that are no text, a value that holds itself
        raise InvalidInputError(
            f"the arguments cannot be written as JSON: {error}", hint="give them as a text"
        ) from error


# -- failures ---------------------------------------------------------------------------------------
def matching_failures(
    verbs: Verbs, query: str, spelled: Mapping[str, str], *, by_meaning: bool = False
) -> list[Trigger]:
    """Return the failures that match an action given as a text and its terms, best first."""
    action = frozenset(spelled)
    found = verbs.recall(query, types=[MemoryType.ERROR], limit=CANDIDATES, words_only=True)
    known = [_known(one.memory) for one in found if _is_trigger(one.memory)]
    task_types = {one.task_type for one in known if one.task_type}
    successes = _successes(verbs, query, task_types) if task_types else []
    rarity = Rarity([one.terms for one in known] + [text for _, text in successes])
    went_well = [(run, rarity.match(action, text)) for run, text in successes]
    triggers = [
        _made(one, _shared(match, spelled), match.evidence)
        for one in known
        if _matches(match := rarity.match(action, one.terms))
        and not any(_outweighs(run, success, one, match) for run, success in went_well)
    ]
    if by_meaning:
        named = {trigger.memory.id for trigger in triggers}
        triggers += [trigger for trigger in _alike(verbs, query) if trigger.memory.id not in named]
    return sorted(triggers, key=lambda one: (-one.score, one.memory.id))


def _is_trigger(memory: Memory) -> bool:
    """Whether a memory may speak as a failure at all.

    What only the classifier took for a failure, in a text that nobody stated, does not: a page a tool has fetched
    may hold any sentence.
    """
    return directs(memory) or not memory.type_guessed


def _known(memory: Memory) -> _Known:
    record, rule = record_of(memory), rule_of(memory)
    said = [rule.when]
    if record is not None:
        said += [record.attempted, record.wrong]
    return _Known(memory, record, rule, terms(" ".join(said)))


def _matches(match: Match) -> bool:
    return match.evidence >= EVIDENCE and (match.names > 0 or match.coverage >= COVERAGE)


def _successes(verbs: Verbs, query: str, task_types: set[str]) -> list[tuple[Memory, frozenset[str]]]:
    """Return runs of these kinds that went well and resemble the situation, with the words of what went well."""
    found = verbs.recall(query, types=[MemoryType.EVENT], limit=SUCCESSES, words_only=True)
    runs = [
        one.memory
        for one in found
        if informs(one.memory)
        and _run(one.memory).get("state") == "success"
        and _run(one.memory).get("task_type") in task_types
    ]
    went_well = [memory.content.partition(FAILED_ON_THE_WAY)[0] for memory in runs]
    return [
        (memory, terms(f"{text} {_run(memory).get('goal', '')}")) for memory, text in zip(runs, went_well, strict=True)
    ]


def _run(memory: Memory) -> Mapping[str, Any]:
    kept = memory.metadata.get("run")
    return kept if isinstance(kept, Mapping) else {}


def _outweighs(run: Memory, success: Match, failure: _Known, match: Match) -> bool:
    """Whether a run that went well is a reason to keep silent about a failure.

    Only a run of the failure's own task type, which was not helped by this very record, and only while the failure's
    condition is not met for the most part.
    """
    kept = _run(run)
    if not failure.task_type or kept.get("task_type") != failure.task_type:
        return False
    if failure.memory.id in (kept.get("credited") or ()) or match.met >= MET:
        return False
    return success.names >= match.names and match.evidence < BETTER * success.evidence


def _shared(match: Match, spelled: Mapping[str, str]) -> str:
    """Return why something matched: the rarest shared words as the action spells them."""
    return f"shares {', '.join(repr(spelled[term]) for term in match.shared[:6])}"


def _alike(verbs: Verbs, query: str) -> list[Trigger]:
    found: list[Recollection] = verbs.recall(
        query, types=[MemoryType.ERROR], limit=MAX_TRIGGERS, min_similarity=SIMILAR
    )
    return [
        _made(_known(one.memory), f"means the same (cosine {one.why.dense_score:.2f})", one.why.dense_score)
        for one in found
        if one.why.dense_score is not None and _is_trigger(one.memory)
    ]


def _made(known: _Known, why: str, strength: float) -> Trigger:
    return Trigger(
        memory=known.memory,
        kind="failure",
        when=known.rule.when,
        do=known.rule.do,
        cause=known.rule.cause,
        why_matched=why,
        score=round(strength * (0.5 + 0.5 * known.memory.confidence), 4),
        confirmed=is_confirmed(known.memory),
    )


def is_confirmed(memory: Memory) -> bool:
    """Return whether a failure may stop an action: sure enough, and stated, checked or recorded by who saw it."""
    recorded = memory.provenance is Provenance.OBSERVED and record_of(memory) is not None
    return memory.confidence >= SURE and (directs(memory) or recorded)


# -- steps not to be redone -------------------------------------------------------------------------
def _not_to_redo(verbs: Verbs, lane: str, spelled: Mapping[str, str]) -> list[Trigger]:
    """Return the items of the latest handoff that the action would do again; an unconfirmed handoff has no say."""
    found = handoff.latest(verbs, lane)
    if found is None:
        return []
    action = frozenset(spelled)
    items = [(item, terms(handoff.without_asides(item))) for item in found.baton.do_not_redo]
    rarity = Rarity([wanted for _, wanted in items])
    triggers = []
    for item, wanted in items:
        match = rarity.match(action, wanted)
        names_it = {term for term in wanted if is_name(term)} <= action
        if wanted and names_it and match.met >= ITEM and match.evidence >= min(EVIDENCE, rarity.total(wanted)):
            triggers.append(
                Trigger(
                    memory=found.memory,
                    kind="do_not_redo",
                    when=item,
                    do="do not do it again",
                    cause="",
                    why_matched=_shared(match, spelled),
                    score=round(match.evidence, 4),
                    confirmed=True,
                )
            )
    return sorted(triggers, key=lambda one: (-one.score, one.when))
