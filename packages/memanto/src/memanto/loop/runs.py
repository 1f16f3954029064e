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
from typing import Any, Final, Literal, TypeAlias

from memanto.errors import InvalidInputError, SerializationError
from memanto.loop.failures import parse_rule
from memanto.loop.fence import neutralised
from memanto.models import Memory
from memanto.times import from_rfc3339, to_rfc3339

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

_KEPT_SIGNATURES: Final = 300
_TOLD_FAILURES: Final = 3
_TOLD_LENGTH: Final = 160
_ARM: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,31}")
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
        tool_calls: Calls of tools it took.
        tokens: Tokens of a language model it took.
        cost: What it cost, in the caller's currency.
        failure: What went wrong, or `None`.
        delivered: Ids of memories that were shown to the agent since the step before, each once per run.
        used: Ids of memories the agent acted on.
    """

    number: int
    outcome: str
    at: datetime
    tool_calls: int = 0
    tokens: int = 0
    cost: float = 0.0
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
        tool_calls: Sum over its steps.
        tokens: Sum over its steps.
        cost: Sum over its steps.
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
    tool_calls: int = 0
    tokens: int = 0
    cost: float = 0.0
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
        tool_calls=sum(step.tool_calls for step in steps),
        tokens=sum(step.tokens for step in steps),
        cost=round(sum(step.cost for step in steps), 9),
        failures=dict(Counter(step.failure.signature for step in steps if step.failure is not None)),
        delivered=len(delivered),
        credited=tuple(one for one in used if one in delivered),
    )


# -- the line a run leaves --------------------------------------------------------------------------
def opening_line(record: RunRecord) -> str:
    """Return the text of a run that has begun."""
    goal = f" Goal: {record.goal}" if record.goal else ""
    return f"Run of {record.task_type} is unfinished (run {record.id}, begun {to_rfc3339(record.started_at)}).{goal}"


def closing_line(record: RunRecord, failures: Sequence[str]) -> str:
    """Return the text of a run that has ended: how, after how much, with what conclusion and which failures."""
    figures = [count(record.tool_calls, "tool call"), count(record.failed_steps, "failure")]
    line = (
        f"Run of {record.task_type} ended in {record.state} after {count(record.steps, 'step')} ({', '.join(figures)})"
    )
    parts = [f"{line}: {_sentence(record.outcome)}"]
    if record.conclusion:
        parts.append(f"Concluded: {_sentence(record.conclusion)}")
    told = [_cut(neutralised(text)) for text in dict.fromkeys(failures)][:_TOLD_FAILURES]
    if told:
        parts.append(f"Failed on the way: {_sentence('; '.join(told))}")
    return " ".join([*parts, f"(run {record.id})"])


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it must be."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _cut(text: str) -> str:
    return text if len(text) <= _TOLD_LENGTH else f"{text[: _TOLD_LENGTH - 1].rstrip()}…"


# -- checks -----------------------------------------------------------------------------------------
def check_task_type(value: str) -> str:
    """Return a task type: 1 to 60 characters on one line, without a comma (it is a tag too).

    Raises:
        InvalidInputError: It is not.
    """
    name = unicodedata.normalize("NFC", value.strip()) if isinstance(value, str) else ""
    if not 1 <= len(name) <= MAX_TASK_TYPE or "," in name or not name.isprintable():
        raise InvalidInputError(
            f"task type {value!r} is not valid",
            hint=f"use 1 to {MAX_TASK_TYPE} characters without a comma, such as 'nightly-reconciliation'",
        )
    return name


def check_arm(value: str) -> str:
    """Return an arm's name: 1 to 32 of `[a-z0-9_.-]`.

    Raises:
        InvalidInputError: It is not.
    """
    if not isinstance(value, str) or not _ARM.fullmatch(value):
        raise InvalidInputError(
            f"arm {value!r} is not valid", hint="use lower-case letters, digits, '-' or '_', such as 'memory' or 'off'"
        )
    return value


def one_line(name: str, value: str, limit: int = MAX_OUTCOME) -> str:
    """Return a text with every run of white space as one space.

    Raises:
        InvalidInputError: It is blank or longer than the limit.
    """
    line = " ".join(value.split()) if isinstance(value, str) else ""
    if not line:
        raise InvalidInputError(f"{name} {value!r} is blank", hint="say in one line what came of it")
    if len(line) > limit:
        raise InvalidInputError(
            f"{name} has {len(line):,} characters; one line of at most {limit:,} is kept",
            hint="keep a long result as an artifact and name its id here",
        )
    return line


def check_number(name: str, value: float) -> float:
    """Return a count or a cost: a finite number from 0 to 10¹².

    Raises:
        InvalidInputError: It is not.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e12:
        raise InvalidInputError(f"{name} {value!r} is not a number from 0 to 10¹²")
    return value


def check_count(name: str, value: int) -> int:
    """Return a whole number from 0 to 10¹².

    Raises:
        InvalidInputError: It is not.
    """
    if not isinstance(value, int):
        raise InvalidInputError(f"{name} {value!r} is not a whole number")
    return int(check_number(name, value))


def failure_of(value: RunFailure | str | None) -> RunFailure | None:
    """Return a failure given as a text or as a value, checked.

    Raises:
        InvalidInputError: Its text or its key is blank or too long.
    """
    if value is None:
        return None
    given = RunFailure(text=value) if isinstance(value, str) else value
    key = None if given.key is None else one_line("failure key", given.key, 200)
    return RunFailure(text=one_line("failure", given.text), key=key)


# -- to and from memories ---------------------------------------------------------------------------
def run_metadata(record: RunRecord) -> dict[str, Any]:
    """Return the metadata of a run's memory."""
    kept: dict[str, Any] = {
        "id": record.id,
        "task_type": record.task_type,
        "arm": record.arm,
        "state": record.state,
        "started_at": to_rfc3339(record.started_at),
        "ended_at": record.ended_at and to_rfc3339(record.ended_at),
        "goal": record.goal,
        "outcome": record.outcome,
        "conclusion": record.conclusion,
        "interrupted": record.interrupted,
        "steps": record.steps,
        "tool_calls": record.tool_calls,
        "tokens": record.tokens,
        "cost": record.cost,
        "failures": dict(record.failures) if len(record.failures) <= _KEPT_SIGNATURES else None,
        "delivered": record.delivered,
        "credited": list(record.credited[:MAX_STEP_IDS]),
    }
    if kept["failures"] is None:
        kept["failures_in_steps"] = True
    return {"run": {name: value for name, value in kept.items() if value not in ("", None, [], {})}}


def record_of(memory: Memory) -> RunRecord | None:
    """Return the run that a memory holds, or `None` for another event.

    Raises:
        SerializationError: Its metadata says that it is a run and cannot be read.
    """
    kept = memory.metadata.get("run")
    if not isinstance(kept, Mapping):
        return None
    try:
        ended = kept.get("ended_at")
        return RunRecord(
            id=kept["id"],
            memory_id=memory.id,
            version=memory.version,
            task_type=kept["task_type"],
            arm=kept["arm"],
            state=kept["state"],
            started_at=from_rfc3339(kept["started_at"]),
            ended_at=None if ended is None else from_rfc3339(ended),
            failures={str(name): int(count) for name, count in kept.get("failures", {}).items()},
            credited=tuple(kept.get("credited", ())),
            **{name: kept[name] for name in _PLAIN if name in kept},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SerializationError(
            f"the run in memory {memory.id} cannot be read ({error})", hint=f"`memanto show {memory.id}` shows it"
        ) from error


_PLAIN: Final = (
    "goal", "outcome", "conclusion", "interrupted", "steps", "tool_calls", "tokens", "cost", "delivered",
)  # fmt: skip


def lacks_failures(memory: Memory) -> bool:
    """Whether a run had too many different failures to keep them in its own memory, so that its steps tell."""
    return bool(memory.metadata.get("run", {}).get("failures_in_steps", False))


def step_metadata(step: Step) -> dict[str, Any]:
    """Return the metadata of a step's memory."""
    failure = step.failure and {"text": step.failure.text, "key": step.failure.key}
    kept = {
        "tool_calls": step.tool_calls,
        "tokens": step.tokens,
        "cost": step.cost,
        "failure": failure,
        "delivered": list(step.delivered),
        "used": list(step.used),
    }
    return {"step": {name: value for name, value in kept.items() if value}}


def step_of(memory: Memory) -> Step:
    """Return the step that a part of a run's memory holds.

    Raises:
        SerializationError: It cannot be read.
    """
    try:
        kept = memory.metadata.get("step", {})
        failure = kept.get("failure")
        return Step(
            number=memory.part,
            outcome=memory.content,
            at=memory.recorded_at,
            tool_calls=kept.get("tool_calls", 0),
            tokens=kept.get("tokens", 0),
            cost=kept.get("cost", 0.0),
            failure=None if failure is None else RunFailure(text=failure["text"], key=failure["key"]),
            delivered=tuple(kept.get("delivered", ())),
            used=tuple(kept.get("used", ())),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise SerializationError(f"step {memory.part} of memory {memory.parent_id} cannot be read ({error})") from error
