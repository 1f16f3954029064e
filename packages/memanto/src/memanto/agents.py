"""Which agent a command is about: the active agent of this user, and the order in which agents are named.

Only `agent create` and `agent activate` move the active agent. Descriptions live with each agent's
memories, not here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from memanto.config import project_agent
from memanto.config_files import write_private
from memanto.errors import ConfigurationError, InvalidInputError
from memanto.ids import check_agent_id

ACTIVE_FILE: Final = "active"
_NAMED: Final = 5
"""Agents that an error names at most."""


def activate(home: Path, agent_id: str) -> None:
    """Make this the user's active agent. Whether it exists is for the caller to know.

    Raises:
        InvalidInputError: It is no valid agent id.
    """
    write_private(home / ACTIVE_FILE, f"{check_agent_id(agent_id)}\n")


def deactivate(home: Path) -> None:
    """Leave the user without an active agent. Idempotent.

    Raises:
        ConfigurationError: The file that names it cannot be removed.
    """
    path = home / ACTIVE_FILE
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be removed: {error.strerror or error}",
            hint="correct the permissions of its folder, or set MEMANTO_HOME",
        ) from error


def active(home: Path) -> str | None:
    """Return the user's active agent, or `None`.

    Raises:
        ConfigurationError: The file that names it is unreadable or damaged.
    """
    path = home / ACTIVE_FILE
    hint = "`memanto agent activate NAME` writes it anew"
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}", hint=hint) from error
    try:
        return check_agent_id(text.removesuffix("\n"))
    except InvalidInputError as error:
        raise ConfigurationError(f"{path} does not name an agent: {error.message}", hint=hint) from error


def resolve_agent(
    flag: str | None, environ: Mapping[str, str], cwd: Path, home: Path, *, known: Callable[[], Sequence[str]] = tuple
) -> tuple[str, str]:
    """Return the agent in effect and where it was named.

    The first of these counts: `--agent`, the environment variable `MEMANTO_AGENT` (not empty), the nearest
    `.memanto.toml` in or above the working directory, the user's active agent.

    Args:
        flag: What `--agent` says.
        environ: The environment.
        cwd: The working directory.
        home: The folder of the user's store and settings.
        known: Returns the agents that are there; asked when none is named, for the error to name them.

    Raises:
        InvalidInputError: The flag is no valid agent id.
        ConfigurationError: None of them names an agent, or one of the others names it wrongly.
    """
    if flag is not None:
        return check_agent_id(flag), "flag --agent"
    if named := environ.get("MEMANTO_AGENT"):
        try:
            return check_agent_id(named), "environment variable MEMANTO_AGENT"
        except InvalidInputError as error:
            raise ConfigurationError(f"MEMANTO_AGENT: {error.message}", hint=error.hint) from error
    if found := project_agent(cwd):
        return found[0], f"project file {found[1]}"
    if current := active(home):
        return current, "active agent"
    raise ConfigurationError("no agent is named and none is active", hint=_choice(known()))


def _choice(known: Sequence[str]) -> str:
    """Return how to name an agent of those that are there."""
    if not known:
        return "`memanto agent create NAME` makes one, `memanto agent activate NAME` takes up one that is there"
    names = ", ".join(known[:_NAMED]) + (f" and {more} more" if (more := len(known) - _NAMED) > 0 else "")
    are, one, it = ("is", known[0], "it") if len(known) == 1 else ("are", "NAME", "one")
    return (
        f"there {are} {names}: `memanto agent activate {one}` takes {it} up, `memanto agent create NAME` makes another"
    )
