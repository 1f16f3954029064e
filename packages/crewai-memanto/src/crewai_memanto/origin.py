"""Where in a framework's work something happens: which run, crew, task and agent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from crewai.context import capture_execution_context
from crewai.events.event_bus import crewai_event_bus
from crewai.utilities.crew.crew_context import get_crew_context

from memanto.errors import InvalidInputError
from memanto.loop.fence import whole
from memanto.models import MAX_KEY

RUNS: Final = frozenset({"crew_kickoff_started", "flow_started"})
"""Types of the events that begin what is one run, where it is not part of another."""

_SOURCE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_UNNAMED: Final = "crew"
"""What CrewAI calls a crew that was given no name."""
_LOOKED_AT: Final = 20
"""How many times the characters that are kept of a label are looked at, blanks included."""

Scope = tuple[str, str]
"""Id and type of an event that began something which goes on."""

RECORDED: Final[dict[str, str]] = {}
"""Runs that a listener of this process is recording, by the id of the event that began each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where something comes from; `None` for what it does not belong to.

    Attributes:
        run_id: The run in memanto's ledger, as `MemantoListener` names it.
        crew: CrewAI's id of the crew.
        task: CrewAI's id of the task.
        agent: The agent's role.
        crew_name: The crew's name, where it was given one.
        task_name: The task's name, where it was given one.
    """

    run_id: str | None = None
    crew: str | None = None
    task: str | None = None
    agent: str | None = None
    crew_name: str | None = None
    task_name: str | None = None

    def metadata(self) -> Mapping[str, Any]:
        """Return crew, task and agent as they are kept with a memory, under `crewai`; names are cut to `MAX_KEY`."""
        known = {
            "crew": self.crew,
            "crew_name": self.crew_name,
            "task": self.task,
            "task_name": self.task_name,
            "agent": self.agent,
        }
        kept = {name: shown for name, value in known.items() if (shown := label(value, MAX_KEY))}
        return {"crewai": kept} if kept else {}


def label(text: str | None, limit: int) -> str | None:
    """Return a text on one line of at most `limit` characters, or `None` for none.

    Names, roles and tasks come from files, line breaks and all, and may be as long as a page.
    """
    shown = "".join(letter if letter.isprintable() else " " for letter in whole((text or "")[: _LOOKED_AT * limit]))
    return " ".join(shown.split())[:limit].strip() or None


def checked_source(source: str) -> str:
    """Return the name of who writes.

    Raises:
        InvalidInputError: It is none. Said when something is made, as CrewAI keeps to itself what a write says.
    """
    if not isinstance(source, str) or _SOURCE.fullmatch("_".join(source.split())) is None:
        raise InvalidInputError(
            f"source {source!r} is not valid", hint="use 1 to 64 of the characters A-Z a-z 0-9 . _ -"
        )
    return source


def origin() -> Origin:
    """Return where the caller is; to be asked in the context in which a crew, an agent or a tool works."""
    context = capture_execution_context()
    crew = get_crew_context()
    inside = context.event_id_stack
    crew_id = None if crew is None or crew.id is None else str(crew.id)
    task_id = context.current_task_id if inside else None  # CrewAI may leave the last one behind
    begun = _begun(inside, "crew_kickoff_started")
    task = getattr(_begun(inside, "task_started"), "task", None)
    return Origin(
        run_id=run_of(inside),
        crew=crew_id,
        task=task_id,
        agent=getattr(getattr(_begun(inside, "agent_execution_started"), "agent", None), "role", None),
        crew_name=None if crew_id is None else named_crew(getattr(begun, "crew_name", None)),
        task_name=named_task(task, task_id),
    )


def named_crew(name: str | None) -> str | None:
    """Return a crew's name, or `None` where nobody gave it one."""
    return None if name == _UNNAMED else name


def named_task(task: object, task_id: str | None) -> str | None:
    """Return the name of a task, or `None` where it has none or is not the one with this id."""
    return getattr(task, "name", None) if str(getattr(task, "id", None)) == task_id else None


def scopes() -> Sequence[Scope]:
    """Return what the caller is inside of, the outermost first."""
    return capture_execution_context().event_id_stack


def run_of(inside: Sequence[Scope]) -> str | None:
    """Return the id of the run that something inside these scopes belongs to.

    That is the one being recorded, else that of the outermost crew or flow: work that was broken off may leave its
    scope behind.
    """
    begun = [event_id for event_id, kind in inside if kind in RUNS]
    recorded = [RECORDED[event_id] for event_id in begun if event_id in RECORDED]
    return next(iter((*recorded, *map(named, begun))), None)


def named(begun_by: str) -> str:
    """Return the id of a run, by that of the event that began it, or of the flow that it is a run of."""
    return f"crewai:{begun_by}"


def _begun(inside: Sequence[Scope], kind: str) -> object:
    """Return the event that began the innermost scope of a kind, from what the bus keeps, or `None`."""
    state = crewai_event_bus.runtime_state
    begun = next((event_id for event_id, its_kind in reversed(inside) if its_kind == kind), None)
    node = None if state is None or begun is None else state.event_record.get(begun)
    return None if node is None else node.event
