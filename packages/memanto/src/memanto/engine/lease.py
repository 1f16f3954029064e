"""The lease: how several processes and threads take turns with a resource that admits one process.

A process takes the file locks (`memanto.engine.locks`) at the first use and keeps them, and the opened
resource, between calls. A watcher thread, alive only meanwhile, hands over when another process waits, lets
go when nothing happens for a while, and flushes soon after the last write. Threads of one process share the
resource: they are counted, not queued.

There is one lease per resource and process: `memanto.engine.leases` keeps them.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final, Generic, Protocol, TypeVar

from memanto.engine.locks import LockPair
from memanto.errors import StoreLockedError

TENURE: Final = 0.2
"""Seconds a process keeps the resource before it hands over. Opening costs 60 to 350 ms; with shorter turns
two busy processes would do little else."""
IDLE: Final = 5.0
"""Seconds without a call after which the resource is closed, so that a sleeping process blocks nobody."""
FLUSH_IDLE: Final = 0.5
FLUSH_BUSY: Final = 5.0
"""Seconds after the last call, or after the last flush while calls go on, until written data is flushed."""
PATIENCE: Final = 0.1
"""Seconds a thread lets a hand-over go first. Not longer: a thread inside may be waiting for this one."""
_TICK: Final = 0.05
_LONGEST_PAUSE: Final = 30.0


_log = logging.getLogger(__name__)


class Resource(Protocol):
    """What a lease guards."""

    @property
    def dirty(self) -> bool:
        """Whether something was written since the last flush."""

    def flush(self) -> None: ...

    def close(self) -> None:
        """Flush and let go of every file."""


R = TypeVar("R", bound=Resource)


class Lease(Generic[R]):
    """One resource as this process sees it.

    Three levels nest in this order: `hold` keeps other processes out; `writing` is for one thread at a time;
    `use` gives the opened resource for one short operation, and `exclusive` closes it and keeps every thread
    out, to change files. `use` and `exclusive` never nest in each other. All wait `timeout` seconds at most
    and then raise `StoreLockedError`.
    """

    def __init__(self, what: str, locks: LockPair, opener: Callable[[], R]) -> None:
        self.what = what
        self.last_used = time.monotonic()
        self._locks = locks
        self._opener = opener
        self._state = threading.Condition()
        self._writer = threading.Lock()
        self._wake = threading.Event()
        self._resource: R | None = None
        self._owned = False  # this process has the file locks
        self._moving = False  # one thread takes or leaves the locks, or opens, closes or replaces the resource
        self._yielding = False  # another process waits and its turn has come
        self._departing = 0  # threads that wait to let go
        self._since = 0.0
        self._flushed = 0.0
        self._pins: dict[int, int] = {}  # nesting depth of `hold` by thread
        self._operations = 0
        self._dead = False

    # -- for callers --------------------------------------------------------------------------------
    @contextlib.contextmanager
    def hold(self, timeout: float, *, unless: Callable[[], bool] | None = None) -> Iterator[bool]:
        """Keep every other process out. Re-entrant; threads share it.

        Args:
            timeout: Seconds to wait.
            unless: Asked while another process has the resource; when it is true, waiting ends.

        Yields:
            Whether this process has the resource; `False` only because of `unless`.
        """
        thread = threading.get_ident()
        if not self._pin(thread, time.monotonic() + timeout, timeout, unless):
            yield False
            return
        try:
            yield True
        finally:
            self._unpin(thread)

    @contextlib.contextmanager
    def guest(self, welcome: Callable[[], bool]) -> Iterator[bool]:
        """Keep every other process out on behalf of one of them, but never take the resource for that.

        Yields:
            Whether this process has the resource, hands it to nobody just now, and `welcome()` is true.
        """
        thread = threading.get_ident()
        with self._state:
            admitted = self._owned and not self._yielding and not self._departing and welcome()
            if admitted:
                self._add_pin(thread)
        try:
            yield admitted
        finally:
            if admitted:
                self._unpin(thread)

    @contextlib.contextmanager
    def use(self, timeout: float) -> Iterator[R]:
        """Yield the resource, opened; other threads may use it at the same time."""
        with self.hold(timeout):
            resource = self._enter(time.monotonic() + timeout)
            try:
                yield resource
            finally:
                self._leave()

    def borrow(self) -> R | None:
        """Return the resource as `use` does, without waiting, to a thread that is inside `hold`; else `None`.

        For the many short operations of one call. Whoever gets it calls `give_back` afterwards.
        """
        with self._state:
            if self._resource is None or self._moving or threading.get_ident() not in self._pins:
                return None
            self._operations += 1
            return self._resource

    def give_back(self) -> None:
        """End what `borrow` began."""
        self._leave()

    @contextlib.contextmanager
    def writing(self, timeout: float) -> Iterator[None]:
        """Keep out every other process, and every other thread that writes. Not re-entrant."""
        with self.hold(timeout):
            if not self._writer.acquire(timeout=max(timeout, 0.0)):
                raise self._busy()
            try:
                yield
            finally:
                self._writer.release()

    @contextlib.contextmanager
    def inside(self, timeout: float, *, alone: bool) -> Iterator[R]:
        """Do as `use` does, and as `writing` if `alone`, for a thread that is in `hold` or `guest` already."""
        if alone and not self._writer.acquire(timeout=max(timeout, 0.0)):
            raise self._busy()
        try:
            resource = self._enter(time.monotonic() + timeout)
            try:
                yield resource
            finally:
                self._leave()
        finally:
            if alone:
                self._writer.release()

    @contextlib.contextmanager
    def exclusive(self, timeout: float) -> Iterator[None]:
        """Close the resource and keep everybody from opening it. The caller is in `writing`."""
        with self.hold(timeout):
            deadline = time.monotonic() + timeout
            with self._state:
                self._wait_for(lambda: not self._moving, deadline)
                self._moving = True
            try:
                with self._state:
                    self._wait_for(lambda: self._operations == 0, deadline)
                    resource, self._resource = self._resource, None
                if resource is not None:
                    resource.close()
                yield
            finally:
                self._moved()

    def flush(self) -> None:
        """Flush the resource if this process has it open and wrote to it."""
        with self._state:
            resource = self._resource
            if resource is None or self._moving or not resource.dirty:
                return
            self._operations += 1
        try:
            self._flushed = time.monotonic()
            resource.flush()
        finally:
            self._leave()

    @property
    def is_mine(self) -> bool:
        """Whether this process has the locks."""
        return self._owned

    @property
    def is_open(self) -> bool:
        """Whether this process has the resource open."""
        return self._resource is not None

    def glimpse(self) -> R | None:
        """Return the resource if this process has it open at this moment: to be looked at, not to be worked with."""
        return self._resource if self._owned and not self._moving else None

    def let_go(self, timeout: float = 0.0) -> bool:
        """Close the resource and release the locks, once no thread is inside; returns whether that is so."""
        deadline = time.monotonic() + timeout
        with self._state:
            if not self._all_out(deadline):
                return False
            if not self._owned:
                return True
            self._owned, self._moving = False, True
            resource, self._resource = self._resource, None
        try:
            self._leaving()
            if resource is not None:
                resource.close()
        finally:
            try:
                self._locks.release()
            finally:
                self._moved()
        return True

    def _all_out(self, deadline: float) -> bool:
        """Wait until no thread is inside; guests are no longer admitted meanwhile."""
        self._departing += 1
        try:
            while self._pins or self._operations or self._moving:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    return False
                self._state.wait(remaining)
        finally:
            self._departing -= 1
        return True

    def abandon(self) -> tuple[object, ...]:
        """Forget everything in a forked child, without a lock; returns what must never be finalised there."""
        self._dead = True
        kept = (self._resource, self._locks, *self._locks.files)
        self._resource = None
        return kept

    # -- for subclasses --------------------------------------------------------------------------------
    def _taken(self) -> None:
        """Called when this process took the locks. Must not raise."""

    def _leaving(self) -> None:
        """Called before it closes the resource and releases the locks. Must not raise."""

    # -- taking part ---------------------------------------------------------------------------------
    def _pin(self, thread: int, deadline: float, timeout: float, unless: Callable[[], bool] | None = None) -> bool:
        patience = time.monotonic() + PATIENCE
        with self._state:
            while not (self._pins.get(thread) or (self._owned and self._may_enter(patience))):
                if not self._owned and not self._moving:
                    break
                until = min(deadline, patience) if self._owned else deadline
                self._wait(until, deadline)
            else:
                self._add_pin(thread)
                return True
            self._moving = True
        acquired = False
        try:
            acquired = self._locks.acquire(self.what, max(timeout, 0.0), unless=unless)
        finally:
            with self._state:
                self._moving = False
                if acquired:
                    self._owned, self._yielding = True, False
                    self._since = self._flushed = time.monotonic()
                    self._add_pin(thread)
                    self._start_watcher()
                    self._taken()
                self._state.notify_all()
        return acquired

    def _may_enter(self, patience: float) -> bool:
        return not self._yielding or time.monotonic() >= patience

    def _add_pin(self, thread: int) -> None:
        self._pins[thread] = self._pins.get(thread, 0) + 1
        self.last_used = time.monotonic()

    def _unpin(self, thread: int) -> None:
        if self._dead:
            return
        with self._state:
            self.last_used = time.monotonic()
            if self._pins[thread] > 1:
                self._pins[thread] -= 1
                return
            del self._pins[thread]
            self._state.notify_all()
            if self._yielding and not self._pins:
                self._wake.set()

    def _enter(self, deadline: float) -> R:
        with self._state:
            self._wait_for(lambda: not self._moving, deadline)
            if self._resource is not None:
                self._operations += 1
                return self._resource
            self._moving = True
        resource = None
        try:
            resource = self._opener()
        finally:
            with self._state:
                self._moving = False
                if resource is not None:
                    self._resource = resource
                    self._operations += 1
                    self._since = time.monotonic()
                self._state.notify_all()
        return resource

    def _leave(self) -> None:
        if self._dead:
            return
        with self._state:
            self._operations -= 1
            self._state.notify_all()

    def _moved(self) -> None:
        if self._dead:
            return
        with self._state:
            self._moving = False
            self._state.notify_all()

    def _wait_for(self, ready: Callable[[], bool], deadline: float) -> None:
        while not ready():
            self._wait(deadline, deadline)

    def _wait(self, until: float, deadline: float) -> None:
        if time.monotonic() >= deadline:
            raise self._busy()
        self._state.wait(max(until - time.monotonic(), 0.0))

    def _busy(self) -> StoreLockedError:
        return StoreLockedError(
            f"{self.what} is being rewritten, opened or closed by another thread of this process",
            hint="try again when that is done, or raise the lock timeout",
        )

    # -- the watcher -----------------------------------------------------------------------------------
    def _start_watcher(self) -> None:
        self._wake = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(self._wake,), name=f"lease of {self.what}", daemon=True)
        with contextlib.suppress(RuntimeError):  # the interpreter is ending; the exit handler lets go
            watcher.start()

    def _watch(self, wake: threading.Event) -> None:
        failures = 0
        while self._wake is wake and self._owned and not self._dead:
            wake.wait(min(_TICK * 2**failures, _LONGEST_PAUSE))
            wake.clear()
            try:
                self._tick(time.monotonic())
                failures = 0
            except Exception:  # noqa: BLE001 - a watcher that ends would keep every other process out for good
                if failures == 0:  # told once, tried again less and less often
                    _log.exception("%s could not be flushed, closed or handed over", self.what)
                failures = min(failures + 1, 16)

    def _tick(self, now: float) -> None:
        """Hand over, flush or let go, whatever is due."""
        with self._state:
            if not self._owned or self._moving:
                return
            # Under the mutex, because the lock files' objects are not for two threads at once.
            self._yielding = now - self._since >= TENURE and self._locks.contended()
            resource = self._resource
        if self._yielding:
            self.let_go()
        elif resource is not None and resource.dirty:
            if now - self.last_used >= FLUSH_IDLE or now - self._flushed >= FLUSH_BUSY:
                self.flush()
        elif now - self.last_used >= IDLE:
            self.let_go()
