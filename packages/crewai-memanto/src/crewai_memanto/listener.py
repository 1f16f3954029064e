# ruff: noqa: ARG002 - the bus passes a handler more than it needs
"""`MemantoListener`: a crew's or flow's runs in the ledger, its findings, and its failures as triggers."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from crewai import Crew, Flow
from crewai.events import BaseEventListener
from crewai.events.base_events import BaseEvent
from crewai.events.event_bus import CrewAIEventsBus, is_replaying
from crewai.events.types.agent_events import AgentExecutionErrorEvent
from crewai.events.types.crew_events import (
    CrewKickoffCompletedEvent,
    CrewKickoffFailedEvent,
    CrewKickoffStartedEvent,
)
from crewai.events.types.flow_events import (
    FlowFailedEvent,
    FlowFinishedEvent,
    FlowPausedEvent,
    FlowStartedEvent,
    MethodExecutionFailedEvent,
    MethodExecutionFinishedEvent,
)
from crewai.events.types.llm_events import LLMCallCompletedEvent
from crewai.events.types.task_events import TaskCompletedEvent, TaskFailedEvent, TaskStartedEvent
from crewai.events.types.tool_usage_events import ToolFailureDetectedEvent, ToolUsageFinishedEvent
from crewai.hooks import InterceptionPoint, register_hook, unregister_hook
from crewai.tools.tool_failure import ToolFailurePolicy, ToolFailureReason, ToolFailureRecord

from crewai_memanto.listener_events import crash_of, crew_of, is_call_of_memory, key_of, memory_of, origin_of, tokens_of
from crewai_memanto.listener_record import Failure, Recorder
from crewai_memanto.listener_work import Work, call_of, checked_kind, kind_of, line
from crewai_memanto.origin import RECORDED, Origin, named, scopes
from crewai_memanto.tool import is_ours
from memanto import Memanto
from memanto.adapter import Failsafe, as_sync
from memanto.errors import told

if TYPE_CHECKING:
    from crewai.hooks.contexts import ExecutionEndContext

    from memanto import AsyncMemanto

_ENDED: Final = 1_000
"""Runs that are over and kept in mind, so that what comes late takes none up again."""


class MemantoListener(BaseEventListener):
    """Records each run of a crew or flow: a step per task, tool calls, tokens, findings, failures, and how it ended.

    Make one, and every crew and flow of the process is recorded from then on, with `kickoff`, `kickoff_async`,
    `akickoff` and `kickoff_for_each`; `crew=` limits it to one. What is inside another (a crew in a flow) belongs to
    the outermost's run. Runs at the same time are kept apart.

    A task's result is remembered as a finding, unless the crew's memory is on the same agent and does so by itself.
    A tool call that fails is a failure, once, and so is a crash; `guard` speaks of it from then on. A crew that crashes
    ends its run as failed, unless it keeps checkpoints: then the run stays unfinished, and goes on in the same record
    when the crew is restored, also by another process. So does that of a flow that waits for a person.

    When `kickoff` returns, all is recorded. When memory fails, that is logged once and counted, and the crew goes on.
    Used as a context manager, it stops listening with its block.

    Args:
        memory: A `Memanto` or an `AsyncMemanto`; who opened it closes it.
        crew: Only this crew and copies of it, such as those of `kickoff_for_each`.
        task_type: What kind of work it is, at most 60 characters; runs of one kind are compared. The crew's or
            flow's name when missing.
        findings: Whether tasks' results are remembered.
        failures: Whether failures are recorded as triggers, beside the run's steps.
        succeeded: Says from a crew's or flow's output whether it reached its aim; one that comes to its end did,
            without it.
        source: Who writes.

    Attributes:
        run_id: Of the record of the run that began last; for what is stored by hand.
    """

    def __init__(
        self,
        memory: Memanto | AsyncMemanto,
        *,
        crew: Crew | None = None,
        task_type: str | None = None,
        findings: bool = True,
        failures: bool = True,
        succeeded: Callable[[Any], bool] | None = None,
        source: str = "crewai",
    ) -> None:
        self._memory = as_sync(memory)
        self._recorder = Recorder(self._memory, source=source, triggers=failures, succeeded=succeeded)
        self._crew = key_of(crew)
        self._task_type = checked_kind(task_type)
        self._findings = findings
        self._failsafe = Failsafe("MemantoListener")
        self._open: dict[str, Work] = {}
        self._ended: OrderedDict[str, weakref.ref[Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._handlers: list[tuple[type[BaseEvent], Callable[[Any, Any], None]]] = []
        self.run_id: str | None = None
        super().__init__()

    @property
    def failure_count(self) -> int:
        """How many calls memory has failed."""
        return self._failsafe.failures

    # -- its life -----------------------------------------------------------------------------------
    def setup_listeners(self, crewai_event_bus: CrewAIEventsBus) -> None:
        """Register on CrewAI's bus; called once, by the constructor."""
        self._bus = crewai_event_bus
        acts: dict[type[BaseEvent], Callable[[Any, Any], None]] = {
            CrewKickoffStartedEvent: self._begun,
            FlowStartedEvent: self._begun,
            FlowPausedEvent: self._paused,
            CrewKickoffCompletedEvent: self._over,
            CrewKickoffFailedEvent: self._over,
            FlowFinishedEvent: self._over,
            FlowFailedEvent: self._over,
            TaskStartedEvent: self._task_begun,
            TaskCompletedEvent: self._task_done,
            TaskFailedEvent: self._task_failed,
            AgentExecutionErrorEvent: self._agent_failed,
            MethodExecutionFinishedEvent: self._method_done,
            MethodExecutionFailedEvent: self._method_failed,
            ToolUsageFinishedEvent: self._tool_used,
            ToolFailureDetectedEvent: self._tool_failed,
            LLMCallCompletedEvent: self._model_asked,
        }
        for kind, act in acts.items():
            handler = self._handler(act)
            crewai_event_bus.on(kind)(handler)
            self._handlers.append((kind, handler))
        # A run ends in this hook rather than in an event: it is called before `kickoff` returns.
        register_hook(InterceptionPoint.EXECUTION_END, self._at_end)

    def close(self) -> None:
        """Wait for what is under way, then stop listening; calling it again does nothing. Open runs stay unfinished."""
        self._bus.flush()
        unregister_hook(InterceptionPoint.EXECUTION_END, self._at_end)
        for kind, handler in self._handlers:
            self._bus.off(kind, handler)
        self._handlers.clear()
        for work in list(self._open.values()):
            self._let_go(work)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _handler(self, act: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def handler(source: Any, event: Any) -> None:
            if not is_replaying():  # a checkpoint tells again what was recorded when it happened
                self._failsafe.call("record what happens", act, source, event, otherwise=None)

        return handler

    # -- a run's life -------------------------------------------------------------------------------
    def _begun(self, source: Any, event: CrewKickoffStartedEvent | FlowStartedEvent) -> None:
        """Open a record for a crew or flow that is part of no other."""
        outer = self._under_way()
        if outer is not None and outer.entity is not source:
            return
        if outer is not None:  # it was broken off by what CrewAI does not catch, and begins anew
            self._let_go(outer)
        if self._is_meant(source):
            if isinstance(event, FlowStartedEvent):  # one that waited for a person has its id, and begins once more
                self._open_run(event.event_id, source, event.flow_name, run_id=named(source.flow_id), resumed=True)
            else:
                self._open_run(event.event_id, source, event.crew_name)

    def _open_run(
        self, root: str, entity: Any, name: str | None, *, run_id: str | None = None, resumed: bool = False
    ) -> Work:
        kind = self._task_type or kind_of(name) or type(entity).__name__
        work = Work(root=root, run_id=run_id or named(root), entity=entity, task_type=kind, resumed=resumed)
        with self._lock:
            self._open[root] = work
        RECORDED[root] = work.run_id
        self.run_id = RECORDED[root] = self._recorder.run(work).id
        return work

    def _let_go(self, work: Work) -> None:
        with self._lock:
            self._open.pop(work.root, None)
            self._ended[work.root] = weakref.ref(work.entity)
            while len(self._ended) > _ENDED:
                self._ended.popitem(last=False)
        RECORDED.pop(work.root, None)

    def _paused(self, source: Any, event: FlowPausedEvent) -> None:
        """Leave the run of a flow unfinished that waits for a person."""
        work = self._run_of(source)
        if work is not None:
            self._let_go(work)

    def _at_end(self, context: ExecutionEndContext) -> None:
        """End the run of a crew or flow, when all that it did is recorded."""
        entity = context.crew if context.crew is not None else context.flow
        if getattr(entity, "suppress_flow_events", False):  # an agent's own machinery is a flow, too
            return
        work = self._run_of(entity) or self._under_way()
        if work is None:
            return
        self._bus.flush()
        self._failsafe.call("record a failure", self._crashes, work, otherwise=None)
        if work.entity is entity:
            self._finish(work, context.output, context.error)

    def _over(self, source: Any, event: Any) -> None:
        """End a run that the hook did not: CrewAI calls none for a replay that fails, and a program may clear them."""
        work = self._run_of(source)
        if work is not None:
            self._crashes(work)
            self._finish(work, getattr(event, "output", getattr(event, "result", None)), getattr(event, "error", None))

    def _finish(self, work: Work, output: Any, error: BaseException | str | None) -> None:
        self._let_go(work)
        if error is None:
            self._failsafe.call("end a run", self._recorder.end, work, output, otherwise=None)
        else:
            self._failsafe.call("note how a run ended", self._crashed, work, error, otherwise=None)

    def _crashes(self, work: Work) -> None:
        for failure in work.kept_for_later():
            self._recorder.failed(work, failure)

    def _crashed(self, work: Work, error: BaseException | str) -> None:
        if work.is_new_crash(None, str(error)):
            attempted = f"{type(work.entity).__name__.lower()} {work.task_type}"
            wrong = error if isinstance(error, str) else told(error)
            self._recorder.failed(work, Failure(attempted=attempted, wrong=wrong, origin=Origin()))
        self._recorder.crashed(work, error)

    # -- inside a run -------------------------------------------------------------------------------
    def _task_begun(self, source: Any, event: TaskStartedEvent) -> None:
        """Take up the run of a crew that comes back from a checkpoint."""
        self._work(source)

    def _task_done(self, source: Any, event: TaskCompletedEvent) -> None:
        work = self._work(source)
        if work is None:
            return
        name = line(event.task_name or "", 100)
        self._recorder.step(work, f"task {name}: {event.output.raw}", task=event.task_id)
        of_framework = crew_of(source) is None and isinstance(work.entity, Crew)  # such as what marks a crew's work
        if self._findings and not of_framework and not self._is_remembered(source):
            self._recorder.findings(work, event.output.description, event.output.raw, origin_of(source, event))

    def _method_done(self, source: Any, event: MethodExecutionFinishedEvent) -> None:
        work = self._work(source)
        if work is not None:
            self._recorder.step(work, f"method {event.method_name}")

    def _tool_used(self, source: Any, event: ToolUsageFinishedEvent) -> None:
        work = self._work(source)
        if work is not None:
            work.count(event.task_id, calls=1)

    def _model_asked(self, source: Any, event: LLMCallCompletedEvent) -> None:
        work = self._work(source)
        if work is not None:
            work.count(event.task_id, tokens=tokens_of(event.usage or {}))

    def _tool_failed(self, source: Any, event: ToolFailureDetectedEvent) -> None:
        work, failure = self._work(source), event.failure
        if work is not None and event.policy is ToolFailurePolicy.RAISE:  # the task fails next, in these words
            record = ToolFailureRecord(tool_name=event.tool_name, failure=failure, task_name=event.task_name)
            work.is_new_crash(event.task_id, record.summary())
        raised = failure.reason is ToolFailureReason.EXCEPTION  # then nothing else tells of the call
        if is_ours(failure) or is_call_of_memory(event):
            if work is not None:
                work.count(event.task_id, calls=int(raised))
        else:
            self._note(
                work,
                Failure(
                    attempted=call_of(event.tool_name, event.tool_args),
                    wrong=f"{failure.code}: {failure.message}" if raised else failure.as_agent_message(),
                    origin=origin_of(source, event),
                    calls=int(raised),
                ),
            )

    def _agent_failed(self, source: Any, event: AgentExecutionErrorEvent) -> None:
        work, failure = self._work(source), crash_of(source, event)
        if work is None or work.is_new_crash(failure.origin.task, event.error):
            self._note(work, failure)

    def _task_failed(self, source: Any, event: TaskFailedEvent) -> None:
        work, failure = self._work(source), crash_of(source, event)
        if work is None:
            self._note(None, failure)
        else:
            work.keep_for_later(failure.origin.task, event.error, failure)

    def _method_failed(self, source: Any, event: MethodExecutionFailedEvent) -> None:
        work = self._work(source)
        failure = Failure(attempted=f"method {event.method_name}", wrong=told(event.error), origin=Origin())
        if work is not None:
            work.keep_for_later(None, str(event.error), failure)

    def _note(self, work: Work | None, failure: Failure) -> None:
        """Record a failure, also of an agent that works outside any crew, unless only one crew is meant."""
        if work is not None or self._crew is None:
            self._recorder.failed(work, failure)

    # -- which run an event belongs to --------------------------------------------------------------
    def _run_of(self, entity: Any) -> Work | None:
        return next((work for work in list(self._open.values()) if work.entity is entity), None)

    def _under_way(self) -> Work | None:
        """Return the recorded run that a handler's event happened in; the bus hands on the context of its sender."""
        with self._lock:
            return next((self._open[event_id] for event_id, _ in scopes() if event_id in self._open), None)

    def _work(self, source: Any) -> Work | None:
        """Return the run that an event belongs to, also that of a crew from a checkpoint, which nothing began here."""
        found = self._under_way()
        if found is not None:
            return found
        kickoff = next((one for one, kind in reversed(scopes()) if kind == "crew_kickoff_started"), None)
        crew = crew_of(source)
        if kickoff is None or crew is None or not self._is_meant(crew):
            return None
        ended = self._ended.get(kickoff)
        if ended is not None and ended() is crew:  # it comes late; a crew that was restored is another object
            return None
        return self._open_run(kickoff, crew, crew.name, resumed=True)

    def _is_remembered(self, source: Any) -> bool:
        """Return whether the crew's own memory keeps a task's result for the same agent."""
        memory = memory_of(source)
        return memory is not None and memory.memanto.agent == self._memory.agent

    def _is_meant(self, entity: Any) -> bool:
        if self._crew is not None:
            return isinstance(entity, Crew) and entity.key == self._crew
        # A flow that suppresses its events is machinery of the framework, or does not want to be seen.
        return isinstance(entity, Crew) or (isinstance(entity, Flow) and not entity.suppress_flow_events)
