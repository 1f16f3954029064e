"""Values that runs are given, checked and normalised."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from memanto.errors import InvalidInputError
from memanto.loop.runs import MAX_OUTCOME, MAX_TASK_TYPE, RunFailure

_UNKNOWN: Final = "leave it out where you do not know it"
_ARM: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,31}")


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
        raise InvalidInputError(f"{name} {value!r} is not a number from 0 to 10¹²", hint=_UNKNOWN)
    return value


def check_count(name: str, value: int) -> int:
    """Return a whole number from 0 to 10¹².

    Raises:
        InvalidInputError: It is not.
    """
    if not isinstance(value, int):
        raise InvalidInputError(f"{name} {value!r} is not a whole number", hint=_UNKNOWN)
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
