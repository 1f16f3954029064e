"""A coding tool's session over MCP: it asks for what the crew found, and notes what it decided."""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

SERVER = ["-c", "from memanto.cli.main import run; run()", "mcp", "--agent", "shop"]
DECISION = "The pool's size is a setting now: REDIS_POOL"


async def main(home: str) -> None:
    server = StdioServerParameters(command=sys.executable, args=SERVER, env=os.environ | {"MEMANTO_HOME": home})
    async with stdio_client(server) as streams, ClientSession(*streams) as client:
        await client.initialize()
        found = ""
        while "fewer than 20 connections" not in found:
            question = {"query": "why does the queue stall", "types": ["learning"]}
            found = (await client.call_tool("recall", question)).content[0].text
            await asyncio.sleep(0.1)
        await client.call_tool("remember", {"content": DECISION, "type": "decision", "provenance": "inferred"})


asyncio.run(main(sys.argv[1]))
