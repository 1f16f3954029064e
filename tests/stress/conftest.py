"""Fixtures of the stress tests.

Their stores live in memory where that is possible: a killed process loses nothing of a file it wrote, on a disk
or not, and thousands of flushes would only measure the disk.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_kit import Cli
from tests.stress.stress_kit import Workers

_IN_MEMORY = Path("/dev/shm")
_ENOUGH = 2 << 30


@pytest.fixture(scope="session")
def quick_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder for stores, in memory if there is room."""
    if not _IN_MEMORY.is_dir() or shutil.disk_usage(_IN_MEMORY).free < _ENOUGH:
        yield tmp_path_factory.mktemp("stores")
        return
    with tempfile.TemporaryDirectory(prefix="memanto-stress-", dir=_IN_MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def tmp_path(quick_root: Path) -> Iterator[Path]:
    """Return a folder of the test's own, removed when it ends: stores are large when they are not on a disk."""
    folder = Path(tempfile.mkdtemp(dir=quick_root))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def workers() -> Iterator[Workers]:
    started = Workers()
    yield started
    started.end()


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    made = Cli(tmp_path / "home", monkeypatch)
    made.done("agent", "create", "loop")
    return made


@pytest.fixture(scope="module")
def calm(quick_root: Path) -> Iterator[Cli]:
    """A command line that tests of refused input share: none of them changes what its store holds."""
    with pytest.MonkeyPatch.context() as patch:
        folder = Path(tempfile.mkdtemp(dir=quick_root))
        patch.chdir(folder)
        made = Cli(folder / "home", patch)
        made.done("agent", "create", "loop")
        made.remember("kept", "--type", "fact")
        yield made
