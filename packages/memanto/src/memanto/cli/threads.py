"""`memanto threads`: the threads of an agent's graphs, whose checkpoints a saver keeps beside its memories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from memanto.cli.bounded import whole
from memanto.cli.options import YesOption
from memanto.cli.session import Session
from memanto.cli.style import Palette, columns
from memanto.cli.text import byte_size, stamp
from memanto.cli.verb import verb
from memanto.counted import counted
from memanto.errors import NotFoundError, StoreDamagedError

if TYPE_CHECKING:
    from memanto.checkpoints import Checkpoint, CheckpointLog, LogSize, ThreadInfo

ThreadArgument = Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.", show_default=False)]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="List, show and prune the threads of graphs.", rich_markup_mode=None)
    verb(group, "list")(list_)
    verb(group, "show")(show)
    verb(group, "prune")(prune)
    verb(group, "delete")(delete)
    app.add_typer(group, name="threads")


def list_(session: Session) -> None:
    """List threads with their checkpoints and sizes, the latest first."""
    with _log(session) as log:
        found, size = log.threads(), log.size()
    session.emit({"threads": found, "size": size}, lambda paint: _thread_lines(session, found, size, paint))
    if not found:
        session.note(f"no threads of agent {session.agent_id()} yet")


def _thread_lines(session: Session, found: Sequence[ThreadInfo], size: LogSize, paint: Palette) -> Iterator[str]:
    yield from columns(
        [
            paint("id", one.id),
            _when(session, one.updated),
            counted(one.checkpoints, "checkpoint"),
            counted(one.namespaces, "namespace"),
            byte_size(one.bytes),
        ]
        for one in found
    )
    if found and size.disk_bytes is not None:
        yield f"{byte_size(size.disk_bytes)} on the disk"


def show(
    session: Session,
    thread: ThreadArgument,
    limit: Annotated[
        int,
        typer.Option("--limit", "-n", metavar="N", parser=whole(1, such_as=20), help="At most so many checkpoints."),
    ] = 20,
) -> None:
    """Show a thread's checkpoints, the latest first.

    Values stay closed: only the program that wrote them can read them.
    """
    with _log(session) as log:
        info = _info(log, thread)
        outline = log.outline(thread)
    shown = outline[:limit]
    value = {"thread": info, "checkpoints": [{**_described(one), "writes": writes} for one, writes in shown]}
    session.emit(value, lambda paint: _checkpoint_lines(session, info, shown, paint))
    if len(outline) > limit:
        session.note(f"{len(outline) - limit} more: --limit {len(outline)} shows them")


def _described(one: Checkpoint) -> dict[str, object]:
    return {
        "id": one.key.id,
        "namespace": one.key.ns,
        "parent": one.parent,
        "made": one.ts or None,
        "step": one.step,
        "source": one.source,
        "run": one.run,
        "rebuilt": sorted(one.open),
    }


def _checkpoint_lines(
    session: Session, info: ThreadInfo, shown: Sequence[tuple[Checkpoint, int]], paint: Palette
) -> Iterator[str]:
    kinds = ", ".join(f"{byte_size(size)} {kind}" for kind, size in info.by_kind.items() if size)
    yield f"{paint('strong', info.id)}: {counted(info.checkpoints, 'checkpoint')}, {byte_size(info.bytes)} ({kinds})"
    yield from columns(
        (
            [
                paint("id", one.key.id),
                _when(session, one.ts),
                f"step {one.step}",
                paint.safe(one.source),
                counted(writes, "write") if writes else "",
                paint("faint", one.key.ns),
            ]
            for one, writes in shown
        ),
        indent="  ",
    )


def prune(
    session: Session,
    threads: Annotated[
        list[str] | None, typer.Argument(metavar="[THREAD...]", help="Only these; all by default.", show_default=False)
    ] = None,
    *,
    keep_last: Annotated[
        int | None,
        typer.Option(
            "--keep-last",
            metavar="N",
            parser=whole(1, such_as=20),
            help="Keep so many of each namespace.",
            show_default=False,
        ),
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(
            "--before", metavar="TIME", show_default=False, help="Remove what was made before, such as '30 days ago'."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    yes: YesOption = False,
) -> None:
    """Remove old checkpoints and give their space back.

    The latest of each namespace stays, with whatever it is rebuilt from. A thread of which everything was made
    before --before goes whole.
    """
    moment = session.moment("before", before, "start")
    with _log(session) as log:
        for thread in threads or ():
            _info(log, thread)
        planned = log.prune(threads, keep_last=keep_last, before=moment, dry_run=True)
        what = f"{counted(planned.checkpoints, 'checkpoint')} of {counted(planned.threads, 'thread')}"
        if not dry_run and planned.checkpoints:
            session.confirm(lambda: f"Remove {what} for good?", yes=yes)
            planned = log.prune(threads, keep_last=keep_last, before=moment)
            log.compact()
            what = f"{counted(planned.checkpoints, 'checkpoint')} of {counted(planned.threads, 'thread')}"
    kept = planned.kept_for_rebuilding
    done = "would remove" if dry_run else "removed"
    session.emit({"pruned": planned, "dry_run": dry_run}, lambda _: [f"{done} {what}"])
    if kept:
        session.note(f"{counted(kept, 'checkpoint')} more stayed, because later ones are rebuilt from them")


def delete(
    session: Session,
    threads: Annotated[list[str], typer.Argument(metavar="THREAD...", help="Their ids.", show_default=False)],
    yes: YesOption = False,
) -> None:
    """Remove threads with all they have; this cannot be undone.

    Damaged ones, too: those that cannot be read at all have to be named together.
    """
    with _log(session) as log:
        held = {thread: _checkpoints(log, thread) for thread in threads}
        known = [number for number in held.values() if number is not None]
        count = counted(sum(known), "checkpoint") if len(known) == len(held) else "damaged checkpoints"
        names = ", ".join(held)
        which = f"{'thread' if len(held) == 1 else 'threads'} {names}"
        session.confirm(lambda: f"Delete {which} with {count} for good?", yes=yes)
        log.delete_threads(held)
        log.compact()
    value = {"deleted": True, "threads": [{"thread": one, "checkpoints": number} for one, number in held.items()]}
    session.emit(value, lambda paint: [f"{paint('strong', names)}: deleted with {count}"])


def _checkpoints(log: CheckpointLog, thread: str) -> int | None:
    """Return how many checkpoints a thread has; `None` for one whose files do not tell any more."""
    try:
        return _info(log, thread).checkpoints
    except StoreDamagedError:
        return None


def _log(session: Session) -> CheckpointLog:
    from memanto.checkpoints import CheckpointLog

    return CheckpointLog(session.agent_id())


def _info(log: CheckpointLog, thread: str) -> ThreadInfo:
    found = log.thread(thread)
    if found is None:
        raise NotFoundError(
            f"agent {log.agent!r} has no thread {thread!r}", hint="`memanto threads list` shows those there are"
        )
    return found


def _when(session: Session, ts: str) -> str:
    from memanto.checkpoints.retention import time_of

    return stamp(time_of(ts), session.zone)
