"""What a power cut leaves: everything acknowledged with `full`, everything flushed with `log`, and never damage.

Two simulations. Neither is a power cut, and each covers what the other cannot.

- *A disk image* (Linux, root): the store lives on an ext4 file system on a loop device, and the image is copied
  between an acknowledgement and the flush. The copy holds what had reached the device and nothing of the page
  cache. Beside the kernel, the test itself has random files written back at random moments, as a kernel may.
- *Mixed pages* (everywhere): of each file, every page is taken at random from the state at the last flush or from
  the state at the cut, and so is the file's length. This covers orders of writing that one kernel happens not to
  choose. It trusts the flush to have reached the disk, which the first simulation checks.

Neither covers a device that loses what it said was on it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.stress.disk_kit import Disk, on_a_disk
from tests.stress.stress_kit import AGENT, check_sound, handle

from memanto import Memanto

PAGE = 4096
MIXTURES = 8
Told = list[list[Any]]


class File(NamedTuple):
    """What a file holds: its pages that are not holes, by offset. One that was replaced has another inode."""

    inode: int
    length: int
    pages: dict[int, bytes]


State = dict[Path, File]


# -- a disk image ----------------------------------------------------------------------------------------
class Writer:
    """A worker that writes on a disk when told to, and tells what it acknowledged."""

    def __init__(self, disk: Disk, folder: Path, durability: str, seed: int) -> None:
        command = disk.command(folder / "disk", "write", folder / "disk" / "store", durability, seed)
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.told: Told = []

    def do(self, what: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        self.told += json.loads(self._process.stdout.readline())

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str, int], tuple[Disk, Writer]]]:
    writers: list[Writer] = []

    def begin(durability: str, seed: int) -> tuple[Disk, Writer]:
        disk = Disk.make(tmp_path / "disk.img")
        writers.append(Writer(disk, tmp_path, durability, seed))
        return disk, writers[-1]

    yield begin
    for writer in writers:
        writer.end()


def found_after(cut: Disk, folder: Path) -> Told:
    """Start again after the cut; return every version of a store that must prove sound."""
    command = cut.command(folder / "after", "look", folder / "after" / "store")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    cut.image.unlink()
    found: Told = json.loads(done.stdout)
    return found


@on_a_disk
@pytest.mark.slow
def test_full_durability_keeps_every_acknowledged_write(
    start: Callable[[str, int], tuple[Disk, Writer]], tmp_path: Path
) -> None:
    disk, writer = start("full", 1)
    for count in (1, 2, 6, 9):
        writer.do(count)
        cut = disk.cut(tmp_path / "cut.img")
        found = found_after(cut, tmp_path)
        assert [one for one in writer.told if one not in found] == []


@on_a_disk
@pytest.mark.slow
def test_the_default_keeps_what_was_flushed_and_is_never_damaged(
    start: Callable[[str, int], tuple[Disk, Writer]], tmp_path: Path
) -> None:
    disk, writer = start("log", 2)
    writer.do(3)
    lost = 0
    for count, rest in ((1, "idle"), (5, "close"), (12, "idle")):
        writer.do(rest)
        flushed = list(writer.told)
        cuts = [disk.cut(tmp_path / "idle.img")]
        writer.do(count)
        cuts.append(disk.cut(tmp_path / "busy.img"))
        for cut in cuts:
            found = found_after(cut, tmp_path)
            assert [one for one in flushed if one not in found] == []
        lost += sum(one not in found for one in writer.told)
    assert lost, "no cut came before its flush, so this test has shown nothing"


# -- mixed pages -----------------------------------------------------------------------------------------
@pytest.mark.slow
def test_whatever_order_pages_are_written_in_the_store_opens_with_all_that_was_flushed(
    store: Path, tmp_path: Path
) -> None:
    rng = random.Random(3)
    with handle(store) as memory:
        first = written(memory, rng, 12)
        memory._opened().flush(AGENT)
        before = state_of(store)
        told = first + written(memory, rng, 12)
        after = state_of(store)
    for number in range(MIXTURES):
        place = tmp_path / f"cut-{number}"
        make(place, mixture(before, after, rng))
        with handle(place) as memory:
            found = {
                (one["id"], one["version"]): one["content"] for these in check_sound(memory).values() for one in these
            }
            memory.remember("written after the cut", type="fact")
        for memory_id, version, content in told:
            assert found.get((memory_id, version), content) == content
        assert [one for one in first if (one[0], one[1]) not in found] == []


def written(memory: Memanto, rng: random.Random, count: int) -> Told:
    """Remember, edit and fill a slot; return the versions acknowledged."""
    receipts = []
    for number in range(count):
        receipts.append(memory.remember(f"text {number} {rng.random()}", type="fact"))
        receipts.append(memory.edit(receipts[-1].id, content=f"edited {number} {rng.random()}"))
        receipts.append(memory.remember(f"value {number} {rng.random()}", type="fact", key="slot"))
    return [[one.id, one.version, memory.history(one.id)[one.version - 1].content] for one in receipts]


def state_of(store: Path) -> State:
    return {
        path.relative_to(store): File(path.stat().st_ino, path.stat().st_size, pages_of(path))
        for path in sorted(store.rglob("*"))
        if path.is_file() and ".locks" not in path.parts
    }


def pages_of(path: Path) -> dict[int, bytes]:
    """Return the pages of a file that are not holes, by offset."""
    found, end = {}, 0
    with path.open("rb") as file:
        while True:
            try:
                start = os.lseek(file.fileno(), end, os.SEEK_DATA)
            except OSError:  # nothing but a hole is left
                return found
            end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            file.seek(start)
            found |= {at: file.read(min(PAGE, end - at)) for at in range(start, end, PAGE)}


def mixture(before: State, after: State, rng: random.Random) -> State:
    """Return a state between two: each page, and each length, is from the one or the other.

    A file that was made or replaced (written aside, forced to the disk, renamed) is there as a whole or not.
    """
    late = rng.choice([0.05, 0.5, 0.95])
    mixed: State = {}
    for name, new in after.items():
        old = before.get(name)
        if old is None or old.inode != new.inode:
            kept = new if rng.random() < late else old
            if kept is not None:
                mixed[name] = kept
            continue
        pages = {
            at: (new if rng.random() < late else old).pages.get(at, b"")
            for at in sorted(old.pages.keys() | new.pages.keys())
        }
        mixed[name] = File(new.inode, new.length if rng.random() < late else old.length, pages)
    return mixed


def make(folder: Path, state: State) -> None:
    for name, (_, length, pages) in state.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for at, page in pages.items():
                file.seek(at)
                file.write(page)
            file.truncate(length)
    (folder / "namespaces" / AGENT).chmod(0o700)
