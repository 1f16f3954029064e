"""Memory's verbs as tools for a language model: their names, words, arguments and rules, apart from any framework.

An adapter wraps `VERBS` in its framework's kind of tool, so that a model meets the same tools wherever it works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel

from memanto.errors import InvalidInputError
from memanto.toolkit import arguments, reading, writing
from memanto.toolkit.writing import Author, Told

__all__ = ["VERBS", "Author", "Told", "Verb", "chosen"]


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of memory as a tool.

    Attributes:
        name: What a model calls it by.
        description: What a model is told of it.
        arguments: What it takes: lists as lists, closed sets spelled out, each argument described.
        act: Called with a `Memanto`, an `Author` and the arguments by name; returns `Told`. Raises errors of
            `memanto.errors`.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    act: Callable[..., Told]


VERBS: Final[Mapping[str, Verb]] = {
    verb.name: verb
    for verb in (
        Verb(
            "remember",
            "Store one finding that later sessions need: a decision with its reason, a lesson, a sourced fact, a "
            "pointer. Never store secrets, or what was recalled from memory. A fact without source_ref is stored as "
            "inferred and waits until a person verifies it.",
            arguments.RememberArgs,
            writing.remember,
        ),
        Verb(
            "recall",
            "Look up what earlier sessions stored: facts, decisions, lessons, failures, pointers. Use it before "
            "planning.",
            arguments.RecallArgs,
            reading.recall,
        ),
        Verb(
            "show",
            "Read one memory by its id. A long one, such as a kept tool result, is read page by page.",
            arguments.ShowArgs,
            reading.show,
        ),
        Verb(
            "answer",
            "Ask memory a question. It answers with cited memories, and says what it knows nothing of.",
            arguments.AnswerArgs,
            reading.answer,
        ),
        Verb(
            "handoff",
            "Hand work over between sessions. Take and acknowledge the baton when you begin, write one before you "
            "stop.",
            arguments.HandoffArgs,
            writing.handoff,
        ),
        Verb(
            "record_failure",
            "Record what went wrong, why, and what to do instead, so that no later session repeats it.",
            arguments.RecordFailureArgs,
            writing.record_failure,
        ),
        Verb(
            "guard",
            "Before a risky action: returns recorded failures and steps not to be redone that match it.",
            arguments.GuardArgs,
            reading.guard,
        ),
        Verb(
            "brief",
            "Before planning: goal, plan, constraints, prior runs, known failures and facts in brief.",
            arguments.BriefArgs,
            reading.brief,
        ),
        Verb(
            "check",
            "Check whether memory can be relied on: goal and plan, last run, a failure and its fix, facts.",
            arguments.CheckArgs,
            reading.check,
        ),
        Verb(
            "feedback",
            "Say whether a recalled memory helped, was wrong, or was irrelevant.",
            arguments.FeedbackArgs,
            writing.feedback,
        ),
    )
}
"""The ten tools by name, in the order in which they are offered.

Each has a `name`, a `description`, its `arguments` as a Pydantic model, and `act`, which takes a memory, an `Author`
and the arguments, and returns a text for the model and plain values for a program.
"""


def chosen(include: Iterable[str]) -> list[str]:
    """Return the names of verbs that a program asks tools for, in its order.

    Raises:
        InvalidInputError: A name is unknown, or a text stands where a list belongs.
    """
    if isinstance(include, str):
        raise InvalidInputError(f"include {include!r} is a text", hint=f"pass a list: include=[{include!r}]")
    names = list(include)
    for name in names:
        if name not in VERBS:
            raise InvalidInputError(f"there is no tool {name!r}", hint=f"one of {', '.join(VERBS)}")
    return names
