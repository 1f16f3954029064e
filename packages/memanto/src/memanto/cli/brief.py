"""`memanto brief` and `policy-prompt`: what to know before planning, and how to use memory at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, cast

import typer

from memanto.cli.bounded import TOKENS, whole
from memanto.cli.session import Session
from memanto.cli.style import Palette
from memanto.cli.verb import verb

if TYPE_CHECKING:
    from memanto.loop.brief import Brief
    from memanto.loop.policy_prompt import Part


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    verb(app, "brief")(brief)
    verb(app, "policy-prompt")(policy_prompt)


def brief(
    session: Session,
    task: Annotated[
        str | None, typer.Argument(help="What is to be done; without it the newest.", show_default=False)
    ] = None,
    *,
    task_type: Annotated[
        str | None, typer.Option("--task-type", metavar="NAME", help="Only runs of this kind.", show_default=False)
    ] = None,
    budget: Annotated[
        int,
        typer.Option("--budget", metavar="TOKENS", parser=TOKENS, help="Bound on the whole; the pins are never cut."),
    ] = 600,
    bullets: Annotated[
        int, typer.Option("--bullets", metavar="N", parser=whole(1, 20, such_as=5), help="1 to 20 lines.")
    ] = 5,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="TIME", help="What it would have said then.", show_default=False),
    ] = None,
    fenced: Annotated[bool, typer.Option("--fenced", help="For a prompt: every memory as data between marks.")] = False,
    words_only: Annotated[bool, typer.Option("--words-only", help="Search by words; loads no model.")] = False,
) -> None:
    """Know what to carry forward before planning.

    Pins first, then cited lines: prior runs, durable facts, matching failures, the runbook. Says what it left out, and
    whether a handoff waits.
    """
    moment = session.moment("as-of", as_of, "end")
    with session.memory() as memory:
        found = memory.brief(
            task,
            task_type=task_type,
            budget_tokens=budget,
            bullets=bullets,
            as_of=moment,
            words_only=words_only,
        )
    note = _note(found)
    session.emit({"brief": found, "note": note}, lambda paint: _lines(found, paint, fenced=fenced))
    if note and not session.json:
        session.note(note)


def _lines(found: Brief, paint: Palette, *, fenced: bool) -> Iterator[str]:
    yield from filter(None, [paint.safe(found.fenced())] if fenced else map(paint.safe, found.lines()))


def _note(found: Brief) -> str | None:
    """Return the sentence that says what is not shown."""
    said = [] if found.waiting is None else ["`memanto handoff take` takes up the handoff"]
    if not found.memories:
        return "; ".join([*said, "memory has nothing else on this yet" if said else "memory has nothing on this yet"])
    parts = [f"{len(ids)} {section}" for section, ids in found.left_out.items()]
    over = found.tokens > found.budget_tokens
    said += [f"left out: {', '.join(parts)}"] if parts else []
    if over:
        said.append(f"the pins alone take {found.pins.tokens} of {found.budget_tokens} tokens")
    return "; ".join(said) or None


def policy_prompt(
    session: Session,
    part: Annotated[
        str | None,
        typer.Option(
            "--part",
            metavar="PART",
            help="One of policy, handoff, failure, before-you-plan, check; by default all.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print the text that teaches an agent to use its memory.

    Copy it into a system prompt or an instruction file.
    """
    from memanto.loop.policy_prompt import policy_prompt as text_of

    text = text_of(cast("Part | None", part))
    session.emit({"part": part, "text": text}, lambda paint: [paint.safe(text.rstrip("\n"))])
