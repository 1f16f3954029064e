"""Where in a framework's work something happens: which run, crew, task and agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from crewai.context import capture_execution_context
from crewai.events.event_bus import crewai_event_bus
from crewai.utilities.crew.crew_context import get_crew_context

from memanto.loop.fence import whole

RUNS: Final = frozenset({"crew_kickoff_started", "flow_started"})
"""Types of the events that begin what is one run, where it is not part of another."""

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
    """

    run_id: str | None = None
    crew: str | None = None
    task: str | None = None
    agent: str | None = None

    def metadata(self) -> Mapping[str, Any]:
        """Return crew, task and agent as they are kept with a memory, under `crewai`."""
        known = {"crew": self.crew, "task": self.task, "agent": self.agent}
        kept = {name: whole(value) for name, value in known.items() if value}
        return {"crewai": kept} if kept else {}


def origin() -> Origin:
    """Return where the caller is; to be asked in the context in which a crew, an agent or a tool works."""
    context = capture_execution_context()
    crew = get_crew_context()
    return Origin(
        run_id=run_of(context.event_id_stack),
        crew=None if crew is None or crew.id is None else str(crew.id),
        task=context.current_task_id if context.event_id_stack else None,  # CrewAI may leave the last one behind
        agent=_role(context.event_id_stack),
    )


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


def _role(inside: Sequence[Scope]) -> str | None:
    """Return the role of the agent at work, from what the bus keeps of its beginning."""
    state = crewai_event_bus.runtime_state
    begun = next((event_id for event_id, kind in reversed(inside) if kind == "agent_execution_started"), None)
    node = None if state is None or begun is None else state.event_record.get(begun)
    agent = getattr(node.event, "agent", None) if node is not None else None
    return getattr(agent, "role", None)
