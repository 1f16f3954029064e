"""The known settings: name, variable, the file each may stand in, and how a value is read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast

from memanto.errors import ConfigurationError, InvalidInputError, shown
from memanto.ids import check_agent_id

FileKind = Literal["user", "project"]


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: its variable, the files it may stand in, and how a value is read.

    `parse` takes the value and the folder that relative paths start from, and raises `ValueError` or
    `InvalidInputError` with words for the user.
    """

    variable: str
    file: FileKind
    parse: Callable[[object, Path], object]


def _text(value: object, _base: Path) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{shown(value)} is not a text")
    return value.strip()


def _agent(value: object, _base: Path) -> str:
    return check_agent_id(cast("str", value))


def _one_of(*choices: str) -> Callable[[object, Path], str]:
    def parse(value: object, _base: Path) -> str:
        if value not in choices:
            raise ValueError(f"{shown(value)} is not one of {', '.join(choices)}")
        return str(value)

    return parse


def _flag(value: object, _base: Path) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in {"1", "true", "yes", "on"}:
        return True
    if word in {"0", "false", "no", "off"}:
        return False
    raise ValueError(f"{shown(value)} is neither true nor false")


def _path(value: object, base: Path) -> Path:
    if not isinstance(value, str | Path) or not str(value):
        raise ValueError(f"{shown(value)} is not a path")
    return base / expanded(Path(value))


def expanded(path: Path) -> Path:
    """Return a path with `~` replaced by a home folder.

    Raises:
        InvalidInputError: There is no such user, or no path can be written so.
    """
    if "\0" in str(path):
        raise InvalidInputError(f"{shown(str(path))} cannot be a path", hint="it holds the character NUL")
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise InvalidInputError(
            f"{shown(str(path))} names a home folder that there is not",
            hint="write the folder out, or ./~ for that name",
        ) from error


def _number(least: float, most: float, *, whole: bool = False) -> Callable[[object, Path], float | int]:
    def parse(value: object, _base: Path) -> float | int:
        try:
            number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
        except (ValueError, OverflowError):
            number = math.nan
        if not least <= number <= most or (whole and number != int(number)):
            kind = "a whole number" if whole else "a number"
            raise ValueError(f"{shown(value)} is not {kind} from {least:g} to {most:g}")
        return int(number) if whole else number

    return parse


def _endpoint(value: object, base: Path) -> str:
    try:
        return _url(value, base)
    except ValueError as error:
        known = str(error).replace("http://localhost:6333", "http://127.0.0.1:11434/v1")
        raise ValueError(known.replace("api_key_env", "llm_api_key_env")) from error


def _url(value: object, _base: Path) -> str:
    from urllib.parse import urlsplit

    text = value.strip() if isinstance(value, str) else ""
    try:
        parts = urlsplit(text)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise ValueError("it is not a URL such as http://localhost:6333")
    if parts.username is not None or parts.password is not None or parts.query:
        raise ValueError("it holds more than an address: name the variable that holds the key in api_key_env")
    return text


def _variable_name(value: object, _base: Path) -> str:
    # The value is not shown: it may be the key itself, given by mistake.
    if not isinstance(value, str) or not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,127}", value):
        raise ValueError("it takes the name of an environment variable (capitals, digits, _), not the key itself")
    return value


KEYS: Final[Mapping[str, Key]] = {
    "agent": Key("MEMANTO_AGENT", "project", _agent),
    "backend": Key("MEMANTO_BACKEND", "user", _one_of("embedded", "on-prem", "qdrant")),
    "qdrant_url": Key("MEMANTO_QDRANT_URL", "user", _url),
    "api_key_env": Key("MEMANTO_API_KEY_ENV", "user", _variable_name),
    "embed_model": Key("MEMANTO_EMBED_MODEL", "user", _text),
    "embed_model_path": Key("MEMANTO_EMBED_MODEL_PATH", "user", _path),
    "durability": Key("MEMANTO_DURABILITY", "user", _one_of("log", "full")),
    "offline": Key("MEMANTO_OFFLINE", "user", _flag),
    "llm_base_url": Key("MEMANTO_LLM_BASE_URL", "user", _endpoint),
    "llm_model": Key("MEMANTO_LLM_MODEL", "user", _text),
    "llm_api_key_env": Key("MEMANTO_LLM_API_KEY_ENV", "user", _variable_name),
    "llm_timeout": Key("MEMANTO_LLM_TIMEOUT", "user", _number(1, 3_600)),
    "llm_max_tokens": Key("MEMANTO_LLM_MAX_TOKENS", "user", _number(16, 32_768, whole=True)),
    "llm_context_tokens": Key("MEMANTO_LLM_CONTEXT_TOKENS", "user", _number(512, 2_000_000, whole=True)),
}


def setting_name(name: str) -> str:
    """Return the name a setting is kept under: `llm.model` and `llm_model` are the same one."""
    return f"llm_{name.removeprefix('llm.')}" if name.startswith("llm.") else name


def find_key(name: str, where: str = "") -> Key:
    """Return the setting of this name.

    Raises:
        ConfigurationError: There is none; the message names `where` it was found and the nearest name.
    """
    key = KEYS.get(setting_name(name))
    if key is None:
        import difflib

        near = difflib.get_close_matches(name[:80], KEYS, n=1, cutoff=0.5)
        place = f" in {where}" if where else ""
        raise ConfigurationError(
            f"unknown setting {shown(name)}{place}" + (f"; did you mean {near[0]!r}?" if near else ""),
            hint=f"known: {', '.join(KEYS)}",
        )
    return key


def parse_value(name: str, value: object, base: Path, where: str) -> Any:
    """Return the value of a known setting as its type.

    Args:
        name: The setting.
        value: As a file, the environment or a flag holds it.
        base: The folder that relative paths start from.
        where: Where the value was found, for the message.

    Raises:
        ConfigurationError: The value is not valid.
    """
    try:
        return KEYS[setting_name(name)].parse(value, base)
    except InvalidInputError as error:
        raise ConfigurationError(f"{name} ({where}): {error.message}", hint=error.hint) from error
    except ValueError as error:
        there = f"correct it there, or `memanto config set {name} VALUE` does"
        raise ConfigurationError(
            f"{name} ({where}): {error}",
            hint=there if where.startswith("user file") else "`memanto config show` lists all settings",
        ) from error
