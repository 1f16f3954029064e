"""Keeping threads short while they are written."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from datetime import timedelta
from typing import Final

from memanto.checkpoints import CheckpointLog
from memanto.errors import InvalidInputError, MemantoError

_logger: Final = logging.getLogger(__name__)

_SLACK: Final = 8
"""Checkpoints of a thread between two prunings, at least; not every step should pay for one."""


class Retention:
    """Prunes a thread once in a while; see `CheckpointLog.prune` for what stays.

    Args:
        log: Where the threads are.
        keep_last: Checkpoints of each namespace that stay; a quarter more may be there, and eight.
        max_age: Age from which a checkpoint goes, the latest of each namespace apart.

    Raises:
        InvalidInputError: A limit is out of its range.
    """

    def __init__(self, log: CheckpointLog, keep_last: int | None, max_age: timedelta | None) -> None:
        if keep_last is not None and (isinstance(keep_last, bool) or not isinstance(keep_last, int) or keep_last < 1):
            raise InvalidInputError(f"keep_last is {keep_last!r}", hint="give a whole number from 1 on")
        if max_age is not None and max_age <= timedelta():
            raise InvalidInputError(f"max_age is {max_age!r}", hint="give a span of time above zero")
        self._log = log
        self._keep_last = keep_last
        self._max_age = max_age
        self._every = max(_SLACK, (keep_last or 0) // 4)
        self._stored: Counter[str] = Counter()
        self._lock = threading.Lock()

    def stored(self, thread: str) -> None:
        """Note that a checkpoint was stored, and prune its thread when enough of them were."""
        if self._keep_last is None and self._max_age is None:
            return
        with self._lock:
            self._stored[thread] += 1
            if self._stored[thread] < self._every:
                return
            del self._stored[thread]
        before = None if self._max_age is None else self._log.clock() - self._max_age
        try:
            self._log.prune([thread], keep_last=self._keep_last, before=before)
        except MemantoError as error:  # the checkpoint is stored; what is too old goes another time
            _logger.warning("thread %r could not be pruned: %s", thread, error)
