"""Commands that change how a memory reads or stands: each appends a version, `forget` erases."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from memanto.cli.bounded import whole
from memanto.cli.options import (
    ConfidenceOption,
    IdArgument,
    ReasonOption,
    SourceOption,
    SourceRefOption,
    TagsOption,
    TitleOption,
    TypeOption,
    ValidFromOption,
    ValidToOption,
    YesOption,
    listed,
)
from memanto.cli.receipts import emit_receipt, emit_receipts
from memanto.cli.session import Session
from memanto.cli.verb import verb
from memanto.errors import InvalidInputError


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (edit, verify, quarantine, pin, unpin, expire, restore, supersede, forget):
        verb(app, command.__name__)(command)


def edit(
    session: Session,
    id: IdArgument,  # noqa: A002 - the word users know
    *,
    content: Annotated[
        str | None, typer.Option("--content", metavar="TEXT", help="The new text.", show_default=False)
    ] = None,
    title: TitleOption = None,
    type: TypeOption = None,  # noqa: A002 - the option's name
    confidence: ConfidenceOption = None,
    tags: TagsOption = None,
    source: SourceOption = None,
    source_ref: SourceRefOption = None,
    valid_from: ValidFromOption = None,
    valid_to: ValidToOption = None,
    reason: ReasonOption = "",
    expected_version: Annotated[
        int | None,
        typer.Option(
            "--expected-version",
            metavar="N",
            parser=whole(1, such_as=1),
            help="Refuse when another version is current.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Change what a memory says.

    This appends a version; earlier ones stay in history. An empty value clears a field.
    """
    from memanto.memory.validation import coerce_type

    given: dict[str, Any] = {
        "content": content,
        "title": title,
        "type": None if type is None else coerce_type(type),
        "confidence": confidence,
        "tags": None if tags is None else listed(tags),
        "source": source,
        "source_ref": source_ref,
        "valid_from": session.moment("valid-from", valid_from or None, "start") or valid_from,
        "valid_to": session.moment("valid-to", valid_to or None, "start") or valid_to,
    }
    clearable = {"title", "source_ref", "valid_from", "valid_to"}
    changes = {
        name: None if value == "" and name in clearable else value for name, value in given.items() if value is not None
    }
    if not changes:
        raise InvalidInputError("nothing to change", hint="name a field, for example --content or --confidence")
    with session.memory() as memory:
        receipt = memory.edit(id, reason=reason, expected_version=expected_version, **changes)
    emit_receipt(session, "edited", receipt)


def verify(session: Session, id: IdArgument, confidence: ConfidenceOption = None, reason: ReasonOption = "") -> None:  # noqa: A002
    """Record that a memory was checked.

    It is validated, and a quarantined one is believed from now on.
    """
    with session.memory() as memory:
        receipt = memory.verify(id, reason=reason, confidence=confidence)
    emit_receipt(session, "verified", receipt)


def quarantine(session: Session, id: IdArgument, reason: ReasonOption = "") -> None:  # noqa: A002
    """Demote a memory that proved wrong.

    It is found on request only, with `recall --status quarantined`. What cites it is named.
    """
    with session.memory() as memory:
        receipt = memory.quarantine(id, reason=reason)
        cited_by = memory.citing(receipt.id)
    emit_receipt(session, "quarantined", receipt, cited_by=cited_by)
    for one in cited_by:
        session.note(f"cited by {one.id} ({one.type}, {one.status}): {one.title}")


def pin(session: Session, id: IdArgument) -> None:  # noqa: A002
    """Keep a memory in front of every brief."""
    with session.memory() as memory:
        receipt = memory.pin(id)
    emit_receipt(session, "pinned", receipt)


def unpin(session: Session, id: IdArgument) -> None:  # noqa: A002
    """Take back `pin`."""
    with session.memory() as memory:
        receipt = memory.unpin(id)
    emit_receipt(session, "unpinned", receipt)


def expire(session: Session, id: IdArgument, reason: ReasonOption = "") -> None:  # noqa: A002
    """Retire a memory.

    For what is no longer true or needed; `restore` brings it back.
    """
    with session.memory() as memory:
        receipt = memory.expire(id, reason=reason)
    emit_receipt(session, "expired", receipt)


def restore(session: Session, id: IdArgument, reason: ReasonOption = "") -> None:  # noqa: A002
    """Bring back a retired memory."""
    with session.memory() as memory:
        receipt = memory.restore(id, reason=reason)
    emit_receipt(session, "restored", receipt)


def supersede(
    session: Session,
    old: Annotated[str, typer.Argument(metavar="OLD", help="The memory that is replaced.", show_default=False)],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The memory that takes its place.", show_default=False)],
    reason: ReasonOption = "",
) -> None:
    """Put one memory in the place of another.

    The old one stays in history.
    """
    with session.memory() as memory:
        receipt = memory.supersede(old, new, reason=reason)
    emit_receipt(session, "superseded", receipt)


def forget(
    session: Session,
    ids: Annotated[
        list[str], typer.Argument(metavar="ID...", help="Ids, or unique beginnings of them.", show_default=False)
    ],
    reason: ReasonOption = "",
    yes: YesOption = False,
) -> None:
    """Erase memories for good.

    All their versions go; a tombstone without text remains. This cannot be undone; `expire` can.
    """
    with session.memory() as memory:
        session.confirm(lambda: f"Erase for good: {'; '.join(memory.show(one).title or one for one in ids)}?", yes=yes)
        receipts = memory.forget(*ids, reason=reason)
    emit_receipts(session, "forgotten", receipts)
