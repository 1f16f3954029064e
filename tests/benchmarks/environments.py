"""An environment of its own for each rival, made once and kept in the user's cache."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

REQUIREMENTS: Final = Path(__file__).resolve().parent / "requirements"


class NoEnvironmentError(Exception):
    """A rival's environment could not be made; its arm is left out."""


def cache_folder() -> Path:
    """Return the folder that environments are kept in."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memanto-benchmarks"


def python_for(rival: str, cache: Path | None = None, *, make: bool = True) -> Path:
    """Return the interpreter that has a rival's pinned packages, made when it is not there yet.

    Args:
        rival: Names `requirements/<rival>.txt`. The folder's name holds a digest of that file and the version
            of Python, so a changed pin makes a new environment.
        cache: Folder for environments; the user's cache by default.
        make: Whether to take the minutes it may need to make one.

    Raises:
        NoEnvironmentError: The packages could not be installed, or were not and `make` is off.
    """
    pins = REQUIREMENTS / f"{rival}.txt"
    label = hashlib.blake2b(pins.read_bytes() + sys.version.encode(), digest_size=4).hexdigest()
    folder = (cache or cache_folder()) / f"{rival}-{label}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = folder / "ready"
    if ready.exists():
        return python
    if not make:
        raise NoEnvironmentError("its environment is not made yet; `python -m tests.benchmarks.environments` makes all")
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    venv.create(folder, with_pip=True)
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", pins],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        reason = done.stderr.strip().splitlines()[-1:] or ["pip failed"]
        raise NoEnvironmentError(f"its packages could not be installed: {reason[0]}")
    ready.touch()
    return python


def pins_of(rival: str) -> dict[str, str]:
    """Return the pinned packages of a rival with their versions."""
    lines = (REQUIREMENTS / f"{rival}.txt").read_text(encoding="utf-8").split()
    return dict(line.split("==") for line in lines)


def main() -> int:
    """Make every environment; `make bench` does it by itself when one is missing."""
    for pins in sorted(REQUIREMENTS.glob("*.txt")):
        try:
            print(json.dumps({pins.stem: str(python_for(pins.stem))}), flush=True)
        except NoEnvironmentError as error:
            print(json.dumps({pins.stem: str(error)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
