"""Optimise one closed shard: the program that `memanto.engine.generations.optimize_in_child` starts."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys

import qdrant_edge as qe

_PR_SET_PDEATHSIG = 1


def main(folder: str) -> None:
    """Optimise the shard in `folder` and print whether that changed anything, as JSON."""
    os.umask(0o077)
    if sys.platform == "linux":
        # Without its parent, which holds the lease, this process must not keep the shard open.
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    shard = qe.EdgeShard.load(folder)
    try:
        changed = shard.optimize()
        shard.flush()
    finally:
        shard.close()
    sys.stdout.write(json.dumps({"changed": bool(changed)}))


if __name__ == "__main__":
    main(sys.argv[1])
