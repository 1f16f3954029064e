"""The connection to a Qdrant server, or to qdrant-client's in-memory mode: opening, locking, errors.

qdrant-client is imported on first use only. Whatever it raises is translated here and nowhere else, and no
message carries an API key or the user part of a URL.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import SplitResult, urlsplit

from memanto.errors import (
    BackendError,
    BackendTimeoutError,
    BackendUnavailableError,
    ConfigurationError,
    MemantoError,
)

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

T = TypeVar("T")

LOCAL_URL: Final = ":memory:"

MINIMUM_SERVER: Final = (1, 19)
"""`update_mode` came with Qdrant 1.17, creating a vector name with 1.18, the corpus filter of IDF with 1.19."""

_LOCAL_LOCK: Final = threading.RLock()
"""Local mode is not thread-safe, also not between two of its clients: it keeps state in its modules."""

_EXCERPT: Final = 300
_CHECK_SERVER: Final = "check that the Qdrant server is running and that the URL is right"


class Connection:
    """A client that is opened late, called under one roof, and speaks the project's errors.

    Args:
        url: `http(s)://host[:port][/prefix]`, or `":memory:"` for a store of this object's own, which is gone
            when it is closed. A user part, query and fragment are dropped: credentials go into `api_key`.
        api_key: Sent with each request, never shown.
        timeout: Seconds to wait for an answer, rounded up to whole seconds (at least 1).

    Raises:
        ConfigurationError: The URL or the timeout is malformed.
    """

    def __init__(self, url: str, *, api_key: str | None = None, timeout: float = 10.0) -> None:
        if not (math.isfinite(timeout) and timeout > 0):
            raise ConfigurationError(f"timeout {timeout!r} is not a positive number of seconds", hint="use 10, say")
        self.local = url == LOCAL_URL
        self.location = LOCAL_URL if self.local else _location(url, secure=api_key is not None)
        self.version = ""
        self._api_key = api_key
        self._timeout = math.ceil(timeout)
        self._client: QdrantClient | None = None
        self._pid = 0

    def open(self) -> None:
        """Connect and check the server's version; does nothing when it is open.

        Raises:
            BackendUnavailableError: Nothing answers there.
            ConfigurationError: The server is too old, or refuses the key.
        """
        if self._client is not None:
            return
        self._connect()
        try:
            if not self.local:
                self.version = _checked_version(self.run(lambda client: client.info().version), self.location)
        except MemantoError:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the client. Idempotent."""
        client, self._client = self._client, None
        if client is not None:
            with self._guard():
                client.close()

    def run(self, call: Callable[[QdrantClient], T]) -> T:
        """Return `call(client)`, with every error of qdrant-client translated.

        Raises:
            BackendUnavailableError: The connection is not open, or the server cannot be reached or is busy.
            BackendTimeoutError: The server did not answer in time; a write may still have been applied.
            ConfigurationError: The server refuses the API key.
            BackendError: The server answered with another error.
        """
        if self._client is None:
            raise BackendUnavailableError(f"the engine for {self.location} is not open", hint="call open() first")
        if self._pid != os.getpid() and not self.local:
            self._connect()  # a forked child must not speak over its parent's sockets
        client = self._client
        with self._guard():
            try:
                return call(client)
            except foreign_errors() as error:
                raise self._translated(error) from error

    def _guard(self) -> threading.RLock | nullcontext[None]:
        return _LOCAL_LOCK if self.local else nullcontext()

    def _connect(self) -> None:
        from qdrant_client import QdrantClient

        with self._guard():
            if self.local:
                self._client = QdrantClient(LOCAL_URL)
            else:
                # Its own compatibility check warns from a thread; `open` checks what is needed and raises.
                self._client = QdrantClient(
                    url=self.location, api_key=self._api_key, timeout=self._timeout, check_compatibility=False
                )
        self._pid = os.getpid()

    def _translated(self, error: Exception) -> MemantoError:
        translated = translate(error, self.location)
        if self._api_key:
            translated = type(translated)(translated.message.replace(self._api_key, "[key]"), hint=translated.hint)
        return translated


def foreign_errors() -> tuple[type[Exception], ...]:
    """Return what a call of qdrant-client can raise; local mode raises built-in exceptions."""
    import grpc  # type: ignore[import-untyped]
    import httpx
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ApiException

    builtin = (OSError, ValueError, LookupError, TypeError, RuntimeError, AssertionError)
    return (ApiException, QdrantException, httpx.HTTPError, httpx.InvalidURL, grpc.RpcError, *builtin)


def translate(error: Exception, location: str) -> MemantoError:  # noqa: PLR0911 - one return per kind of error
    """Return the project's error for one that qdrant-client raised.

    A refused key is a `ConfigurationError`, for trying again cannot help; what may pass is unavailable or a
    time-out; the rest is a plain `BackendError`.
    """
    import grpc
    import httpx
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    what = f"Qdrant at {location}"
    match error:
        case ResponseHandlingException(source=Exception() as source):
            return translate(source, location)
        case UnexpectedResponse():
            return _from_status(error, what)
        case ResourceExhaustedResponse():
            return BackendUnavailableError(
                f"{what} limits its load: {error}", hint=f"try again in {error.retry_after_s} s"
            )
        case httpx.TimeoutException() | TimeoutError():
            return _timeout(what)
        case grpc.RpcError() if _grpc_code(error) == "DEADLINE_EXCEEDED":
            return _timeout(what)
        case httpx.TransportError() | ConnectionError():
            return BackendUnavailableError(f"{what} cannot be reached: {_excerpt(str(error))}", hint=_CHECK_SERVER)
        case grpc.RpcError() if _grpc_code(error) == "UNAVAILABLE":
            return BackendUnavailableError(f"{what} cannot be reached", hint=_CHECK_SERVER)
        case _:
            return BackendError(
                f"{what} failed ({type(error).__name__}): {_excerpt(str(error))}",
                hint="run `memanto doctor`; the server's log may say more",
            )


def _from_status(error: Exception, what: str) -> MemantoError:
    status = getattr(error, "status_code", None)
    content = getattr(error, "content", b"").decode("utf-8", "replace")
    message = f"{what} answered {status}: {_excerpt(content)}"
    if status in {401, 403}:
        return ConfigurationError(f"{what} refuses access ({status})", hint="check the API key and its rights")
    if status in {408, 504}:
        return _timeout(what)
    if status in {429, 502, 503}:
        return BackendUnavailableError(message, hint="try again in a moment")
    if status == 413:
        return BackendError(message, hint="the server's request limit is below 32 MiB: raise it")
    return BackendError(message, hint="run `memanto doctor`; the server's log may say more")


def _timeout(what: str) -> BackendTimeoutError:
    return BackendTimeoutError(
        f"{what} did not answer in time", hint="try again, or raise the timeout; a write may still have been applied"
    )


def _grpc_code(error: Exception) -> str:
    code = getattr(error, "code", None)
    return str(getattr(code(), "name", "")) if callable(code) else ""


def _excerpt(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"


def _location(url: str, *, secure: bool) -> str:
    """Return the URL without anything that could be a secret, with its scheme."""
    # What stands before the last @ is dropped first, for a password may hold any of the other delimiters.
    shown = re.split(r"[?#]", re.sub(r"//.*@", "//", url), maxsplit=1)[0]
    bare = shown if "://" in shown else f"{'https' if secure else 'http'}://{shown.rpartition('@')[2].lstrip('/')}"
    try:
        parts: SplitResult = urlsplit(bare)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigurationError(f"Qdrant URL {shown!r} is malformed: {error}", hint=_URL_HINT) from error
    if parts.scheme not in {"http", "https"} or not host:
        raise ConfigurationError(f"Qdrant URL {shown!r} is not an http or https address", hint=_URL_HINT)
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


_URL_HINT: Final = "use http://host:6333, https://host:6333 or ':memory:'"


def _checked_version(version: str, location: str) -> str:
    """Return the version when it is recent enough for what the engine relies on."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < MINIMUM_SERVER:
        wanted = ".".join(map(str, MINIMUM_SERVER))
        raise ConfigurationError(
            f"Qdrant at {location} has version {version!r}; {wanted} or newer is needed",
            hint=f"upgrade the server to {wanted} or newer, one minor version at a time",
        )
    return version
