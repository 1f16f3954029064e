"""Where the embedded engine keeps a namespace on disk, and how that changes without anyone seeing half of it.

    <home>/namespaces/<encoded agent id>/CURRENT        names the generation in use, such as `shard-3`
                                        /shard-3/       one Edge shard
                                        /closed.json    what the generation held when it was closed
                     /.locks/<encoded agent id>.*       lock files, never removed
                     /.new/, /.trash/                   namespaces being made or removed

An encoded agent id never begins with a dot, so the last three cannot collide with one. Lock files live
outside the namespace's folder: a folder with an open lock file could not be moved on Windows, and a lock
file that is removed and made again would let two processes hold "the" lock.

Folders are 0700 and files 0600. The engine creates its files with the process's umask, which cannot be
changed for one thread, so `make_private` corrects them whenever a shard is closed; until then the 0700
folder above keeps others out.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import uuid4

from memanto.engine.integrity import MEND_HINT, Seal, data_blocks
from memanto.errors import BackendUnavailableError, DiskFullError, InvalidInputError, MemantoError, StoreDamagedError
from memanto.ids import decode_agent_id, encode_agent_id
from memanto.times import from_rfc3339, to_rfc3339

FREE_SPACE: Final = 64 * 1024 * 1024
"""Bytes that must be free before a write. The engine maps its files into memory, so a disk that fills up
while it writes kills the process instead of raising an error."""
OPENING_SPACE: Final = 1024 * 1024
"""Bytes that must be free to open what was closed cleanly; else the log is replayed, which is writing."""

_BLOCK: Final = 1 << 16
_GENERATION: Final = re.compile(r"shard-([1-9][0-9]*)")


def namespaces_root(home: Path, below: str = "namespaces") -> Path:
    """Return the folder that holds every namespace of the store at `home`, with symbolic links resolved."""
    return Path(os.path.realpath(home / below))


def list_namespaces(root: Path) -> list[str]:
    """Return the namespaces under `root` (see `namespaces_root`), sorted; none when it does not exist."""
    try:
        entries = list(os.scandir(root))
    except FileNotFoundError:
        return []
    return sorted(decode_agent_id(entry.name) for entry in entries if _is_namespace(entry.name) and entry.is_dir())


def _is_namespace(name: str) -> bool:
    """Whether a folder's name is one that `encode_agent_id` gives; others (`lost+found`) are not ours."""
    try:
        return encode_agent_id(decode_agent_id(name)) == name
    except InvalidInputError:
        return False


def prepare_root(root: Path) -> None:
    """Create the folders shared by all namespaces and remove what an interrupted `drop` left."""
    for folder in (root, root / ".locks"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _chmod(folder, 0o700)
    for path in (root / ".trash").glob("*"):
        shutil.rmtree(path, ignore_errors=True)  # whoever dropped it may be removing it as well


def check_free_space(folder: Path, needed: int = 0, *, reserve: int | None = None) -> None:
    """Refuse to go on when the disk of `folder` has less than `reserve` and `needed` bytes left.

    Args:
        folder: On the disk in question.
        needed: Bytes about to be written.
        reserve: Bytes that must be left; `FREE_SPACE` when missing.

    Raises:
        DiskFullError: Too little is free; nothing was written.
    """
    free, wanted = shutil.disk_usage(folder).free, needed + (FREE_SPACE if reserve is None else reserve)
    if free < wanted:
        raise DiskFullError(
            f"only {free:,} bytes are free on the disk of {str(folder)!r}, {wanted:,} are needed",
            hint="free some space, then try again",
        )


@contextlib.contextmanager
def translated_os(folder: Path) -> Iterator[None]:
    """Turn what the operating system refuses about files of `folder` into the project's errors."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise DiskFullError(
                f"the disk of {str(folder)!r} is full", hint="free some space, then try again"
            ) from error
        raise BackendUnavailableError(
            f"files of {str(folder)!r} cannot be used: {error}",
            hint="check the path, its permissions and its disk, or set MEMANTO_HOME",
        ) from error


def make_private(folder: Path) -> None:
    """Make every folder below and including `folder` 0700 and every file 0600."""
    if os.name != "posix":
        return
    for path, _, files in os.walk(folder):
        _chmod(Path(path), 0o700)
        for name in files:
            _chmod(Path(path, name), 0o600)


def sync_tree(folder: Path) -> None:
    """Force every file and folder below `folder` to the disk."""
    for path, _, files in os.walk(folder):
        for name in files:
            sync(Path(path, name))
        sync(Path(path))


def copy_sparse(source: Path, target: Path) -> None:
    """Copy a folder and leave holes where its files have holes or zeros."""
    zeros = bytes(_BLOCK)
    target.mkdir(mode=0o700)
    for path in source.iterdir():
        if path.is_dir():
            copy_sparse(path, target / path.name)
            continue
        with path.open("rb", buffering=0) as old, (target / path.name).open("xb", buffering=0) as new:
            new.truncate(path.stat().st_size)
            for start in data_blocks(old.fileno(), _BLOCK):
                old.seek(start)
                block = old.read(_BLOCK)
                if block != zeros[: len(block)]:
                    new.seek(start)
                    new.write(block)


def allocated_bytes(folder: Path) -> int:
    """Return the bytes that `folder` takes on the disk; sparse files count what they really use."""
    total = 0
    for path, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(FileNotFoundError):  # the engine may replace a file meanwhile
                status = Path(path, name).stat()
                total += getattr(status, "st_blocks", -(-status.st_size // 512)) * 512
    return total


def write_private(path: Path, text: str) -> None:
    """Write a small file that is 0600 from its first moment."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def write_atomically(path: Path, text: str, *, synced: bool = True) -> None:
    """Replace `path` with `text` so that a process that dies leaves the old or the new content.

    If `synced`, it is on the disk when this returns; else a power cut may leave an older content, or none.
    """
    temporary = path.with_name(f"{path.name}.tmp")
    write_private(temporary, text)
    if synced:
        sync(temporary)
    temporary.replace(path)
    if synced:
        sync(path.parent)


@dataclass(frozen=True, slots=True)
class CleanClose:
    """What a generation held when it was last closed, or flushed.

    Points are only ever added to a generation, so these are lower bounds for good: a later crash can add
    points that the note does not know of, but fewer points mean that a file lost some. (Before records are
    deleted their note is removed.)
    """

    points: int
    last_recorded_at: datetime | None
    seal: Seal | None = None
    """What its files were when it was closed, if nothing was written since; see `memanto.engine.integrity`."""


@dataclass(frozen=True, slots=True)
class Place:
    """The files of one namespace under `root` (see `namespaces_root`)."""

    root: Path
    namespace: str
    folder: Path = field(init=False, compare=False)  # made once: every call of the engine asks for it

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", self.root / encode_agent_id(self.namespace))

    @property
    def encoded(self) -> str:
        return self.folder.name

    @property
    def locks(self) -> Path:
        return self.root / ".locks"

    def exists(self) -> bool:
        """Whether the namespace exists, sound or not."""
        return self.folder.is_dir()

    def generation(self) -> int:
        """Return the number of the generation in use.

        Raises:
            StoreDamagedError: `CURRENT` is missing or names none.
        """
        path = self.folder / "CURRENT"
        try:
            text = path.read_text("utf-8").strip()
        except (FileNotFoundError, UnicodeDecodeError):
            text = ""
        match = _GENERATION.fullmatch(text)
        if match is None or not (self.folder / text).is_dir():
            raise StoreDamagedError(
                f"{str(path)!r} does not name a generation of agent {self.namespace!r}",
                hint=MEND_HINT,
            )
        return int(match[1])

    def incarnation(self) -> int:
        """Return a number that every `switch` changes, also of a namespace made anew; 0 before the first."""
        try:
            return (self.folder / "CURRENT").stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def shard(self, generation: int) -> Path:
        return self.folder / f"shard-{generation}"

    def switch(self, generation: int) -> None:
        """Make `generation` the one in use; the last step of building it."""
        write_atomically(self.folder / "CURRENT", f"shard-{generation}\n")

    def generations(self) -> list[int]:
        """Return the numbers of the generations that have a folder, ascending."""
        found = (_GENERATION.fullmatch(path.name) for path in self.folder.iterdir() if path.is_dir())
        return sorted(int(match[1]) for match in found if match)

    def leftovers(self) -> list[Path]:
        """Return what an interrupted switch left: other generations and an unfinished `CURRENT`."""
        current = self.generation()
        others = [self.shard(number) for number in self.generations() if number != current]
        return [*others, *self.folder.glob("CURRENT.tmp")]

    def remove_leftovers(self) -> None:
        """Remove `leftovers()`; only for the holder of the lease, with no other generation open."""
        for path in self.leftovers():
            remove(path)

    def read_clean_close(self, generation: int) -> CleanClose | None:
        """Return the note of the last clean close, or `None` when there is none for this generation."""
        try:
            note = json.loads((self.folder / "closed.json").read_text("utf-8"))
            if note["shard"] != f"shard-{generation}":
                return None
            last, files = note["last_recorded_at"], note.get("files")
            return CleanClose(
                int(note["points"]),
                None if last is None else from_rfc3339(last),
                None if files is None else {name: (int(size), total) for name, (size, total) in files.items()},
            )
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError, MemantoError):
            return None  # unfinished or damaged: as if absent, until the next close writes it anew

    def write_clean_close(self, generation: int, note: CleanClose, *, synced: bool = True) -> None:
        """Store the note of a clean close or, without a seal, of a flush."""
        last = None if note.last_recorded_at is None else to_rfc3339(note.last_recorded_at)
        content: dict[str, object] = {
            "shard": f"shard-{generation}",
            "points": note.points,
            "last_recorded_at": last,
        }
        if note.seal is not None:
            content["files"] = note.seal
        write_atomically(self.folder / "closed.json", json.dumps(content) + "\n", synced=synced)

    def break_seal(self, generation: int) -> None:
        """Note on the disk that the files are about to change; without a seal this does nothing."""
        note = self.read_clean_close(generation)
        if note is not None and note.seal is not None:
            self.write_clean_close(generation, replace(note, seal=None))

    def forget_clean_close(self) -> None:
        """Remove the note of the last clean close, before points are deleted."""
        (self.folder / "closed.json").unlink(missing_ok=True)

    @contextlib.contextmanager
    def building(self) -> Iterator[Place]:
        """Yield the place of a namespace to be built aside; when the block ends it appears at once.

        Only for the holder of the lease; the namespace must not exist.
        """
        aside = self.root / ".new" / self.encoded
        remove(aside)
        draft = Place(aside, self.namespace)
        draft.folder.mkdir(mode=0o700, parents=True)
        try:
            yield draft
            make_private(self.root / ".new")
            sync_tree(draft.folder)
            draft.folder.rename(self.folder)
            sync(self.root)
        finally:
            remove(aside)

    def drop(self) -> None:
        """Remove the namespace: first out of sight, then from the disk. Only for the holder of the lease."""
        trash = self.root / ".trash"
        trash.mkdir(mode=0o700, exist_ok=True)
        aside = trash / f"{self.encoded}-{uuid4().hex}"
        self.folder.rename(aside)
        sync(self.root)
        shutil.rmtree(aside, ignore_errors=True)  # another process that opens the store removes it, too
        remove(aside)


def remove(path: Path) -> None:
    """Remove a file or folder if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _chmod(path: Path, mode: int) -> None:
    with contextlib.suppress(FileNotFoundError):  # the engine removes files of its own accord
        if path.stat().st_mode & 0o777 != mode:
            path.chmod(mode)


def sync(path: Path) -> None:
    """Force a file, or the names in a folder, to the disk."""
    if os.name != "posix" and path.is_dir():
        return  # Windows cannot open a folder
    descriptor = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
