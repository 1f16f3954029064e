"""What is known of a crew's or flow's run while it goes on."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from crewai_memanto.origin import label
from memanto.errors import InvalidInputError, MemantoError, shown, told
from memanto.loop.fence import neutralised

if TYPE_CHECKING:
    from crewai_memanto.listener_record import Failure
    from memanto import Run

LONGEST_KIND: Final = 60
"""Characters of a kind of work at most."""
_SHOWN: Final = 10_000
_LONGEST: Final = 20
"""How many times the characters that are kept of a text are looked at, blanks included."""


@dataclass(slots=True, kw_only=True)
class Work:
    """One run of a crew or flow. May be used from several threads.

    Attributes:
        root: CrewAI's id of the event that began it.
        run_id: What its record is to be called.
        entity: The crew or flow.
        task_type: What kind of work it is.
        resumed: Whether it may have been begun before, perhaps by another process, and go on now.
        run: Its record, once begun.
        lock: Held while the record is begun.
    """

    root: str
    run_id: str
    entity: Any
    task_type: str
    resumed: bool = False
    run: Run | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)
    _calls: Counter[str | None] = field(default_factory=Counter)
    _tokens: Counter[str | None] = field(default_factory=Counter)
    _crashes: set[tuple[str | None, str]] = field(default_factory=set)
    _later: list[tuple[str | None, str, Failure]] = field(default_factory=list)

    def count(self, task: str | None, *, calls: int = 0, tokens: int = 0) -> None:
        """Add to what the next step of a task takes; `None` is work outside any task."""
        with self.lock:
            self._calls[task] += calls
            self._tokens[task] += tokens

    def taken(self, task: str | None) -> tuple[int, int | None]:
        """Return the tool calls and tokens of a task since it was asked last; no tokens where no model told of any."""
        with self.lock:
            return self._calls.pop(task, 0), self._tokens.pop(task, 0) or None

    def all_taken(self) -> tuple[int, int | None]:
        """Return the tool calls and tokens of everything since it was asked last; likewise."""
        with self.lock:
            taken = self._calls.total(), self._tokens.total() or None
            self._calls.clear()
            self._tokens.clear()
            return taken

    def is_new_crash(self, task: str | None, error: str) -> bool:
        """Return whether a crash was not noted before, and note it.

        CrewAI tells of one crash up to three times: of the agent's try, of the task and of the crew or flow, where no
        task is named. It tries again, too; the same words from the same task are the same crash.
        """
        with self.lock:
            if (task, error) in self._crashes or (task is None and any(error == known for _, known in self._crashes)):
                return False
            self._crashes.add((task, error))
            return True

    def keep_for_later(self, task: str | None, error: str, failure: Failure) -> None:
        """Keep a crash that may be the consequence of another, which a handler of its own is still about to tell of."""
        with self.lock:
            self._later.append((task, error, failure))

    def kept_for_later(self) -> list[Failure]:
        """Return the crashes kept that nothing else told of, when all that was sent before has been handled."""
        with self.lock:
            later, self._later = self._later, []
            return [failure for task, error, failure in later if self.is_new_crash(task, error)]


def line(text: str, limit: int) -> str:
    """Return a text on one line of at most `limit` characters, in which nothing reads as a mark around memories."""
    plain = " ".join(neutralised(text[: _LONGEST * limit]).split())
    return plain if len(plain) <= limit else f"{plain[: limit - 1]}…"


def kind_of(name: str | None) -> str | None:
    """Return a crew's or flow's name as a kind of work, which holds no comma; `None` for none."""
    return label(line((name or "").replace(",", " "), LONGEST_KIND), LONGEST_KIND)


def checked_kind(kind: str | None) -> str | None:
    """Return the kind of work that a program states.

    Raises:
        InvalidInputError: It is no such name.
    """
    if kind is None or (
        kind_of(kind) is not None and len(kind) <= LONGEST_KIND and "," not in kind and kind.isprintable()
    ):
        return kind
    raise InvalidInputError(
        f"task type {kind!r} is not valid", hint=f"use 1 to {LONGEST_KIND} characters on one line, without a comma"
    )


def said(error: Exception) -> str:
    """Return what an error says, with its type where that is not ours; it may be anybody's, and fail to say it."""
    return str(error) if isinstance(error, MemantoError) else told(error)


def call_of(tool: str, arguments: object) -> str:
    """Return a tool call in words, at most 200 characters."""
    return line(f"{tool} {arguments if isinstance(arguments, str) else as_json(arguments)}", 200)


def as_json(arguments: object) -> str:
    """Return a call's arguments as JSON, the same for equal ones; what JSON cannot hold stands as Python shows it."""
    try:
        return json.dumps(arguments, ensure_ascii=False, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):
        return shown(arguments, _SHOWN)
