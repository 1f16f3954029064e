"""Settings files: read with the line of what is wrong, written at once and for the owner alone."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from memanto.config_keys import FileKind, find_key
from memanto.errors import ConfigurationError, shown

_LONGEST_NAME: Final = 250
_BELONGS: Final[Mapping[FileKind, str]] = {
    "project": "a project file names the agent only, because it comes with the repository; "
    "`memanto config set` keeps the rest in your own file",
    "user": "`memanto agent activate NAME` changes the active agent; a project's agent stands in its .memanto.toml",
}


def read_settings_file(path: Path, kind: FileKind) -> Mapping[str, object]:
    """Return what a settings file holds; nothing when it does not exist.

    Raises:
        ConfigurationError: It cannot be read, is malformed, or holds a setting that is unknown or belongs
            elsewhere. The message names file and line.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigurationError(
            f"{_named(path)} cannot be read: {error.strerror}", hint="correct its permissions, or move it away"
        ) from error
    import tomllib

    try:
        text = raw.decode("utf-8")
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # of the decoding or of TOML, or of what is nested too deep
        raise ConfigurationError(
            f"{_named(path)} is not valid TOML: {_at_line(raw, error)}",
            hint="correct that line, or move the file away to go back to the defaults",
        ) from error
    for name in found:
        where = f"{_named(path)}, line {_line_of(name, text)}"
        if find_key(name, where).file != kind:
            raise ConfigurationError(f"setting {shown(name)} does not belong in {where}", hint=_BELONGS[kind])
    return found


def update_settings_file(path: Path, values: Mapping[str, object]) -> None:
    """Set values in a file that `read_settings_file` accepts, keeping comments and order; `None` removes one.

    Raises:
        ConfigurationError: It cannot be written, or a value is no text that a file can hold.
    """
    import tomlkit

    document = tomlkit.parse(path.read_text("utf-8")) if path.exists() else tomlkit.document()
    for name, value in values.items():
        if value is None:
            document.pop(name, None)
        else:
            document[name] = _writable(name, value)
    write_private(path, tomlkit.dumps(document))


def _writable(name: str, value: object) -> object:
    text = str(value) if isinstance(value, Path) else value
    try:
        str(text).encode("utf-8")
    except UnicodeEncodeError as error:  # bytes of a command line or a file name that are no UTF-8
        raise ConfigurationError(
            f"{name} {shown(text)} cannot be kept in a file", hint="give it in characters that UTF-8 has"
        ) from error
    return text


def write_private(path: Path, text: str) -> None:
    """Replace a small file at once, readable by its owner alone (0600, in a folder made with 0700).

    A symbolic link stays one: the file it leads to is replaced.

    Raises:
        ConfigurationError: It cannot be written.
    """
    try:
        _replace(path.resolve(), text)
    except OSError as error:
        raise ConfigurationError(
            f"{_named(path)} cannot be written: {error.strerror or error}",
            hint="correct the permissions of its folder, or set MEMANTO_HOME",
        ) from error


def _replace(target: Path, text: str) -> None:
    import tempfile

    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _named(path: Path) -> str:
    """Return a path for a message, cut where it is too long to be one."""
    text = str(path)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


def _at_line(raw: bytes, error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "its values are nested too deep"
    if isinstance(error, UnicodeDecodeError):
        line = raw[: error.start].count(b"\n") + 1
        return f"line {line} is not UTF-8"
    return str(error).replace("end of document", f"the end of the file, line {len(raw.splitlines())}")


def _line_of(name: str, text: str) -> int:
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(rf"\s*\[?\s*[\"']?{re.escape(name)}\b", line):
            return number
    return 1
