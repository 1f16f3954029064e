"""Which coding tools are here: by their folders in the project and the user's home, and by their programs."""

from __future__ import annotations

import shutil
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
    """Return how this machine starts memanto: the command's full path, as tools with windows lack a shell's `PATH`."""
    return shutil.which(SERVER, path=environ.get("PATH", "")) or SERVER


def project_folder(cwd: Path, home: Path) -> Path:
    """Return the folder of the project around a working directory: the nearest repository, else the directory."""
    for folder in (cwd, *cwd.parents):
        if folder == home:
            break
        if (folder / ".git").exists():
            return folder
    return cwd
