"""What a listener writes to memory: runs, steps, findings, failures. Everything here blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from crewai_memanto.distil import distil
from crewai_memanto.listener_work import Work, line
from crewai_memanto.origin import Origin, checked_source, label
from memanto import Draft, Provenance
from memanto.adapter import claim_type
from memanto.errors import InvalidInputError, NotFoundError, told
from memanto.models import MAX_KEY, MAX_TITLE

if TYPE_CHECKING:
    from memanto import Memanto, Run


MOST_FINDINGS: Final = 5
"""Findings that are kept of one task's output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Something that went wrong.

    Attributes:
        attempted: What was tried.
        wrong: What was seen.
        origin: Where.
        calls: Tool calls that nothing else counts.
    """

    attempted: str
    wrong: str
    origin: Origin
    calls: int = 0


class Recorder:
    """Writes what happens in runs to one memory. May be used from several threads.

    Args:
        memory: The memory.
        source: Who writes.
        triggers: Whether failures are recorded as triggers, beside the steps.
        succeeded: Says from an output whether the aim was reached; it was, without it.
    """

    def __init__(
        self, memory: Memanto, *, source: str, triggers: bool, succeeded: Callable[[Any], bool] | None
    ) -> None:
        self._memory = memory
        self._source = checked_source(source)
        self._triggers = triggers
        self._succeeded = succeeded

    def run(self, work: Work) -> Run:
        """Return the record of a run, begun or taken up when it is first needed."""
        with work.lock:
            if work.run is None:
                work.run = self._taken_up(work) if work.resumed else self._started(work)
            return work.run

    def _started(self, work: Work) -> Run:
        return self._memory.start_run(work.task_type, run_id=work.run_id, source=self._source)

    def _taken_up(self, work: Work) -> Run:
        try:
            return self._memory.resume_run(work.run_id, source=self._source)
        except NotFoundError:
            return self._started(work)
        except InvalidInputError:  # it is over: what follows is a run of its own
            return self._memory.start_run(work.task_type, source=self._source)

    def step(self, work: Work, outcome: str, *, task: str | None = None) -> None:
        """Record a piece of work that is done, with the tool calls and tokens that it took."""
        calls, tokens = work.taken(task)
        self.run(work).step(line(outcome, 500), tool_calls=calls, tokens=tokens)

    def findings(self, work: Work, task: str, output: str, origin: Origin) -> None:
        """Remember what a task's output holds that is worth keeping: a model's claims."""
        found = distil(output, MOST_FINDINGS, task=task)
        if not found:
            return
        run_id = self.run(work).id
        self._memory.remember_many(
            Draft(
                content=one,
                type=claim_type(one),
                title=getattr(one, "about", "")[:MAX_TITLE] or None,
                provenance=Provenance.INFERRED,
                source=self._source,
                run_id=run_id,
                actor=label(origin.agent, MAX_KEY),
                metadata=origin.metadata(),
            )
            for one in found
        )

    def failed(self, work: Work | None, failure: Failure) -> None:
        """Record a failure as a step of its run, if it has one, and as a trigger."""
        attempted, wrong = line(failure.attempted, 200), line(failure.wrong, 300) or "an error without words"
        run_id = None
        if work is not None:
            calls, tokens = work.taken(failure.origin.task)
            run = self.run(work)
            run.step(
                f"{attempted} failed",
                tool_calls=calls + failure.calls,
                tokens=tokens,
                failure=line(f"{attempted}: {wrong}", 500),
            )
            run_id = run.id
        if self._triggers:
            self._memory.record_failure(
                task_type="" if work is None else work.task_type,
                attempted=attempted,
                wrong=wrong,
                source=self._source,
                run_id=run_id,
                metadata=failure.origin.metadata(),
            )

    def end(self, work: Work, output: Any) -> None:
        """End a run that came to its end."""
        run = self.run(work)
        outcome = line(str(getattr(output, "raw", output) or ""), 500) or "finished"
        calls, tokens = work.all_taken()
        if calls or tokens or not run.steps:
            run.step(outcome, tool_calls=calls, tokens=tokens)
        run.end(outcome, success=self._succeeded is None or self._succeeded(output))

    def crashed(self, work: Work, error: BaseException | str) -> None:
        """End a run that broke off; leave it unfinished where a checkpoint lets it go on."""
        run = self.run(work)
        calls, tokens = work.all_taken()
        if calls or tokens:
            run.step("broke off", tool_calls=calls, tokens=tokens)
        if getattr(work.entity, "checkpoint", None):
            raised = Exception(error) if isinstance(error, str) else error
            run.__exit__(type(raised), raised, raised.__traceback__)  # as a `with run:` that fails: noted, and no more
        else:
            run.end(line(f"failed: {error if isinstance(error, str) else told(error)}", 500), success=False)
