"""`memanto failure`, `guard` and `feedback`: what went wrong, and looking before acting."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memanto.cli.bounded import whole
from memanto.cli.options import (
    ConfidenceOption,
    IdArgument,
    ProvenanceOption,
    ReasonOption,
    SourceOption,
    TagsOption,
    listed,
    read_text,
)
from memanto.cli.receipts import emit_receipt
from memanto.cli.session import Session
from memanto.cli.style import Palette
from memanto.cli.verb import verb
from memanto.errors import InvalidInputError

if TYPE_CHECKING:
    from memanto.loop.feedback import Verdict
    from memanto.loop.guard import Trigger

MATCHED = 3
"""Exit status of `guard --strict` when a confirmed trigger matches."""


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (failure, guard, feedback):
        verb(app, command.__name__)(command)


def failure(
    session: Session,
    text: Annotated[
        str | None,
        typer.Argument(metavar="TRIGGER", help='"When X, do Y", or only X.', show_default=False),
    ] = None,
    *,
    trigger: Annotated[str, typer.Option("--trigger", help="The same as an option.")] = "",
    task_type: Annotated[str, typer.Option("--task-type", help="What kind of task it was.")] = "",
    attempted: Annotated[str, typer.Option("--attempted", help="What was tried.")] = "",
    wrong: Annotated[str, typer.Option("--wrong", help="What was seen to go wrong.")] = "",
    cause: Annotated[str, typer.Option("--cause", help="The root cause, once known.")] = "",
    fix: Annotated[str, typer.Option("--fix", help="The correction that worked.")] = "",
    confidence: ConfidenceOption = None,
    provenance: ProvenanceOption = "observed",
    tags: TagsOption = None,
    source: SourceOption = None,
) -> None:
    """Record a failure and what to do instead.

    It is stored as an error memory phrased as a trigger, which `guard` finds at the moment of acting.
    """
    if text is not None and trigger:
        raise InvalidInputError("the trigger is given twice", hint="as an argument or with --trigger")
    with session.memory() as memory:
        receipt = memory.record_failure(
            text or trigger,
            task_type=task_type,
            attempted=attempted,
            wrong=wrong,
            cause=cause,
            fix=fix,
            confidence=confidence,
            provenance=provenance,
            tags=listed(tags),
            source=source,
        )
    emit_receipt(session, "failure recorded", receipt)


def guard(
    session: Session,
    situation: Annotated[
        str,
        typer.Argument(metavar="SITUATION|-", help="What is about to be done; - reads standard input."),
    ] = "",
    *,
    tool: Annotated[
        str | None, typer.Option("--tool", metavar="NAME", help="The tool about to be called.", show_default=False)
    ] = None,
    args: Annotated[
        str | None, typer.Option("--args", metavar="JSON", help="Its arguments.", show_default=False)
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", "-n", metavar="N", parser=whole(1, 20, such_as=3), help="1 to 20 failures, and as many steps."
        ),
    ] = 3,
    lane: Annotated[str, typer.Option("--lane", metavar="NAME", help="Whose do-not-redo list holds.")] = "main",
    strict: Annotated[bool, typer.Option("--strict", help="Exit 3 when a confirmed trigger matches.")] = False,
    by_meaning: Annotated[bool, typer.Option("--by-meaning", help="Also by meaning; loads the embedder.")] = False,
) -> None:
    """Look before acting.

    Prints recorded failures, and steps not to be redone, that match the action. Decided by words, so that it
    answers at once; prints nothing when nothing speaks against it.
    """
    text = read_text("-") if situation == "-" else situation
    with session.memory() as memory:
        triggers = memory.guard(text, tool=tool, args=_parsed(args), limit=limit, lane=lane, by_meaning=by_meaning)
    stopped = strict and any(one.confirmed for one in triggers)
    session.emit({"triggers": triggers, "stopped": stopped}, lambda paint: _lines(triggers, paint))
    if not triggers and not session.json:
        session.note("nothing speaks against it")
    if stopped:
        raise typer.Exit(MATCHED)


def _parsed(text: str | None) -> Any:
    """Return arguments given as JSON; what is no JSON counts as it stands, so that a hook never fails on it."""
    if text is None:
        return None
    try:
        value = json_module.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict | list | str) else text


def _lines(triggers: Sequence[Trigger], paint: Palette) -> Iterator[str]:
    for one in triggers:
        mark = paint("warn", "do not redo" if one.kind == "do_not_redo" else "avoid")
        doubt = "" if one.confirmed else f" {paint('faint', '(unconfirmed)')}"
        yield f"{mark}{doubt}  {paint.safe(one.when)}"
        if one.kind == "failure" and one.do:
            yield f"  do: {paint.safe(one.do)}"
        if one.cause:
            yield f"  because: {paint.safe(one.cause)}"
        origin = f"{one.memory.source}, {one.memory.provenance}, confidence {one.memory.confidence:g}"
        yield f"  {paint('id', one.memory.id)}  {paint('faint', f'{one.why_matched} · {origin}')}"


def feedback(
    session: Session,
    id: IdArgument,  # noqa: A002 - the word users know
    *,
    helped: Annotated[bool, typer.Option("--helped", help="It was right and of use.")] = False,
    wrong: Annotated[bool, typer.Option("--wrong", help="It was false.")] = False,
    irrelevant: Annotated[bool, typer.Option("--irrelevant", help="It was shown at the wrong time.")] = False,
    reason: ReasonOption = "",
) -> None:
    """Say what became of a memory.

    Its confidence moves by a stated rule, as a new version. Irrelevant is counted and moves nothing.
    """
    given: list[Verdict] = []
    if helped:
        given.append("helped")
    if wrong:
        given.append("wrong")
    if irrelevant:
        given.append("irrelevant")
    if len(given) != 1:
        raise InvalidInputError(
            f"feedback takes one verdict, not {len(given)}", hint="give --helped, --wrong or --irrelevant"
        )
    with session.memory() as memory:
        before = memory.show(id).confidence
        receipt = memory.feedback(id, given[0], reason=reason)
        after = memory.show(receipt.id).confidence
    emit_receipt(session, given[0], receipt)
    session.note(f"confidence {before:g} -> {after:g}")
