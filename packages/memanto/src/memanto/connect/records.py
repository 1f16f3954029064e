"""What was connected, and what each file held before: `connections.json` in the user's home folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from memanto.connect import targets
from memanto.errors import ConfigurationError, StoreLockedError

FILE: Final = "connections.json"
BACKUPS: Final = ("backups", "connect")
_VERSION: Final = 1
_WAIT: Final = 10.0
_NO_TEXTS: Final[Mapping[str, type]] = {"existed": bool, "hooks": bool, "strict": bool, "users": list}

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One tool connected in one place.

    Attributes:
        client: The tool's name.
        scope: `"project"` or `"global"`.
        project: The project's folder; for the whole user, where the command was run.
        agent: Whose memory.
        hooks: Whether hooks were asked for.
        strict: Whether the hook before a tool call may stop it.
    """

    client: str
    scope: str
    project: str
    agent: str
    hooks: bool = True
    strict: bool = False

    @property
    def id(self) -> str:
        """What tells connections apart: the tool and the place."""
        return f"{self.client}@{self.project if self.scope == 'project' else 'user'}"


@dataclass(slots=True)
class Kept:
    """One file that was changed.

    Attributes:
        existed: Whether there was a file.
        backup: Name of the copy of what it held, below the folder of backups; `""` when there was none.
        after: Digest of what it held when we were done.
        users: Ids of the connections that need what is in it.
    """

    existed: bool
    backup: str
    after: str
    users: list[str] = field(default_factory=list)


class Records:
    """The connections of one user. Use `changing` to change them.

    Attributes:
        connections: By id.
        files: What is known of each changed file, by path.
        folders: Folders that were made for files.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self.connections: dict[str, Connection] = {}
        self.files: dict[str, Kept] = {}
        self.folders: set[str] = set()

    @classmethod
    def load(cls, home: Path) -> Records:
        """Read the records.

        Raises:
            ConfigurationError: The file is damaged.
        """
        records = cls(home)
        path = home / FILE
        data = targets.read(path)
        if data is None:
            return records
        try:
            raw: dict[str, Any] = json.loads(data)
            records.connections = {one.id: one for one in (_made(Connection, item) for item in raw["connections"])}
            records.files = {name: _made(Kept, item) for name, item in raw["files"].items()}
            records.folders = set(_texts(raw["folders"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ConfigurationError(
                f"{path} is damaged: {error}",
                hint="move it away; `memanto connect remove` then goes by the marks alone",
            ) from error
        return records

    def save(self) -> None:
        """Write the records, readable by their owner alone."""
        raw = {
            "version": _VERSION,
            "connections": [asdict(one) for one in self.connections.values()],
            "files": {name: asdict(one) for name, one in self.files.items()},
            "folders": sorted(self.folders),
        }
        targets.replace(self._home / FILE, json.dumps(raw, indent=1).encode(), mode=0o600)

    def original(self, path: Path) -> bytes | None:
        """Return what a file held before anything was connected; `None` for no file, or none that is known."""
        kept = self.files.get(str(path))
        if kept is None or not kept.backup:
            return None
        return targets.read(self._home.joinpath(*BACKUPS, kept.backup))

    def back_up(self, path: Path, data: bytes) -> str:
        """Keep a copy of what a file holds and return the copy's name."""
        name = f"{hashlib.sha256(str(path).encode('utf-8', 'surrogateescape')).hexdigest()[:16]}-{path.name}"
        targets.replace(self._home.joinpath(*BACKUPS, name), data, mode=0o600)
        return name


@contextmanager
def changing(home: Path) -> Iterator[Records]:
    """Yield the records for changing them, alone; they are saved when the block ends without an error.

    Raises:
        StoreLockedError: Another `memanto connect` is at work.
    """
    import filelock

    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with filelock.FileLock(home / "connections.lock", timeout=_WAIT):
            records = Records.load(home)
            yield records
            records.save()
    except filelock.Timeout as error:
        raise StoreLockedError("another `memanto connect` is at work", hint="try again") from error


def _made(kind: type[T], item: Mapping[str, Any]) -> T:
    for name, value in item.items():
        if not isinstance(value, _NO_TEXTS.get(name, str)):
            raise TypeError(f"{name} is {value!r}")
    users = item.get("users", [])
    return kind(**{**item, "users": _texts(users)} if users else item)


def _texts(values: Sequence[object]) -> list[str]:
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"{value!r} is no text")
    return [str(value) for value in values]


def digest(data: bytes) -> str:
    """Return the digest that tells whether a file still holds what was written."""
    return hashlib.sha256(data).hexdigest()
