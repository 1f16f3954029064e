"""What adapters to frameworks share: the memory they are given, and calls that must not fail the agent they serve."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memanto.errors import InvalidInputError, MemantoError, NotFoundError, shown, told
from memanto.ids import AGENT_ID
from memanto.loop.fence import NOTICE, fence_one

if TYPE_CHECKING:
    from memanto.client import Memanto
    from memanto.loop.guard import Trigger
    from memanto.models import Memory, MemoryType

__all__ = ["Failsafe", "as_sync", "claim_type", "held_back", "is_kept", "newest_first", "warned", "zoned"]

_T = TypeVar("_T")
_LOGGER: Final = logging.getLogger("memanto")
_RESOLUTION: Final = timedelta(microseconds=1)
_NARROWEST: Final = timedelta(milliseconds=1)
_WIDEST: Final = timedelta(days=3_650)
_WIDER: Final = 8
_HARMLESS: Final = frozenset({"commitment", "decision", "error", "event", "observation", "preference", "relationship"})
_NEAR: Final = 0.68
"""Cosine from which a memory that shares no word with a query matches it; as for a brief, see `loop.brief`."""
_SURE: Final = 0.7
"""Share of the classifier's belief from which a claim takes the type that its words suggest."""


def as_sync(memory: object) -> Memanto:
    """Return a `Memanto` as it is, and the one underneath an `AsyncMemanto`.

    Raises:
        InvalidInputError: It is neither.
    """
    from memanto.client import Memanto

    if isinstance(memory, Memanto):
        return memory
    from memanto.aio import AsyncMemanto

    if isinstance(memory, AsyncMemanto):
        return memory.sync
    name = repr(memory) if isinstance(memory, str) and AGENT_ID.fullmatch(memory) else '"my-agent"'
    raise InvalidInputError(
        f"memory {shown(memory)} is no memory", hint=f"pass Memanto({name}) or AsyncMemanto({name})"
    )


def claim_type(text: str) -> MemoryType:
    """Return the type under which a model's own claim is kept: mostly `learning`.

    What its words surely say, where that steers nobody: a decision, a promise, an error, an event, an observation, a
    preference or a relationship. A model's sentence does not become a goal or an instruction by the way it is put; and
    an inferred fact would wait in quarantine until somebody verifies it, while a finding is meant to be found.
    """
    from memanto.memory.classify import classify
    from memanto.models import MemoryType

    guess = classify(text)
    return guess.type if guess.type in _HARMLESS and guess.confidence >= _SURE else MemoryType.LEARNING


@functools.lru_cache(maxsize=4_096)
def is_kept(tag: str) -> bool:
    """Return whether a text can be a tag as it is: neither refused, nor changed, nor taken for a secret.

    A label of a framework that is none of these is found again by a digest in its place.
    """
    from memanto.memory.redaction import redact
    from memanto.memory.validation import check_tags

    try:
        return check_tags((tag,)) == (tag,) and not redact(tag)[1]
    except InvalidInputError:
        return False


def newest_first(memory: Memanto, tags: Iterable[str], *, first: int | None = None, **options: Any) -> Iterator[Memory]:
    """Yield the current memories that have any of these tags, the latest recorded first, each once.

    Read a page at a time, each in a window of time as wide as the last one suggests, for an engine orders all that a
    page could come from: without windows, 10,000 items took four times as long. Memories that state since when they are
    true (`valid_from`) are found by that time, so give tags of memories that do not.

    Args:
        memory: Where they are; an agent that does not exist has none.
        tags: Any of them.
        first: How many are read at first, 1..100; then a hundred at a time.
        **options: Of `Memanto.recall`: `status`, `everything`.
    """
    from memanto.models import MAX_LIMIT

    wanted = list(tags)
    seen: set[str] = set()
    since = until = None
    width, size = _NARROWEST, MAX_LIMIT if first is None else first
    while True:
        try:
            page = [
                hit.memory for hit in memory.recall(any_tags=wanted, since=since, until=until, limit=size, **options)
            ]
        except NotFoundError:  # nothing was ever written
            page = []
        fresh = [one for one in page if one.id not in seen]
        seen.update(one.id for one in fresh)
        yield from fresh
        if len(page) == size and fresh:
            until = fresh[-1].recorded_at - _RESOLUTION
            width = max(_NARROWEST, 2 * (page[0].recorded_at - page[-1].recorded_at))
        elif since is not None and until is not None:
            until, width = since - _RESOLUTION, width * _WIDER
        else:
            return
        since, size = (until - width if width < _WIDEST else None), MAX_LIMIT


def held_back(memory: Memanto, query: str | None, /, **filters: Any) -> str:
    """Return how many quarantined memories match too, as the beginning of a sentence; `""` when none does.

    So that who finds nothing does not take it for certain that nobody said anything. What they say stays untold.

    One matches by a word, by meaning, or without a query by the filters alone.

    Args:
        memory: Whose.
        query: What was asked, cut where it is longer than a query may be.
        **filters: Of `Memanto.recall`, as they were used; no `status`, `everything` or `limit`.
    """
    from memanto.counted import counted
    from memanto.models import MAX_LIMIT, MAX_QUERY, Status

    asked = query[:MAX_QUERY] if query is not None and query.strip() else None
    found = memory.recall(asked, status=[Status.QUARANTINED], limit=MAX_LIMIT, **filters)
    whys = [one.why for one in found]
    count = sum(asked is None or why.lexical_rank is not None or (why.dense_score or 0) >= _NEAR for why in whys)
    return f"{counted(count, 'quarantined memory')} {'matches' if count == 1 else 'match'} too" if count else ""


def warned(triggers: Iterable[Trigger]) -> str:
    """Return triggers for a prompt, each memory fenced; `""` for none."""
    lines = [line for one in triggers for line in _trigger(one)]
    return "\n".join([NOTICE, *lines]) if lines else ""


def _trigger(trigger: Trigger) -> Iterator[str]:
    what = "recorded failure" if trigger.kind == "failure" else "step not to be redone"
    yield f"{what}{'' if trigger.confirmed else ', unconfirmed'} ({trigger.why_matched}):"
    yield fence_one(trigger.memory, text=None if trigger.kind == "failure" else trigger.when)


def zoned(value: object) -> object:
    """Return a time as it was given, for a schema to read; a bare number is none.

    Schemas take one for seconds since 1970, while a model that says "2024" means a year.

    Raises:
        ValueError: It is a number.
    """
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return value
    elif not isinstance(value, int | float):
        return value
    raise ValueError("give a date, a time and a zone, such as 2026-01-02T03:04:05Z, not a number")


class Failsafe:
    """Runs calls of a memory. One that fails is counted, told once, and answered by a stand-in.

    What is told goes to the logger `memanto` as a warning; a warning of `warnings` could be turned into an exception.
    May be used from several threads.

    Args:
        who: Who calls, for the log.
        strict: Let failures through.

    Attributes:
        failures: Number of calls that failed.
        last_error: What the latest of them raised, or `None`.
    """

    def __init__(self, who: str, *, strict: bool = False) -> None:
        self.who = who
        self.strict = strict
        self.failures = 0
        self.last_error: Exception | None = None
        self._lock = threading.Lock()

    def call(self, doing: str, function: Callable[..., _T], *args: Any, otherwise: _T, **kwargs: Any) -> _T:
        """Return what a call returns, or `otherwise` when it fails.

        Args:
            doing: What it is for, as in "cannot {doing}".
            function: What to call.
            *args: Its arguments.
            otherwise: Stands in for its result.
            **kwargs: Its keyword arguments.

        Raises:
            Exception: It failed, and this is strict.
        """
        try:
            return function(*args, **kwargs)
        except Exception as error:  # a fault of memory, whatever it is, must not fail what it serves
            if self.strict:
                raise
            self.note(doing, error)
            return otherwise

    async def acall(self, doing: str, function: Callable[..., _T], *args: Any, otherwise: _T, **kwargs: Any) -> _T:
        """Do as `call` does, in a thread, so that the event loop goes on. A call that is cancelled runs to its end."""
        import asyncio  # loaded by who awaits already; the command line does without

        bound = functools.partial(self.call, doing, function, *args, otherwise=otherwise, **kwargs)
        return await asyncio.to_thread(bound)

    def note(self, doing: str, error: Exception) -> None:
        """Count a failure, and tell the first one."""
        with self._lock:
            self.failures += 1
            self.last_error = error
            first = self.failures == 1
        if first:
            name, _, words = told(error).partition(": ")
            code = error.code if isinstance(error, MemantoError) else name
            _LOGGER.warning("%s cannot %s and goes on without (%s): %s", self.who, doing, code, words)
        else:
            _LOGGER.debug("%s cannot %s", self.who, doing, exc_info=error)
