"""A program that the tests of the embedded engine run in processes of its own.

python _edge_worker.py COMMAND ROOT [ARGUMENT...]
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from pathlib import Path
from uuid import UUID, uuid5

from memanto.engine import edge_commit, edge_shard, generations, layout
from memanto.engine.edge import EdgeEngine
from memanto.engine.port import Change, Point
from memanto.errors import MemantoError
from memanto.filters import Where

AGENT = "shared"
SECRET = "the passphrase is xyzzy-plugh"
_ROOT = UUID(int=7)


def point_id(writer: str, number: int) -> UUID:
    return uuid5(_ROOT, f"{writer}/{number}")


def new(writer: str, number: int, content: str = "x") -> Change:
    return Change(Point(point_id(writer, number), {"kind": "version", "content": content, "n": number}))


def write(root: Path, writer: str, count: str) -> None:
    """Commit one point after the other; each acknowledged number is a line on standard output."""
    engine = EdgeEngine(root)
    engine.open()
    for number in range(int(count)):
        assert engine.commit(AGENT, [new(writer, number)])[0] is not None
        print(number, flush=True)
    engine.close()


def hold(root: Path) -> None:
    """Hold the namespace until killed."""
    engine = EdgeEngine(root)
    engine.open()
    with engine.hold(AGENT):
        engine.count(AGENT, Where())
        print("held", flush=True)
        signal.pause()


def fork(root: Path) -> None:
    """Fork with the store open and another thread writing; both go on, and both see what both wrote."""
    warnings.simplefilter("ignore")  # newer interpreters warn of forks beside threads, which is the point here
    engine = EdgeEngine(root)
    engine.open()
    stop = threading.Event()
    written = 0

    def keep_writing() -> None:
        nonlocal written
        while not stop.is_set():
            engine.commit(AGENT, [new("thread", written)])
            written += 1

    engine.commit(AGENT, [new("before", 0)])
    thread = threading.Thread(target=keep_writing)
    thread.start()
    child = os.fork()
    if child == 0:
        assert engine.get(AGENT, [point_id("before", 0)])
        for number in range(5):
            engine.commit(AGENT, [new("child", number)])
        engine.close()
        sys.exit(0)  # runs finalisers and exit handlers, unlike most forked children
    for number in range(5):
        engine.commit(AGENT, [new("parent", number)])
    _, status = os.waitpid(child, 0)
    stop.set()
    thread.join()
    expected = [point_id(who, n) for who in ("child", "parent") for n in range(5)]
    expected += [point_id("thread", n) for n in range(written)]
    assert status == 0, status
    assert len(engine.get(AGENT, expected)) == len(expected)
    engine.close()
    print("both went on")


def fork_while_holding(root: Path) -> None:
    """Leave a `hold` in the child first: it must not let go of what the parent holds."""
    warnings.simplefilter("ignore")
    engine = EdgeEngine(root, lock_timeout=0.2)
    engine.open()
    with engine.hold(AGENT):
        engine.count(AGENT, Where())
        child = os.fork()
    if child:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print("left")
    EdgeEngine(root).count(AGENT, Where())


def crash_in_erase(root: Path, step: str) -> None:
    """Erase point 0 of writer `a` and die at the given step."""

    def die(*_: object, **__: object) -> None:
        os._exit(9)

    targets = {
        "create": (edge_shard.Shard, "create"),
        "copy": (generations, "_copy"),
        "insert": (edge_commit, "commit"),
        "close": (generations, "finish_next"),
        "sync": (generations, "sync_tree"),
        "switch": (layout.Place, "switch"),
        "remove": (layout.Place, "remove_leftovers"),
    }
    engine = EdgeEngine(root)
    engine.open()
    engine.count(AGENT, Where())
    owner, name = targets[step]
    setattr(owner, name, die)
    engine.erase(AGENT, [point_id("a", 0)], [new("tombstone", 0)])


if __name__ == "__main__":
    commands = {
        "write": write,
        "hold": hold,
        "fork": fork,
        "fork-while-holding": fork_while_holding,
        "crash-in-erase": crash_in_erase,
    }
    try:
        commands[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
    except MemantoError as error:
        sys.exit(f"{error.code}: {error}")
