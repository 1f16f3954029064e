"""`memanto mcp`: the MCP server, from the package `memanto-mcp`."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Annotated

import typer

from memanto.cli.bounded import whole
from memanto.cli.session import Session
from memanto.cli.verb import verb
from memanto.errors import InvalidInputError, MissingDependencyError


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    verb(app, "mcp")(mcp)


def mcp(
    session: Session,
    http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP at /mcp instead.")] = False,
    host: Annotated[
        str | None, typer.Option("--host", metavar="ADDRESS", help="For --http; 127.0.0.1.", show_default=False)
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            metavar="PORT",
            parser=whole(0, 65_535, such_as=8766),
            help="For --http; 8766.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve memory to MCP clients.

    Over standard input and output, as coding tools start it, or over HTTP on this machine. Beyond this machine it
    asks for the token in MEMANTO_MCP_TOKEN, and does not start without one.
    """
    if importlib.util.find_spec("memanto_mcp") is None:
        raise MissingDependencyError(
            "the MCP server is not installed",
            hint="`make install` in a clone of the repository installs it, or its folder packages/memanto-mcp by pip",
        )
    if not http and (host is not None or port is not None):
        raise InvalidInputError("--host and --port go with --http", hint="without --http nothing listens")
    from memanto_mcp import Listen, serve

    listen = None
    if http:
        given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
        listen = Listen(**given, token=os.environ.get("MEMANTO_MCP_TOKEN") or None)  # type: ignore[arg-type]
        session.note(f"serving http://{listen.host}:{listen.port}/mcp")
    elif sys.stdin.isatty():
        session.note(
            "an MCP client is awaited on standard input; `memanto connect` lets your tools start this themselves"
        )
    serve(session.agent_id, listen=listen)
