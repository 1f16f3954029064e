"""Putting the server together, and running it over standard input and output or over HTTP."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from memanto_mcp import __version__, surfaces, tools
from memanto_mcp.host import Host
from memanto_mcp.http import Listen, run_http
from memanto_mcp.sdk import Server, http_app, new_server, run_stdio
from memanto_mcp.words import INSTRUCTIONS, NAME, TITLE


def make_server(host: Host, *, listen: Listen | None = None) -> Server:
    """Return a server over a host's memory: an `MCPServer` of the second SDK major, a `FastMCP` of the first.

    Args:
        host: Opens the memory when a tool first needs it; the caller closes it.
        listen: Where it will listen, for a server over HTTP.
    """
    address = (listen or Listen()).host
    server = new_server(NAME, title=TITLE, instructions=INSTRUCTIONS, version=__version__, host=address)
    tools.register(server, host)
    surfaces.register(server, host)
    return server


def serve(choose_agent: Callable[[], str], *, listen: Listen | None = None) -> None:
    """Serve an agent's memory until the client is done (standard input and output) or interrupted (HTTP).

    Args:
        choose_agent: Returns the agent id; asked by the first tool call.
        listen: Where to listen for HTTP; standard input and output when missing.
    """
    anyio.run(_serve, choose_agent, listen)


async def _serve(choose_agent: Callable[[], str], listen: Listen | None) -> None:
    host = Host(choose_agent)
    server = make_server(host, listen=listen)
    try:
        if listen is None:
            await run_stdio(server)
        else:
            await run_http(http_app(server, listen.host), listen)
    finally:
        with anyio.CancelScope(shield=True):
            await host.close()
