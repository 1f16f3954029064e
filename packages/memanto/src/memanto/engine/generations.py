"""Building the next generation of a namespace: without some points, or optimised.

Deleting a point leaves its bytes in the engine's log and payload file. So erasing copies what is kept to a
new shard beside the old one, and switches when the copy is complete and on the disk. A crash before the
switch leaves the old generation, a crash after it the new one; whatever is left over is removed when the
namespace is opened next.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import qdrant_edge as qe

from memanto.engine.edge_convert import translated
from memanto.engine.edge_shard import Shard
from memanto.engine.layout import allocated_bytes, check_free_space, remove, sync_tree
from memanto.errors import BackendError

_PAGE: Final = 500
_REPORT: Final = 5.0
"""Seconds between two reports of a long optimisation."""


def begin_next(shard: Shard, leave_out: Collection[UUID]) -> Shard:
    """Return the next generation, filled with the points of `shard` except some; bit for bit the same.

    It is not in use before `finish_next`.
    """
    place, generation = shard.place, shard.generation + 1
    remove(place.shard(generation))  # an attempt of this process that failed
    check_free_space(place.folder, allocated_bytes(shard.folder))
    target = type(shard).create(place, generation, shard.dimensions)
    try:
        target.last_recorded_at = shard.last_recorded_at
        _copy(shard.raw, target, frozenset(leave_out))
    except BaseException:
        target.close()
        raise
    return target


def finish_next(target: Shard) -> None:
    """Close the next generation, force it to the disk, and make it the one in use."""
    target.close()
    sync_tree(target.folder)
    target.place.switch(target.generation)


def _copy(source: Any, target: Shard, leave_out: frozenset[UUID]) -> None:
    # What is left out may be damaged, so nobody reads it.
    wanted = qe.Filter(must_not=[qe.HasIdCondition(set(leave_out))]) if leave_out else None
    offset = None
    while True:
        request = qe.ScrollRequest(limit=_PAGE, offset=offset, filter=wanted, with_payload=True, with_vector=True)
        with translated(target.place.namespace):
            records, offset = source.scroll(request)
            kept = [qe.Point(record.id, record.vector or {}, record.payload) for record in records]
        if kept:
            target.update(qe.UpdateOperation.upsert_points(kept))
        if offset is None:
            return


def optimize_in_child(folder: Path, progress: Callable[[str], None] | None) -> bool:
    """Optimise a closed shard in a child process; returns whether anything changed.

    The engine keeps the interpreter to itself while it works, seconds to minutes; in this process it would
    freeze every thread. A child that dies leaves the shard as usable as before.

    Raises:
        BackendError: The child failed.
    """
    import subprocess

    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "memanto.engine.optimize_child", str(folder)]
    begun = time.monotonic()
    with subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    ) as child:
        try:
            while True:
                try:
                    output, errors = child.communicate(timeout=_REPORT)
                    break
                except subprocess.TimeoutExpired:
                    if progress is not None:
                        progress(f"optimising for {time.monotonic() - begun:.0f} s")
        except BaseException:
            child.kill()
            raise
    if child.returncode != 0:
        lines = errors.strip().splitlines()
        raise BackendError(
            f"optimising {str(folder)!r} failed (exit status {child.returncode}): {lines[-1] if lines else ''}",
            hint="the store is unchanged and usable; try again, or run `memanto doctor`",
        )
    return bool(json.loads(output)["changed"])
