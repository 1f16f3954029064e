"""Writing receipts, the same way for every verb that changes a memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memanto.cli.session import Session
from memanto.cli.style import Palette
from memanto.cli.text import receipt_lines
from memanto.models import Receipt


def emit_receipt(session: Session, done: str, receipt: Receipt, *, dry_run: bool = False, **more: object) -> None:
    """Write one receipt; as JSON it is an object with the fields of `Receipt`, `dry_run` and what else is given."""
    from memanto.cli.jsonable import jsonable

    session.emit(
        {**jsonable(receipt), "dry_run": dry_run, **more},
        lambda paint: _lines(session, done, [receipt], paint, dry_run),
    )


def emit_receipts(session: Session, done: str, receipts: Sequence[Receipt], *, dry_run: bool = False) -> None:
    """Write several receipts; as JSON they are a list under `receipts`."""
    value = {"receipts": receipts, "dry_run": dry_run}
    session.emit(value, lambda paint: _lines(session, done, receipts, paint, dry_run))


def _lines(session: Session, done: str, receipts: Sequence[Receipt], paint: Palette, dry_run: bool) -> Iterator[str]:
    for receipt in receipts:
        if session.quiet:
            yield receipt.id
        else:
            yield from receipt_lines(done, receipt, paint, stored=not dry_run)
