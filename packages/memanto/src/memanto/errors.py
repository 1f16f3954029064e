"""The one error tree of the project.

Every error that leaves a public call derives from `MemantoError` and carries a stable `code`, whether
trying again can help (`retryable`), and what to do next (`hint`). Codes are API; wording is not.
"""

from __future__ import annotations

from typing import ClassVar, Final

LONGEST_MESSAGE: Final = 600
"""Characters of an error's message at most: it is shown on terminals, logged, and sent in answers."""


def shown(value: object, longest: int = 80) -> str:
    """Return a value as messages show it: its `repr`, cut to `longest` characters."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, a value nested as deep
        text = f"<{type(value).__name__}>"
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def told(error: BaseException) -> str:
    """Return an exception as its type and what it says; the type alone where it cannot say it."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - anybody's exception, and anything may happen in its words
        return type(error).__name__


def _bounded(message: str) -> str:
    """Return a message, its middle cut out where a value in it is longer than anybody reads."""
    if len(message) <= LONGEST_MESSAGE:
        return message
    half = LONGEST_MESSAGE // 2
    return f"{message[:half]} … {message[3 - half :]}"


class MemantoError(Exception):
    """Base of every error the project raises on purpose.

    Attributes:
        code: Stable machine-readable name, for example `"invalid_input"`.
        retryable: Whether the same call may succeed later without a change by the caller.
        hint: What to do next, or `""`.
        exit_code: Exit status of the command line for this error (see the reference of exit codes).
    """

    code: ClassVar[str] = "memanto_error"
    retryable: ClassVar[bool] = False
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = _bounded(message)
        self.hint = hint
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}" if self.hint else self.message


class ConfigurationError(MemantoError):
    """A setting is missing, malformed or contradicts another."""

    code = "configuration"
    exit_code = 2


class MissingDependencyError(ConfigurationError):
    """An optional package that this call needs is not installed."""

    code = "missing_dependency"


class InvalidInputError(MemantoError, ValueError):
    """A value given by the caller cannot be accepted; nothing was stored."""

    code = "invalid_input"
    exit_code = 2


class NotFoundError(MemantoError, LookupError):
    """A named memory, agent or namespace does not exist."""

    code = "not_found"
    exit_code = 3


class ConflictError(MemantoError):
    """The call collides with the state of the store."""

    code = "conflict"
    exit_code = 4


class StoreLockedError(ConflictError):
    """Another process holds the store and did not hand it over in time."""

    code = "store_locked"
    retryable = True


class EmbedderMismatchError(ConflictError):
    """The namespace's vectors were made by another embedder than the one in use."""

    code = "embedder_mismatch"


class SchemaMismatchError(ConflictError):
    """The store was written with a schema this version cannot read."""

    code = "schema_mismatch"


class VersionConflictError(ConflictError):
    """Somebody else wrote the next version first; nothing of this call was stored."""

    code = "version_conflict"
    retryable = True


class BackendError(MemantoError):
    """The engine failed."""

    code = "backend"
    exit_code = 5


class BackendUnavailableError(BackendError):
    """The engine cannot be reached or opened."""

    code = "backend_unavailable"
    retryable = True


class BackendTimeoutError(BackendError):
    """The engine did not answer in time."""

    code = "backend_timeout"
    retryable = True


class StoreDamagedError(BackendError):
    """Files of the store are truncated, altered or missing; nothing was changed."""

    code = "store_damaged"


class DiskFullError(BackendError):
    """Too little free space to write safely; nothing was stored."""

    code = "disk_full"
    retryable = True


class EmbedderError(MemantoError):
    """The embedder failed or returned something unusable."""

    code = "embedder"
    exit_code = 5


class LanguageModelError(MemantoError):
    """A language model failed or returned something unusable."""

    code = "language_model"
    exit_code = 5


class SerializationError(MemantoError):
    """Stored or imported data cannot be decoded."""

    code = "serialization"
    exit_code = 5
