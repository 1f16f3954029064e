"""What `status`, `doctor` and `agent delete` say of checkpoints, which lie beside an agent's memories."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from memanto.cli.text import byte_size
from memanto.counted import counted
from memanto.errors import MemantoError

if TYPE_CHECKING:
    from memanto.checkpoints import LogSize
    from memanto.maintenance import Checkup


def checkpoint_size(agent: str) -> LogSize | None:
    """Return what an agent's checkpoints take, or `None` when it has none.

    Raises:
        StoreDamagedError: Its files cannot be read any more.
    """
    from memanto.checkpoints import CheckpointLog

    with CheckpointLog(agent) as log:
        return log.size() if agent in log.agents() else None


def has_checkpoints(agent: str) -> bool:
    """Return whether an agent has checkpoints, sound or not."""
    from memanto.checkpoints import CheckpointLog

    with CheckpointLog(agent) as log:
        return agent in log.agents()


def told(size: LogSize) -> str:
    """Return what checkpoints take, in words."""
    taken = size.bytes if size.disk_bytes is None else size.disk_bytes
    return f"{size.checkpoints:,} in {counted(size.threads, 'thread')}, {byte_size(taken)}"


def checkpoint_checks(agent: str) -> Iterator[Checkup]:
    """Read every checkpoint of the store of `agent`, all agents', and say what is wrong with them.

    Nothing is said of a store without checkpoints, or of one that cannot be reached, which other checks report.
    """
    from memanto.checkpoints import CheckpointLog

    agents: list[str] = []
    with contextlib.suppress(MemantoError), CheckpointLog(agent) as log:
        agents = log.agents()
    for name in agents:
        yield from _checks_of(name)


def _checks_of(agent: str) -> Iterator[Checkup]:
    from memanto.checkpoints import CheckpointLog
    from memanto.maintenance import Checkup

    try:
        with CheckpointLog(agent) as log:
            problems = log.problems()
            detail = "" if problems else f"{agent}: {told(log.size())}; every value is what was stored"
    except MemantoError as error:
        yield Checkup(name="checkpoints", ok=False, detail=f"{agent}: {error.message}", fix=error.hint)
        return
    fix = f"`memanto threads delete THREAD... --agent {agent}` removes those named here, all at once; the others go on"
    for problem in problems:
        yield Checkup(name="checkpoints", ok=False, detail=f"{agent}: {problem}", fix=fix)
    if not problems:
        yield Checkup(name="checkpoints", ok=True, detail=detail)
