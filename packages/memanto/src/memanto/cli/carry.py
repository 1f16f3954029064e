"""`memanto export` and `import`."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TextIO

import typer

from memanto.cli.options import read_text
from memanto.cli.session import Session
from memanto.cli.style import Palette
from memanto.cli.verb import verb
from memanto.config_keys import expanded
from memanto.counted import counted
from memanto.errors import DiskFullError, InvalidInputError, SerializationError, StoreDamagedError

if TYPE_CHECKING:
    from memanto.client import Memanto
    from memanto.portability.importing import ImportReport

_SHOWN: Final = 5


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    verb(app, "export")(export)
    verb(app, "import")(import_)


def export(
    session: Session,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write there instead of standard output.", show_default=False
        ),
    ] = None,
) -> None:
    """Write all memories as JSON lines.

    Every version of every memory; `import` reads them back without a loss. With --json and without --output, one
    JSON object holds them as its 'lines'. From a damaged store what can be read is saved; exit status 5 when
    something is missing.
    """
    with session.memory() as memory:
        missing: list[str] = []
        lines = _exported(session, memory, missing)
        if output is not None:
            count = _write(expanded(output), lines) - 1  # the first line describes the export
            session.emit(
                {"path": output, "versions": count}, lambda _: [f"{counted(count, 'version')} written to {output}"]
            )
        elif session.json:
            session.emit({"lines": [json.loads(line) for line in lines]}, lambda _: ())
        else:
            for line in lines:
                sys.stdout.write(f"{line}\n")
    if missing:
        raise StoreDamagedError(
            f"the store is damaged, and this export lacks: {_listed(missing)}",
            hint="`memanto import` reads it; import your last backup first, and it adds what that one lacks",
        )


def _exported(session: Session, memory: Memanto, missing: list[str]) -> Iterator[str]:
    """Yield the lines of an export; `missing` receives what a damaged store does not give any more."""
    try:
        lines: Sequence[str] = list(memory.export())
    except (StoreDamagedError, SerializationError) as error:
        session.note(error.message)
        saved = memory.salvage()
        if not saved.missing:
            session.note("everything was saved nevertheless; `memanto doctor --repair` mends the store")
        lines = saved.lines
        missing += saved.missing
    yield from lines


def _listed(missing: Sequence[str]) -> str:
    more = f"; and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    return "; ".join(missing[:_SHOWN]) + more


def _write(path: Path, lines: Iterable[str]) -> int:
    """Write lines where the user said; return how many.

    A file holds all of them or is left as it was, and a new one only its owner can read. A link is followed. What
    is no file, such as a pipe or a device, is written to.
    """
    try:
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            return _replace(Path(os.path.realpath(path)), None, lines)
        if stat.S_ISREG(mode):
            return _replace(Path(os.path.realpath(path)), stat.S_IMODE(mode), lines)
        with path.open("w", encoding="utf-8", newline="\n") as stream:  # refuses a folder
            return _write_lines(stream, lines)
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise DiskFullError(f"the disk of {str(path)!r} is full", hint="free some space, then try again") from error
        raise InvalidInputError(
            f"cannot write {str(path)!r}: {error.strerror or error}", hint="name a file in a folder you may write"
        ) from error


def _replace(path: Path, mode: int | None, lines: Iterable[str]) -> int:
    """Put a file in the place of another at once; it keeps the `mode` of the other."""
    handle, name = tempfile.mkstemp(prefix=".memanto-", dir=path.parent)  # made with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            count = _write_lines(file, lines)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
    return count


def _write_lines(file: TextIO, lines: Iterable[str]) -> int:
    count = 0
    for line in lines:
        file.write(f"{line}\n")
        count += 1
    return count


def import_(
    session: Session,
    file: Annotated[
        str, typer.Argument(metavar="FILE|-", help="An export; - reads standard input.", show_default=False)
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report what would be added, and add nothing.")] = False,
) -> None:
    """Add the memories of an export.

    Versions that are there already stay as they are, so running it again changes nothing. Exit status 4 when a
    memory here says something else.
    """
    lines = read_text(file).removeprefix("\ufeff").split("\n")
    with session.memory() as memory, session.progress("Importing") as progress:
        report = memory.import_(lines, dry_run=dry_run, progress=progress)
    value = {
        "memories": report.memories,
        "versions": report.versions,
        "stored": report.stored,
        "present": report.present,
        "conflicts": report.conflicts,
        "redacted": report.redacted,
        "dry_run": dry_run,
    }
    session.emit(value, lambda paint: _report(report, paint, dry_run=dry_run))
    if report.conflicts:
        raise typer.Exit(4)


def _report(report: ImportReport, paint: Palette, *, dry_run: bool) -> Iterator[str]:
    added = f"{report.stored} {'would be added' if dry_run else 'added'}, {report.present} already there"
    yield f"{counted(report.versions, 'version')} of {counted(report.memories, 'memory')}: {added}"
    if report.redacted:
        yield f"{paint('warn', 'redacted')}: secrets in {counted(report.redacted, 'version')}"
    for memory_id in report.conflicts:
        yield f"{paint('bad', 'not imported')}: {paint('id', memory_id)} says something else here"
