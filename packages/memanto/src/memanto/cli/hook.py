"""`memanto hook`: what coding tools run at their own events."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from memanto.cli.session import Session
from memanto.cli.verb import verb


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    verb(app, "hook")(hook)


def hook(
    session: Session,
    event: Annotated[
        str, typer.Argument(metavar="EVENT", help="session-start, pre-tool-use, pre-compact or session-end.")
    ],
    *,
    client: Annotated[str, typer.Option("--client", metavar="NAME", help="The tool that runs it.")] = "unknown",
    strict: Annotated[bool, typer.Option("--strict", help="Stop a call that a confirmed failure matches.")] = False,
) -> None:
    """Answer an event of a coding tool.

    Registered by `connect`. Reads the event as JSON from standard input and answers in the tool's form: at the start
    of a session pins, handoff, brief and failures; before a tool call what guard has to say; before compaction and at
    the end it leaves a handoff. Loads no model, and exits with 0 whatever goes wrong.
    """
    from memanto.connect.hooks import main

    named = [] if session.agent is None else ["--agent", session.agent]
    raise typer.Exit(main([event, "--client", client, *named, *(["--strict"] if strict else [])], os.environ))
