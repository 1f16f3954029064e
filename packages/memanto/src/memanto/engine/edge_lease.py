"""Who carries out a call: this process, when it has the lease of the namespace, or the process that has it.

A process that has the lease answers the others over a socket (`memanto.engine.relay_server`), so that several
busy processes need not open and close the shard in turns. A process without it asks first. When nobody answers,
or the holder dies, hands over, is stopped, or is too old or too new to understand, it waits for its turn as it
would without a socket. Asking again what may have been carried out already is harmless: see `Request`.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, TypeVar, cast

from memanto.engine.edge_calls import Clock, Request, Scan, check
from memanto.engine.edge_shard import Shard
from memanto.engine.layout import Place
from memanto.engine.lease import Lease
from memanto.engine.locks import LockPair
from memanto.engine.relay_client import RelayClient, Trouble
from memanto.engine.relay_protocol import Answer
from memanto.engine.relay_server import RelayServer
from memanto.engine.relay_socket import supported
from memanto.errors import BackendError, MemantoError, StoreLockedError

BUSY_PAUSE: Final = 0.02
"""Seconds before a holder that rewrites its files is asked again."""
MOST_ASKS: Final = 20
"""Times that a call asks somebody who listens and is told that nothing is done, before it waits for its turn."""
GUEST_PATIENCE: Final = 0.25
"""Seconds a request of another process waits for threads of this one; all the others wait behind it."""

MAX_POINTS: Final = 20_000
"""Points that an answer may hold; whoever wants more waits for a turn."""

T = TypeVar("T")


class ShardLease(Lease[Shard]):
    """The lease of a namespace's shard, and the way to the process that has it.

    Args:
        place: Of the namespace.
        opener: Opens the shard.
        clock: Tells the time of recording for requests of other processes.
    """

    def __init__(self, place: Place, opener: Callable[[], Shard], clock: Clock) -> None:
        super().__init__(f"agent {place.namespace!r}", LockPair(place.locks, place.encoded), opener)
        self.serves = False
        self._place = place
        self._clock = clock
        name = hashlib.blake2b(place.encoded.encode(), digest_size=8).hexdigest()
        self._socket = place.locks / f"{name}.socket"  # short: a socket's address is
        self._client = RelayClient(self._socket, place.namespace)
        self._server: RelayServer | None = None

    # -- for the engine -----------------------------------------------------------------------------
    def perform(self, request: Request[T], clock: Clock, timeout: float, *, ask: bool) -> T:
        """Carry out a request here or have it carried out; see `Call.run` for what it raises.

        Args:
            request: What to do.
            clock: Tells the time of recording if it is done here.
            timeout: Seconds to wait for other processes.
            ask: Whether to ask the holder before waiting for a turn.

        Raises:
            StoreLockedError: Another process had the lease all the time, and gave no answer.
        """
        if not request.writes and (shard := self.borrow()) is not None:
            try:
                return request.run(shard, clock)
            finally:
                self.give_back()
        deadline = time.monotonic() + timeout
        asks = MOST_ASKS if ask and supported() else 0
        while True:
            if asks and not self.is_mine:
                check(request.call)
                before = self._place.incarnation()
                # Half of the time at most, so that there is time for a turn when the holder never answers.
                outcome = self._client.ask(request, (deadline - time.monotonic()) / 2)
                if isinstance(outcome, Answer):
                    return cast("T", _result(outcome))
                if outcome is Trouble.BUSY and time.monotonic() < deadline - timeout / 2:
                    time.sleep(BUSY_PAUSE)
                    continue
                asks = _asks_left(asks, outcome, again=request.incarnation is not None)
                if outcome in {Trouble.LOST, Trouble.SILENT} and request.incarnation is None:
                    request = replace(request, incarnation=before)
            left = max(deadline - time.monotonic(), 0.0)
            with _told(request), self.hold(left, unless=self._client.reachable if asks else None) as mine:
                if mine:
                    return self._here(request, clock, timeout)

    @contextlib.contextmanager
    def kept(self, timeout: float, *, ask: bool) -> Iterator[bool]:
        """Keep other processes out where this one has, or can have, the lease; yields whether it has."""
        ask = ask and supported()
        if ask and not self.is_mine and self._client.reachable():
            yield False
            return
        with self.hold(timeout, unless=self._client.reachable if ask else None) as mine:
            yield mine

    def disconnect(self) -> None:
        """Close the connections to the holder that no thread is using."""
        self._client.close()

    # -- for other processes ------------------------------------------------------------------------
    def _answer(self, server: RelayServer, request: Request[Any]) -> Answer:
        try:
            with self.guest(lambda: self._server is server) as admitted:
                if not admitted:
                    return Answer(word="gone")
                result = self._here(_bounded(request), self._clock, GUEST_PATIENCE)
            if isinstance(request.call, Scan) and len(result) > MAX_POINTS:
                return Answer(word="large")
            return Answer(result=result)
        except StoreLockedError:
            return Answer(word="busy")
        except MemantoError as error:
            return Answer(error=error)
        except Exception as error:  # noqa: BLE001 - this process's edge: whoever asked gets to know
            return Answer(error=BackendError(f"the process that has {self.what} failed: {error!r}"))

    def _here(self, request: Request[T], clock: Clock, timeout: float) -> T:
        """Run a request on this process's shard; the caller keeps other processes out."""
        with self.inside(timeout, alone=request.writes) as shard:
            return request.run(shard, clock)

    # -- the lease's own moments --------------------------------------------------------------------
    def _taken(self) -> None:
        self._client.close()
        if self.serves and supported():
            server = RelayServer(self._socket, self._place.namespace, self._answer)
            self._server = server if server.start() else None

    def _leaving(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.stop()

    def abandon(self) -> tuple[object, ...]:
        self._client.abandon()
        if self._server is not None:
            self._server.abandon()
        return super().abandon()


def _result(answer: Answer) -> Any:
    if answer.error is not None:
        raise answer.error
    return answer.result


def _asks_left(asks: int, outcome: Trouble, *, again: bool) -> int:
    match outcome:
        case Trouble.NOBODY:
            return asks - 1
        case Trouble.LOST:  # whoever loses the answer once more is asked no further
            return 0 if again else asks
        case _:
            return 0


@contextlib.contextmanager
def _told(request: Request[Any]) -> Iterator[None]:
    """Say so in the error when a write that was asked for may still be carried out."""
    try:
        yield
    except StoreLockedError as error:
        if request.incarnation is None or not request.writes:
            raise
        raise StoreLockedError(f"{error.message}; it may have stored what it was asked to", hint=error.hint) from error


def _bounded(request: Request[Any]) -> Request[Any]:
    """Return the request with a scan cut just beyond what an answer may hold, so that it cannot fill the memory."""
    call = request.call
    if isinstance(call, Scan) and (call.limit is None or call.limit > MAX_POINTS):
        return replace(request, call=call._replace(limit=MAX_POINTS + 1))
    return request
