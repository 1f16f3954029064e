"""The questions of a memory check: the standard four, or those of a file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from memanto.config_keys import expanded
from memanto.errors import InvalidInputError, MemantoError, shown
from memanto.memory.validation import check_query, coerce_type
from memanto.models import MemoryType
from memanto.times import local_zone, parse_time, utc, utc_now

MAX_QUESTIONS: Final = 500
_MAX_BYTES: Final = 1_000_000
_AGE: Final = re.compile(r"\s*(\d{1,5})\s*(hour|day|week|month|year)s?\s*", re.IGNORECASE)
_HOURS: Final = {"hour": 1, "day": 24, "week": 168, "month": 730, "year": 8_766}
_SHAPE: Final = (
    'write a list of entries such as {question: "…", expect: "…"}, or a mapping from question to expected text'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckQuestion:
    """A question whose answer is known.

    Attributes:
        question: What to ask.
        expect: Texts that the cited memories must hold, whatever their case.
        ids: Memories that must be cited, by id or a unique prefix.
        key: The slot whose value must be cited.
        types: Look only among these types.
        as_of: Ask what was believed then.
        max_age: The newest cited memory may be this old, or `None`.
    """

    question: str
    expect: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    key: str | None = None
    types: tuple[MemoryType, ...] = ()
    as_of: datetime | None = None
    max_age: timedelta | None = None


def standard_questions(task_type: str | None = None) -> list[CheckQuestion]:
    """Return the four questions that any loop's memory should answer.

    Args:
        task_type: What the last run and the failure are asked about; without it any will do.
    """
    task = " ".join(re.split(r"[\s_-]+", task_type.strip())) if task_type else ""
    run = task if task.split()[-1:] in (["run"], ["runs"]) else f"{task} run".strip()
    return [
        CheckQuestion(question="What is the current goal and plan?"),
        CheckQuestion(question=f"What did the last {run} conclude?"),
        CheckQuestion(question=f"What is one failure recorded{f' for {task}' if task else ''} and its fix?"),
        CheckQuestion(question="What durable facts about this environment are stored?"),
    ]


def read_questions(given: Any) -> list[CheckQuestion]:
    """Return questions from a file's path, a mapping or a list.

    Raises:
        InvalidInputError: They are malformed; the message says which one.
    """
    if isinstance(given, str | Path):
        given = _loaded(Path(given))
    if isinstance(given, Mapping) and isinstance(given.get("questions"), Sequence | Mapping):
        given = given["questions"]
    if isinstance(given, Mapping):
        given = [{"question": question, "expect": expected} for question, expected in given.items()]
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise InvalidInputError(f"these are no questions: {type(given).__name__}", hint=_SHAPE)
    entries = list(given)
    if not 0 < len(entries) <= MAX_QUESTIONS:
        raise InvalidInputError(f"a check has 1 to {MAX_QUESTIONS} questions, not {len(entries)}", hint=_SHAPE)
    return [_question(entry, number) for number, entry in enumerate(entries, start=1)]


def _loaded(path: Path) -> Any:
    name = shown(str(path), 200)
    try:
        with expanded(path).open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except (OSError, UnicodeEncodeError) as error:
        told = getattr(error, "strerror", None) or str(error)
        raise InvalidInputError(f"cannot read {name}: {told}", hint="name a file of questions") from error
    if len(data) > _MAX_BYTES:
        raise InvalidInputError(
            f"{name} has more than {_MAX_BYTES:,} bytes, which no question file has",
            hint="divide it into several checks",
        )
    try:
        text = data.decode("utf-8")
        return json.loads(text) if path.suffix.lower() == ".json" else _from_yaml(text)
    except (ValueError, RecursionError) as error:
        told = " ".join(str(error).split())
        raise InvalidInputError(f"{name} cannot be read as a question file: {told:.300}", hint=_SHAPE) from error


def _from_yaml(text: str) -> Any:
    """Return what a YAML text holds.

    Raises:
        ValueError: It is malformed, or a value is given a type that it is not of; or it uses an alias. With aliases a
            few lines can stand for more than fits into memory, and a question needs none.
    """
    import yaml  # type: ignore[import-untyped]

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # the library has no types
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise ValueError(f"the alias *{shown(self.peek_event().anchor)[1:-1]} is not supported")
            return super().compose_node(parent, index)

    try:
        return yaml.load(text, Loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, TypeError) as error:
        # The library checks no value that is tagged with a type, such as `!!int x`: any of these may come of it.
        raise ValueError(str(error)) from error


def _question(entry: Any, number: int) -> CheckQuestion:
    if isinstance(entry, CheckQuestion):
        check_query(entry.question)
        return entry
    values = {"question": entry} if isinstance(entry, str) else entry
    try:
        return _read(values)
    except (MemantoError, TypeError, ValueError) as error:
        told = error.message if isinstance(error, MemantoError) else str(error)
        hint = error.hint if isinstance(error, MemantoError) and error.hint else _SHAPE
        raise InvalidInputError(f"question {number}: {told}", hint=hint) from error


_NAMES: Final = {"type": "types", "expected": "expect", "id": "ids"}


def _read(values: Any) -> CheckQuestion:
    if not isinstance(values, Mapping):
        raise InvalidInputError(f"it is {type(values).__name__}, not a mapping", hint=_SHAPE)
    named = {_NAMES.get(str(name), str(name)): value for name, value in values.items()}
    known = [field.name for field in fields(CheckQuestion)]
    if unknown := sorted(set(named) - set(known)):
        raise InvalidInputError(f"unknown field {shown(unknown[0])}", hint=f"known: {', '.join(known)}")
    question = named.get("question")
    if not isinstance(question, str):
        raise InvalidInputError("it has no question", hint=_SHAPE)
    check_query(question)
    return CheckQuestion(
        question=question,
        expect=_texts(named.get("expect"), "expect"),
        ids=_texts(named.get("ids"), "ids"),
        key=None if named.get("key") is None else str(named["key"]),
        types=tuple(coerce_type(kind) for kind in _texts(named.get("types"), "type")),
        as_of=_moment(named.get("as_of")),
        max_age=_age(named.get("max_age")),
    )


def _texts(value: Any, name: str) -> tuple[str, ...]:
    """Return one text or several as texts; a number in a file is the text it is written as."""
    given = [value] if isinstance(value, str | int | float) else value
    if given is None:
        return ()
    if not isinstance(given, Sequence) or not all(isinstance(one, str | int | float) for one in given):
        raise InvalidInputError(f"{name} is a text or a list of texts, not {shown(value)}", hint=_SHAPE)
    texts = tuple(str(one) for one in given)
    if not all(text.strip() for text in texts):
        raise InvalidInputError(f"{name} holds an empty text", hint="leave it out, or say what is expected")
    return texts


def _moment(value: Any) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return utc(value if value.tzinfo else value.replace(tzinfo=UTC))
    text = value.isoformat() if isinstance(value, date) else str(value)
    return parse_time(text, now=utc_now(), zone=local_zone(os.environ), edge="end")


def _age(value: Any) -> timedelta | None:
    if value is None or isinstance(value, timedelta):
        return value
    match = _AGE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise InvalidInputError(
            f"max_age {shown(value)} is no span of time", hint="such as '12 hours', '30 days', '6 months'"
        )
    return timedelta(hours=int(match[1]) * _HOURS[match[2].lower()])
