"""The two file locks behind a lease, and the note that says who holds it.

A process that wants the resource first takes the **turnstile**, then waits there for the **owner** lock.
At most one process stands at the turnstile, so the holder sees that somebody waits by finding it taken,
and a holder that lets go has to queue again: turns are fair. The operating system frees both when their
process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from memanto.engine.layout import translated_os, write_private
from memanto.errors import StoreLockedError

_POLL: Final = 0.01
"""Seconds between two looks at a lock; two system calls each."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that wrote the note: `program` is the name of what it runs, without its arguments."""

    pid: int
    program: str

    def describe(self) -> str:
        """Return a phrase such as `process 4711 (memanto), which is stopped`."""
        state = _process_state(self.pid)
        suffix = {"T": ", which is stopped", "t": ", which a debugger holds"}.get(state or "", "")
        return f"process {self.pid} ({self.program}){suffix}"


class LockPair:
    """Turnstile and owner lock of one resource, for one process. Not for several threads at once."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._note = folder / f"{name}.holder"
        # Not bound to a thread: one thread acquires, a watcher may release.
        self._turnstile = FileLock(folder / f"{name}.turnstile", mode=0o600, thread_local=False)
        self._owner = FileLock(folder / f"{name}.owner", mode=0o600, thread_local=False)

    @property
    def files(self) -> tuple[FileLock, ...]:
        """The lock objects, for the clean-up after a fork."""
        return (self._turnstile, self._owner)

    def acquire(self, what: str, timeout: float, *, unless: Callable[[], bool] | None = None) -> bool:
        """Wait at the turnstile, then for the owner lock, and leave a note of who holds it.

        Args:
            what: Names the resource in the error, such as `agent 'ci'`.
            timeout: Seconds to wait; 0 tries once.
            unless: Asked while waiting: when it is true there is no need to wait any longer.

        Returns:
            Whether the locks were acquired; `False` only because of `unless`.

        Raises:
            StoreLockedError: Somebody else held it all the time.
            BackendUnavailableError: The lock files cannot be made or opened.
        """
        deadline = time.monotonic() + timeout
        with translated_os(self._folder):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                for lock in (self._turnstile, self._owner):
                    if not self._poll(lock, what, deadline, timeout, unless):
                        return False
            finally:
                self._turnstile.release(force=True)
            try:
                self._write_note()
            except BaseException:
                self._owner.release(force=True)
                raise
        return True

    def release(self) -> None:
        """Remove the note and let go."""
        with contextlib.suppress(OSError):  # a note that stays is overwritten by the next holder
            self._note.unlink(missing_ok=True)
        self._owner.release(force=True)

    def contended(self) -> bool:
        """Whether another process waits at the turnstile; only for the owner."""
        try:
            self._turnstile.acquire(timeout=0)
        except Timeout:
            return True
        self._turnstile.release()
        return False

    def holder(self) -> Holder | None:
        """Return who holds the resource according to the note, or `None` when there is none."""
        try:
            note = json.loads(self._note.read_text("utf-8"))
            return Holder(int(note["pid"]), str(note["program"]))
        except (OSError, ValueError, KeyError, TypeError):  # absent, or being written at this moment
            return None

    def _poll(
        self, lock: FileLock, what: str, deadline: float, timeout: float, unless: Callable[[], bool] | None
    ) -> bool:
        while True:
            try:
                lock.acquire(timeout=0)
            except Timeout:
                if time.monotonic() >= deadline:
                    raise self._locked(what, timeout) from None
                time.sleep(_POLL * random.uniform(0.5, 1.5))  # noqa: S311 - spreads processes that wait in step
                if unless is not None and unless():
                    return False
            else:
                return True

    def _locked(self, what: str, timeout: float) -> StoreLockedError:
        holder = self.holder()
        if holder is None:
            return StoreLockedError(
                f"{what} is in use by another process, and {timeout:g} s of waiting were not enough",
                hint="try again, or raise the lock timeout",
            )
        return StoreLockedError(
            f"{what} is in use by {holder.describe()}; waited {timeout:g} s",
            hint=f"try again, raise the lock timeout, or look at the process (a stopped one: kill -CONT {holder.pid})",
        )

    def _write_note(self) -> None:
        # Never the arguments: `remember TEXT` would leave the text in a file that erasing does not know of.
        program = Path(sys.argv[0] if sys.argv and sys.argv[0] not in {"", "-c"} else "python").name
        write_private(self._note, json.dumps({"pid": os.getpid(), "program": program}))


def _process_state(pid: int) -> str | None:
    """Return the state letter of a process (Linux), or `None` where it cannot be read."""
    with contextlib.suppress(OSError, IndexError):
        # The name in parentheses may hold anything, also parentheses and spaces.
        return Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace").rpartition(")")[2].split()[0]
    return None
