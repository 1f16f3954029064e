"""A small disk of a test's own: mounted where only the test's processes see it, and gone when they end.

An ext4 file system on a loop device, mounted in the mount namespace of one process, so that nothing on the machine
changes and nothing is left over. What the image file holds at a moment is what has reached the device by then, so a
copy of it is what a power cut would leave: dirty pages of the page cache are not in it. (A device may also lose what
it said it wrote until it is told to flush; that is the device's business, and not simulated.)
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WORKER = Path(__file__).with_name("_disk_worker.py")


class Disk:
    """A file system in the file `image`."""

    def __init__(self, image: Path) -> None:
        self.image = image

    @classmethod
    def make(cls, image: Path, megabytes: int = 600) -> Disk:
        with image.open("wb") as file:
            file.truncate(megabytes << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", str(image)], check=True, capture_output=True)
        return cls(image)

    def cut(self, copy: Path) -> Disk:
        """Return the disk as a power cut at this moment would leave it."""
        subprocess.run(["cp", "--sparse=always", str(self.image), str(copy)], check=True)
        return Disk(copy)

    def command(self, mount_point: Path, *arguments: object) -> list[str]:
        """Return a command that runs the worker with the disk mounted."""
        mount_point.mkdir(exist_ok=True)
        # A long commit interval: what reaches the disk is what was flushed, and what the worker picks at random.
        script = f'mount -o loop,commit=300 "{self.image}" "{mount_point}" && exec "$@"'
        worker = [sys.executable, str(WORKER), *map(str, arguments)]
        return ["unshare", "--mount", "sh", "-c", script, "sh", *worker]


@functools.cache
def why_no_disk() -> str:
    """Return why no `Disk` can be made here, or `""`."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "only root on Linux can mount a disk image"
    missing = [name for name in ("unshare", "mkfs.ext4", "losetup") if shutil.which(name) is None]
    if missing:
        return f"{missing[0]} is not installed"
    found = subprocess.run(["unshare", "--mount", "losetup", "-f"], capture_output=True, text=True, check=False)
    return "" if found.returncode == 0 else f"there is no loop device: {found.stderr.strip()}"


on_a_disk = pytest.mark.skipif(bool(why_no_disk()), reason=why_no_disk() or "none")
