"""The files that connecting may touch: inside the project or a tool's own folder, never through somebody's link."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from memanto.errors import ConfigurationError

MAX_BYTES = 5_000_000
"""A settings file longer than this is none that a person keeps."""


def checked(root: Path, parts: tuple[str, ...], *, own: bool) -> Path:
    """Return a file's path below a folder, when writing there writes there and nowhere else.

    Args:
        root: The project, or a folder of the user.
        parts: The way from there.
        own: The folder is the user's, who may have linked a file to where they keep their settings. A project comes
            from others, so a link in it is refused.

    Raises:
        ConfigurationError: The way leads through a symbolic link or out of the folder, or to something that is no
            regular file.
    """
    path = root
    for part in parts:
        if part in {"", ".", ".."} or "/" in part or "\\" in part:
            raise ConfigurationError(f"{part!r} is no name of a file", hint="nothing was changed")
        path /= part
        if not own and path.is_symlink():
            raise ConfigurationError(
                f"{path} is a symbolic link, and connecting does not write through links in a project",
                hint="replace it by a file, or leave this tool out; nothing was changed",
            )
    final = path.resolve()
    if not own and not final.is_relative_to(root.resolve()):
        raise ConfigurationError(f"{path} leads out of {root}", hint="nothing was changed")
    if final.exists() and not final.is_file():
        raise ConfigurationError(f"{path} is not a regular file", hint="move it away; nothing was changed")
    return final


def read(path: Path) -> bytes | None:
    """Return what a file holds, or `None` when there is none.

    Raises:
        ConfigurationError: It cannot be read, or is too long.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigurationError(f"{path} is longer than {MAX_BYTES:,} bytes", hint="nothing was changed")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error.strerror or error}", hint="correct its permissions; nothing was changed"
        ) from error


def decoded(path: Path, data: bytes | None) -> str:
    """Return a file's text, with its byte order mark; `""` for no file.

    Raises:
        ConfigurationError: It is not UTF-8.
    """
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{path} is not UTF-8 (byte {error.start})", hint="convert it first; nothing was changed"
        ) from error


def replace(path: Path, data: bytes, *, mode: int = 0o666) -> list[Path]:
    """Replace a file at once, keeping its permissions, and return the folders that were made for it, outer first.

    Args:
        path: The file.
        data: What it is to hold.
        mode: Permissions of a new file, less the user's mask.

    Raises:
        ConfigurationError: It cannot be written.
    """
    made = [folder for folder in reversed(path.parents) if not folder.exists()]
    kept = path.stat().st_mode if path.exists() else None
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if kept is not None:
                temporary.chmod(stat.S_IMODE(kept))
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written: {error.strerror or error}", hint="correct the permissions of its folder"
        ) from error
    return made


def remove_empty(folders: Iterable[Path]) -> set[Path]:
    """Remove those of these folders that are empty, inner ones first, and return those that are left."""
    left = set()
    for folder in sorted(folders, key=lambda one: len(one.parts), reverse=True):
        try:
            folder.rmdir()
        except FileNotFoundError:
            continue
        except OSError:  # it holds something of somebody else
            left.add(folder)
    return left
