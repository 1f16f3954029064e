"""The tree of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from memanto.cli import (
    agent,
    answer,
    brief,
    carry,
    change,
    check,
    conflicts,
    connect,
    daily_summary,
    failure,
    handoff,
    hook,
    mcp,
    pins,
    policy,
    recall,
    remember,
    runs,
    schedule,
    settings,
    threads,
    upkeep,
)
from memanto.cli.help_page import ABOUT, MORE, HelpPage
from memanto.cli.session import Session
from memanto.cli.verb import AgentOption, JsonOption, QuietOption


def make_app(only: str | None = None) -> typer.Typer:
    """Return the application with every command.

    Args:
        only: Leave the others out if there is a command of this name: Typer reads the signature of each, which
            takes longer than most commands run.
    """
    app = typer.Typer(
        name="memanto",
        cls=HelpPage,
        help=ABOUT,
        epilog=MORE,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback(invoke_without_command=True)(_root)
    for module in (
        remember, recall, answer, change, agent, pins, handoff, failure, brief, runs, check, conflicts, daily_summary,
        policy, carry, connect, hook, mcp, threads, upkeep, schedule, settings,
    ):  # fmt: skip
        module.register(app)
    commands = [one for one in app.registered_commands if one.name == only]
    groups = [one for one in app.registered_groups if one.name == only]
    if commands or groups:
        app.registered_commands, app.registered_groups = commands, groups
    return app


def _root(
    ctx: typer.Context,
    agent: AgentOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    given = {"agent": agent, "json": json, "quiet": quiet}
    ctx.obj = given
    if version:
        from memanto import __version__

        typer.echo(f"memanto {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        upkeep.overview(Session.of(None, given))
