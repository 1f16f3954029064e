"""A program that the relay's tests run in processes of its own.

python _relay_worker.py COMMAND ROOT [ARGUMENT...]
"""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from pathlib import Path

from _edge_worker import AGENT, new, point_id

from memanto.engine import relay_server
from memanto.engine.edge import EdgeEngine
from memanto.engine.edge_calls import Call, Commit
from memanto.engine.relay_protocol import Answer
from memanto.errors import MemantoError
from memanto.filters import Where


def opened(root: Path, *, relay: bool = True) -> EdgeEngine:
    engine = EdgeEngine(root, lock_timeout=60, relay=relay)
    engine.open()
    return engine


def hold(root: Path, relay: str = "relay") -> None:
    """Hold the namespace, and serve it, until a line or an end comes on standard input."""
    engine = opened(root, relay=relay == "relay")
    with engine.hold(AGENT):
        engine.count(AGENT, Where())
        print("held", flush=True)
        sys.stdin.readline()
    engine.close()


def have(root: Path) -> None:
    """Have the namespace open, without holding it, until standard input ends."""
    engine = opened(root)
    engine.count(AGENT, Where())
    print("held", flush=True)
    sys.stdin.readline()
    engine.close()


def lose_answers(root: Path, times: str) -> None:
    """Hold the namespace and carry out commits, but break the connection instead of answering the first ones."""
    left = int(times)
    encode = relay_server.encode_answer

    def forgetful(call: Call[object], answer: Answer) -> bytes:
        nonlocal left
        if isinstance(call, Commit) and left:
            left -= 1
            raise EOFError
        return encode(call, answer)

    relay_server.encode_answer = forgetful
    hold(root)


def fork_as_client(root: Path) -> None:
    """Fork while another process answers; parent and child go on, each over a connection of its own."""
    warnings.simplefilter("ignore")
    engine = opened(root)
    assert engine.commit(AGENT, [new("before", 0)])[0]
    assert not engine._lease(AGENT).is_mine
    child = os.fork()
    who = "parent" if child else "child"
    for number in range(20):
        assert engine.commit(AGENT, [new(who, number)])[0]
        assert len(engine.get(AGENT, [point_id(who, n) for n in range(20)])) == number + 1
    assert not engine._lease(AGENT).is_mine
    if not child:
        engine.close()
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert engine.count(AGENT, Where()) == 42
    engine.close()
    print("both went on")


def fork_as_holder(root: Path) -> None:
    """Hold the namespace with a forked child that lives on; prints the child's pid, and goes on until killed."""
    warnings.simplefilter("ignore")
    engine = opened(root)
    with engine.hold(AGENT):
        engine.count(AGENT, Where())
        child = os.fork()
        if not child:
            for descriptor in (0, 1, 2):
                os.close(descriptor)
            time.sleep(600)
        print("held", flush=True)
        print(child, flush=True)
        signal.pause()


if __name__ == "__main__":
    commands = {
        "hold": hold,
        "have": have,
        "lose-answers": lose_answers,
        "fork-as-client": fork_as_client,
        "fork-as-holder": fork_as_holder,
    }
    try:
        commands[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
    except MemantoError as error:
        sys.exit(f"{error.code}: {error}")
