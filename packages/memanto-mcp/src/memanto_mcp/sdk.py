"""The one place that knows the two majors of the MCP SDK: 1.30 and later, and 2.x.

They differ in names, in where a host is given, in how a client's name is found, and in who guards standard output.
Tools, resources and prompts are written once, against what both share.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import anyio
from pydantic import ValidationError

from memanto_mcp.errors import wrong_arguments
from memanto_mcp.host import SOURCE

if TYPE_CHECKING:  # checked against the first major, which the frameworks' environment has
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.server.fastmcp.exceptions import ResourceError, ToolError
    from mcp.types import ToolAnnotations
    from starlette.types import ASGIApp

    Client: TypeAlias = Context[Any, Any, Any]
    """What a tool asks for to know its caller."""
    FIRST: bool
    """Whether the first major is installed."""
else:
    try:
        from mcp.server.mcpserver import Context, MCPServer
        from mcp.server.mcpserver.exceptions import ResourceError, ToolError
        from mcp_types import ToolAnnotations

        FIRST = False
    except ImportError:
        from mcp.server.fastmcp import Context
        from mcp.server.fastmcp import FastMCP as MCPServer
        from mcp.server.fastmcp.exceptions import ResourceError, ToolError
        from mcp.types import ToolAnnotations

        FIRST = True
    Client = Context

__all__ = [
    "Client", "ResourceError", "Server", "ToolError", "author", "hints", "http_app", "new_server", "run_stdio",
]  # fmt: skip

_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")


class Server(MCPServer):
    """A server that tells a client what is wrong with its arguments, and refuses those it does not know.

    The SDK passes over an unknown argument, so that what a client believes stored would not be.
    """

    async def call_tool(self, name: str, arguments: dict[str, Any], *rest: Any, **options: Any) -> Any:
        taken = await self._refuse_unknown(name, arguments)
        try:
            return await super().call_tool(name, arguments, *rest, **options)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(wrong_arguments(cause, taken)) from cause
            if isinstance(cause, ToolError):
                raise cause from cause.__cause__
            raise

    async def _refuse_unknown(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of each argument that a tool takes."""
        tool: Any = next((one for one in await self.list_tools() if one.name == name), None)
        if tool is None:
            return {}  # the SDK says so
        taken: dict[str, Any] = (tool.inputSchema if FIRST else tool.input_schema)["properties"]
        unknown = [one for one in arguments if one not in taken]
        if unknown:
            raise ToolError(
                f"invalid_input: {name} has no argument {', '.join(map(repr, unknown[:5]))}; nothing was done. "
                f"Next: it takes {', '.join(taken)}."
            )
        return taken


def new_server(name: str, *, title: str, instructions: str, version: str, host: str) -> Server:
    """Return a server without tools.

    Args:
        name: Its technical name.
        title: Its name for people; the first major has no place for it.
        instructions: What a client shows its model.
        version: Of this package, not of the SDK.
        host: The address it will listen on over HTTP; on loopback only local `Host` headers are accepted.
    """
    if FIRST:
        with _without_env_file():
            server = Server(name, instructions=instructions, host=host, log_level="WARNING")
        server._mcp_server.version = version  # noqa: SLF001 - its constructor has no argument for it
        return server
    options: Any = {"title": title, "version": version}
    return Server(name, instructions=instructions, log_level="WARNING", **options)


@contextmanager
def _without_env_file() -> Iterator[None]:
    """Keep the first major from reading `.env` in the working directory: it is the project's, and may be anything."""
    from mcp.server.fastmcp.server import Settings

    kept = Settings.model_config.get("env_file")
    Settings.model_config["env_file"] = None
    try:
        yield
    finally:
        Settings.model_config["env_file"] = kept


def hints(title: str, *, reads: bool, idempotent: bool) -> ToolAnnotations:
    """Return what clients may assume of a tool: none destroys anything, none reaches beyond the memory."""
    said: dict[str, Any] = {"readOnlyHint": reads, "openWorldHint": False}
    if not reads:
        said |= {"destructiveHint": False, "idempotentHint": idempotent}
    return ToolAnnotations(title=title, **said)


def author(context: Client) -> str:
    """Return the client's name as a memory's `source`: what it said of itself at `initialize`, or with the request."""
    try:
        params = context.request_context.session.client_params
    except ValueError:  # called by the process itself rather than by a client
        params = None
    info = getattr(params, "clientInfo", None) or getattr(params, "client_info", None)
    name = _UNFIT.sub("_", str(getattr(info, "name", ""))).strip("_.-")[:64]
    return name or SOURCE


async def run_stdio(server: Server) -> None:
    """Serve one client over standard input and output until it closes them.

    Whatever else writes to standard output meanwhile (a library, a child process) lands on standard error.
    """
    if not FIRST:
        await server.run_stdio_async()
        return
    from mcp.server.stdio import stdio_server

    low = server._mcp_server  # noqa: SLF001 - the public way leaves standard output to everybody
    with _wire() as (reading, writing):
        async with stdio_server(anyio.wrap_file(reading), anyio.wrap_file(writing)) as (received, sent):
            await low.run(received, sent, low.create_initialization_options())


@contextmanager
def _wire() -> Iterator[tuple[TextIOWrapper, TextIOWrapper]]:
    """Take standard input and output for the protocol; for all others input is empty and output is standard error."""
    sys.stdout.flush()
    wires = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        # A thread may still be reading when the server ends, so what it reads from is not closed.
        yield (
            TextIOWrapper(os.fdopen(wires[0], "rb", closefd=False), encoding="utf-8", errors="replace"),
            TextIOWrapper(os.fdopen(wires[1], "wb", closefd=False), encoding="utf-8"),
        )
    finally:
        for wire, standard in zip(wires, (0, 1), strict=True):
            os.dup2(wire, standard)


def http_app(server: Server, host: str) -> ASGIApp:
    """Return the application that serves streamable HTTP at `/mcp`."""
    options: Any = {} if FIRST else {"host": host}
    return server.streamable_http_app(**options)
