"""`memanto remember`."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from memanto.cli.options import (
    ConfidenceOption,
    DryRunOption,
    ProvenanceOption,
    SourceOption,
    SourceRefOption,
    TagsOption,
    TitleOption,
    TypeOption,
    ValidFromOption,
    ValidToOption,
    listed,
    read_text,
)
from memanto.cli.receipts import emit_receipt, emit_receipts
from memanto.cli.session import Session
from memanto.cli.verb import verb
from memanto.errors import InvalidInputError
from memanto.models import Draft

_DONE: Final = {False: "remembered", True: "would be remembered"}


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    verb(app, "remember")(remember)


def remember(
    session: Session,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT|-", help="The text; - reads standard input.", show_default=False)
    ] = None,
    *,
    type: TypeOption = None,  # noqa: A002 - the option's name
    title: TitleOption = None,
    confidence: ConfidenceOption = None,
    tags: TagsOption = None,
    source: SourceOption = None,
    provenance: ProvenanceOption = None,
    source_ref: SourceRefOption = None,
    valid_from: ValidFromOption = None,
    valid_to: ValidToOption = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="SLOT", help="A slot: its next value retires the last.", show_default=False),
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(
            "--batch", metavar="FILE", show_default=False,
            help="Many: a JSON array, or one object per line, each with 'content'; options fill in what it leaves out.",
        ),
    ] = None,
    dry_run: DryRunOption = False,
) -> None:  # fmt: skip
    """Store a memory.

    The receipt is made after reading it back. Without --type the type is guessed from the text.
    """
    from memanto.memory.validation import coerce_provenance, coerce_type

    if (text is None) == (batch is None):
        problem = "nothing to remember" if text is None else "a text and --batch exclude each other"
        raise InvalidInputError(problem, hint="give a text in quotes, - for standard input, or --batch FILE")
    given: dict[str, Any] = {
        "type": None if type is None else coerce_type(type),
        "title": title,
        "confidence": confidence,
        "tags": listed(tags) or None,
        "source": source,
        "provenance": None if provenance is None else coerce_provenance(provenance),
        "source_ref": source_ref,
        "valid_from": session.moment("valid-from", valid_from, "start"),
        "valid_to": session.moment("valid-to", valid_to, "start"),
        "key": key,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if batch is not None:
        _many(session, read_text(batch), given, dry_run=dry_run)
        return
    content = read_text("-").removesuffix("\n").removesuffix("\r") if text == "-" else text or ""
    with session.memory() as memory:
        receipt = memory.remember(Draft(content=content, **given), dry_run=dry_run)
    emit_receipt(session, _DONE[dry_run], receipt, dry_run=dry_run)


def _many(session: Session, text: str, given: dict[str, Any], *, dry_run: bool) -> None:
    from memanto.cli.batch import read_batch
    from memanto.times import parse_time

    drafts = read_batch(text, given, lambda words: parse_time(words, now=session.now, zone=session.zone, edge="start"))
    with session.memory() as memory:
        receipts = memory.remember_many(drafts, dry_run=dry_run)
    emit_receipts(session, _DONE[dry_run], receipts, dry_run=dry_run)
    known = sum(receipt.duplicate for receipt in receipts)
    session.note(f"{len(receipts) - known} {_DONE[dry_run]}, {known} already known")
