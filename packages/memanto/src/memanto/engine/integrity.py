"""Noticing bytes that changed by themselves: sums of what points hold, and a seal on the files between uses.

The engine checks its log and no other file: a flipped bit in a payload comes back as another text, and a cut
file of ids as a store with fewer points. So each point carries a sum of its payload and one of its words, which
every read of a whole payload compares; and when a shard is closed, its files are sealed: their sizes, and for
all but the large ones (payloads and vectors) a CRC-32. The seal is broken before the first write, and compared
before the engine sees the files.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from memanto.engine.port import SparseVector
from memanto.errors import StoreDamagedError

Seal = Mapping[str, tuple[int, int | None]]
"""Size in bytes and CRC-32 by path below the shard's folder; `None` for a large file."""

PAYLOAD_SUM: Final = "sum"
WORDS_SUM: Final = "sum_words"
LOG_MARK: Final = "log_mark"
"""Written to one point to see that the engine carries out what its log numbers; see `Shard.touch`."""
MEND_HINT: Final = "`memanto doctor --repair` mends what the store's log still holds; `memanto export` saves the rest"

_AS_THEY_ARE: Final = frozenset({str, int, bool, type(None)})
_encoded: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_LARGE: Final = 16 << 20
"""Bytes (apparent) from which a file is sealed by its size alone: pages of payloads, which carry sums, and of
vectors. Summing them would cost each opening of 100,000 memories a third of a second."""
_BLOCK: Final = 1 << 16
_ZEROS: Final = bytes(_BLOCK)
_REWRITTEN: Final = frozenset({"segment.json"})
"""Sealed by its size alone: the engine writes it anew also when nothing but its count of operations changed, as when
a process was killed between opening and its first write."""
_UNSEALED: Final = frozenset({"tracker_journal.dat"})  # folded into its tracker by the next load, and removed


# -- points ---------------------------------------------------------------------------------------------
def with_sums(payload: Mapping[str, Any], words: SparseVector | None) -> dict[str, Any]:
    """Return the payload with its sums, as it is stored."""
    summed = {**payload, PAYLOAD_SUM: payload_sum(payload)}
    return summed if words is None else {**summed, WORDS_SUM: words_sum(words)}


def without_sums(payload: dict[str, Any], point: object) -> dict[str, Any]:
    """Take off a stored payload what this layer added, whole or in part, and compare the one of a whole payload.

    Raises:
        StoreDamagedError: It is not what was stored.
    """
    given = payload.pop(PAYLOAD_SUM, None)
    payload.pop(WORDS_SUM, None)
    payload.pop(LOG_MARK, None)
    if given is not None and given != payload_sum(payload):
        raise StoreDamagedError(f"point {point} is not what was stored: its sum differs", hint=MEND_HINT)
    return payload


def payload_sum(payload: Mapping[str, Any]) -> str:
    """Return the CRC-32 of a payload, in hexadecimal."""
    return f"{crc32(_encoded(_steady(payload)).encode()):08x}"


def words_sum(words: SparseVector) -> str:
    """Return the CRC-32 of a lexical vector in the float32 that the engine keeps, whatever the order of its terms."""
    pairs = sorted(zip(words.indices, array("f", words.values), strict=True))
    return f"{crc32(repr(pairs).encode()):08x}"


def _steady(value: Any) -> Any:
    """Return a JSON value with floats shortened: some come back from the engine a rounding apart."""
    if isinstance(value, dict):  # every read of a memory comes by here
        return {name: item if type(item) in _AS_THEY_ARE else _steady(item) for name, item in value.items()}
    if isinstance(value, float):
        return f"{value:.6g}"
    return [_steady(item) for item in value] if isinstance(value, list | tuple) else value


# -- files ----------------------------------------------------------------------------------------------
def seal(folder: Path) -> Seal:
    """Return the seal of a closed shard."""
    return {
        name: (size, None if size >= _LARGE or Path(name).name in _REWRITTEN else _file_sum(folder / name))
        for name, size in _sizes(folder)
        if Path(name).name not in _UNSEALED
    }


def differences(folder: Path, sealed: Seal) -> list[str]:
    """Return what changed since the shard was sealed, in words; reads, and changes nothing."""
    sizes = dict(_sizes(folder))
    found = []
    for name, (size, total) in sealed.items():
        if name not in sizes:
            found.append(f"{name} is missing")
        elif sizes[name] != size:
            found.append(f"{name} has {sizes[name]:,} bytes instead of {size:,}")
        elif total is not None and _file_sum(folder / name) != total:
            found.append(f"{name} has other contents")
    return found


def lead_of_the_log(folder: Path) -> int:
    """Return how many operations the log says are in the segments that no segment has; 0 where all is well.

    The log of a folder that was copied, or whose files were put back, at different moments begins after what the
    segments hold, and the engine does not notice. A few operations change nothing, so that no segment counts them.
    """
    try:
        applied = int(json.loads((folder / "wal" / "first-index").read_text("utf-8"))["ack_index"])
        found = [json.loads(path.read_text("utf-8"))["version"] for path in folder.glob("segments/*/segment.json")]
    except (OSError, ValueError, KeyError, TypeError):
        return 0  # missing or unreadable files are for the engine to refuse
    return max(0, applied - max((int(version or 0) for version in found), default=0))


def _sizes(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the files that the seal covers: the segments.

    Not the log, whose entries are checked one by one, nor the settings, which each opening writes anew.
    """
    for path, _, files in os.walk(folder / "segments"):
        for name in files:
            whole = Path(path, name)
            yield str(whole.relative_to(folder)), whole.stat().st_size


def _file_sum(path: Path) -> int:
    """Return the CRC-32 of the blocks that hold anything, so that holes and zeros are the same."""
    total = 0
    with path.open("rb", buffering=0) as file:
        for start in data_blocks(file.fileno(), _BLOCK):
            file.seek(start)
            block = file.read(_BLOCK)
            if block != _ZEROS[: len(block)]:
                total = crc32(block, crc32(start.to_bytes(8, "big"), total))
    return total


def data_blocks(descriptor: int, size: int) -> Iterator[int]:
    """Yield the offsets of blocks of a file that hold data, ascending; where holes are unknown, all of them."""
    end = os.fstat(descriptor).st_size
    if not hasattr(os, "SEEK_DATA"):
        yield from range(0, end, size)
        return
    at = 0
    while at < end:
        try:
            at = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError:  # nothing but a hole is left
            return
        hole = os.lseek(descriptor, at, os.SEEK_HOLE)
        at -= at % size
        while at < hole:
            yield at
            at += size
