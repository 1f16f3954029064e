"""What the fuzzing shares: a target, the registry of targets, and the ways a parser may refuse.

A target is one parser of outside text with what must hold of it whatever it is given. It takes one text; bytes
that are no UTF-8 become lone surrogates (`surrogateescape`), as they do in arguments of the command line, and a
target that wants bytes turns them back.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memanto import MemantoError
from memanto.errors import LONGEST_MESSAGE

CPU_SECONDS: Final = 20
"""Processor time after which a parser counts as hanging; what is linear takes a hundredth of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One parser and its properties.

    Attributes:
        name: For `--only`.
        check: Raises when a property is broken: an error that is none of ours, or an assertion.
        seeds: Texts that the parser takes, or nearly.
        words: What its language is made of.
        lead: What a hostile text must begin with to get past the first look.
        longest: Characters of the hostile texts; less where one call costs more than its length.
    """

    name: str
    check: Callable[[str], None]
    seeds: tuple[str, ...]
    words: tuple[str, ...] = ()
    lead: str = ""
    longest: int = 100_000


TARGETS: Final[dict[str, Target]] = {}


def target(
    name: str, *, seeds: Sequence[str], words: Sequence[str] = (), lead: str = "", longest: int = 100_000
) -> Callable[[Callable[[str], None]], Callable[[str], None]]:
    """Register a function as a target."""

    def register(check: Callable[[str], None]) -> Callable[[str], None]:
        TARGETS[name] = Target(
            name=name, check=check, seeds=tuple(seeds), words=tuple(words), lead=lead, longest=longest
        )
        return check

    return register


def to_text(data: bytes) -> str:
    """Return bytes as a text that `to_bytes` turns back."""
    return data.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """Return a text as bytes; the inverse of `to_text`."""
    return text.encode("utf-8", "surrogatepass") if _has_high(text) else text.encode("utf-8", "surrogateescape")


def _has_high(text: str) -> bool:
    """Whether the text holds a lone surrogate that `to_text` never makes."""
    return any("\ud800" <= c <= "\udfff" and not "\udc80" <= c <= "\udcff" for c in text)


@contextmanager
def refusing() -> Iterator[None]:
    """Let the block end in an error of ours that has a code, a next step, and a message that can be shown."""
    try:
        yield
    except MemantoError as error:
        assert error.code != MemantoError.code, error
        assert error.hint, f"no next step: {error.message}"
        assert len(error.message) <= LONGEST_MESSAGE, f"{len(error.message)} characters: {error.message[:300]}"
        assert len(error.hint) <= LONGEST_MESSAGE, f"{len(error.hint)} characters: {error.hint[:300]}"
        str(error).encode("utf-8")


def refused(action: Callable[[], object]) -> bool:
    """Do something that may be refused, and return whether it was."""
    done = False
    with refusing():
        action()
        done = True
    return not done


@contextmanager
def within_cpu(seconds: float = CPU_SECONDS) -> Iterator[None]:
    """Fail when the block takes this much processor time, so that a test of hostile text cannot hang.

    Processor time, not the clock: what else the machine does has no part in it.
    """
    if not hasattr(signal, "setitimer"):  # Windows: such a test would hang instead
        yield
        return

    def stop(*_: object) -> None:
        raise AssertionError(f"more than {seconds} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@functools.cache
def scratch() -> Path:
    """Return a folder of this process for parsers that read files, in memory where that is possible."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="memanto-fuzz-", dir=memory if memory.is_dir() else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
