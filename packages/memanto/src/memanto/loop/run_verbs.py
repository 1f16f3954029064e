"""Runs and what they add up to, as verbs of `Memanto`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from memanto.loop.compounding import Compounding
    from memanto.loop.ledger import Ledger
    from memanto.loop.port import Verbs
    from memanto.loop.run import Run
    from memanto.loop.runs import RunFailure, RunRecord, RunState, Step


class RunVerbs:
    """Runs and what they add up to."""

    def run(
        self,
        task_type: str,
        *,
        run_id: str | None = None,
        goal: str | None = None,
        arm: str = "memory",
        source: str | None = None,
    ) -> Run:
        """Begin a run that ends with its `with` block; see `start_run`.

        A block that is left by an exception leaves the run unfinished, and `resume_run` can go on.
        """
        return self.start_run(task_type, run_id=run_id, goal=goal, arm=arm, source=source)

    def start_run(
        self,
        task_type: str,
        *,
        run_id: str | None = None,
        goal: str | None = None,
        arm: str = "memory",
        source: str | None = None,
    ) -> Run:
        """Begin a run and record that it has begun.

        Args:
            task_type: What kind of work it is, 1 to 60 characters; runs of one kind are compared.
            run_id: Its id, at most 200 characters; made from the time when missing.
            goal: What it is to reach.
            arm: Under which condition it runs: `"memory"`, `"off"`, or a name of yours.
            source: Who records it; the memory's own when missing.

        Raises:
            InvalidInputError: A value breaks its limit, or there is a run with this id.
            NotFoundError: The agent does not exist and `create` is off.
        """
        from memanto.loop.run import Run

        ledger = self._ledger(source, create=True)
        return Run(self._verbs(), ledger, ledger.start(task_type, run_id=run_id, goal=goal, arm=arm))

    def resume_run(self, run_id: str | None = None, *, source: str | None = None) -> Run:
        """Return the handle of an unfinished run; the steps recorded before are in its `steps`.

        Args:
            run_id: Its id; the only unfinished run when missing.
            source: Who goes on with it; the memory's own when missing.

        Raises:
            NotFoundError: No run has this id.
            InvalidInputError: It is over, or no single run is unfinished.
        """
        from memanto.errors import InvalidInputError
        from memanto.loop.ledger import choose_unfinished
        from memanto.loop.run import Run

        ledger = self._ledger(source)
        record = choose_unfinished(ledger.runs()) if run_id is None else ledger.find(run_id)
        if record.is_over:
            raise InvalidInputError(f"run {record.id!r} is over ({record.state})", hint="begin another run")
        return Run(self._verbs(), ledger, record)

    def step(
        self,
        run_id: str | None,
        outcome: str,
        *,
        tool_calls: int | None = None,
        tokens: int | None = None,
        cost: float | None = None,
        failure: RunFailure | str | None = None,
        delivered: Iterable[str] = (),
        used: Iterable[str] = (),
    ) -> Step:
        """Record a step of a run by the run's id, for callers without its handle; see `Run.step`.

        Raises:
            NotFoundError: No run has this id.
            InvalidInputError: A value breaks its limit, or the run is over; nothing is stored.
        """
        return self.resume_run(run_id).step(
            outcome,
            tool_calls=tool_calls,
            tokens=tokens,
            cost=cost,
            failure=failure,
            delivered=delivered,
            used=used,
        )

    def end_run(
        self, run_id: str | None = None, outcome: str = "", *, success: bool = True, conclusion: str = ""
    ) -> RunRecord:
        """End a run by its id, or the only unfinished one; see `Run.end`.

        Raises:
            NotFoundError: No run has this id.
            InvalidInputError: The run is over already, or there is neither an outcome nor a step.
            VersionConflictError: Somebody else ended it meanwhile.
        """
        return self.resume_run(run_id).end(outcome, success=success, conclusion=conclusion)

    def runs(
        self,
        task_type: str | None = None,
        *,
        arm: str | None = None,
        state: RunState | None = None,
        limit: int | None = None,
    ) -> list[RunRecord]:
        """Return runs, the latest first, each with the number of its failures that an earlier one had recorded.

        Args:
            task_type: Only of this kind.
            arm: Only of this arm.
            state: Only `"unfinished"`, `"success"` or `"failure"`.
            limit: At most so many; all when missing.
        """
        found = [
            record
            for record in reversed(self._ledger().runs(task_type))
            if arm in (None, record.arm) and state in (None, record.state)
        ]
        return found if limit is None else found[: max(limit, 0)]

    def run_steps(self, run_id: str) -> list[Step]:
        """Return the steps of a run, in order.

        Raises:
            NotFoundError: No run has this id.
        """
        ledger = self._ledger()
        return ledger.steps(ledger.find(run_id))

    def compounding(
        self, task_type: str | None = None, *, min_runs: int | None = None, against: str = "off"
    ) -> Compounding:
        """Return how runs of each task type change from one to the next, and how arms compare.

        Args:
            task_type: Only this kind; all when missing.
            min_runs: Fewer finished runs than this give "too few runs" instead of a number (at least 4; default 8).
            against: The arm that the others are compared with.

        Raises:
            InvalidInputError: `min_runs` is below 4.
        """
        from memanto.loop.compounding import MIN_RUNS, compounding

        return compounding(
            self._ledger().runs(task_type), min_runs=MIN_RUNS if min_runs is None else min_runs, against=against
        )

    def _verbs(self) -> Verbs:
        return cast("Verbs", self)

    def _ledger(self, source: str | None = None, *, create: bool = False) -> Ledger:
        from memanto.loop.ledger import Ledger

        host = cast("Any", self)  # the parts of `Memanto` that reach its store
        if create:
            host._ensure_agent()  # noqa: SLF001
        return Ledger(self._verbs(), host._namespace(), source=source or host._defaults().source)  # noqa: SLF001
