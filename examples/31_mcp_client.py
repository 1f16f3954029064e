"""A coding agent over MCP: conventions, a runbook and a failure in one session, used by the next one.

The agent's memory holds what outlives its window: `fact` (conventions), `instruction` (runbooks per kind of change) and
`error` (what flakes, and the fix). The file at hand, the plan and the last test output stay in the window.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

MEMANTO = ["-c", "from memanto.cli.main import run; run()"]
Call = Callable[..., Awaitable[dict]]


@asynccontextmanager
async def session(home: str) -> AsyncIterator[tuple[Call, ClientSession]]:
    """Start a server process of its own, as a coding tool does for each of its sessions."""
    environ = os.environ | {"MEMANTO_HOME": home}
    server = StdioServerParameters(command=sys.executable, args=[*MEMANTO, "mcp", "--agent", "shop"], env=environ)
    async with stdio_client(server) as streams, ClientSession(*streams) as client:
        await client.initialize()

        async def call(name: str, /, **arguments: object) -> dict:
            return json.loads((await client.call_tool(name, arguments)).content[0].text)

        yield call, client


async def main(home: str) -> None:
    async with session(home) as (call, _):
        convention = "Endpoint handlers live in shop/handlers, one file per resource"
        runbook = "To add an endpoint: update the router, add the handler, write the test, run the suite"
        flake = (
            "When the Postgres integration tests fail with 'relation does not exist', seed the DB first: pnpm db:seed"
        )
        await call("remember", content=convention, type="fact", provenance="observed", source_ref="CONTRIBUTING.md")
        await call("remember", content=runbook, type="instruction", provenance="explicit_statement")
        await call("record_failure", trigger=flake, cause="CI starts from an empty DB", provenance="observed")

    async with session(home) as (call, client):  # the next day
        brief = (await call("brief", task="add an endpoint for refunds, then run the Postgres integration tests"))[
            "text"
        ]
        warned = await call("guard", tool="bash", args={"command": "pnpm test --suite postgres-integration"})
        stats = await client.read_resource("memanto://stats")
    print(brief)
    print("guard:", warned["triggers"][0]["why_matched"])
    assert all(text in brief for text in ("shop/handlers", "update the router", "seed the DB"))
    assert set(json.loads(stats.contents[0].text)["by_type"]) == {"fact", "instruction", "error"}


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(folder))
