"""Settings: where each value comes from, and how the user's file is read and changed.

Only composition roots (the command line, servers) load settings. For each value the first of these that
has it wins: flag, environment, project file (`.memanto.toml`, the nearest above the working directory),
user file (`<home>/config.toml`), default. A project file comes with a repository that others may have
written, so it may name the agent and nothing that decides where memories go.

Secrets are never stored: `api_key_env` names the environment variable that holds the server's key, and
`llm_api_key_env` the one with the language model's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from memanto.config_files import read_settings_file, update_settings_file
from memanto.config_keys import KEYS, expanded, find_key, parse_value, setting_name
from memanto.errors import ConfigurationError, InvalidInputError
from memanto.llm.port import CONTEXT_TOKENS, MAX_TOKENS, TIMEOUT

Backend = Literal["embedded", "on-prem", "qdrant"]
Durability = Literal["log", "full"]

PROJECT_FILE: Final = ".memanto.toml"
USER_FILE: Final = "config.toml"
DEFAULT_API_KEY_ENV: Final = "MEMANTO_QDRANT_API_KEY"
DEFAULT_LLM_API_KEY_ENV: Final = "MEMANTO_LLM_API_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings in effect.

    Attributes:
        home: Folder of this user's store, settings and models.
        agent: Named by flag, environment or project file; `memanto.agents.resolve_agent` also knows the
            active agent.
        backend: `embedded`; `on-prem`, which is embedded with no call to another machine; or `qdrant`.
        qdrant_url: The server, for `backend = "qdrant"`.
        api_key_env: Name of the environment variable that holds the server's key.
        embed_model: Public name of the embedder, or `None` for the default one.
        embed_model_path: Folder that holds the embedder's files, or `None`.
        durability: `log`: acknowledged writes survive the process. `full`: also a power cut.
        offline: No call to another machine is made. Always true with `on-prem`.
        llm_base_url: Endpoint of a language model that speaks the OpenAI protocol, or `None` for none.
        llm_model: The endpoint's name for the model.
        llm_api_key_env: Name of the environment variable that holds the endpoint's key.
        llm_timeout: Seconds that a reply may take.
        llm_max_tokens: Tokens that a reply may take.
        llm_context_tokens: Tokens that prompt and reply may take together.
        origins: Where each value came from, for `config show`.
    """

    home: Path
    agent: str | None = None
    backend: Backend = "embedded"
    qdrant_url: str | None = None
    api_key_env: str = DEFAULT_API_KEY_ENV
    embed_model: str | None = None
    embed_model_path: Path | None = None
    durability: Durability = "log"
    offline: bool = False
    llm_base_url: str | None = None
    llm_model: str | None = None
    llm_api_key_env: str = DEFAULT_LLM_API_KEY_ENV
    llm_timeout: float = TIMEOUT
    llm_max_tokens: int = MAX_TOKENS
    llm_context_tokens: int = CONTEXT_TOKENS
    origins: Mapping[str, str] = field(default_factory=dict)

    def api_key(self, environ: Mapping[str, str]) -> str | None:
        """Return the server's key from the environment, or `None`."""
        return environ.get(self.api_key_env) or None

    def llm_api_key(self, environ: Mapping[str, str]) -> str | None:
        """Return the language model's key from the environment, or `None`."""
        return environ.get(self.llm_api_key_env) or None


SETTING_NAMES: Final = ("home", *KEYS)
"""Every setting, in the order `config show` lists them."""


def load_settings(environ: Mapping[str, str], cwd: Path, overrides: Mapping[str, object] | None = None) -> Settings:
    """Return the settings in effect. An empty variable counts as absent.

    A server's URL given by flag or environment also chooses the backend `qdrant`, unless the same place
    chooses another or the user settled on `on-prem`.

    Args:
        environ: The environment.
        cwd: The working directory.
        overrides: Values of flags by setting; `None` for a flag not given.

    Raises:
        ConfigurationError: A file is unreadable or malformed, a setting is unknown or has no valid value,
            settings contradict each other, or a call to another machine is set up but ruled out.
    """
    flags = {name: value for name, value in (overrides or {}).items() if value is not None}
    home, home_origin = resolve_home(environ, cwd, flags.pop("home", None))
    values: dict[str, Any] = {}
    origins = {"home": home_origin} | dict.fromkeys(KEYS, "default")
    for origin, found, base in _layers(environ, cwd, home, flags):
        for name, value in found.items():
            key = find_key(name, origin)
            where = f"{origin} variable {key.variable}" if origin == "environment" else origin
            values[name] = parse_value(name, value, base, where)
            origins[name] = where
        chosen_by_url = "qdrant_url" in found and "backend" not in found and origin in {"environment", "flag"}
        if chosen_by_url and values.get("backend") != "on-prem":
            values["backend"], origins["backend"] = "qdrant", origins["qdrant_url"]
    return _checked(home, values, origins)


def _layers(
    environ: Mapping[str, str], cwd: Path, home: Path, flags: Mapping[str, object]
) -> Iterator[tuple[str, Mapping[str, object], Path]]:
    """Yield where values come from, what is set there and the base of its paths; the last one wins."""
    user_file, project_file = home / USER_FILE, find_project_file(cwd)
    yield f"user file {user_file}", read_settings_file(user_file, "user"), home
    if project_file is not None:
        yield f"project file {project_file}", read_settings_file(project_file, "project"), project_file.parent
    yield "environment", {n: environ[k.variable] for n, k in KEYS.items() if environ.get(k.variable)}, cwd
    yield "flag", flags, cwd


def resolve_home(environ: Mapping[str, str], cwd: Path, flag: object = None) -> tuple[Path, str]:
    """Return the home folder and where it was named: flag, `MEMANTO_HOME`, or the platform's user data folder.

    Raises:
        ConfigurationError: What was named cannot be a folder.
    """
    variable = environ.get("MEMANTO_HOME")
    named, origin = (str(flag), "flag") if flag is not None else (variable, "environment variable MEMANTO_HOME")
    if named:
        try:
            home = cwd / expanded(Path(named))
        except InvalidInputError as error:
            raise ConfigurationError(f"home ({origin}): {error.message}", hint=error.hint) from error
        if os.path.isfile(home):  # noqa: PTH113 - also for a name that no file system takes, where `Path` raises
            raise ConfigurationError(f"home ({origin}): {str(home)!r} is a file", hint="name a folder, old or new")
        return home, origin
    import platformdirs

    return platformdirs.user_data_path("memanto", appauthor=False), "default"


def find_project_file(cwd: Path) -> Path | None:
    """Return the nearest `.memanto.toml` in the working directory or above it."""
    for folder in (cwd, *cwd.parents):
        candidate = folder / PROJECT_FILE
        try:
            if candidate.is_file():
                return candidate
        except PermissionError:  # a folder we may not look into holds no project of ours
            continue
    return None


def project_agent(cwd: Path) -> tuple[str, Path] | None:
    """Return the agent that the nearest project file names, with that file, or `None`.

    Raises:
        ConfigurationError: The file is malformed or names no valid agent.
    """
    path = find_project_file(cwd)
    if path is None:
        return None
    value = read_settings_file(path, "project").get("agent")
    return None if value is None else (parse_value("agent", value, path.parent, f"project file {path}"), path)


def get_value(settings: Settings, name: str) -> object:
    """Return a setting in effect by its name.

    Raises:
        ConfigurationError: There is no such setting; the message names the nearest.
    """
    if name != "home":
        find_key(name)
    value: object = getattr(settings, setting_name(name))
    return value


def set_value(home: Path, name: str, value: object) -> None:
    """Set one value in the user's file; see `set_values`."""
    set_values(home, {name: value})


def set_backend(home: Path, backend: Backend, *, url: str | None = None, api_key_env: str | None = None) -> None:
    """Choose where memories live, and forget the server of another choice; see `set_values`.

    Raises:
        ConfigurationError: `qdrant` without a URL, another backend with one, or as `set_values` says.
    """
    if backend != "qdrant" and (url or api_key_env):
        raise ConfigurationError(
            f"backend {backend!r} has no server", hint="--url goes with `memanto config backend qdrant`"
        )
    set_values(home, {"backend": backend, "qdrant_url": url, "api_key_env": api_key_env})


def set_values(home: Path, values: Mapping[str, object]) -> None:
    """Change the user's file, keeping its comments and order. `None` removes a value.

    All of it happens or nothing: the new file (mode 0600) replaces the old one at once.

    Raises:
        ConfigurationError: A setting is unknown or not kept in this file, a value is not valid, the values
            contradict each other, or the file there is malformed.
    """
    path = home / USER_FILE
    where = f"user file {path}"
    stored = read_settings_file(path, "user")
    changed: dict[str, Any] = {}
    for name, value in values.items():
        if find_key(name).file != "user":
            raise ConfigurationError(
                f"{name!r} is not kept in the user file", hint="`memanto agent activate NAME` changes the active agent"
            )
        changed[setting_name(name)] = None if value is None else parse_value(name, value, Path.cwd(), "value given")
    # What is replaced need not be valid: this is how a bad value is mended.
    kept = {n: parse_value(n, v, home, where) for n, v in stored.items() if setting_name(n) not in changed}
    together = {name: value for name, value in (kept | changed).items() if value is not None}
    _checked(home, together, dict.fromkeys(together, where))
    update_settings_file(path, changed)


def check_offline(settings: Settings) -> None:
    """Check that no configured address leaves this machine where `offline` (or `on-prem`) rules that out.

    `load_settings` and `set_values` have done so.

    Raises:
        ConfigurationError: One does.
    """
    if settings.qdrant_url is not None:
        origin = settings.origins.get("qdrant_url", "default")
        check_local_url(settings, settings.qdrant_url, f"qdrant_url ({origin})")
    if settings.llm_base_url is not None:
        origin = settings.origins.get("llm_base_url", "default")
        check_local_url(settings, settings.llm_base_url, f"llm_base_url ({origin})")


def check_local_url(settings: Settings, url: str, what: str) -> None:
    """Check one address (of a server, a language model) against `offline`.

    Raises:
        ConfigurationError: `offline` (or `on-prem`) is set and the address is not on this machine.
    """
    if settings.offline and not is_loopback(url):
        raise ConfigurationError(
            f"{what} {url!r} is not on this machine, and {_why_offline(settings)} allows no call to another",
            hint="use an address on 127.0.0.1, or choose `memanto config backend embedded`",
        )


def is_loopback(url: str) -> bool:
    """Return whether the URL's host is this machine: `localhost`, `127.0.0.0/8` or `::1`."""
    import ipaddress
    from urllib.parse import urlsplit

    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
        return host == "localhost" or host.endswith(".localhost") or ipaddress.ip_address(host).is_loopback
    except ValueError:  # neither a URL nor an address
        return False


def _checked(home: Path, values: Mapping[str, Any], origins: Mapping[str, str]) -> Settings:
    """Return the settings these values make, when they go together."""
    if values.get("backend") == "on-prem":
        values = {**values, "offline": True}
        origins = {**origins, "offline": origins["backend"]}
    settings = Settings(home=home, **values, origins=origins)
    if settings.backend == "qdrant" and settings.qdrant_url is None:
        raise ConfigurationError(
            f"backend 'qdrant' ({origins['backend']}) needs the address of a server",
            hint="`memanto config backend qdrant --url http://localhost:6333` sets both",
        )
    check_offline(settings)
    return settings


def _why_offline(settings: Settings) -> str:
    name = "backend = 'on-prem'" if settings.backend == "on-prem" else "offline = true"
    return f"{name} ({settings.origins.get('offline', 'default')})"
