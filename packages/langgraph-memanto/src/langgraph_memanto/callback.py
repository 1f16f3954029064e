# ruff: noqa: ARG002 - LangChain passes a hook more than it needs
"""`MemantoCallback`: a graph's runs in the ledger, and its failures as triggers."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langgraph.callbacks import GraphCallbackHandler, GraphInterruptEvent, GraphResumeEvent
from langgraph.errors import GraphBubbleUp

from langgraph_memanto.run_record import Work, line
from memanto import Memanto
from memanto.adapter import Failsafe, as_sync
from memanto.errors import told

if TYPE_CHECKING:
    from memanto import AsyncMemanto, Run

_PLAIN: Final = re.compile(r"[A-Za-z0-9._:-]{1,80}")
_STEP: Final = "graph:step:"
"""How LangGraph tags the run of a node, and no run inside it."""


class MemantoCallback(GraphCallbackHandler):
    """Records each run of a graph: a step per node, tool calls, tokens, failures, and how it ended.

    Pass it in `config={"callbacks": [MemantoCallback(memory)]}`. One object serves any number of runs at once, with
    `invoke`, `ainvoke` and streams. A run that an interrupt pauses stays unfinished; resumed on the same thread, also
    by another process, it goes on in the same record. So does one that an exception or the death of the process ended,
    when its thread is resumed. What a node or a tool raises is recorded as a failure, once, and `guard` speaks of it
    from then on. When memory fails, that is logged once and counted, and the graph goes on.

    Args:
        memory: A `Memanto` or an `AsyncMemanto`; who opened it closes it.
        task_type: What kind of work the graph does; its runs are compared with each other.
        failures: Whether what is raised is recorded.
        outcome: From a graph's output to the line that its run leaves; by default the last message's text.
        succeeded: Says from a graph's output whether it reached its aim; a run that comes to its end did, without it.
        source: Who writes.

    Attributes:
        run_id: Of the record of the run that began last; for what is stored by hand.
    """

    def __init__(
        self,
        memory: Memanto | AsyncMemanto,
        *,
        task_type: str = "graph",
        failures: bool = True,
        outcome: Callable[[Any], str] | None = None,
        succeeded: Callable[[Any], bool] | None = None,
        source: str = "langgraph",
    ) -> None:
        self._memory = as_sync(memory)
        self._task_type = task_type
        self._failures = failures
        self._outcome = outcome or _last_text
        self._succeeded = succeeded
        self._source = source
        self._failsafe = Failsafe("MemantoCallback")
        self._open: dict[UUID, Work] = {}
        self._lock = threading.Lock()
        self.run_id: str | None = None

    @property
    def failure_count(self) -> int:
        """How many calls memory has failed."""
        return self._failsafe.failures

    # -- a run's life -------------------------------------------------------------------------------
    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: dict[str, Any],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Open a record for a graph, and take note of its nodes."""
        if parent_run_id is None:
            with self._lock:
                self._open[run_id] = Work(root=run_id, thread=_thread(metadata))
            return
        work = self._joined(run_id, parent_run_id)
        if work is not None and any(tag.startswith(_STEP) for tag in tags or ()):
            work.nodes[run_id] = str((metadata or {}).get("langgraph_node") or kwargs.get("name") or "node")

    def on_resume(self, event: GraphResumeEvent) -> None:
        """Go on with the record of the thread's unfinished run."""
        work = self._work(event.run_id)
        if work is not None and not event.checkpoint_ns:
            self._failsafe.call("resume a run", self._resume, work, otherwise=None)

    def on_interrupt(self, event: GraphInterruptEvent) -> None:
        """Take note that the run pauses."""
        work = self._work(event.run_id)
        if work is not None:
            work.paused = True

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a node's step, and the end of a graph."""
        work = self._work(run_id)
        if work is None:
            return
        if run_id in work.nodes:
            name = work.nodes.pop(run_id)
            self._failsafe.call("record a step", self._step, work, name, otherwise=None)
        elif run_id == work.root:
            self._close(work)
            if not work.paused:
                self._failsafe.call("end a run", self._end, work, outputs, otherwise=None)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Record what a node raised, and leave the run of a graph that fails unfinished."""
        work = self._work(run_id)
        if work is None:
            return
        name = work.nodes.pop(run_id, None)
        if name is not None and work.is_new(error, passed_on=True):
            self._failsafe.call("record a failure", self._failed, work, f"node {name}", error, otherwise=None)
        if run_id == work.root:
            self._close(work)
            if not isinstance(error, GraphBubbleUp):
                self._failsafe.call("note a run's end", self._interrupted, work, error, otherwise=None)

    # -- inside a run -------------------------------------------------------------------------------
    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Take note of a tool call."""
        work = self._joined(run_id, parent_run_id)
        if work is not None:
            name = (serialized or {}).get("name") or kwargs.get("name") or "tool"
            work.tools[run_id] = line(f"{name} {input_str}", 200)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Count a tool call; one that came back as an error is a failure."""
        work = self._work(run_id)
        if work is None:
            return
        call = work.tools.pop(run_id, "tool")
        work.count(calls=1)
        if isinstance(output, ToolMessage) and output.status == "error":
            self._failsafe.call("record a failure", self._failed, work, call, output.text, otherwise=None)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Record what a tool raised."""
        work = self._work(run_id)
        if work is None:
            return
        call = work.tools.pop(run_id, "tool")
        if work.is_new(error):
            work.count(calls=1)
            self._failsafe.call("record a failure", self._failed, work, call, error, otherwise=None)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        """Take note of which run a model's call belongs to."""
        self._joined(run_id, parent_run_id)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Count the tokens that a model says it took."""
        work = self._work(run_id)
        if work is not None:
            work.count(tokens=_tokens(response))

    # -- memory -------------------------------------------------------------------------------------
    def _run(self, work: Work) -> Run:
        """Return the record of a run, begun when it is first needed: only then is it known whether it is a resume."""
        with work.lock:
            if work.run is None:
                chosen = None if work.thread is None else f"{work.thread}:{work.root.hex[-12:]}"
                work.run = self._memory.start_run(self._task_type, run_id=chosen, source=self._source)
                self.run_id = work.run.id
            return work.run

    def _resume(self, work: Work) -> None:
        if work.thread is None:
            return
        waiting = self._memory.runs(self._task_type, state="unfinished")
        found = next((one for one in waiting if one.id.rpartition(":")[0] == work.thread), None)
        if found is not None:
            with work.lock:
                work.run = self._memory.resume_run(found.id, source=self._source)
                self.run_id = found.id

    def _step(self, work: Work, name: str) -> None:
        calls, tokens = work.taken()
        self._run(work).step(line(f"node {name}", 200), tool_calls=calls, tokens=tokens)

    def _failed(self, work: Work, attempted: str, error: BaseException | str) -> None:
        wrong = line(error if isinstance(error, str) else told(error), 300) or "an error without words"
        run = self._run(work)
        calls, tokens = work.taken()
        run.step(
            line(f"{attempted} failed", 400),
            tool_calls=calls,
            tokens=tokens,
            failure=line(f"{attempted}: {wrong}", 500),
        )
        if self._failures:
            self._memory.record_failure(
                task_type=self._task_type, attempted=attempted, wrong=wrong, source=self._source, run_id=run.id
            )

    def _end(self, work: Work, outputs: Any) -> None:
        run = self._run(work)
        calls, tokens = work.taken()
        outcome = line(self._outcome(outputs), 500) or "finished"
        if calls or tokens or not run.steps:
            run.step(outcome, tool_calls=calls, tokens=tokens)
        run.end(outcome, success=self._succeeded is None or self._succeeded(outputs))

    def _interrupted(self, work: Work, error: BaseException) -> None:
        run = self._run(work)
        run.__exit__(
            type(error), error, error.__traceback__
        )  # what a `with run:` that fails does: note it, and no more

    # -- which run an event belongs to --------------------------------------------------------------
    def _work(self, run_id: UUID | None) -> Work | None:
        with self._lock:
            return None if run_id is None else self._open.get(run_id)

    def _joined(self, run_id: UUID, parent_run_id: UUID | None) -> Work | None:
        """Return the record that a run inside a graph belongs to, and remember it for the run's own events."""
        with self._lock:
            work = None if parent_run_id is None else self._open.get(parent_run_id)
            if work is not None:
                self._open[run_id] = work
                work.inside.append(run_id)
            return work

    def _close(self, work: Work) -> None:
        with self._lock:
            for run_id in (work.root, *work.inside):
                self._open.pop(run_id, None)


def _thread(metadata: Mapping[str, Any] | None) -> str | None:
    """Return a name for the thread of a run that is the same wherever it is computed, or `None` without one."""
    thread = (metadata or {}).get("thread_id")
    if thread is None:
        return None
    text = str(thread)
    if _PLAIN.fullmatch(text):
        return f"thread:{text}"
    return f"thread:{hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def _last_text(outputs: Any) -> str:
    messages = outputs.get("messages") if isinstance(outputs, Mapping) else None
    if isinstance(messages, Sequence) and messages and isinstance(messages[-1], BaseMessage):
        return str(messages[-1].text)
    return ""


def _tokens(response: LLMResult) -> int:
    total = 0
    for generation in (one for group in response.generations for one in group):
        usage = getattr(generation.message, "usage_metadata", None) if isinstance(generation, ChatGeneration) else None
        total += int((usage or {}).get("total_tokens", 0))
    return total
