"""The ten tools. Each hands its arguments to the memory and its result to the client in a small, structured shape.

No tool takes metadata: what the loop trusts there (a failure record, a baton, a run) is written by the verbs that mean
it, never by an argument.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from memanto.loop.fence import fence_one, neutralised
from memanto.models import Memory
from memanto_mcp import arguments as arg
from memanto_mcp import results
from memanto_mcp.errors import telling
from memanto_mcp.host import Host
from memanto_mcp.sdk import Client, Server, ToolError, author, hints

if TYPE_CHECKING:
    from memanto import AsyncMemanto

_UNSOURCED: Final = (
    "Stored as inferred and quarantined: nothing acts on it yet. A person who has checked it runs "
    "`memanto verify {id}`; or, if you saw it somewhere, remember it again with source_ref and how you know it."
)
_INFERRED: Final = (
    "Quarantined: an inferred fact is not believed until a person who has checked it runs `memanto verify {id}`."
)

_WAITING: Final = (
    "{count}: recall with quarantined true shows it. Nothing acts on it until a person who has checked it runs "
    "`memanto verify` with its id."
)


def register(server: Server, host: Host) -> None:
    """Give a server its tools."""
    tools = Tools(host)
    for name, title, reads, idempotent in (
        ("remember", "Remember", False, True),
        ("recall", "Recall memories", True, True),
        ("show", "Show a memory", True, True),
        ("answer", "Answer from memory", True, True),
        ("handoff", "Hand work over", False, False),
        ("record_failure", "Record a failure", False, True),
        ("guard", "Look before acting", True, True),
        ("brief", "Brief before planning", True, True),
        ("check", "Check memory", True, True),
        ("feedback", "Judge a memory", False, False),
    ):
        tool = telling(getattr(tools, name), ToolError)
        server.add_tool(tool, name=name, title=title, annotations=hints(title, reads=reads, idempotent=idempotent))


class Tools:
    """The tools over one host; each public method is one, its docstring what the model reads."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def _memory(self) -> Any:
        return await self._host.memory()

    # -- writing ------------------------------------------------------------------------------------
    async def remember(
        self,
        *,
        content: arg.Content,
        type: arg.TypeOf,  # noqa: A002 - the word users know it by
        provenance: arg.Provenance,
        ctx: Client,
        source_ref: arg.SourceRef = None,
        title: arg.Title = None,
        tags: arg.Tags = [],  # noqa: B006 - a default of the schema, never changed
        confidence: arg.Confidence = None,
        key: arg.Key = None,
        valid_from: arg.Moment = None,
        valid_to: arg.Moment = None,
    ) -> results.Stored:
        """Store one memory: a decision with its reason, a runbook, a sourced fact, a pointer, a learning.

        The same text again is the same memory. A fact without source_ref is stored as inferred and quarantined.
        For failures use record_failure, at the end of a session handoff.
        """
        memory = await self._memory()
        # A model that has nothing to say for an argument often gives an empty text.
        source_ref, title, key = (one if one and one.strip() else None for one in (source_ref, title, key))
        unsourced = type == "fact" and source_ref is None
        receipt = await memory.remember(
            content,
            type=type,
            provenance="inferred" if unsourced else provenance,
            source=author(ctx),
            source_ref=source_ref,
            title=title,
            tags=tags,
            confidence=confidence,
            key=key,
            valid_from=valid_from,
            valid_to=valid_to,
        )
        step = _UNSOURCED if unsourced and provenance != "inferred" else _INFERRED
        waiting = receipt.status.value == "quarantined"
        return results.Stored.of(receipt, next_step=step.format(id=receipt.id) if waiting else "")

    async def record_failure(
        self,
        *,
        provenance: arg.Provenance,
        ctx: Client,
        trigger: Annotated[
            arg.Text, Field(description='"When <situation as you will meet it again>, <what to do instead>".')
        ] = "",
        task_type: arg.TaskType = "",
        attempted: Annotated[arg.Text, Field(description="What was tried.")] = "",
        wrong: Annotated[arg.Text, Field(description="What was seen to go wrong.")] = "",
        cause: Annotated[arg.Text, Field(description="The root cause, once known.")] = "",
        fix: Annotated[arg.Text, Field(description="The correction that worked.")] = "",
        confidence: arg.Confidence = None,
        tags: arg.Tags = [],  # noqa: B006
    ) -> results.Stored:
        """Record what went wrong, why, and what to do instead, so that guard warns before it happens again.

        Give a trigger, or what was attempted and went wrong with the fix. High confidence when the fix was seen to
        work, below 0.5 while it is a guess.
        """
        memory = await self._memory()
        receipt = await memory.record_failure(
            trigger,
            task_type=task_type,
            attempted=attempted,
            wrong=wrong,
            cause=cause,
            fix=fix,
            confidence=confidence,
            provenance=provenance,
            tags=tags,
            source=author(ctx),
        )
        return results.Stored.of(receipt)

    async def handoff(
        self,
        *,
        action: Annotated[
            Literal["take", "ack", "write", "show"],
            Field(description="take: claim what waits. ack: it was read. write: leave yours. show: look only."),
        ],
        ctx: Client,
        goal: Annotated[arg.Text, Field(description="The objective; the current goal when missing.")] = "",
        done: Annotated[arg.Items, Field(description="Completed steps.")] = [],  # noqa: B006
        state: Annotated[arg.Text, Field(description="Where things stand.")] = "",
        next: Annotated[arg.Items, Field(description="What to do next.")] = [],  # noqa: A002, B006
        blockers: arg.Items = [],  # noqa: B006
        artifacts: Annotated[arg.Items, Field(description="Paths and ids of what was made.")] = [],  # noqa: B006
        do_not_redo: Annotated[arg.Items, Field(description="Finished steps that must not run again.")] = [],  # noqa: B006
        lane: arg.Lane = "main",
    ) -> results.HandedOver:
        """Pass work from one session to the next: take and ack at the start, write before the window ends.

        Exactly one taker gets it. A handoff with nothing but a goal cannot replace one that tells more.
        """
        memory = await self._memory()
        name = author(ctx)
        if action == "write":
            written = await memory.write_handoff(
                goal=goal, done=done, state=state, next=next, blockers=blockers, artifacts=artifacts,
                do_not_redo=do_not_redo, lane=lane, source=name,
            )  # fmt: skip
            return results.HandedOver(state="offered", lane=lane, id=written.receipt.id)
        if action == "ack":
            found, step = await memory.ack_handoff(lane=lane, by=name), ""
        elif action == "take":
            found = await memory.take_handoff(lane=lane, by=name)
            step = "Read it, then call handoff with action 'ack'." if found is not None else ""
        else:
            found, step = next_of(await memory.show_handoff(lane=lane)), ""
        if found is None:
            waiting = next_of(await memory.show_handoff(lane=lane))
            return _none(lane, waiting)
        return await self._handed(memory, found, step)

    async def _handed(self, memory: Any, found: Any, step: str) -> results.HandedOver:
        pins = await memory.pins()
        return results.HandedOver(
            state=found.state,
            lane=found.lane,
            id=found.memory.id,
            text=fence_one(found.memory, text=found.text(pins)),
            by=found.by or "",
            claimed_until=found.claimed_until,
            confirmed=found.confirmed,
            next_step=step,
        )

    async def feedback(
        self,
        *,
        id: arg.Id,  # noqa: A002
        verdict: Annotated[
            Literal["helped", "wrong", "irrelevant"],
            Field(description="helped: right and of use. wrong: false. irrelevant: shown at the wrong time."),
        ],
        ctx: Client,
        reason: Annotated[str, Field(max_length=500, description="What happened.")] = "",
    ) -> results.Judged:
        """Say what became of a memory you acted on. Its confidence moves by a stated rule, as a new version."""
        memory = await self._memory()
        receipt = await memory.feedback(id, verdict, reason=f"{author(ctx)}: {reason}".strip(": "))
        judged: Memory = await memory.show(receipt.id)
        return results.Judged(id=judged.id, version=judged.version, confidence=judged.confidence)

    # -- reading ------------------------------------------------------------------------------------
    async def recall(
        self,
        *,
        query: arg.Query = None,
        types: arg.Types = [],  # noqa: B006
        tags: arg.Tags = [],  # noqa: B006
        since: arg.Moment = None,
        until: arg.Moment = None,
        as_of: Annotated[arg.Moment, Field(description="What was believed then.")] = None,
        valid_at: Annotated[arg.Moment, Field(description="What was true in the world then.")] = None,
        min_confidence: Annotated[float | None, Field(ge=0, le=1)] = None,
        quarantined: Annotated[bool, Field(description="Only claims that wait to be verified.")] = False,
        limit: arg.Limit = 5,
    ) -> results.Recalled:
        """Find memories by meaning and words, or the newest without a query. Every filter combines.

        An empty list means that memory holds nothing on it that is believed.
        """
        memory = await self._memory()
        filters = {
            "types": types, "tags": tags, "since": since, "until": until, "as_of": as_of, "valid_at": valid_at,
            "min_confidence": min_confidence,
        }  # fmt: skip
        status = ["quarantined"] if quarantined else []
        found = await memory.recall(query, status=status, limit=limit, **filters)
        short = len(found) < limit and not quarantined
        return results.Recalled.of(found, next_step=await _waiting(memory, query, **filters) if short else "")

    async def show(
        self,
        *,
        id: arg.Id,  # noqa: A002
        page: Annotated[int, Field(ge=1, description="Of a long text, about 1,000 tokens each.")] = 1,
        history: Annotated[bool, Field(description="Also who changed it, when and why.")] = False,
    ) -> results.Shown:
        """Show one memory in full, whatever its status."""
        memory = await self._memory()
        part = await memory.page(id, page)
        versions = await memory.history(part.memory.id) if history else []
        return results.Shown(
            id=part.memory.id,
            text=fence_one(part.memory, text=part.text),
            page=part.number,
            pages=part.pages,
            source_ref=neutralised(part.memory.source_ref or ""),
            key=neutralised(part.memory.key or ""),
            history=[results.VersionLine.of(one) for one in versions],
        )

    async def answer(
        self,
        *,
        question: Annotated[arg.Text, Field(min_length=1, description="May have several parts.")],
        types: arg.Types = [],  # noqa: B006
        as_of: Annotated[arg.Moment, Field(description="From what was believed then.")] = None,
        limit: arg.Limit = 5,
    ) -> results.Answered:
        """Answer a question from memory alone, every claim cited, or say which parts memory does not answer."""
        memory = await self._memory()
        answer = await memory.answer(question, types=types, as_of=as_of, limit=limit)
        step = await _waiting(memory, question, types=types, as_of=as_of) if answer.abstained else ""
        return results.Answered.of(answer, next_step=step)

    async def guard(
        self,
        *,
        situation: Annotated[arg.Text, Field(description="What is about to be done, or what is going on.")] = "",
        tool: Annotated[str | None, Field(max_length=200, description="The tool about to be called.")] = None,
        args: arg.ToolArguments = None,
        lane: arg.Lane = "main",
    ) -> results.Guarded:
        """Ask, before an action that could fail, which recorded failures and finished steps speak against it."""
        memory = await self._memory()
        triggers = await memory.guard(situation, tool=tool, args=args, lane=lane)
        return results.Guarded(clear=not triggers, triggers=[results.Warned.of(one) for one in triggers])

    async def brief(
        self,
        *,
        task: Annotated[arg.Text | None, Field(description="What you are about to plan.")] = None,
        task_type: arg.TaskType = "",
        bullets: Annotated[int, Field(ge=1, le=20)] = 5,
        budget_tokens: Annotated[int, Field(ge=100, le=4_000)] = 600,
    ) -> results.Briefed:
        """Before you plan: goal, plan and constraints, past runs, facts, failures and the runbook for a task."""
        memory = await self._memory()
        brief = await memory.brief(task, task_type=task_type or None, bullets=bullets, budget_tokens=budget_tokens)
        return results.Briefed.of(brief, next_step="" if brief.lines() else await _waiting(memory, task))

    async def check(
        self,
        *,
        task_type: arg.TaskType = "",
        questions: Annotated[
            dict[str, str] | None,
            Field(description="Question to what the answer must hold; the four standard questions when missing."),
        ] = None,
    ) -> results.Report:
        """Ask memory what it should know, and learn which answers hold and where a miss arose."""
        memory = await self._memory()
        return results.Report.of(await memory.check(questions, task_type=task_type or None))


async def _waiting(memory: AsyncMemanto, query: str | None, **filters: Any) -> str:
    """Return that quarantined memories would match too, and what becomes of them; `""` when none does."""
    from memanto.adapter import held_back  # with what a server's start does without

    count = await asyncio.to_thread(held_back, memory.sync, query, **filters)
    return _WAITING.format(count=count) if count else ""


def next_of(handoffs: list[Any]) -> Any:
    """Return the first of several, or `None`."""
    return handoffs[0] if handoffs else None


def _none(lane: str, waiting: Any) -> results.HandedOver:
    """Return that nothing was taken, and why."""
    if waiting is None:
        return results.HandedOver(state="none", lane=lane, next_step="No handoff waits; begin with brief.")
    if waiting.state == "claimed":
        return results.HandedOver(
            state="claimed",
            lane=lane,
            id=waiting.memory.id,
            by=waiting.by or "",
            claimed_until=waiting.claimed_until,
            next_step="Somebody has it; read it with action 'show', and do not do the same work.",
        )
    return results.HandedOver(
        state=waiting.state,
        lane=lane,
        id=waiting.memory.id,
        confirmed=False,
        next_step="Only an unconfirmed handoff waits; read it with action 'show' and ask a person before acting on it.",
    )
