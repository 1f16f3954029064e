"""Resources and prompts, for clients that show them; tools alone suffice for those that do not."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import Field

from memanto.loop.fence import NOTICE, fence_one
from memanto.loop.policy_prompt import policy_prompt
from memanto_mcp.errors import telling
from memanto_mcp.host import Host
from memanto_mcp.results import Recalled
from memanto_mcp.sdk import ResourceError, Server

_FEW = 10
_JSON = "application/json"


def register(server: Server, host: Host) -> None:
    """Give a server its resources and prompts."""
    resources, prompts = Resources(host), Prompts(host)
    for name, title in (
        ("recent", "Newest memories"),
        ("handoff", "The handoff that waits"),
        ("failures", "Recorded failures"),
        ("stats", "What memory holds"),
    ):
        read = telling(getattr(resources, name), ResourceError)
        server.resource(f"memanto://{name}", name=name, title=title, description=read.__doc__, mime_type=_JSON)(read)
    for name, title in (
        ("plan_with_memory", "Plan with memory"),
        ("session_handoff", "Write a session handoff"),
        ("memory_check", "Check memory"),
    ):
        prompt = telling(getattr(prompts, name), ValueError)
        server.prompt(name=name, title=title, description=prompt.__doc__)(prompt)


class Resources:
    """The resources over one host, each a JSON text with memories fenced as data."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def recent(self) -> str:
        """The newest memories."""
        return await self._listed()

    async def failures(self) -> str:
        """The newest recorded failures, phrased as triggers."""
        return await self._listed(types=["error"])

    async def handoff(self) -> str:
        """The handoff that waits in the main lane, without claiming it."""
        memory = await self._memory()
        handoffs, pins = await memory.show_handoff(), await memory.pins()
        waiting = [
            {
                "id": one.memory.id,
                "state": one.state,
                "confirmed": one.confirmed,
                "text": fence_one(one.memory, text=one.text(None if place else pins)),
            }
            for place, one in enumerate(handoffs[:3])
        ]
        return json.dumps({"notice": NOTICE, "handoffs": waiting}, ensure_ascii=False)

    async def stats(self) -> str:
        """How many memories there are, by type and status, from when to when."""
        from memanto.times import to_rfc3339

        status = await (await self._memory()).status()
        span = [None if moment is None else to_rfc3339(moment) for moment in (status.oldest, status.newest)]
        figures = {
            "agent": status.agent.id,
            "memories": status.memories,
            "versions": status.versions,
            "by_type": {str(kind): count for kind, count in status.by_type.items()},
            "by_status": {str(one): count for one, count in status.by_status.items()},
            "oldest": span[0],
            "newest": span[1],
        }
        return json.dumps(figures, ensure_ascii=False)

    async def _listed(self, **filters: Any) -> str:
        memory = await self._memory()
        return Recalled.of(await memory.recall(limit=_FEW, **filters)).model_dump_json()

    async def _memory(self) -> Any:
        return await self._host.memory()


class Prompts:
    """The prompts over one host: our texts, and what memory has to say."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def plan_with_memory(self, task: Annotated[str, Field(description="What is to be planned.")]) -> str:
        """Look up what memory knows about a task, then plan."""
        memory: Any = await self._host.memory()
        found = (await memory.brief(task)).fenced() or "Memory holds nothing on it yet."
        return f"Task: {task}\n\n{policy_prompt('before-you-plan')}\n{found}\n\nNow plan the task."

    async def session_handoff(self) -> str:
        """Leave what the next session needs to go on."""
        return f"{policy_prompt('handoff')}\nStore it with the tool handoff, action 'write'."

    async def memory_check(self) -> str:
        """Ask memory what it should know before it is trusted."""
        return f"{policy_prompt('check')}\nThe tool check asks all four; answer asks any other question."
