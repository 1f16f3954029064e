"""`memanto handoff`: the baton that one shift leaves for the next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from memanto.cli.bounded import decimal
from memanto.cli.options import ProvenanceOption, SourceOption, read_text
from memanto.cli.receipts import emit_receipt
from memanto.cli.session import Session
from memanto.cli.style import Palette
from memanto.cli.text import stamp
from memanto.cli.verb import verb
from memanto.errors import InvalidInputError

if TYPE_CHECKING:
    from memanto.loop.handoff import Handoff
    from memanto.loop.pins import Pins

LaneOption = Annotated[str, typer.Option("--lane", metavar="NAME", help="The line of work.")]
ByOption = Annotated[
    str | None, typer.Option("--by", metavar="NAME", help="Who takes it; ack by the same name.", show_default=False)
]
ItemsOption = list[str] | None


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="Leave work for the next shift, and take it up.", rich_markup_mode=None)
    for command in (write, take, ack, show):
        verb(group, command.__name__)(command)
    app.add_typer(group, name="handoff")


def write(
    session: Session,
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT|-", help="A whole SESSION HANDOFF; - reads standard input.", show_default=False),
    ] = None,
    *,
    goal: Annotated[str, typer.Option("--goal", help="The objective; by default the current goal.")] = "",
    done: Annotated[
        ItemsOption, typer.Option("--done", help="A completed step; may be repeated.", show_default=False)
    ] = None,
    state: Annotated[str, typer.Option("--state", help="Where things stand.")] = "",
    next: Annotated[  # noqa: A002 - the option's name
        ItemsOption, typer.Option("--next", help="What to do next; may be repeated.", show_default=False)
    ] = None,
    blocker: Annotated[
        ItemsOption, typer.Option("--blocker", help="What is unresolved; may be repeated.", show_default=False)
    ] = None,
    artifact: Annotated[
        ItemsOption, typer.Option("--artifact", help="A path or id; may be repeated.", show_default=False)
    ] = None,
    do_not_redo: Annotated[
        ItemsOption,
        typer.Option("--do-not-redo", help="A step not to be done again; may be repeated.", show_default=False),
    ] = None,
    lane: LaneOption = "main",
    source: SourceOption = None,
    provenance: ProvenanceOption = "explicit_statement",
) -> None:
    """Leave a baton for the next shift.

    It takes the place of the lane's former one. A shift with nothing to tell cannot replace one that has.
    """
    from memanto.loop.baton import make_baton, parse_baton

    fields = {
        "goal": goal, "done": done, "state": state, "next": next, "blockers": blocker, "artifacts": artifact,
        "do_not_redo": do_not_redo,
    }  # fmt: skip
    if text is None:
        baton = make_baton(**fields)
    elif any(fields.values()):
        raise InvalidInputError("a whole text and single fields exclude each other", hint="give one or the other")
    else:
        given = read_text("-") if text == "-" else text
        parsed = parse_baton(given) or parse_baton(f"SESSION HANDOFF\n{given}")
        assert parsed is not None  # the heading was put there
        baton = parsed
    with session.memory() as memory:
        written = memory.write_handoff(baton, lane=lane, source=source, provenance=provenance)
    emit_receipt(session, f"handed off in lane {lane}", written.receipt)
    for old in written.replaced:
        session.note(f"it takes the place of {old}")


def take(
    session: Session,
    lane: LaneOption = "main",
    by: ByOption = None,
    hold: Annotated[
        float,
        typer.Option(
            "--hold", metavar="MINUTES", parser=decimal(0.1, 10_080, such_as=30), help="How long the claim holds."
        ),
    ] = 30,
    unconfirmed: Annotated[
        bool, typer.Option("--unconfirmed", help="Also one that was only inferred, observed or imported.")
    ] = False,
) -> None:
    """Claim the live baton and print it.

    Exactly one of several takers gets it. Acknowledge it with `ack` once it is read; a claim that is not
    acknowledged in time falls back.
    """
    with session.memory() as memory:
        taken = memory.take_handoff(lane=lane, by=by, hold=timedelta(minutes=hold), unconfirmed=unconfirmed)
        waiting = [] if taken is not None else memory.show_handoff(lane=lane)
        pins = memory.pins()
    note = _why_none(session, lane, waiting) if taken is None else _reminder(session, taken)
    session.emit(
        {"handoff": taken, "pins": pins, "note": note},
        lambda paint: () if taken is None else _lines(session, [taken], pins, paint),
    )
    if not session.json:
        session.note(note)


def _reminder(session: Session, taken: Handoff) -> str:
    """Return the sentence that says what the taker still owes."""
    lane = "" if taken.lane == "main" else f" --lane {shlex.quote(taken.lane)}"
    acknowledge = f"memanto handoff ack{lane} --by {shlex.quote(taken.by or '')}"
    return f"once it is read: `{acknowledge}`; if not by {stamp(taken.claimed_until, session.zone)}, it waits again"


def _why_none(session: Session, lane: str, waiting: Sequence[Handoff]) -> str:
    """Return the sentence that says why nothing was taken."""
    if not waiting:
        return f"no handoff waits in lane {lane}"
    first = waiting[0]
    if first.state == "claimed":
        return f"claimed by {first.by} until {stamp(first.claimed_until, session.zone)}"
    return (
        f"only an unconfirmed handoff waits ({first.memory.provenance}); read it with show, take it with --unconfirmed"
    )


def ack(session: Session, lane: LaneOption = "main", by: ByOption = None) -> None:
    """Record that the taken baton was read.

    It is done for good.
    """
    with session.memory() as memory:
        done = memory.ack_handoff(lane=lane, by=by)
    session.emit({"handoff": done}, lambda paint: [f"acknowledged {paint('id', done.memory.id)} by {done.by}"])


def show(
    session: Session,
    lane: LaneOption = "main",
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="TIME", help="What waited then; a date means its end.", show_default=False),
    ] = None,
) -> None:
    """Show the batons of a lane without claiming one.

    The live one comes first; unconfirmed ones follow.
    """
    moment = session.moment("as-of", as_of, "end")
    with session.memory() as memory:
        waiting = memory.show_handoff(lane=lane, as_of=moment)
        pins = memory.pins(as_of=moment)
    note = None if waiting else f"no handoff waits in lane {lane}"
    session.emit(
        {"handoffs": waiting, "pins": pins, "note": note},
        lambda paint: _lines(session, waiting, pins, paint),
    )
    if note and not session.json:
        session.note(note)


def _lines(session: Session, handoffs: Sequence[Handoff], pins: Pins, paint: Palette) -> Iterator[str]:
    for number, one in enumerate(handoffs):
        if number:
            yield ""
        facts = [one.state, *([f"by {one.by}"] if one.by else []), f"lane {one.lane}"]
        if one.claimed_until is not None:
            facts.append(f"until {stamp(one.claimed_until, session.zone)}")
        if not one.confirmed:
            facts.append(paint("warn", f"unconfirmed ({one.memory.provenance})"))
        when = stamp(one.offered_at, session.zone)
        yield f"{paint('id', one.memory.id)}  {when}  {one.memory.source}  {' · '.join(map(paint.safe, facts))}"
        yield paint.safe(one.text(pins if number == 0 else None))
