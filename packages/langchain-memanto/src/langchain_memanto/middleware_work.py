"""What the middleware does with memory, apart from the hooks that call it. Everything here blocks."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from memanto import Memanto
from memanto.adapter import warned
from memanto.adapter_results import may_give_way, pointers
from memanto.errors import InvalidInputError, NotFoundError
from memanto.loop.fence import neutralised, whole
from memanto.models import MAX_QUERY

if TYPE_CHECKING:
    from memanto import Run

GuardMode = Literal["warn", "refuse", "off"]

HANDLES: Final = 64
"""Runs whose handles are kept at hand; others are resumed from the ledger."""
_HOW: Final = " (Or call the tool show with id {id} and a page.)"
_ARGUMENTS: Final = 200
_ERROR: Final = 300
_OUTCOME: Final = 500
_GOAL: Final = 1_000
_CITED: Final = 18
"""Characters by which briefs name a memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """What a run begins with: the block for the model, and its id in the ledger; `""` where there is none."""

    block: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call: its id, the tool's name, its arguments, the run it belongs to, and the messages before it."""

    id: str
    name: str
    args: Mapping[str, Any]
    run_id: str = ""
    messages: Sequence[BaseMessage] = field(default=(), repr=False)

    @property
    def signature(self) -> str:
        """Digest that is the same for the same call."""
        text = json.dumps([self.name, self.args], sort_keys=True, default=str)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    def told(self) -> str:
        """Return it in words, its arguments cut."""
        given = json.dumps(self.args, ensure_ascii=False, default=str)
        shown = given if len(given) <= _ARGUMENTS else f"{given[:_ARGUMENTS]} …"
        return neutralised(f"{self.name} {shown}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `MemantoMiddleware` was told, apart from the memory; `brief` holds the options of `Memanto.brief`.

    Raises:
        InvalidInputError: A value is out of its range.
    """

    task_type: str
    brief: Mapping[str, Any]
    lane: str
    guard: GuardMode
    failures: bool
    runs: bool
    keep_over_tokens: int | None
    keep_last: int
    succeeded: Callable[[Sequence[BaseMessage]], bool] | None
    distil: Callable[[Sequence[BaseMessage]], str | None] | None
    source: str

    def __post_init__(self) -> None:
        if self.guard not in ("warn", "refuse", "off"):
            raise InvalidInputError(f"guard {self.guard!r} is not valid", hint='"warn", "refuse" or "off"')
        if self.keep_last < 0:
            raise InvalidInputError(f"keep_last {self.keep_last!r} is not valid", hint="a number from 0 on")
        if self.keep_over_tokens is not None and self.keep_over_tokens < 1:
            raise InvalidInputError(
                f"keep_over_tokens {self.keep_over_tokens!r} is not valid", hint="a number of tokens from 1 on"
            )


class Work:
    """Briefs, guards, records and compresses for one middleware. May be used from several threads."""

    def __init__(self, memory: Memanto, options: Options) -> None:
        self._memory = memory
        self._options = options
        self._handles: OrderedDict[str, Run] = OrderedDict()
        self._lock = threading.Lock()

    # -- the run ------------------------------------------------------------------------------------
    def begin(self, messages: Sequence[BaseMessage]) -> Begun:
        """Start a run for the latest request and brief it."""
        request = next((one.text for one in reversed(messages) if isinstance(one, HumanMessage)), "")
        task = whole(request[:MAX_QUERY]) if request.strip() else None
        run = self._start(task) if self._options.runs else None
        try:
            brief = self._memory.brief(task, task_type=self._options.task_type, **self._options.brief)
        except NotFoundError:  # nothing was ever written
            return Begun()
        if run is not None:
            run.delivered(*(memory.id for memory in brief.memories))
        return Begun(block=brief.fenced(), run_id="" if run is None else run.id)

    def _start(self, task: str | None) -> Run:
        goal = " ".join(neutralised(task).split())[:_GOAL] if task else None
        run = self._memory.start_run(self._options.task_type, goal=goal or None, source=self._options.source)
        self._keep(run)
        return run

    def end(self, run_id: str, messages: Sequence[BaseMessage]) -> None:
        """End the run with the agent's last words, and remember what was distilled of it."""
        if run_id:
            own = _since_request(messages)
            outcome = " ".join(neutralised(_last_words(own)).split())[:_OUTCOME]
            run = self._run(run_id)
            run.step(outcome or "ended without words", tool_calls=0, tokens=_tokens(own))
            said = "\n".join(one.text for one in own if isinstance(one, AIMessage))
            run.used(*(one for step in run.steps for one in step.delivered if one[:_CITED] in said))
            run.end(success=self._options.succeeded is None or self._options.succeeded(messages))
            self._drop(run_id)
        lesson = None if self._options.distil is None else self._options.distil(messages)
        if lesson:
            self._memory.remember(
                whole(lesson),
                type="learning",
                provenance="inferred",
                source=self._options.source,
                run_id=run_id or None,
            )

    # -- tools --------------------------------------------------------------------------------------
    def warning(self, call: Call) -> str:
        """Return what memory has to say against a call, fenced, or `""`; only what is confirmed may refuse it."""
        if self._options.guard == "off":
            return ""
        try:
            triggers = self._memory.guard(tool=call.name, args=dict(call.args), lane=self._options.lane)
        except NotFoundError:  # nothing was ever written
            return ""
        if self._options.guard == "refuse":
            triggers = [one for one in triggers if one.confirmed]
        if triggers and call.run_id:
            self._run(call.run_id).delivered(*(one.memory.id for one in triggers))
        return warned(triggers)

    def refuses(self, call: Call) -> bool:
        """Return whether a call that was warned of is held back: the first time only."""
        if self._options.guard != "refuse":
            return False
        refused = {
            one.response_metadata.get("memanto_refused") for one in call.messages if isinstance(one, ToolMessage)
        }
        return call.signature not in refused

    def failed(self, call: Call, error: str) -> None:
        """Record a call that failed, as a trigger and as a step of its run."""
        wrong = " ".join(neutralised(error).split())[:_ERROR] or "an error without words"
        if self._options.failures:
            self._memory.record_failure(
                task_type=self._options.task_type,
                attempted=call.told(),
                wrong=wrong,
                source=self._options.source,
                run_id=call.run_id or None,
            )
        if call.run_id:
            failure = f"{call.name}: {wrong}"[:_OUTCOME]
            self._run(call.run_id).step(f"{call.name} failed", tool_calls=1, failure=failure)

    def returned(self, call: Call, result: object) -> None:
        """Record a call that came back, in success or with an error message."""
        if isinstance(result, ToolMessage) and result.status == "error":
            self.failed(call, result.text)
        elif call.run_id:
            self._run(call.run_id).step(" ".join(call.told().split())[:_OUTCOME], tool_calls=1)

    # -- the window ---------------------------------------------------------------------------------
    def any_to_shorten(self, messages: Sequence[BaseMessage]) -> bool:
        """Return whether any tool result may be too long; costs no call of memory."""
        return bool(self._long(messages))

    def shortened(self, messages: Sequence[BaseMessage]) -> list[ToolMessage]:
        """Return the older long tool results as pointers, under their ids; their texts are kept as artifacts."""
        over = self._options.keep_over_tokens
        if over is None:
            return []
        return pointers(self._memory, self._long(messages), over_tokens=over, source=self._options.source, how=_HOW)

    def _long(self, messages: Sequence[BaseMessage]) -> list[ToolMessage]:
        """Return tool results that may be too long, apart from the latest and from those that show memories."""
        over = self._options.keep_over_tokens
        if over is None:
            return []
        results = [one for one in messages if isinstance(one, ToolMessage)]
        older = results[: len(results) - self._options.keep_last]
        return [one for one in older if may_give_way(one, over)]

    # -- handles of runs ----------------------------------------------------------------------------
    def _run(self, run_id: str) -> Run:
        with self._lock:
            run = self._handles.get(run_id)
        if run is None:
            run = self._memory.resume_run(run_id, source=self._options.source)
            self._keep(run)
        return run

    def _keep(self, run: Run) -> None:
        with self._lock:
            self._handles[run.id] = run
            while len(self._handles) > HANDLES:
                self._handles.popitem(last=False)

    def _drop(self, run_id: str) -> None:
        with self._lock:
            self._handles.pop(run_id, None)


def _since_request(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return the messages that came after the latest request."""
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], HumanMessage):
            return messages[index + 1 :]
    return messages


def _last_words(messages: Sequence[BaseMessage]) -> str:
    last = next((one for one in reversed(messages) if isinstance(one, AIMessage)), None)
    return "" if last is None or last.tool_calls else str(last.text)


def _tokens(messages: Sequence[BaseMessage]) -> int | None:
    """Return the tokens that models told of, or `None` where none did."""
    usages = [one.usage_metadata for one in messages if isinstance(one, AIMessage)]
    return sum(usage["total_tokens"] for usage in usages if usage is not None) or None
