"""Runs as values: what a run and its steps record, the line a run leaves in memory, and when a failure repeats.

A run is an `event` memory with its figures in metadata; its steps are parts of that memory. Everything here is
pure; `loop.ledger` stores and reads it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal, TypeAlias, TypeVar

from memanto.counted import counted
from memanto.loop.failures import FAILED_ON_THE_WAY, parse_rule
from memanto.loop.fence import neutralised
from memanto.times import to_rfc3339

N = TypeVar("N", int, float)
RunState: TypeAlias = Literal["unfinished", "success", "failure"]

DEFAULT_ARM: Final = "memory"
"""The arm of a run that names none: memory was in use."""
OFF_ARM: Final = "off"
"""The arm others are compared with: the same work with memory switched off."""

MAX_TASK_TYPE: Final = 60  #: characters
MAX_OUTCOME: Final = 500  #: characters of a step's or a run's outcome, which is one line
MAX_CONCLUSION: Final = 1_000  #: characters of what a run concludes
MAX_STEP_IDS: Final = 150  #: ids of delivered, and of used, memories that one step records
TAG: Final = "run"

_TOLD_FAILURES: Final = 3
_TOLD_LENGTH: Final = 160
_PASSING: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # UUIDs
    r"|\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?"  # dates and times
    r"|\b\d+(?:\.\d+)?\s?(?:ns|us|ms|s|sec|seconds?|min|minutes?|hours?)\b"  # durations
    r"|\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)[0-9a-f]{8,}\b"  # addresses and digests
    r"|\b\d{5,}\b"  # serial numbers; short numbers such as a status of 404 tell failures apart
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailure:
    """Something that went wrong in a step.

    Attributes:
        text: What was attempted or what triggers it; "When X, do Y — root cause: Z" counts by its trigger X.
        key: Names the failure exactly, where the text would not; `None` to go by the text.
    """

    text: str
    key: str | None = None

    @property
    def signature(self) -> str:
        """Digest (12 hexadecimal digits) that is the same for what counts as the same failure."""
        return signature(self.text, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One finished piece of a run.

    Attributes:
        number: 1..n within its run.
        outcome: One line.
        at: When it was recorded.
        tool_calls: Calls of tools it took; `None` where nobody reported it, as for the next two.
        tokens: Tokens of a language model it took.
        cost: What it cost, in the caller's currency.
        failure: What went wrong, or `None`.
        delivered: Ids of memories that were shown to the agent since the step before, each once per run.
        used: Ids of memories the agent acted on.
    """

    number: int
    outcome: str
    at: datetime
    tool_calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    failure: RunFailure | None = None
    delivered: tuple[str, ...] = ()
    used: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """What the ledger knows of a run.

    Attributes:
        id: The run's id, chosen by the caller or by the ledger.
        memory_id: Id of the `event` memory that holds it.
        version: Version of that memory.
        task_type: What kind of work it is; runs of one kind are compared with each other.
        arm: `"memory"`, `"off"` or another name: under which condition it ran.
        state: `"unfinished"` while it goes on and after a crash; then `"success"` or `"failure"`.
        goal: What it was to reach, or `""`.
        started_at: Aware, UTC.
        ended_at: Aware, UTC; `None` while it is unfinished.
        outcome: One line, or `""`.
        conclusion: What it found out, or `""`.
        interrupted: The exception that left it unfinished, or `""` (also after the death of its process).
        steps: Number of steps.
        tool_calls: Sum over the steps that reported it; `None` when none did, as for the next two.
        tokens: Sum over the steps that reported it.
        cost: Sum over the steps that reported it.
        failures: Number of failures by signature.
        repeats: How many of its failures an earlier run of the same task type and arm had recorded.
        delivered: Number of different memories delivered in it.
        credited: Ids of memories that were delivered and used.
    """

    id: str
    memory_id: str
    version: int
    task_type: str
    arm: str
    state: RunState
    started_at: datetime
    goal: str = ""
    ended_at: datetime | None = None
    outcome: str = ""
    conclusion: str = ""
    interrupted: str = ""
    steps: int = 0
    tool_calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    failures: Mapping[str, int] = field(default_factory=dict)
    repeats: int = 0
    delivered: int = 0
    credited: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether it has ended, in success or failure."""
        return self.state != "unfinished"

    @property
    def failed_steps(self) -> int:
        """Number of failures recorded in it."""
        return sum(self.failures.values())


# -- failures that repeat ---------------------------------------------------------------------------
def signature(text: str, key: str | None = None) -> str:
    """Return the digest under which a failure is recognised: of its key, else of its text without what passes.

    Case, punctuation, dates, durations, UUIDs, digests and numbers of five digits and more do not count. Of
    "When X, do Y" only X does.
    """
    named = f"key {key.strip()}" if key is not None else f"text {_normalised(text)}"
    return hashlib.blake2b(named.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _normalised(text: str) -> str:
    rule = parse_rule(text)
    told = rule.when if rule is not None and rule.do else text
    folded = unicodedata.normalize("NFKC", told).casefold()
    plain = _PASSING.sub(" ", folded)
    return " ".join(re.findall(r"\w+", plain)) or " ".join(folded.split())


def with_repeats(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Return runs in the order they began, each with the number of its failures that an earlier one had recorded.

    Earlier means begun earlier, of the same task type and the same arm: an arm without memory does not count
    as having learned from one with it. A failure that first happens twice within one run is no repeat.
    """
    known: dict[tuple[str, str], set[str]] = {}
    counted = []
    for record in sorted(records, key=lambda one: (one.started_at, one.memory_id)):
        seen = known.setdefault((record.task_type, record.arm), set())
        repeats = sum(count for name, count in record.failures.items() if name in seen)
        counted.append(replace(record, repeats=repeats))
        seen.update(record.failures)
    return counted


def totals(
    record: RunRecord, steps: Sequence[Step], *, delivered: Iterable[str] = (), used: Iterable[str] = ()
) -> RunRecord:
    """Return the run with the sums over its steps; only what was delivered in it can be credited.

    `delivered` and `used` are what came after the last step.
    """
    delivered = {*delivered, *(one for step in steps for one in step.delivered)}
    used = dict.fromkeys([*(one for step in steps for one in step.used), *used])
    return replace(
        record,
        steps=len(steps),
        tool_calls=_total(step.tool_calls for step in steps),
        tokens=_total(step.tokens for step in steps),
        cost=_total(step.cost for step in steps),
        failures=dict(Counter(step.failure.signature for step in steps if step.failure is not None)),
        delivered=len(delivered),
        credited=tuple(one for one in used if one in delivered),
    )


def _total(reported: Iterable[N | None]) -> N | None:
    """Return the sum of what is known, or `None` where nothing is: what nobody reported is not 0."""
    known = [one for one in reported if one is not None]
    return round(sum(known), 9) if known else None


# -- the line a run leaves --------------------------------------------------------------------------
def opening_line(record: RunRecord) -> str:
    """Return the text of a run that has begun."""
    goal = f" Goal: {record.goal}" if record.goal else ""
    return f"Run of {record.task_type} is unfinished (run {record.id}, begun {to_rfc3339(record.started_at)}).{goal}"


def closing_line(record: RunRecord, failures: Sequence[str]) -> str:
    """Return the text of a run that has ended: how, after how much, with what conclusion and which failures."""
    calls = [] if record.tool_calls is None else [counted(record.tool_calls, "tool call")]
    figures = [*calls, counted(record.failed_steps, "failure")]
    ended = f"Run of {record.task_type} ended in {record.state}"
    line = f"{ended} after {counted(record.steps, 'step')} ({', '.join(figures)})"
    parts = [f"{line}: {_sentence(record.outcome)}"]
    if record.conclusion:
        parts.append(f"Concluded: {_sentence(record.conclusion)}")
    told = [_cut(neutralised(text)) for text in dict.fromkeys(failures)][:_TOLD_FAILURES]
    if told:
        parts.append(f"{FAILED_ON_THE_WAY} {_sentence('; '.join(told))}")
    return " ".join([*parts, f"(run {record.id})"])


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _cut(text: str) -> str:
    return text if len(text) <= _TOLD_LENGTH else f"{text[: _TOLD_LENGTH - 1].rstrip()}…"
