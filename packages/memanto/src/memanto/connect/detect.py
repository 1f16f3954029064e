"""Which coding tools are here: by their folders in the project and the user's home, and by their programs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from memanto.connect.clients import CLIENTS
from memanto.connect.edits import SERVER


def found(project: Path, home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the tools that are in use here, each with what gave it away.

    Args:
        project: The project's folder.
        home: The user's home folder.
        environ: The environment, for its `PATH`.
    """
    seen: dict[str, str] = {}
    for client in CLIENTS.values():
        marks = [project / mark for mark in client.marks] + [home / mark for mark in client.marks]
        programs = (shutil.which(program, path=environ.get("PATH", "")) for program in client.programs)
        sign = next((str(mark) for mark in marks if mark.exists()), None) or next(filter(None, programs), None)
        if sign is not None:
            seen[client.name] = sign
    return seen


def program(environ: Mapping[str, str]) -> str:
    """Return how this machine starts memanto: the command's full path, as tools with windows lack a shell's `PATH`.

    The command that runs, wherever it lies; else the one on the `PATH`.
    """
    named = sys.argv[0] if sys.argv else ""
    # Links are not followed, for one outlives what it points to; `Path.absolute` would keep each `..`.
    ours = shutil.which(os.path.abspath(named)) if Path(named).stem == SERVER else None  # noqa: PTH100
    return ours or shutil.which(SERVER, path=environ.get("PATH", "")) or SERVER


def unfindable(environ: Mapping[str, str]) -> str | None:
    """Return why a tool that is started elsewhere would not find the command by its name, or `None`.

    An active virtual environment puts the command on the `PATH` of its own shell only.
    """
    path = environ.get("PATH", "")
    if shutil.which(SERVER, path=path) is None:
        return f"`{SERVER}` is not on your PATH"
    if sys.prefix == sys.base_prefix:
        return None
    environment = Path(sys.prefix)
    outside = [folder for folder in path.split(os.pathsep) if not Path(folder).is_relative_to(environment)]
    if shutil.which(SERVER, path=os.pathsep.join(outside)) is not None:
        return None
    return f"`{SERVER}` is on your PATH only while the environment {environment} is active"


def project_folder(cwd: Path, home: Path) -> Path:
    """Return the folder of the project around a working directory: the nearest repository, else the directory."""
    for folder in (cwd, *cwd.parents):
        if folder == home:
            break
        if (folder / ".git").exists():
            return folder
    return cwd
