"""Handoffs, failures, briefs, pins and isolation, as verbs of `Memanto`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from memanto.models import Memory, Provenance, Receipt

if TYPE_CHECKING:
    from memanto.loop.baton import Baton
    from memanto.loop.brief import Brief
    from memanto.loop.compress import Distilled, Kept, Page
    from memanto.loop.feedback import Verdict
    from memanto.loop.guard import Trigger
    from memanto.loop.handoff import Handoff, HandoffReceipt
    from memanto.loop.isolate import Scratch
    from memanto.loop.pins import Pins
    from memanto.loop.policy_prompt import Part
    from memanto.loop.port import Verbs


class PlanVerbs:
    """Handoffs, failures, briefs, pins and isolation."""

    if TYPE_CHECKING:  # what `Memanto` brings
        _source: str
        _actor: str | None
        _run_id: str | None

        def _ensure_agent(self) -> None: ...

        def _scratch_memory(self) -> Any: ...

    # -- pins ---------------------------------------------------------------------------------------
    def set_goal(self, text: str, *, source: str | None = None, provenance: Provenance | str | None = None) -> Receipt:
        """Make a text the current goal, the next version of the one before it.

        Raises:
            InvalidInputError: The text is blank or too long.
        """
        from memanto.loop.pins import set_goal

        self._ensure_agent()
        return set_goal(self._verbs(), text, source=source, provenance=provenance)

    def goal(self, *, as_of: datetime | None = None) -> Memory | None:
        """Return the current goal: the one that was set, else the newest `goal` memory that may direct."""
        from memanto.loop.pins import current_goal

        return current_goal(self._verbs(), as_of=as_of)

    def set_plan(self, text: str, *, source: str | None = None, provenance: Provenance | str | None = None) -> Receipt:
        """Make a text the current plan summary, the next version of the one before it.

        Raises:
            InvalidInputError: The text is blank or too long.
        """
        from memanto.loop.pins import set_plan

        self._ensure_agent()
        return set_plan(self._verbs(), text, source=source, provenance=provenance)

    def plan(self, *, as_of: datetime | None = None) -> Memory | None:
        """Return the current plan summary, or `None`."""
        from memanto.loop.pins import current_plan

        return current_plan(self._verbs(), as_of=as_of)

    def pins(self, *, as_of: datetime | None = None) -> Pins:
        """Return what must survive every window: goal, plan, and the constraints that are pinned."""
        from memanto.loop.pins import read_pins

        return read_pins(self._verbs(), as_of=as_of)

    # -- handoff ------------------------------------------------------------------------------------
    def write_handoff(
        self,
        baton: Baton | None = None,
        *,
        goal: str = "",
        done: str | Iterable[str] = (),
        state: str = "",
        next: str | Iterable[str] = (),  # noqa: A002 - the field's name
        blockers: str | Iterable[str] = (),
        artifacts: str | Iterable[str] = (),
        do_not_redo: str | Iterable[str] = (),
        lane: str = "main",
        source: str | None = None,
        provenance: Provenance | str | None = Provenance.EXPLICIT_STATEMENT,
        run_id: str | None = None,
    ) -> HandoffReceipt:
        """Leave a baton for the next shift; it takes the place of the lane's former one.

        Args:
            baton: All seven fields at once; then none of the others is given.
            goal: The overall objective; the current goal when missing.
            done: Completed steps.
            state: Where things stand.
            next: What to do next.
            blockers: What is unresolved.
            artifacts: Paths and ids of what was made.
            do_not_redo: Steps that must not be done again; `guard` holds actions against them.
            lane: The line of work, 1 to 50 characters.
            source: Who writes.
            provenance: What a shift says of its own work is stated. An inferred or observed baton is shown as
                unconfirmed, replaces none, and is not taken unasked.
            run_id: The run it belongs to.

        Raises:
            InvalidInputError: The shift has nothing to tell and would replace a baton that does; or a value is out
                of its limits.
        """
        from memanto.loop import handoff
        from memanto.loop.baton import make_baton

        if baton is None:
            baton = make_baton(
                goal=goal,
                done=done,
                state=state,
                next=next,
                blockers=blockers,
                artifacts=artifacts,
                do_not_redo=do_not_redo,
            )
        self._ensure_agent()
        return handoff.write(self._verbs(), baton, lane=lane, source=source, provenance=provenance, run_id=run_id)

    def take_handoff(
        self,
        *,
        lane: str = "main",
        by: str | None = None,
        hold: timedelta = timedelta(minutes=30),
        unconfirmed: bool = False,
    ) -> Handoff | None:
        """Claim the live baton of a lane; `None` when there is none to be had.

        Exactly one of any number of takers gets it, in any thread or process. Acknowledge it with `ack_handoff`
        once it is read; a claim that is not acknowledged in time falls back, and it can be taken again.

        Args:
            lane: The line of work.
            by: Who takes it; this handle's actor or source when missing.
            hold: How long the claim holds, up to seven days.
            unconfirmed: Also take a baton that was only inferred, observed or imported.

        Raises:
            InvalidInputError: A value is out of its limits.
        """
        from memanto.loop import handoff

        return handoff.take(self._verbs(), lane=lane, by=by or self._who(), hold=hold, unconfirmed=unconfirmed)

    def ack_handoff(self, *, lane: str = "main", by: str | None = None) -> Handoff:
        """Record that the taken baton was read; it is done for good.

        Raises:
            NotFoundError: The lane has no baton.
            ConflictError: Somebody else holds the claim, or nobody does.
        """
        from memanto.loop import handoff

        return handoff.ack(self._verbs(), lane=lane, by=by or self._who())

    def show_handoff(self, *, lane: str = "main", as_of: datetime | None = None) -> list[Handoff]:
        """Return the batons of a lane that wait or are claimed, without claiming; the first is the live one.

        Unconfirmed ones come after it. Nothing changes.
        """
        from memanto.loop import handoff

        return handoff.live(self._verbs(), lane, as_of=as_of)

    # -- failures -----------------------------------------------------------------------------------
    def record_failure(
        self,
        trigger: str = "",
        *,
        task_type: str = "",
        attempted: str = "",
        wrong: str = "",
        cause: str = "",
        fix: str = "",
        confidence: float | None = None,
        provenance: Provenance | str | None = Provenance.OBSERVED,
        tags: Iterable[str] = (),
        source: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Record what went wrong, why, and what to do instead, as an `error` memory phrased as a trigger.

        Args:
            trigger: "When X, do Y", or only X; made from the other fields when missing.
            task_type: What kind of task it was; also a tag, `task:…`.
            attempted: What was tried.
            wrong: What was seen to go wrong.
            cause: The root cause, once known.
            fix: The correction that worked.
            confidence: 0..1; below 0.5 it is shown as unconfirmed.
            provenance: What went wrong was seen, so `observed`.
            tags: At most 20.
            source: Who records it.
            run_id: The run it happened in.
            metadata: Free JSON beside the record itself, which is kept there under `failure`.

        Raises:
            InvalidInputError: It says neither when it applies nor what to do differently.
        """
        from memanto.loop.failures import FailureRecord, record_failure

        record = FailureRecord(
            task_type=task_type, attempted=attempted, wrong=wrong, cause=cause, fix=fix, trigger=trigger
        )
        self._ensure_agent()
        return record_failure(
            self._verbs(),
            record,
            confidence=confidence,
            provenance=provenance,
            tags=tuple(tags),
            source=source,
            run_id=run_id,
            metadata=metadata,
        )

    def guard(
        self,
        situation: str = "",
        *,
        tool: str | None = None,
        args: Mapping[str, Any] | Sequence[Any] | str | None = None,
        limit: int = 3,
        lane: str = "main",
        by_meaning: bool = False,
    ) -> list[Trigger]:
        """Return recorded failures, and steps not to be redone, that match the action about to be taken.

        Decided by words, without a model. Empty when nothing speaks against it.

        Args:
            situation: What is about to be done, or what is going on.
            tool: Name of the tool about to be called.
            args: Its arguments.
            limit: 1..20 failures, and as many steps.
            lane: The line of work whose latest handoff says what not to redo.
            by_meaning: Also match failures by meaning; loads the embedder.

        Raises:
            InvalidInputError: There is nothing to judge, or the limit is out of range.
            NotFoundError: The agent does not exist.
        """
        from memanto.loop.guard import guard

        return guard(self._verbs(), situation, tool=tool, args=args, limit=limit, lane=lane, by_meaning=by_meaning)

    def feedback(self, id: str, verdict: Verdict, *, reason: str = "") -> Receipt:  # noqa: A002
        """Say whether a memory helped, was wrong or was irrelevant; its confidence moves by a stated rule.

        Helped and wrong count as one observation each beside a prior worth four; irrelevant is counted only. See
        `memanto.loop.feedback`.

        Raises:
            InvalidInputError: The verdict is unknown, or the memory was forgotten.
            NotFoundError: No memory has this id.
        """
        from memanto.loop.feedback import feedback

        return feedback(self._verbs(), id, verdict, reason=reason)

    # -- planning -----------------------------------------------------------------------------------
    def brief(
        self,
        task: str | None = None,
        *,
        task_type: str | None = None,
        budget_tokens: int = 600,
        bullets: int = 5,
        as_of: datetime | None = None,
        words_only: bool = False,
    ) -> Brief:
        """Return what to know before planning: pins, then cited lines within a budget.

        Looks up prior runs, durable facts, matching failures and the runbook. What matched and is not shown is
        named in `left_out`.

        Args:
            task: What is to be done; without it the newest of each are shown.
            task_type: Only runs of this kind, and its failures also where their trigger does not match the task.
            budget_tokens: Bound on the whole; only the pins, which are never cut, may go beyond it.
            bullets: 1..20 lines.
            as_of: What it would have said then.
            words_only: Leave meaning out, so that no model is loaded.

        Raises:
            InvalidInputError: A number is out of range.
            NotFoundError: The agent does not exist.
        """
        from memanto.loop.brief import brief

        return brief(
            self._verbs(),
            task,
            task_type=task_type,
            budget_tokens=budget_tokens,
            bullets=bullets,
            as_of=as_of,
            words_only=words_only,
        )

    def policy_prompt(self, part: Part | None = None) -> str:
        """Return the text that teaches an agent to use its memory, or one of its five parts.

        Raises:
            InvalidInputError: There is no such part.
        """
        from memanto.loop.policy_prompt import policy_prompt

        return policy_prompt(part)

    # -- compressing and isolating ------------------------------------------------------------------
    def keep_result(
        self,
        text: str,
        *,
        title: str,
        over_tokens: int = 1_000,
        source: str | None = None,
        run_id: str | None = None,
    ) -> Kept:
        """Store a long tool result as an `artifact` and return the pointer that stands for it in the window.

        A result of at most `over_tokens` comes back as it is and is not stored.

        Raises:
            InvalidInputError: The text is longer than 5,000,000 characters, or the bound is below 1.
        """
        from memanto.loop.compress import keep_result

        self._ensure_agent()
        return keep_result(self._verbs(), text, title=title, over_tokens=over_tokens, source=source, run_id=run_id)

    def page(self, id: str, number: int = 1) -> Page:  # noqa: A002
        """Return one page (about 1,000 tokens) of a long memory.

        Raises:
            InvalidInputError: There is no such page.
            NotFoundError: No memory has this id.
        """
        from memanto.loop.compress import page

        return page(self._verbs(), id, number)

    def distil(self, memories: Iterable[Memory], *, budget_tokens: int) -> Distilled:
        """Return one line per memory within a budget, and the ids of those that did not fit.

        Raises:
            InvalidInputError: The budget is below 1.
        """
        from memanto.loop.compress import distil

        return distil(list(memories), budget_tokens)

    def isolate(self, task: str, *, run_id: str | None = None, source: str | None = None) -> Scratch:
        """Return a scratch for a sub-agent, to be used in a `with` block.

        `scratch.memory` is a complete memory apart from this one, gone when the block ends. What
        `scratch.conclude` was given (at most 2,000 tokens) becomes one `learning` here; when the block ends in an
        exception nothing does.

        Raises:
            InvalidInputError: The task is blank.
        """
        from memanto.loop.isolate import Scratch

        return Scratch(self._verbs(), task, self._scratch_memory, run_id=run_id or self._run_id, source=source)

    # -- trust --------------------------------------------------------------------------------------
    def citing(self, id: str) -> list[Memory]:  # noqa: A002
        """Return the current memories whose text, metadata or lineage names this one, newest first.

        Raises:
            NotFoundError: No memory has this id.
        """
        from memanto.loop.citing import citing

        return citing(self._verbs(), id)

    def _verbs(self) -> Verbs:
        return cast("Verbs", self)

    def _who(self) -> str:
        return self._actor or self._source
