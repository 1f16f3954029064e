"""A user with a home folder, a project and the command `memanto` on their path."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_kit import Cli

AGENT = "demo"


class User:
    """Runs commands as a user who works in a project."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.project = folder / "user", folder / "project"
        self.home.mkdir()
        self.project.mkdir()
        programs = folder / "bin"
        programs.mkdir()
        self.program = programs / "memanto"
        self.program.write_text(f"#!{sys.executable}\nimport sys\nfrom memanto.cli.main import run\nsys.exit(run())\n")
        self.program.chmod(0o755)
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin")
        for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "APPDATA"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.chdir(self.project)
        self.run = Cli(folder / "memory", monkeypatch)

    def connect(self, *arguments: str) -> list[Path]:
        """Connect something and return the files that were written."""
        done = self.run.done("connect", *arguments, "--agent", AGENT, "--json")
        return [Path(one["path"]) for one in done.json["files"]]

    def files(self) -> dict[str, bytes]:
        """Return every file and folder of the user and the project, with what the files hold."""
        found = {}
        for root in (self.home, self.project):
            for path in sorted(root.rglob("*")):
                found[str(path.relative_to(root.parent))] = path.read_bytes() if path.is_file() else b"<folder>"
        return found


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    yield User(tmp_path, monkeypatch)
