"""`memanto goal` and `plan`: what leads every brief and handoff, and is never cut."""

from __future__ import annotations

from typing import Annotated

import typer

from memanto.cli.options import ProvenanceOption, SourceOption
from memanto.cli.receipts import emit_receipt
from memanto.cli.session import Session
from memanto.cli.text import memory_lines
from memanto.cli.verb import verb
from memanto.models import Memory

TextArgument = Annotated[str, typer.Argument(metavar="TEXT", help="The text, in quotes.", show_default=False)]
AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="What it was then; a date means its end.", show_default=False),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    goals = typer.Typer(help="Set and show the current goal.", rich_markup_mode=None)
    verb(goals, "set")(goal_set)
    verb(goals, "show")(goal_show)
    app.add_typer(goals, name="goal")
    plans = typer.Typer(help="Set and show the current plan.", rich_markup_mode=None)
    verb(plans, "set")(plan_set)
    verb(plans, "show")(plan_show)
    app.add_typer(plans, name="plan")


def goal_set(
    session: Session, text: TextArgument, source: SourceOption = None, provenance: ProvenanceOption = None
) -> None:
    """Make this the current goal.

    The one before it stays in history.
    """
    with session.memory() as memory:
        receipt = memory.set_goal(text, source=source, provenance=provenance)
    emit_receipt(session, "goal set", receipt)


def goal_show(session: Session, as_of: AsOfOption = None) -> None:
    """Show the current goal."""
    moment = session.moment("as-of", as_of, "end")
    with session.memory() as memory:
        _emit(session, memory.goal(as_of=moment), "no goal is set", "goal set")


def plan_set(
    session: Session, text: TextArgument, source: SourceOption = None, provenance: ProvenanceOption = None
) -> None:
    """Make this the current plan summary.

    The one before it stays in history.
    """
    with session.memory() as memory:
        receipt = memory.set_plan(text, source=source, provenance=provenance)
    emit_receipt(session, "plan set", receipt)


def plan_show(session: Session, as_of: AsOfOption = None) -> None:
    """Show the current plan summary."""
    moment = session.moment("as-of", as_of, "end")
    with session.memory() as memory:
        _emit(session, memory.plan(as_of=moment), "no plan is set", "plan set")


def _emit(session: Session, memory: Memory | None, absent: str, command: str) -> None:
    note = None if memory is not None else f"{absent}; `memanto {command} TEXT` sets one"
    session.emit(
        {"memory": memory, "note": note},
        lambda paint: () if memory is None else memory_lines(memory, session.zone, paint),
    )
    if note and not session.json:
        session.note(note)
