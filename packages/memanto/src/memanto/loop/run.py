"""A run while it goes on: the handle that records its steps, what was delivered, and how it ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from memanto.errors import InvalidInputError, MemantoError, told
from memanto.loop.feedback import credit
from memanto.loop.fence import whole
from memanto.loop.ledger import Ledger
from memanto.loop.port import Verbs
from memanto.loop.run_checks import check_count, check_number, failure_of, one_line
from memanto.loop.runs import MAX_STEP_IDS, RunFailure, RunRecord, Step
from memanto.models import Receipt, Recollection

if TYPE_CHECKING:
    from memanto.loop.brief import Brief
    from memanto.loop.guard import Trigger


class Run:
    """A run that was begun or resumed. As a context manager it ends with its block.

    A block that is left normally ends the run in success, unless `end` was called; one that is left by an
    exception leaves it unfinished, with the exception noted, so that `resume_run` can go on. So does the
    death of the process. May be used from several threads.

    What `recall`, `guard` and `brief` of this object return is recorded as delivered with the next step. Only
    what was delivered can be credited.
    """

    def __init__(self, memory: Verbs, ledger: Ledger, record: RunRecord) -> None:
        self._memory = memory
        self._ledger = ledger
        self._record = record
        self._steps = ledger.steps(record) if record.steps else []
        self._delivered = {one for step in self._steps for one in step.delivered}
        self._new: dict[str, None] = {}
        self._used: dict[str, None] = {}
        self._lock = threading.RLock()

    # -- what it is ---------------------------------------------------------------------------------
    @property
    def id(self) -> str:
        """The run's id."""
        return self._record.id

    @property
    def record(self) -> RunRecord:
        """The run as it was last written; its sums are complete once it is over."""
        return self._record

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps known to this handle, in order: those found when it was resumed, and its own."""
        with self._lock:
            return tuple(self._steps)

    # -- recording ----------------------------------------------------------------------------------
    def step(
        self,
        outcome: str,
        *,
        tool_calls: int | None = None,
        tokens: int | None = None,
        cost: float | None = None,
        failure: RunFailure | str | None = None,
        delivered: Iterable[str] = (),
        used: Iterable[str] = (),
    ) -> Step:
        """Record one finished piece of work as one line; readable when this returns.

        Args:
            outcome: What came of it: one line of at most 500 characters.
            tool_calls: Calls of tools it took; `None` where you do not know, which is not 0, as for the next two.
            tokens: Tokens of a language model it took.
            cost: What it cost, in your currency.
            failure: What went wrong: a text, or a `RunFailure` whose key names it exactly.
            delivered: Ids of memories that were shown to the agent in another way than through this object.
            used: Ids of memories the agent acted on.

        Raises:
            InvalidInputError: A value breaks its limit, or the run is over; nothing is stored.
        """
        with self._lock:
            self._refuse_over()
            self._note(delivered, self._new)
            self._note(used, self._used)
            shown, acted = list(self._new)[:MAX_STEP_IDS], list(self._used)[:MAX_STEP_IDS]
            step = Step(
                number=self._steps[-1].number + 1 if self._steps else 1,
                outcome=one_line("outcome", outcome),
                at=self._memory.clock(),
                tool_calls=None if tool_calls is None else check_count("tool_calls", tool_calls),
                tokens=None if tokens is None else check_count("tokens", tokens),
                cost=None if cost is None else float(check_number("cost", cost)),
                failure=failure_of(failure),
                delivered=tuple(shown),
                used=tuple(acted),
            )
            stored = self._ledger.add_step(self._record, step)
            self._steps.append(stored)
            self._delivered.update(shown)
            self._new = dict.fromkeys(list(self._new)[MAX_STEP_IDS:])
            self._used = dict.fromkeys(list(self._used)[MAX_STEP_IDS:])
            return stored

    def delivered(self, *ids: str) -> None:
        """Note memories that were shown to the agent; recorded with the next step."""
        with self._lock:
            self._note(ids, self._new)

    def used(self, *ids: str) -> None:
        """Note memories the agent acted on; recorded with the next step, credited at the end if delivered."""
        with self._lock:
            self._note(ids, self._used)

    def end(self, outcome: str = "", *, success: bool = True, conclusion: str = "") -> RunRecord:
        """End the run and leave the line that `recall --type event` finds.

        A run that ends in success counts as one success for each memory that was delivered and used in it: at once
        for a memory that has learned nothing today, else with the next upkeep. One that fails is left to upkeep, where
        it counts half: it does not say which memory was at fault.

        Args:
            outcome: What came of it, one line; that of the last step when missing.
            success: Whether it reached what it was to reach.
            conclusion: What it found out, one line of at most 1,000 characters.

        Raises:
            InvalidInputError: The run is over already, or there is neither an outcome nor a step.
            VersionConflictError: Somebody else ended it meanwhile.
        """
        with self._lock:
            self._refuse_over()
            last = self._steps[-1].outcome if self._steps else ""
            line = one_line("outcome", outcome or last)
            self._record = self._ledger.end(
                self._record,
                outcome=line,
                success=success,
                conclusion=conclusion,
                delivered=list(self._new)[:MAX_STEP_IDS],
                used=list(self._used)[:MAX_STEP_IDS],
            )
            if success:
                self._give_feedback()
            return self._record

    def _give_feedback(self) -> None:
        for memory_id in self._record.credited:
            with suppress(MemantoError):  # forgotten, or changed meanwhile: then upkeep counts it
                credit(self._memory, memory_id, self.id)

    # -- memory, with what it delivers noted --------------------------------------------------------
    def recall(self, query: str | None = None, **options: Any) -> list[Recollection]:
        """Recall as `Memanto.recall` does, and note what is returned as delivered."""
        found = self._memory.recall(query, **options)
        self.delivered(*(hit.memory.id for hit in found))
        return found

    def guard(self, situation: str = "", **options: Any) -> list[Trigger]:
        """Ask `Memanto.guard` about the action at hand, and note what it returns as delivered."""
        triggers: list[Trigger] = self._loop_verb("guard")(situation, **options)
        self.delivered(*(trigger.memory.id for trigger in triggers))
        return triggers

    def brief(self, task: str | None = None, **options: Any) -> Brief:
        """Ask `Memanto.brief` before planning, by default for this task type; note what it shows as delivered."""
        brief: Brief = self._loop_verb("brief")(task, **{"task_type": self._record.task_type, **options})
        self.delivered(*(memory.id for memory in brief.memories))
        return brief

    def remember(self, content: str, **fields: Any) -> Receipt:
        """Remember as `Memanto.remember` does, as written by this run."""
        return self._memory.remember(content, **{"run_id": self.id, **fields})

    def _loop_verb(self, name: str) -> Callable[..., Any]:
        verb: Callable[..., Any] = getattr(self._memory, name)
        return verb

    # -- its life -----------------------------------------------------------------------------------
    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            if self._record.is_over:
                return
            if error is None:
                self.end("" if self._steps else "nothing to do")
                return
            with suppress(MemantoError):  # the exception under way matters more than the note about it
                self._record = self._ledger.interrupt(self._record, whole(told(error)))

    def _refuse_over(self) -> None:
        if self._record.is_over:
            raise InvalidInputError(
                f"run {self.id!r} is over ({self._record.state})", hint="begin another run of the same task type"
            )

    def _note(self, ids: Iterable[str], into: dict[str, None]) -> None:
        for one in ids:
            if not isinstance(one, str) or not 4 <= len(one) <= 36:
                raise InvalidInputError(f"{one!r} is no memory id", hint="give ids as recall returns them")
            if one != self._record.memory_id and (into is self._used or one not in self._delivered):
                into[one] = None
