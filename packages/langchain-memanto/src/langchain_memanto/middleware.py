"""`MemantoMiddleware`: memory around an agent's run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain.tools.tool_node import ToolCallRequest
from langchain_core.messages import BaseMessage, SystemMessage, ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import Command

from langchain_memanto.middleware_work import Begun, Call, GuardMode, Options, Work
from langchain_memanto.tool import MemoryTool
from langchain_memanto.tools import memory_tools
from memanto import Memanto
from memanto.adapter import Failsafe, as_sync
from memanto.errors import told

if TYPE_CHECKING:
    from memanto import AsyncMemanto

_NOT_BEGUN: Final = Begun()


class MemantoState(AgentState[Any]):
    """What the middleware keeps in the agent's state, out of its input and output.

    Attributes:
        memanto_block: What is put before the model, the same for the whole run.
        memanto_run: Id of the run in the ledger, or `""`.
    """

    memanto_block: NotRequired[Annotated[str, PrivateStateAttr]]
    memanto_run: NotRequired[Annotated[str, PrivateStateAttr]]


class MemantoMiddleware(AgentMiddleware[MemantoState, Any, Any]):
    """Lets an agent begin with what memory knows, heed recorded failures, and leave behind what it learned.

    - Before the run: goal, plan, constraints and a brief for the user's request, cited, within a budget. They stand
      fenced at the end of the system message of every call, never in the message list, and do not change within a run.
    - Around each tool call: failures that match it are shown with its result (`guard="warn"`), or stop it once
      (`"refuse"`; the same call again goes through). What fails is recorded as a trigger for the next time.
    - Before each model call: tool results over a size, apart from the latest, give way to pointers in the message list;
      the tool `show` reads them page by page.
    - After the run: one line in the run ledger, which the next brief cites, and a `learning` where `distil` gives one.

    When memory fails, the agent goes on without it; the first failure is logged, all are counted.

    Args:
        memory: A `Memanto` or an `AsyncMemanto`; who opened it closes it.
        task_type: What kind of work the agent does; its runs are compared with each other.
        budget_tokens: Bound on the brief; only pins, which are never cut, may go beyond it.
        bullets: 1..20 lines of the brief.
        words_only: Brief by words alone, so that no embedder is loaded.
        lane: The line of work whose handoff says what not to redo.
        guard: What matching failures do: `"warn"`, `"refuse"` or `"off"`.
        failures: Whether failing tools are recorded.
        runs: Whether runs are recorded.
        keep_over_tokens: Size from which older tool results give way to pointers; `None` for never.
        keep_last: How many of the latest tool results stay whole.
        succeeded: Says from a run's messages whether it reached its aim; a run that comes to its end did, without it.
        distil: Makes one lesson of a run's messages, or `None`; it is stored as inferred.
        tools: Names of memory tools that the agent gets; see `memory_tools`.
        source: Who writes.
        strict: Raise when memory fails.
    """

    state_schema = MemantoState

    def __init__(
        self,
        memory: Memanto | AsyncMemanto,
        *,
        task_type: str = "agent",
        budget_tokens: int = 600,
        bullets: int = 5,
        words_only: bool = False,
        lane: str = "main",
        guard: GuardMode = "warn",
        failures: bool = True,
        runs: bool = True,
        keep_over_tokens: int | None = 1_000,
        keep_last: int = 2,
        succeeded: Callable[[Sequence[BaseMessage]], bool] | None = None,
        distil: Callable[[Sequence[BaseMessage]], str | None] | None = None,
        tools: Iterable[str] = ("show",),
        source: str = "langchain",
        strict: bool = False,
    ) -> None:
        super().__init__()
        self.tools = memory_tools(memory, tools, source=source, strict=strict)
        self._failsafe = Failsafe("MemantoMiddleware", strict=strict)
        options = Options(
            task_type=task_type,
            brief={"budget_tokens": budget_tokens, "bullets": bullets, "words_only": words_only},
            lane=lane,
            guard=guard,
            failures=failures,
            runs=runs,
            keep_over_tokens=keep_over_tokens,
            keep_last=keep_last,
            succeeded=succeeded,
            distil=distil,
            source=source,
        )
        self._work = Work(as_sync(memory), options)

    @property
    def failure_count(self) -> int:
        """How many calls memory has failed."""
        return self._failsafe.failures

    # -- before the run -----------------------------------------------------------------------------
    def before_agent(self, state: MemantoState, runtime: Runtime[Any]) -> dict[str, Any]:  # noqa: ARG002
        """Begin a run and put together what memory knows of the request."""
        begun = self._failsafe.call("begin a run", self._work.begin, state["messages"], otherwise=_NOT_BEGUN)
        return _kept(begun)

    async def abefore_agent(self, state: MemantoState, runtime: Runtime[Any]) -> dict[str, Any]:  # noqa: ARG002
        """Do as `before_agent` does, without holding up the event loop."""
        begun = await self._failsafe.acall("begin a run", self._work.begin, state["messages"], otherwise=_NOT_BEGUN)
        return _kept(begun)

    # -- around the model ---------------------------------------------------------------------------
    def before_model(self, state: MemantoState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Let older long tool results give way to pointers."""
        nothing: list[ToolMessage] = []
        shorter = self._failsafe.call("keep long results", self._work.shortened, state["messages"], otherwise=nothing)
        return {"messages": shorter} if shorter else None

    async def abefore_model(self, state: MemantoState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Do as `before_model` does, without holding up the event loop."""
        nothing: list[ToolMessage] = []
        if not self._work.any_to_shorten(state["messages"]):
            return None
        shorter = await self._failsafe.acall(
            "keep long results", self._work.shortened, state["messages"], otherwise=nothing
        )
        return {"messages": shorter} if shorter else None

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Put what memory knows at the end of the system message."""
        return handler(_informed(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Do as `wrap_model_call` does."""
        return await handler(_informed(request))

    # -- around tools -------------------------------------------------------------------------------
    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Look before the tool acts, and record what fails. The tools of memory itself are let through."""
        if isinstance(request.tool, MemoryTool):
            return handler(request)
        call = _call(request)
        warning = self._failsafe.call("guard a tool call", self._work.warning, call, otherwise="")
        if warning and self._work.refuses(call):
            return _refusal(call, warning)
        try:
            result = handler(request)
        except GraphBubbleUp:  # an interrupt or a jump is no failure
            raise
        except Exception as error:
            self._failsafe.call("record a failure", self._work.failed, call, told(error), otherwise=None)
            raise
        self._failsafe.call("record a tool call", self._work.returned, call, result, otherwise=None)
        return _with_warning(result, warning)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Do as `wrap_tool_call` does, without holding up the event loop. A cancelled call records nothing."""
        if isinstance(request.tool, MemoryTool):
            return await handler(request)
        call = _call(request)
        warning = await self._failsafe.acall("guard a tool call", self._work.warning, call, otherwise="")
        if warning and self._work.refuses(call):
            return _refusal(call, warning)
        try:
            result = await handler(request)
        except GraphBubbleUp:  # an interrupt or a jump is no failure
            raise
        except Exception as error:
            await self._failsafe.acall("record a failure", self._work.failed, call, told(error), otherwise=None)
            raise
        await self._failsafe.acall("record a tool call", self._work.returned, call, result, otherwise=None)
        return _with_warning(result, warning)

    # -- after the run ------------------------------------------------------------------------------
    def after_agent(self, state: MemantoState, runtime: Runtime[Any]) -> None:  # noqa: ARG002
        """End the run in the ledger, and store what was distilled."""
        run, messages = state.get("memanto_run", ""), state["messages"]
        self._failsafe.call("end a run", self._work.end, run, messages, otherwise=None)

    async def aafter_agent(self, state: MemantoState, runtime: Runtime[Any]) -> None:  # noqa: ARG002
        """Do as `after_agent` does, without holding up the event loop."""
        run, messages = state.get("memanto_run", ""), state["messages"]
        await self._failsafe.acall("end a run", self._work.end, run, messages, otherwise=None)


def _kept(begun: Begun) -> dict[str, Any]:
    return {"memanto_block": begun.block, "memanto_run": begun.run_id}


def _informed(request: ModelRequest[Any]) -> ModelRequest[Any]:
    """Return the request with the block behind whatever system message there is."""
    block = str(request.state.get("memanto_block") or "")
    if not block:
        return request
    before = request.system_message
    if before is None:
        return request.override(system_message=SystemMessage(block))
    content: Any = (
        f"{before.content}\n\n{block}"
        if isinstance(before.content, str)
        else [*before.content, {"type": "text", "text": block}]
    )
    return request.override(system_message=before.model_copy(update={"content": content}))


def _call(request: ToolCallRequest) -> Call:
    state: Any = request.state if isinstance(request.state, dict) else {}
    return Call(
        id=request.tool_call["id"] or "",
        name=request.tool_call["name"],
        args=request.tool_call["args"],
        run_id=str(state.get("memanto_run") or ""),
        messages=state.get("messages", ()),
    )


def _refusal(call: Call, warning: str) -> ToolMessage:
    status: Literal["error"] = "error"
    return ToolMessage(
        f"{warning}\nThe tool was not called. Call it again in the same way if it is right all the same.",
        tool_call_id=call.id,
        name=call.name,
        status=status,
        response_metadata={"memanto_refused": call.signature},
    )


def _with_warning(result: ToolMessage | Command[Any], warning: str) -> ToolMessage | Command[Any]:
    """Return a result with the warning behind it; one that is no message of text stays as it is."""
    if not warning or not isinstance(result, ToolMessage) or not isinstance(result.content, str):
        return result
    return result.model_copy(update={"content": f"{result.content}\n{warning}"})
