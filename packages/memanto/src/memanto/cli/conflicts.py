"""`memanto detect-conflicts` and `conflicts`: find what cannot both hold, and decide it one by one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from memanto.cli.line_editor import edited
from memanto.cli.options import ReasonOption
from memanto.cli.session import Session
from memanto.cli.side_by_side import beside
from memanto.cli.style import Palette, palette_for
from memanto.cli.text import short_ids, stamp
from memanto.cli.verb import verb
from memanto.counted import counted
from memanto.errors import InvalidInputError, MemantoError

if TYPE_CHECKING:
    from memanto.client import Memanto
    from memanto.hygiene.conflict import Conflict
    from memanto.hygiene.detect import Detection
    from memanto.models import Memory

Told = tuple["Conflict", "Memory", "Memory"]

_KEYS: Final[dict[str, str]] = {
    "o": "keep-old",
    "n": "keep-new",
    "b": "keep-both",
    "m": "merge",
    "r": "replace",
    "1": "expire-old",
    "2": "expire-new",
}
_MENU: Final = (
    "[o] keep old  [n] keep new  [b] keep both  [m] merge  [r] replace  [1] expire old  [2] expire new  "
    "[s] skip  [q] quit"
)


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    verb(app, "detect-conflicts")(detect_conflicts)
    verb(app, "conflicts")(conflicts)


# -- finding ----------------------------------------------------------------------------------------
def detect_conflicts(
    session: Session,
    everything: Annotated[bool, typer.Option("--everything", help="Also what was looked at before.")] = False,
    no_rerank: Annotated[bool, typer.Option("--no-rerank", help="Do not ask the cross-encoder.")] = False,
    judge: Annotated[
        bool, typer.Option("--judge", help="Ask the language model that is set up about each open conflict.")
    ] = False,
) -> None:
    """Look for memories that cannot both hold.

    Compares what was recorded since the last run with everything. Decides and changes nothing; `conflicts` walks
    through what was found. A run that was interrupted goes on where it ended. What a language model says is kept as
    advice; a conflict of which it says that the two go together is set aside (`conflicts --all` shows it).
    """
    with session.memory() as memory, session.progress("comparing") as progress:
        llm: Literal["default"] | None = "default" if judge else None
        found = memory.detect_conflicts(everything=everything, rerank=not no_rerank, llm=llm, progress=progress)
        backlog = len(memory.conflicts())
    value = {"examined": found.examined, "compared": found.compared, "since": found.since, "judged": found.judged,
             "conflicts": found.conflicts, "beyond": found.beyond, "open": backlog,
             "judging": found.judging}  # fmt: skip
    session.emit(value, lambda paint: _detection_lines(session, found, backlog, paint))
    if found.judging is not None and not session.json:
        for note in found.judging.notes:
            session.note(note)


def _detection_lines(session: Session, found: Detection, backlog: int, paint: Palette) -> Iterator[str]:
    since = f" recorded since {stamp(found.since, session.zone)}" if found.since else ""
    conflicts = counted(len(found.conflicts), "open conflict")
    yield f"{counted(found.examined, 'memory')}{since} compared with their neighbours: {conflicts}"
    for one in found.conflicts:
        yield f"  {paint('id', one.id)}  {_what(one)}{_advice(one, paint)}"
    if found.beyond:
        pairs = counted(found.beyond, "more pair")
        yield f"{pairs} of memories that have several open conflicts already; they come up as those are decided"
    if found.judging is not None and found.judging.model:
        told = found.judging
        yield f"{told.model} judged {told.judged} of {told.asked}; {told.set_aside} set aside"
    if backlog:
        yield f"{backlog} in all; `memanto conflicts` walks through them"


# -- deciding ---------------------------------------------------------------------------------------
def conflicts(
    session: Session,
    *,
    listing: Annotated[bool, typer.Option("--list", help="List them and ask nothing.")] = False,
    resolved: Annotated[bool, typer.Option("--resolved", help="List those that were decided.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Also those that a language model has set aside.")] = False,
    kind: Annotated[
        str | None,
        typer.Option("--kind", metavar="KIND", help="Only update, duplicate or contradiction.", show_default=False),
    ] = None,
    resolve: Annotated[
        str | None, typer.Option("--resolve", metavar="ID", help="Decide this one.", show_default=False)
    ] = None,
    action: Annotated[
        str | None,
        typer.Option("--action", metavar="ACTION", show_default=False, help=f"One of {', '.join(_KEYS.values())}."),
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="For merge and replace.", show_default=False)
    ] = None,
    undo: Annotated[
        str | None, typer.Option("--undo", metavar="ID", help="Take a decision back.", show_default=False)
    ] = None,
    reason: ReasonOption = "",
) -> None:
    """Walk through memories that cannot both hold.

    On a terminal they are shown one by one, side by side. Elsewhere they are listed. The loser of a decision stays
    in history, and --undo takes the decision back. --kind with --action decides all of a kind.
    """
    if resolve is not None and undo is not None:
        raise InvalidInputError("--resolve and --undo exclude each other", hint="give one of them")
    if (resolve is None and kind is None and action is not None) or (resolve is not None and action is None):
        raise InvalidInputError(
            "--resolve ID and --action ACTION go together",
            hint=f"`memanto conflicts --list` shows ids; ACTION is one of {', '.join(_KEYS.values())}",
        )
    wanted = None if kind is None else _kind(kind)
    with session.memory() as memory:
        if resolve is not None and action is not None:
            _emit_decision(session, memory.resolve_conflict(resolve, action, text=text, reason=reason))
        elif undo is not None:
            _emit_decision(session, memory.undo_conflict(undo, reason=reason))
        elif wanted is not None and action is not None:
            _decide_all(session, memory, wanted, action, reason)
        else:
            known = memory.conflicts(resolved=resolved, set_aside=True)
            known = [one for one in known if wanted in (None, one.kind)]
            shown = [one for one in known if everything or not one.is_set_aside]
            told, aside = [memory.conflict(one.id) for one in shown], len(known) - len(shown)
            if aside and not session.json:
                session.note(f"{aside} set aside by a language model; --all shows them")
            on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
            if told and on_terminal and not (listing or resolved or session.json):
                _walk(session, memory, told, reason)
            else:
                _emit_list(session, told, aside)


def _kind(text: str) -> str:
    from memanto.hygiene.compare import Kind

    if text not in tuple(Kind):
        raise InvalidInputError(f"unknown kind {text!r}", hint=f"one of {', '.join(Kind)}")
    return text


def _decide_all(session: Session, memory: Memanto, kind: str, action: str, reason: str) -> None:
    """Decide every open conflict of a kind; one that an earlier decision settled is passed over."""
    decided: list[Conflict] = []
    while waiting := [one for one in memory.conflicts() if one.kind == kind]:
        decided.append(memory.resolve_conflict(waiting[0].id, action, reason=reason))
    session.emit(
        {"decided": decided, "count": len(decided)},
        lambda _: [f"{action}: {counted(len(decided), 'conflict')} of kind {kind}"],
    )


def _emit_decision(session: Session, conflict: Conflict) -> None:
    state = conflict.action or "open again"
    session.emit(conflict, lambda paint: [f"{paint('strong', state)} {paint('id', conflict.id)}  {_what(conflict)}"])


def _emit_list(session: Session, told: Sequence[Told], set_aside: int) -> None:
    from memanto.cli.jsonable import jsonable

    value = {
        "conflicts": [
            {**jsonable(conflict), "older_memory": jsonable(older), "newer_memory": jsonable(newer)}
            for conflict, older, newer in told
        ],
        "count": len(told),
        "set_aside": set_aside,
    }
    session.emit(value, lambda paint: _list_lines(told, session.zone, paint))
    if session.json:
        return
    if not told:
        session.note("no conflicts; `memanto detect-conflicts` looks for more")
    elif any(conflict.action is None for conflict, _, _ in told):
        session.note(f"`memanto conflicts --resolve ID --action ACTION` decides one: {', '.join(_KEYS.values())}")


def _list_lines(told: Sequence[Told], zone: tzinfo, paint: Palette) -> Iterator[str]:
    short = short_ids(conflict.id for conflict, _, _ in told)
    for number, (conflict, older, newer) in enumerate(told, start=1):
        decided = f"  {conflict.action} by {conflict.decision.actor}" if conflict.action and conflict.decision else ""
        line = f"{number}. {paint('id', short[conflict.id])}  {_what(conflict)}{_advice(conflict, paint)}"
        yield f"{line}{paint('faint', decided)}"
        for label, memory in (("old", older), ("new", newer)):
            yield f"   {label}  {paint('faint', _who(memory, zone))}"
            yield f"        {paint.safe(' '.join(memory.content.split()))}"


def _what(conflict: Conflict) -> str:
    cue = f" (“{conflict.cue}”)" if conflict.cue else ""
    return f"{conflict.kind.value} by {conflict.rule}{cue}"


def _advice(conflict: Conflict, paint: Palette) -> str:
    """Return what a language model said of a conflict."""
    one = conflict.judgement
    if one is None:
        return ""
    reason = f", {one.reason}" if one.reason else ""
    taken_back = " (taken back)" if one.overruled else ""
    return paint("faint", f"  {one.model}: {one.verdict}{reason}{taken_back}")


def _who(memory: Memory, zone: tzinfo) -> str:
    when = stamp(memory.valid_from or memory.recorded_at, zone)
    who = memory.actor or memory.source
    return f"{memory.id}  {memory.type.value}  {when}  by {who}  confidence {memory.confidence:g}"


# -- one by one -------------------------------------------------------------------------------------
def _walk(session: Session, memory: Memanto, told: Sequence[Told], reason: str) -> None:
    """Show each conflict and carry out what is answered, until all are decided or somebody has enough."""
    paint = palette_for(sys.stdout)
    decided = 0
    for number, one in enumerate(told, start=1):
        lines = _shown(one, f"{number} of {len(told)}", session.zone, paint)
        sys.stdout.write("\n".join(lines) + "\n")
        answer = _answer(paint)
        if answer == "q":
            break
        if answer != "s":
            decided += _decide(memory, one, _KEYS[answer], reason)
    sys.stdout.write(f"{decided} decided, {len(told) - decided} open\n")


def _shown(told: Told, place: str, zone: tzinfo, paint: Palette) -> Iterator[str]:
    conflict, older, newer = told
    yield ""
    yield f"{paint('strong', place)}  {paint('id', conflict.id)}  {_what(conflict)}{_advice(conflict, paint)}"
    old, new = (
        [label, memory.id, f"{memory.type.value} · {stamp(memory.valid_from or memory.recorded_at, zone)}",
         f"by {memory.actor or memory.source} · confidence {memory.confidence:g}", "─" * 20]
        for label, memory in (("OLD", older), ("NEW", newer))
    )  # fmt: skip
    colour = paint("good", "x") != "x"
    yield from beside(
        (old, new), (older.content, newer.content), paint, shutil.get_terminal_size().columns, colour=colour
    )


def _answer(paint: Palette) -> str:
    """Ask until a key of the menu is given; the end of input quits."""
    while True:
        sys.stdout.write(f"{paint('faint', _MENU)}\n> ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        answer = line.strip().lower()[:1]
        if not line:
            return "q"
        if answer in _KEYS or answer in ("s", "q"):
            return answer


def _decide(memory: Memanto, told: Told, action: str, reason: str) -> bool:
    """Carry out an action; what goes wrong is said, and the walk goes on."""
    conflict, older, newer = told
    paint = palette_for(sys.stdout)
    prefilled = {"merge": f"{newer.content} (before: {older.content})", "replace": ""}
    text = edited(prefilled[action]) if action in prefilled else None
    try:
        memory.resolve_conflict(conflict.id, action, text=text, reason=reason)
    except MemantoError as error:
        sys.stdout.write(f"{paint('bad', 'not done')}: {paint.safe(str(error))}\n")
        return False
    sys.stdout.write(f"{paint('good', action)}  (`memanto conflicts --undo {conflict.id}` takes it back)\n")
    return True
