"""`memanto config`: the settings in effect, and changing the user's file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from memanto.cli.session import Session
from memanto.cli.style import Palette, columns
from memanto.cli.verb import verb
from memanto.errors import ConfigurationError, InvalidInputError

if TYPE_CHECKING:
    from memanto.config import Settings

SettingArgument = Annotated[
    str, typer.Argument(metavar="SETTING", help="See `memanto config show`.", show_default=False)
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="Show and change settings.", rich_markup_mode=None)
    verb(group, "show")(show)
    verb(group, "get")(get)
    verb(group, "set")(set_)
    verb(group, "backend")(backend)
    app.add_typer(group, name="config")


def _settings() -> Settings:
    from memanto.config import load_settings

    return load_settings(os.environ, Path.cwd())


def show(session: Session) -> None:
    """Show every setting and where it comes from.

    Secrets are never shown.
    """
    from memanto.config import SETTING_NAMES

    found = _settings()
    rows = [(name, getattr(found, name), found.origins[name]) for name in SETTING_NAMES]
    with suppress(ConfigurationError):  # nobody has to have an agent yet
        agent, origin = session.chosen_agent(look=False)
        rows[SETTING_NAMES.index("agent")] = ("agent", agent, origin)
    value = {name: {"value": held, "origin": origin} for name, held, origin in rows}

    def lines(paint: Palette) -> Iterator[str]:
        yield from columns(
            [name, paint("strong", "-" if held is None else _written(held)), paint("faint", origin)]
            for name, held, origin in rows
        )

    session.emit({"settings": value}, lines)


def get(session: Session, setting: SettingArgument) -> None:
    """Print one setting in effect."""
    from memanto.config import get_value

    value = get_value(_settings(), setting)
    session.emit(
        {"setting": setting, "value": value}, lambda paint: [paint.safe("" if value is None else _written(value))]
    )


def set_(
    session: Session,
    setting: SettingArgument,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Empty goes back to the default.", show_default=False)],
) -> None:
    """Change one setting in the user's file."""
    from memanto.config import get_value, set_value
    from memanto.config_keys import setting_name

    set_value(session.home(), setting, value or None)
    found = _settings()
    held, origin = get_value(found, setting), found.origins[setting_name(setting)]
    session.emit(
        {"setting": setting, "value": held},
        lambda paint: [f"{setting} = {paint('strong', '-' if held is None else _written(held))}"],
    )
    if value and not origin.startswith("user file"):
        session.note(f"{origin} says otherwise and wins")


def backend(
    session: Session,
    choice: Annotated[
        str,
        typer.Argument(
            metavar="BACKEND", help="embedded, on-prem (no call to another machine) or qdrant.", show_default=False
        ),
    ],
    url: Annotated[str | None, typer.Option("--url", help="The Qdrant server.", show_default=False)] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option(
            "--api-key-env", metavar="VARIABLE", help="The environment variable that holds its key.", show_default=False
        ),
    ] = None,
) -> None:
    """Choose where memories live.

    In this user's folder, or on a Qdrant server. Memories are not moved.
    """
    from memanto.config import Backend, set_backend

    chosen: Backend | None = next((one for one in get_args(Backend) if one == choice), None)
    if chosen is None:
        raise InvalidInputError(f"unknown backend {choice!r}", hint=f"one of {', '.join(get_args(Backend))}")
    set_backend(session.home(), chosen, url=url, api_key_env=api_key_env)
    found = _settings()
    value = {"backend": found.backend, "offline": found.offline, "qdrant_url": found.qdrant_url}
    session.emit(value, lambda paint: [f"backend = {paint('strong', found.backend)}"])
    if found.backend != chosen:
        session.note(f"{found.origins['backend']} says otherwise and wins")


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
