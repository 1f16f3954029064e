"""Recognise network file systems, on which file locks and memory maps cannot be trusted."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from memanto.errors import ConfigurationError

_NETWORK: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ncpfs", "9p"}
    | {"davfs", "fuse.davfs2", "fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse"}
)


def refuse_network_file_system(folder: Path, mounts: Path = Path("/proc/self/mounts")) -> None:
    """Raise when `folder` lies on a network file system; does nothing where that cannot be told.

    A `9p` root is a sandbox's own disk and is let pass; `9p` elsewhere is a folder of another machine.

    Raises:
        ConfigurationError: The embedded engine cannot keep its promises there.
    """
    try:
        table = mounts.read_text("utf-8", errors="surrogateescape")
    except OSError:
        return
    mount, kind = file_system_of(os.path.realpath(folder), table)
    if kind in _NETWORK and not (kind == "9p" and mount == "/"):
        raise ConfigurationError(
            f"{str(folder)!r} lies on the network file system {mount!r} ({kind})",
            hint="set MEMANTO_HOME to a folder on a local disk, or use a Qdrant server for several machines",
        )


def file_system_of(path: str, table: str) -> tuple[str, str]:
    """Return mount point and type of the file system that holds the absolute `path`, by a mount table."""
    best, kind = "", ""
    for line in table.splitlines():
        parts = line.split(" ")
        if len(parts) < 3:
            continue
        mount = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), parts[1])  # a space is \040
        inside = mount in {"/", path} or path.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):  # of two mounts on one point the later one shows
            best, kind = mount, parts[2]
    return best, kind
