"""Runs and steps to the metadata of memories and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memanto.errors import SerializationError
from memanto.loop.runs import MAX_STEP_IDS, RunFailure, RunRecord, Step
from memanto.models import Memory
from memanto.times import from_rfc3339, to_rfc3339

_KEPT_SIGNATURES: Final = 300
"""Different failures that a run's own memory keeps; beyond that, its steps tell."""


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
    return {"step": {name: value for name, value in kept.items() if value not in (None, [])}}


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
            tool_calls=kept.get("tool_calls"),
            tokens=kept.get("tokens"),
            cost=kept.get("cost"),
            failure=None if failure is None else RunFailure(text=failure["text"], key=failure["key"]),
            delivered=tuple(kept.get("delivered", ())),
            used=tuple(kept.get("used", ())),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise SerializationError(f"step {memory.part} of memory {memory.parent_id} cannot be read ({error})") from error
