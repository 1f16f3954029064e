"""What CrewAI's events tell: whose work it was, what went wrong, and how many tokens it took."""

from __future__ import annotations

from typing import Any

from crewai import Agent, Crew
from crewai.events.base_events import BaseEvent
from crewai.events.types.agent_events import AgentExecutionErrorEvent
from crewai.events.types.task_events import TaskFailedEvent
from crewai.memory.memory_scope import MemoryScope, MemorySlice

from crewai_memanto.listener_record import Failure
from crewai_memanto.listener_work import line
from crewai_memanto.memory import MemantoMemory
from crewai_memanto.origin import Origin


def memory_of(source: Any) -> MemantoMemory | None:
    """Return the memory in which CrewAI keeps what a task found, where it is one of ours that keeps it."""
    memory = getattr(getattr(source, "agent", None), "memory", None) or getattr(crew_of(source), "_memory", None)
    if isinstance(memory, MemoryScope | MemorySlice):
        memory = getattr(memory, "_memory", None)
    return memory if isinstance(memory, MemantoMemory) and not memory.read_only else None


def crew_of(source: Any) -> Crew | None:
    """Return the crew that a task, an agent or what it works with belongs to."""
    known = (source, getattr(source, "crew", None), getattr(getattr(source, "agent", None), "crew", None))
    return next((one for one in known if isinstance(one, Crew)), None)


def origin_of(source: Any, event: BaseEvent) -> Origin:
    """Return the crew, task and agent that an event is about."""
    crew = crew_of(source)
    agent = source if isinstance(source, Agent) else getattr(source, "agent", None)
    task = event.task_id or getattr(getattr(event, "task", None), "id", None)
    return Origin(
        crew=None if crew is None else str(crew.id),
        task=None if task is None else str(task),
        agent=event.agent_role or getattr(agent, "role", None),
    )


def crash_of(source: Any, event: TaskFailedEvent | AgentExecutionErrorEvent) -> Failure:
    """Return the failure of a task that an event tells of."""
    name = "" if event.task is None else event.task.name or event.task.description
    return Failure(attempted=f"task {line(name, 100)}", wrong=event.error, origin=origin_of(source, event))


def tokens_of(usage: dict[str, Any]) -> int:
    """Return the tokens that a model says it took."""
    total = usage.get("total_tokens")
    if total is None:
        parts = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")
        total = sum(usage.get(part) or 0 for part in parts)
    return int(total)
