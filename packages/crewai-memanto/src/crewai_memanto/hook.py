"""`GuardHook`: what memory knows against a tool call, told to the model or in the call's way."""

from __future__ import annotations

import threading
from collections import OrderedDict
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, get_args

from crewai.hooks import (
    ToolCallHookContext,
    register_after_tool_call_hook,
    register_before_tool_call_hook,
    unregister_after_tool_call_hook,
    unregister_before_tool_call_hook,
)

from crewai_memanto.listener_events import key_of
from crewai_memanto.listener_work import as_json, said
from crewai_memanto.origin import run_of, scopes
from crewai_memanto.tool import is_of_memory
from memanto import Memanto
from memanto.adapter import Failsafe, as_sync, warned
from memanto.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from crewai import Crew

    from memanto import AsyncMemanto

Mode = Literal["warn", "refuse", "block"]

_REFUSED: Final = "The tool was not called. Call it again in the same way if it is right all the same."
_BLOCKED: Final = "The tool was not called. Do something else."
_REMEMBERED: Final = 1_000
"""Calls under way, and refusals, that are kept in mind."""


class GuardHook:
    """Looks at each tool call before it is made: what recorded failures and finished steps speak against it.

    - `"warn"`: the call is made, and the model reads the warning below its result.
    - `"refuse"`: a confirmed trigger stops the call the first time; the model reads why. The same call of the same
      task goes through when it is made again in that run.
    - `"block"`: a confirmed trigger stops the call every time.

    Works in ReAct and native tool calls, sync and async, for every crew of the process or one. Use it as a context
    manager, or `register` and `unregister`. Triggers are looked up by words alone, without a model. When memory fails,
    that is logged once and counted, and calls go through.

    Args:
        memory: A `Memanto` or an `AsyncMemanto`; who opened it closes it.
        mode: What a match does.
        crew: Only calls of this crew and of copies of it, such as those of `kickoff_for_each`.
        lane: The line of work whose handoff says what not to redo.
        strict: Stop calls when memory fails, as "block" does.

    Raises:
        InvalidInputError: The mode is unknown.

    Examples:
        >>> from memanto import InMemory, Memanto
        >>> with Memanto("shop", store=InMemory()) as memory, GuardHook(memory, mode="refuse"):
        ...     pass  # crew.kickoff()
    """

    def __init__(
        self,
        memory: Memanto | AsyncMemanto,
        *,
        mode: Mode = "warn",
        crew: Crew | None = None,
        lane: str = "main",
        strict: bool = False,
    ) -> None:
        if mode not in get_args(Mode):
            raise InvalidInputError(f"mode {mode!r} is not valid", hint=f"one of {', '.join(get_args(Mode))}")
        self._memory = as_sync(memory)
        self._mode = mode
        self._crew = key_of(crew)
        self._lane = lane
        self._strict = strict
        self._failsafe = Failsafe("GuardHook")
        self._told: OrderedDict[int, tuple[dict[str, Any], str]] = OrderedDict()
        self._refused: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def failures(self) -> int:
        """How many calls memory has failed."""
        return self._failsafe.failures

    # -- its life -----------------------------------------------------------------------------------
    def register(self) -> Self:
        """Look at tool calls from now on. Calling it again does nothing."""
        self.unregister()
        register_before_tool_call_hook(self.before)
        register_after_tool_call_hook(self.after)
        return self

    def unregister(self) -> None:
        """Look at tool calls no longer. Calling it again does nothing."""
        unregister_before_tool_call_hook(self.before)
        unregister_after_tool_call_hook(self.after)

    def __enter__(self) -> Self:
        return self.register()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unregister()

    # -- a call -------------------------------------------------------------------------------------
    def before(self, context: ToolCallHookContext) -> bool | None:
        """Return `False` where the call is not to be made; else take note of what to say of it."""
        if not self._concerns(context):
            return None
        try:
            warning = self._warning(context)
        except Exception as error:  # noqa: BLE001 - a fault of memory, whatever it is, must not fail the crew
            self._failsafe.note("look before a tool call", error)
            if not self._strict:
                return None
            self._say(context, f"Memory failed, and without it no tool is called: {said(error)}")
            return False
        if not warning:
            return None
        if self._mode == "warn" or (self._mode == "refuse" and self._was_refused(context)):
            if not getattr(context.tool, "result_as_answer", False):  # nobody but the user would read it
                self._say(context, warning)
            return None
        self._say(context, f"{warning}\n{_BLOCKED if self._mode == 'block' else _REFUSED}")
        return False

    def after(self, context: ToolCallHookContext) -> str | None:
        """Return the result with what memory had to say of the call; `None` for nothing."""
        with self._lock:
            _, said = self._told.pop(id(context.tool_input), (None, ""))
        return f"{context.tool_result or ''}\n\n{said}" if said else None

    def _concerns(self, context: ToolCallHookContext) -> bool:
        if is_of_memory(getattr(context.tool, "_original_tool", None)):
            return False
        return self._crew is None or (context.crew is not None and context.crew.key == self._crew)

    def _warning(self, context: ToolCallHookContext) -> str:
        try:
            triggers = self._memory.guard(tool=context.tool_name, args=context.tool_input, lane=self._lane)
        except NotFoundError:  # nothing was ever written
            return ""
        return warned([one for one in triggers if one.confirmed or self._mode == "warn"])

    def _say(self, context: ToolCallHookContext, text: str) -> None:
        # Both hooks of a call get the same arguments object. Holding it keeps its id from being another's.
        with self._lock:
            self._told[id(context.tool_input)] = (context.tool_input, text)
            while len(self._told) > _REMEMBERED:
                self._told.popitem(last=False)

    def _was_refused(self, context: ToolCallHookContext) -> bool:
        whose = context.task or context.agent
        signature = as_json([run_of(scopes()), getattr(whose, "id", None), context.tool_name, context.tool_input])
        with self._lock:
            if signature in self._refused:
                return True
            self._refused[signature] = None
            while len(self._refused) > _REMEMBERED:
                self._refused.popitem(last=False)
            return False
