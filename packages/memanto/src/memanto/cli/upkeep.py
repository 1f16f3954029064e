"""`memanto status`, `doctor`, `optimize`, `reindex`, and what bare `memanto` shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memanto.cli.session import Session
from memanto.cli.style import Palette, columns
from memanto.cli.text import stamp
from memanto.cli.verb import verb
from memanto.composition import current_settings
from memanto.config_keys import expanded
from memanto.counted import counted
from memanto.errors import ConfigurationError, NotFoundError, StoreDamagedError

if TYPE_CHECKING:
    from memanto.embedding.port import Embedder
    from memanto.maintenance import Checkup, StoreStatus


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (status, doctor, reindex, optimize):
        verb(app, command.__name__)(command)


# -- status -----------------------------------------------------------------------------------------
def status(session: Session) -> None:
    """Show what the agent's store holds, and where it is."""
    from memanto.cli.threads_upkeep import checkpoint_size, told

    agent, origin = session.chosen_agent()
    with session.memory(agent) as memory:
        found = memory.status()
        agents = len(memory.agents())
    try:
        size = checkpoint_size(agent)
        checkpoints = "" if size is None else told(size)
    except StoreDamagedError as error:  # the memories are none the worse for it
        size, checkpoints = None, f"damaged, `memanto doctor` says more: {error.message}"
    value = {
        "status": found, "origin": origin, "agents": agents, "backend": current_settings().backend, "checkpoints": size,
    }  # fmt: skip
    session.emit(value, lambda paint: _status_lines(session, found, origin, agents, paint, checkpoints=checkpoints))


def _backend() -> str:
    """Return the backend in use in words: whether calls may leave this machine is what a reader wants to know."""
    settings = current_settings()
    if settings.backend == "on-prem":
        return "on-prem: no call to another machine"
    return f"{settings.backend}, offline: no call to another machine" if settings.offline else settings.backend


def _status_lines(
    session: Session, found: StoreStatus, origin: str, agents: int, paint: Palette, *, checkpoints: str = ""
) -> Iterator[str]:
    rows: list[tuple[str, str]] = [
        ("agent", f"{paint('strong', found.agent.id)} (from {origin})"),
        ("description", paint.safe(found.agent.description)),
        ("memories", f"{found.memories:,} in {counted(found.versions, 'version')}"),
        ("active", ", ".join(f"{count} {kind.value}" for kind, count in found.by_type.items())),
        ("standing", ", ".join(f"{count} {one.value}" for one, count in found.by_status.items())),
        ("recorded", _span(session, found)),
        ("backend", _backend()),
        ("store", f"{found.engine}, {found.location}"),
        ("disk", _size(found.disk_bytes)),
        ("checkpoints", paint.safe(checkpoints)),
        ("embedder", found.embedder or "none yet: found by words only"),
        ("agents", str(agents)),
    ]
    yield from columns([paint("faint", name), text] for name, text in rows if text)


def _span(session: Session, found: StoreStatus) -> str:
    if found.oldest is None:
        return ""
    return f"{stamp(found.oldest, session.zone)} to {stamp(found.newest, session.zone)}"


def _size(count: int | None) -> str:
    return "" if count is None else f"{count / 1e6:.1f} MB"


def overview(session: Session) -> None:
    """Show the status and the three commands that come next."""
    found, origin, problem, agents = None, "", "", 0
    try:
        agent, origin = session.chosen_agent()
        with session.memory(agent) as memory:
            found = memory.status()
            agents = len(memory.agents())
    except (ConfigurationError, NotFoundError) as error:
        problem = error.message
    following = _next_commands(found)
    value = {"status": found, "problem": problem or None, "next": following}

    def lines(paint: Palette) -> Iterator[str]:
        if found is None:
            yield problem
        else:
            yield from _status_lines(session, found, origin, agents, paint)
        yield ""
        yield "next:"
        yield from (f"  {paint('id', command)}" for command in following)

    session.emit(value, lines)


def _next_commands(found: StoreStatus | None) -> list[str]:
    if found is None:
        first = "memanto agent create my-loop"
        return [first, 'memanto remember "Goal: …" --type goal', "memanto recall --recent"]
    if not found.memories:
        return ['memanto remember "Goal: …" --type goal', 'memanto recall "what is the goal"', "memanto --help"]
    return ["memanto recall --recent", 'memanto recall "what you look for"', "memanto doctor"]


# -- doctor -----------------------------------------------------------------------------------------
def doctor(
    session: Session,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended without a loss.")] = False,
) -> None:
    """Check that the store works, by using it.

    Writes and reads a canary; looks at disk, model, vectors, lineage and checkpoints. Exit status 3 when a check fails.
    """
    from memanto.cli.schedule import schedule_check
    from memanto.cli.threads_upkeep import checkpoint_checks, has_checkpoints
    from memanto.maintenance import Checkup

    backend = Checkup(name="backend", ok=True, detail=_backend())
    kept, told, command = schedule_check(session)
    schedule = Checkup(name="schedule", ok=kept, detail=told, fix=command)
    with closing(session.memory()) as memory:  # opened by the check, which reports a store that does not
        try:
            found = memory.doctor(repair=repair)
        except NotFoundError:
            if not has_checkpoints(memory.agent):
                raise
            found = []  # the agent of a graph that stores no memories
        checks = [backend, *found, *checkpoint_checks(memory.agent), schedule]
    sound = all(check.ok for check in checks)
    session.emit({"ok": sound, "checks": checks}, lambda paint: _check_lines(checks, paint))
    if not sound:
        raise typer.Exit(3)


def _check_lines(checks: Sequence[Checkup], paint: Palette) -> Iterator[str]:
    rows: list[list[str]] = []
    for check in checks:
        mark = (
            paint("warn", "mended") if check.repaired else paint("good", "ok") if check.ok else paint("bad", "FAILED")
        )
        rows.append([mark, check.name, paint.safe(check.detail)])
    yield from columns(rows)
    for check in checks:
        if check.fix and not check.ok:
            yield f"{paint('strong', check.name)}: {check.fix}"


# -- vectors and indexes ----------------------------------------------------------------------------
def reindex(
    session: Session,
    embedder: Annotated[
        str | None,
        typer.Option("--embedder", metavar="NAME|FOLDER", help="A model, or the folder of one.", show_default=False),
    ] = None,
) -> None:
    """Change to another embedder.

    The old vectors are kept, so that reindexing to the former embedder goes back. Can be interrupted and run again.
    """
    chosen = _embedder(embedder)
    with session.memory() as memory, session.progress("Embedding") as progress:
        done = memory.reindex(chosen, progress=progress)
    searched = "; now searched" if done.switched else ""
    session.emit(done, lambda _: [f"{done.embedded} of {counted(done.total, 'version')} embedded anew{searched}"])
    if embedder is not None and done.switched:
        setting = "embed_model_path" if expanded(Path(embedder)).is_dir() else "embed_model"
        session.note(f"`memanto config set {setting} {embedder}` makes it the model in use")


def _embedder(named: str | None) -> Embedder | None:
    """Return the embedder of a name or folder; `None` stands for the configured one.

    Raises:
        ConfigurationError: There is no such model here.
    """
    if named is None:
        return None
    from memanto.composition import configured_embedder

    settings, folder = current_settings(), expanded(Path(named))
    wanted = {"embed_model_path": folder} if folder.is_dir() else {"embed_model": named, "embed_model_path": None}
    choice = configured_embedder(replace(settings, **wanted))
    if choice.model is None:
        raise ConfigurationError(
            f"the model {named!r} is not here: {choice.reason}", hint="name the folder that holds its files"
        )
    return choice.model


def optimize(session: Session) -> None:
    """Build graph indexes and reclaim space.

    Worth it from 100,000 memories on.
    """
    with session.memory() as memory:
        changed = memory.optimize(progress=session.note)
    session.emit({"changed": changed}, lambda _: ["optimised" if changed else "nothing to do"])
