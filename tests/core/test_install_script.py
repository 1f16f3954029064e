"""`scripts/install.sh --remove` says what is left, and what still points at the command it took away (our decision)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memanto.config import resolve_home
from memanto.connect.records import FILE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the script is for POSIX shells")
SCRIPT = Path(__file__).parents[2] / "scripts" / "install.sh"


def environment(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"], **more}


def installed(home: Path) -> Path:
    """Make what an installation leaves on the disk, its environment apart, and return the link on the PATH."""
    data, link = home / ".local" / "share" / "memanto-cli", home / ".local" / "bin" / "memanto"
    program = data / "venv" / "bin" / "memanto"
    for path in (program, link):
        path.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("")
    link.symlink_to(program)
    (data / "link").write_text(f"{link}\n")
    return link


def remove(environ: dict[str, str]) -> tuple[str, str]:
    """Run the removal and return what it wrote on its two streams."""
    shell = shutil.which("sh")
    assert shell is not None
    done = subprocess.run(
        [shell, str(SCRIPT), "--remove"], env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout, done.stderr


def test_nothing_to_remove_is_said(tmp_path: Path) -> None:
    out, err = remove(environment(tmp_path))
    assert (out.startswith("Nothing to remove"), err) == (True, "")


@pytest.mark.parametrize("named", ["", "elsewhere", "~/of mine"])
def test_the_folder_of_memories_is_named_and_stays(tmp_path: Path, named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = environment(tmp_path, **({"MEMANTO_HOME": named} if named else {}))
    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    memories = resolve_home(environ, tmp_path)[0]
    memories.mkdir(parents=True)
    link = installed(tmp_path)
    out, err = remove(environ)
    shown = out.removeprefix("Removed. Your memories were left in ").removesuffix("\n")
    assert ((tmp_path / shown), err) == (memories, "")
    assert memories.is_dir()
    assert not link.is_symlink()
    assert not (tmp_path / ".local" / "share" / "memanto-cli").exists()


@pytest.mark.parametrize("connected", [False, True])
def test_tools_that_still_call_the_command_are_warned_of(tmp_path: Path, connected: bool) -> None:
    from memanto.connect.records import Connection, changing

    memories = tmp_path / "memories"
    one = Connection(client="cursor", scope="global", project=str(tmp_path), agent="shop")
    with changing(memories) as records:
        records.connections[one.id] = one
    if not connected:
        with changing(memories) as records:
            records.connections.clear()
    assert bool(json.loads((memories / FILE).read_bytes())["connections"]) is connected
    installed(tmp_path)
    out, err = remove(environment(tmp_path, MEMANTO_HOME=str(memories)))
    assert str(memories) in out
    assert ("memanto connect list" in err, "memanto connect remove" in err) == (connected, connected)
