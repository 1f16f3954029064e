"""`memanto agent`: the agents whose memories a store holds, and which of them is active."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from memanto.cli.options import YesOption
from memanto.cli.session import Session
from memanto.cli.style import Palette, columns
from memanto.cli.text import stamp
from memanto.cli.verb import verb
from memanto.counted import counted
from memanto.errors import (
    InvalidInputError,
    NotFoundError,
    SchemaMismatchError,
    SerializationError,
    StoreDamagedError,
)
from memanto.models import Agent

if TYPE_CHECKING:
    from memanto.client import Memanto

_DAMAGE: Final = (StoreDamagedError, SerializationError, SchemaMismatchError)
_KINDS: Final = ("memories", "versions", "threads", "checkpoints")
PATTERNS: Final = ("coding", "research", "ops", "orchestrator")

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="1 to 64 letters, digits, '.', '_' or '-'.", show_default=False)
]
OptionalName = Annotated[
    str | None, typer.Argument(metavar="NAME", help="By default the agent in effect.", show_default=False)
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="Make, choose and remove agents.", rich_markup_mode=None)
    verb(group, "create")(create)
    verb(group, "list")(list_)
    verb(group, "activate")(activate)
    verb(group, "deactivate")(deactivate)
    verb(group, "show")(show)
    verb(group, "delete")(delete)
    app.add_typer(group, name="agent")


def create(
    session: Session,
    name: NameArgument,
    description: Annotated[str, typer.Option("--description", help="What it does.", show_default=False)] = "",
    pattern: Annotated[
        str | None,
        typer.Option("--pattern", metavar="PATTERN", help=f"One of {', '.join(PATTERNS)}.", show_default=False),
    ] = None,
) -> None:
    """Make an agent and activate it.

    One that exists is activated as it is.
    """
    from memanto import agents
    from memanto.client import Memanto

    if pattern is not None and pattern not in PATTERNS:
        raise InvalidInputError(f"unknown pattern {pattern!r}", hint=f"one of {', '.join(PATTERNS)}")
    with Memanto(_same(session, name)) as memory:
        created = memory.create_agent(description=description, pattern=pattern)
    agents.activate(session.home(), name)
    done = f"{'created' if created else 'exists already'}, now active"
    session.emit(
        {"agent": name, "created": created, "active": True}, lambda paint: [f"{paint('strong', name)}: {done}"]
    )
    if not created and (description or pattern):
        session.note("its description and pattern were left as they are")


def list_(session: Session) -> None:
    """List all agents; the active one is marked."""
    from memanto import agents

    active = agents.active(session.home())
    # Which agent the handle names does not matter here; there may be none yet.
    with session.memory(active or "any") as memory:
        found = memory.agents()
    value = {"agents": [{"agent": agent, "active": agent.id == active} for agent in found], "active": active}
    session.emit(value, lambda paint: _rows(session, found, active, paint))
    if not found:
        session.note("there are no agents yet: `memanto agent create NAME` makes one")


def _rows(session: Session, found: Sequence[Agent], active: str | None, paint: Palette) -> Iterator[str]:
    yield from columns(
        [
            "*" if agent.id == active else " ",
            paint("strong", agent.id),
            stamp(agent.created_at, session.zone),
            agent.pattern or "",
            paint.safe(agent.description),
        ]
        for agent in found
    )


def activate(session: Session, name: NameArgument) -> None:
    """Make an agent the active one.

    It is meant wherever no other is named.
    """
    from memanto import agents

    with session.memory(_same(session, name)) as memory:
        memory.status()  # an agent that does not exist cannot be active
    agents.activate(session.home(), name)
    session.emit({"agent": name, "active": True}, lambda paint: [f"{paint('strong', name)}: now active"])


def deactivate(session: Session) -> None:
    """Leave no agent active."""
    from memanto import agents

    home = session.home()
    former = agents.active(home)
    agents.deactivate(home)
    session.emit(
        {"agent": former, "active": False}, lambda _: ["no agent is active" + (f" (was {former})" if former else "")]
    )


def show(session: Session, name: OptionalName = None) -> None:
    """Show an agent and how much it remembers."""
    from memanto import agents

    active = agents.active(session.home())
    with session.memory(_same(session, name)) as memory:
        found = memory.status()
    agent = found.agent
    value = {"agent": agent, "active": agent.id == active, "memories": found.memories, "versions": found.versions}
    rows = [
        ("agent", agent.id + (" (active)" if agent.id == active else "")),
        ("description", agent.description),
        ("pattern", agent.pattern or ""),
        ("created", stamp(agent.created_at, session.zone)),
        ("memories", f"{found.memories:,} in {counted(found.versions, 'version')}"),
    ]
    session.emit(value, lambda paint: columns([paint("faint", one), paint.safe(text)] for one, text in rows if text))


def delete(session: Session, name: NameArgument, yes: YesOption = False) -> None:
    """Remove an agent with all its memories and the threads of its graphs.

    This cannot be undone; `memanto export` first keeps a copy of the memories.
    """
    from memanto import agents

    with session.memory(_same(session, name)) as memory:
        held = _held(memory)
        count = _told(held)
        session.confirm(lambda: f"Delete agent {name} with {count} for good?", yes=yes)
        memory.delete_agent()
    home = session.home()
    if agents.active(home) == name:
        agents.deactivate(home)
    value = {"agent": name, "deleted": True, **held}
    session.emit(value, lambda paint: [f"{paint('strong', name)}: deleted with {count}"])


def _held(memory: Memanto) -> dict[str, int | None]:
    """Return how much an agent has of each kind; `None` where its files do not tell any more.

    Raises:
        NotFoundError: There is no such agent.
    """
    from memanto.cli.threads_upkeep import checkpoint_size

    held: dict[str, int | None] = dict.fromkeys(_KINDS, 0)
    try:
        size = checkpoint_size(memory.agent)
        known = size is not None
        held |= {} if size is None else {"threads": size.threads, "checkpoints": size.checkpoints}
    except _DAMAGE:
        known = True
        held |= dict.fromkeys(("threads", "checkpoints"))
    try:
        found = memory.status()
        held |= {"memories": found.memories, "versions": found.versions}
    except _DAMAGE:
        held |= dict.fromkeys(("memories", "versions"))
    except NotFoundError:  # a graph's checkpoints need no memory beside them
        if not known:
            raise
    return held


def _told(held: Mapping[str, int | None]) -> str:
    memories, versions, threads, checkpoints = (held[name] for name in _KINDS)
    count = (
        "damaged files"
        if memories is None or versions is None
        else f"{counted(memories, 'memory')} in {counted(versions, 'version')}"
    )
    if threads is None or checkpoints is None:
        return f"{count} and damaged checkpoints"
    return f"{count} and {counted(threads, 'thread')} of {counted(checkpoints, 'checkpoint')}" if threads else count


def _same(session: Session, name: str | None) -> str:
    """Return the agent an argument names, or the one in effect; `--agent` may only repeat the argument."""
    if name is None:
        return session.agent_id()
    if session.agent is not None and session.agent != name:
        raise InvalidInputError(
            f"two agents are named: {name!r} and --agent {session.agent!r}", hint="name one of them"
        )
    return name
