"""What a forked child does with open files and objects of its parent."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path


def close_descriptors_below(folders: Iterable[Path]) -> None:
    """Close this process's descriptors of files under `folders` (real paths), without unlocking them.

    An inherited descriptor shares its lock with the parent's: unlocking would free it for both, and keeping
    it open would hold it for as long as the child lives. Does nothing where descriptors cannot be listed.
    """
    prefixes = tuple(f"{folder}{os.sep}" for folder in folders)
    try:
        numbers = [int(path.name) for path in Path("/dev/fd").iterdir()]
    except OSError:
        return
    for number in numbers:
        with contextlib.suppress(OSError):  # the listing's own descriptor is closed by now
            if _path_of(number).startswith(prefixes):
                os.close(number)


def never_finalise(objects: Iterable[object]) -> None:
    """Keep objects alive until the process ends and beyond finalisation, so that no destructor runs.

    The destructor of an inherited shard would wait for threads that exist only in the parent.
    """
    import ctypes

    for item in objects:
        if item is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(item))


def _path_of(descriptor: int) -> str:
    if sys.platform == "darwin":
        import fcntl

        return fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0").decode("utf-8", "surrogateescape")
    return str(Path(f"/dev/fd/{descriptor}").readlink())
