"""What CrewAI's events tell: whose work it was, what went wrong, and how many tokens it took."""

from __future__ import annotations

from typing import Any

from crewai import Agent, Crew, Task
from crewai.events.base_events import BaseEvent
from crewai.events.types.agent_events import AgentExecutionErrorEvent
from crewai.events.types.task_events import TaskFailedEvent
from crewai.events.types.tool_usage_events import ToolFailureDetectedEvent
from crewai.memory.memory_scope import MemoryScope
from crewai.utilities.string_utils import sanitize_tool_name

from crewai_memanto.listener_record import Failure
from crewai_memanto.listener_work import line
from crewai_memanto.memory import MemantoMemory
from crewai_memanto.origin import Origin, named_crew, named_task
from crewai_memanto.tool import is_of_memory
from memanto.errors import InvalidInputError


def memory_of(source: Any) -> MemantoMemory | None:
    """Return the memory in which CrewAI keeps what a task found, where it is one of ours that keeps it."""
    memory = getattr(getattr(source, "agent", None), "memory", None) or getattr(crew_of(source), "_memory", None)
    if isinstance(memory, MemoryScope):  # not a slice, in which CrewAI keeps nothing
        memory = getattr(memory, "_memory", None)
    return memory if isinstance(memory, MemantoMemory) and not memory.read_only else None


def crew_of(source: Any) -> Crew | None:
    """Return the crew that a task, an agent or what it works with belongs to."""
    known = (source, getattr(source, "crew", None), getattr(getattr(source, "agent", None), "crew", None))
    return next((one for one in known if isinstance(one, Crew)), None)


def key_of(crew: Crew | None) -> str | None:
    """Return what a crew and its copies share; `None` for none.

    Raises:
        InvalidInputError: It is no crew.
    """
    if crew is not None and not isinstance(crew, Crew):
        raise InvalidInputError(f"{crew!r} is no crew", hint="pass the Crew itself, or leave it out for all of them")
    return None if crew is None else crew.key


def is_call_of_memory(event: ToolFailureDetectedEvent) -> bool:
    """Return whether a tool that failed is one of memory, ours or CrewAI's: also where it was never reached."""
    at_work = getattr(event.agent, "agent_executor", None)
    held = [*(getattr(at_work, "original_tools", None) or ()), *(getattr(event.agent, "tools", None) or ())]
    name = sanitize_tool_name(event.tool_name)
    return any(is_of_memory(one) for one in held if sanitize_tool_name(one.name) == name)


def origin_of(source: Any, event: BaseEvent) -> Origin:
    """Return the crew, task and agent that an event is about."""
    crew = crew_of(source)
    agent = source if isinstance(source, Agent) else getattr(source, "agent", None)
    tasks = (getattr(event, "task", None), source, getattr(source, "task", None))
    task = next((one for one in tasks if isinstance(one, Task)), None)
    task_id = event.task_id or (None if task is None else str(task.id))
    return Origin(
        crew=None if crew is None else str(crew.id),
        task=task_id,
        agent=event.agent_role or getattr(agent, "role", None),
        crew_name=None if crew is None else named_crew(crew.name),
        task_name=named_task(task, task_id),
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
