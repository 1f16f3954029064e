"""Read what can be read of a damaged shard: the program that `memanto.engine.salvage` starts.

It works on a copy, in a process of its own: damaged files can end the engine with a signal, and opening them
changes them. One line of JSON on standard output per point that is whole, or per id of one that is not.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import qdrant_edge as qe

from memanto.engine.edge_convert import translated
from memanto.engine.edge_inspect import read_each
from memanto.engine.port import Point
from memanto.engine.relay_codec import codec
from memanto.errors import MemantoError

_WITHOUT: Final[Sequence[Sequence[str]]] = ((), ("wal",), ("edge_config.json",), ("wal", "edge_config.json"))
"""What to leave away, in turn, until the shard loads: the engine makes a new log, and knows its settings again
from the segments."""


def main(folder: str) -> None:
    """Print every point of the shard in `folder`, a copy."""
    os.umask(0o077)
    for names in _WITHOUT:
        _remove(Path(folder), names)
        try:
            with translated(folder):
                shard = qe.EdgeShard.load(folder)
        except MemantoError as error:
            sys.stderr.write(f"{error.message}\n")
            continue
        for line in _lines(shard):
            sys.stdout.write(f"{json.dumps(line)}\n")
        sys.stdout.flush()
        os._exit(0)  # closing would write to the copy, and may fail
    sys.exit(1)


def _lines(shard: Any) -> Iterator[dict[str, Any]]:
    encode = codec(Point).encode
    for key, _, found in read_each(shard):
        yield {"point": encode(found)} if isinstance(found, Point) else {"unreadable": key.hex}


def _remove(folder: Path, names: Sequence[str]) -> None:
    for name in names:
        if (folder / name).is_dir():
            shutil.rmtree(folder / name)
        else:
            (folder / name).unlink(missing_ok=True)


if __name__ == "__main__":
    main(sys.argv[1])
