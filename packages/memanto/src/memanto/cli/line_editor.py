"""Let a person edit a text: on the line where the terminal can, else in their editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from memanto.errors import InvalidInputError

_EDITOR: Final = "notepad" if os.name == "nt" else "vi"


def edited(text: str) -> str:
    """Return a text as the user leaves it, without blanks around it; `""` when they end the input."""
    readline = _readline()
    if readline is None or "\n" in text:
        return _in_editor(text)
    readline.set_startup_hook(lambda: readline.insert_text(text))
    try:
        return input("text> ").strip()
    except EOFError:
        return ""
    finally:
        readline.set_startup_hook(None)


def _in_editor(text: str) -> str:
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or _EDITOR)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "text.txt"
        file.write_text(text, encoding="utf-8")
        try:
            subprocess.run([*command, str(file)], check=True)  # noqa: S603 - the user's own editor
        except (OSError, subprocess.CalledProcessError) as error:
            raise InvalidInputError(
                f"the editor {command[0]!r} failed ({error})", hint="set EDITOR, or use --text TEXT"
            ) from error
        return file.read_text(encoding="utf-8").strip()


def _readline() -> Any:
    try:
        import readline
    except ImportError:  # Windows
        return None
    return readline
