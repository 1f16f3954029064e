"""What the schedule knows of itself: `schedule.json` beside the user's store, and one run at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from memanto.config_files import write_private
from memanto.errors import SerializationError, StoreLockedError
from memanto.times import from_rfc3339, to_rfc3339

FILE: Final = "schedule.json"
LOG: Final = "schedule.log"
_LOCK: Final = "schedule.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """How the last run went.

    Attributes:
        at: When it began.
        seconds: How long it took.
        ok: Whether every step of every agent was done.
        problems: What was not, one line each.
        agents: What was done per agent, as JSON.
    """

    at: datetime
    seconds: float
    ok: bool
    problems: tuple[str, ...] = ()
    agents: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is kept.

    Attributes:
        timer: Name of the scheduler that was given the job, or `None`.
        at: Local time of day "HH:MM", or `None`.
        last: The last run, or `None`.
        through: Per agent the day of the last pass that made its summaries.
    """

    timer: str | None = None
    at: str | None = None
    last: LastRun | None = None
    through: Mapping[str, date] = field(default_factory=dict)


def read_state(home: Path) -> State:
    """Return what is kept; a `State()` where nothing is.

    Raises:
        SerializationError: The file cannot be read.
    """
    path = home / FILE
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return State()
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    try:
        last = kept.get("last")
        return State(
            timer=kept.get("timer"),
            at=kept.get("at"),
            last=None if last is None else _last_of(last),
            through={agent: date.fromisoformat(day) for agent, day in kept.get("through", {}).items()},
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _unreadable(path, error) from error


def write_state(home: Path, state: State) -> None:
    """Keep a state; the file is replaced as a whole."""
    last = state.last
    kept = {
        "timer": state.timer,
        "at": state.at,
        "last": last
        and {
            "at": to_rfc3339(last.at),
            "seconds": last.seconds,
            "ok": last.ok,
            "problems": list(last.problems),
            "agents": dict(last.agents),
        },
        "through": {agent: day.isoformat() for agent, day in state.through.items()},
    }
    home.mkdir(parents=True, exist_ok=True)
    write_private(home / FILE, json.dumps(kept, ensure_ascii=False, indent=1) + "\n")


def changed(home: Path, **changes: Any) -> State:
    """Write and return the state with these changes."""
    state = replace(read_state(home), **changes)
    write_state(home, state)
    return state


def warning(home: Path) -> str | None:
    """Return what a user should hear of the last run at the next command, or `None` when it was in order."""
    try:
        last = read_state(home).last
    except SerializationError as error:
        return error.message
    if last is None or last.ok:
        return None
    first, more = last.problems[0], len(last.problems) - 1
    others = f" (and {more} more)" if more else ""
    return f"the scheduled upkeep had problems: {first}{others}; `memanto schedule status` shows all"


@contextmanager
def only_one(home: Path) -> Iterator[None]:
    """Keep other runs out.

    Raises:
        StoreLockedError: Another run goes on.
    """
    from filelock import FileLock, Timeout

    home.mkdir(parents=True, exist_ok=True)
    lock = FileLock(home / _LOCK, mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise StoreLockedError(
            "another run of the schedule goes on", hint="`memanto schedule status` shows when it is over"
        ) from error
    try:
        yield
    finally:
        lock.release()


def _last_of(kept: Mapping[str, Any]) -> LastRun:
    return LastRun(
        at=from_rfc3339(kept["at"]),
        seconds=float(kept["seconds"]),
        ok=bool(kept["ok"]),
        problems=tuple(map(str, kept["problems"])),
        agents=kept["agents"],
    )


def _unreadable(path: Path, error: Exception) -> SerializationError:
    return SerializationError(
        f"{str(path)!r} cannot be read ({error})", hint="remove it, then `memanto schedule enable`"
    )
