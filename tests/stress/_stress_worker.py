"""A program that the stress tests run in processes of its own, and kill.

python _stress_worker.py COMMAND STORE [ARGUMENT...]

Each thing it acknowledges is one line of JSON on standard output, written after the call returned.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

from memanto import Draft, Embedded, Memanto
from memanto.testing import HashEmbedder

AGENT = "shared"


def say(**fields: object) -> None:
    """Print one line of JSON in one write, which a pipe keeps whole also where forked processes share it."""
    os.write(sys.stdout.fileno(), f"{json.dumps(fields)}\n".encode())


def opened(store: str, dimension: int = 64, lock_timeout: float = 60.0) -> Memanto:
    return Memanto(AGENT, store=Embedded(store, lock_timeout=lock_timeout), embedder=HashEmbedder(dimension)).open()


def write(store: str, writer: str, count: str) -> None:
    """Remember `count` texts, one after the other."""
    memory = opened(store)
    for number in range(int(count)):
        receipt = memory.remember(f"{writer} noted item {number}", type="fact")
        say(id=receipt.id, content=f"{writer} noted item {number}")
    memory.close()


def write_in_turns(store: str, writer: str, count: str) -> None:
    """Write where sockets are forbidden: nobody can be served, so processes hand the store over."""

    def forbidden(*_: object, **__: object) -> None:
        raise OSError("sockets are forbidden here")

    socket.socket = forbidden  # type: ignore[assignment, misc]
    write(store, writer, count)


def churn(store: str, seed: str) -> None:
    """Remember, edit, expire, restore and change slots until killed."""
    rng = random.Random(seed)
    memory = opened(store)
    ids: list[str] = []
    number = 0
    while True:
        number += 1
        match rng.choice(["new", "new", "slot", "edit", "edit", "expire", "batch"]) if ids else "new":
            case "new":
                receipt = memory.remember(f"churn {seed} new {number}", type="fact")
                ids.append(receipt.id)
            case "slot":
                receipt = memory.remember(f"churn {seed} value {number}", type="fact", key=f"slot-{number % 3}")
            case "edit":
                receipt = memory.edit(rng.choice(ids), content=f"churn {seed} edited {number}")
            case "expire":
                chosen = rng.choice(ids)
                memory.expire(chosen)
                receipt = memory.restore(chosen)
            case _:
                texts = [f"churn {seed} batch {number} {n}" for n in range(5)]
                for one, text in zip(memory.remember_many([Draft(content=text) for text in texts]), texts, strict=True):
                    say(id=one.id, version=one.version, content=text)
                continue
        say(id=receipt.id, version=receipt.version, content=memory.show(receipt.id).content)


def mix(store: str, theme: str, seed: str, dimension: str) -> None:
    """Do one thing after the other, most often the one of the theme, until killed.

    A line is written after each; one that stands for versions names their texts, as they were stored.
    """
    rng = random.Random(f"{theme} {seed}")
    size = int(dimension)
    memory = opened(store, size)
    lines = [line for line in map(json.loads, memory.export()) if "upkeep" not in line.get("tags", ())][1:]
    ids = [line["id"] for line in lines if "retired_at" not in line and line.get("status") != "forgotten"]
    say(opened=True)
    number = 0
    while True:
        number += 1
        text = f"{theme} {seed} text {number}."  # with an end, so that no text begins another
        verb = rng.choice(["write", "batch", "edit", "forget", *[theme] * 4]) if len(ids) > 3 else "write"
        match verb:
            case "write":
                receipt = memory.remember(text, type="fact", key=f"slot {number % 5}" if rng.random() < 0.3 else None)
                ids = list(dict.fromkeys([*ids, receipt.id]))
                say(id=receipt.id, version=receipt.version, content=text)
            case "batch":
                drafts = [Draft(content=f"{text} Part {part}.") for part in range(5)]
                for receipt, draft in zip(memory.remember_many(drafts), drafts, strict=True):
                    ids.append(receipt.id)
                    say(id=receipt.id, version=receipt.version, content=draft.content)
            case "edit":
                receipt = memory.edit(rng.choice(ids), content=text)
                say(id=receipt.id, version=receipt.version, content=text)
            case "forget":
                doomed = ids.pop(rng.randrange(len(ids)))
                say(forgetting=doomed)
                memory.forget(doomed)
                say(forgotten=doomed)
            case "reindex":
                size = 96 - size
                memory.reindex(HashEmbedder(size))
                memory.close()
                memory = opened(store, size)
                say(dimension=size)
            case _:
                memory.optimize()
                say(optimised=True)


def forget(store: str, prefix: str) -> None:
    """Forget every memory whose text begins with `prefix`, one after the other."""
    memory = opened(store)
    found = sorted(
        (json.loads(line)["content"], json.loads(line)["id"])
        for line in memory.export()
        if json.loads(line).get("content", "").startswith(prefix)
    )
    for content, memory_id in found:
        memory.forget(memory_id)
        say(id=memory_id, content=content)
    memory.close()


def reindex(store: str, dimension: str) -> None:
    """Change to vectors of another length; each step of the way is a line."""
    memory = opened(store)
    say(begun=True)
    memory.reindex(HashEmbedder(int(dimension)), progress=lambda done, total: say(done=done, total=total))
    say(finished=True)
    memory.close()


def bring(store: str, file: str) -> None:
    """Import a file; each step of the way is a line."""
    memory = opened(store)
    say(begun=True)
    lines = Path(file).read_text("utf-8").split("\n")
    memory.import_(lines, progress=lambda done, total: say(done=done, total=total))
    say(finished=True)
    memory.close()


def optimize(store: str) -> None:
    memory = opened(store)
    say(begun=True)
    while True:
        memory.optimize()
        say(optimised=True)


def keep(store: str) -> None:
    """Have the store open, used, until a line comes on standard input; then use it again."""
    memory = opened(store)
    memory.recall("anything")
    say(opened=True)
    for line in sys.stdin:
        say(found=[hit.memory.content for hit in memory.recall(line.strip())])
    memory.close()


def hold(store: str) -> None:
    """Hold the namespace until killed."""
    memory = opened(store)
    with memory._opened().hold(AGENT):
        memory.recall("anything")
        say(held=True)
        signal.pause()


def leave(store: str) -> None:
    """Write and let the interpreter end without closing anything."""
    memory = opened(store)
    say(id=memory.remember("written before an exit without close", type="fact").id)


def fork(store: str, children: str) -> None:
    """Fork with the store open and used; parent and children write on, and all of them read everything."""
    warnings.simplefilter("ignore")  # newer interpreters warn of forks beside threads, which is the point here
    memory = opened(store)
    memory.remember("before the fork", type="fact")
    pids = []
    for child in range(int(children)):
        pid = os.fork()
        if pid == 0:
            assert memory.recall("before the fork")
            for number in range(5):
                say(id=memory.remember(f"child {child} wrote {number}", type="fact").id)
            memory.close()
            sys.exit(0)
        pids.append(pid)
    for number in range(5):
        say(id=memory.remember(f"parent wrote {number}", type="fact").id)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * len(pids)
    assert len(memory.recall("wrote", limit=100)) >= 5 * (len(pids) + 1)
    memory.close()


_POOLED: Memanto | None = None


def _pooled(number: int) -> str:
    assert _POOLED is not None
    return _POOLED.remember(f"pool wrote {number}", type="fact").id


def pool(store: str) -> None:
    """A pool of forked workers that inherit one handle."""
    import multiprocessing

    global _POOLED
    warnings.simplefilter("ignore")
    _POOLED = opened(store)
    _POOLED.remember("before the pool", type="fact")
    with multiprocessing.get_context("fork").Pool(3) as workers:
        for memory_id in workers.map(_pooled, range(24), chunksize=1):
            say(id=memory_id)
    _POOLED.remember("after the pool", type="fact")
    _POOLED.close()


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    commands: dict[str, Callable[..., None]] = {
        "write": write,
        "write-in-turns": write_in_turns,
        "churn": churn,
        "mix": mix,
        "forget": forget,
        "reindex": reindex,
        "import": bring,
        "optimize": optimize,
        "keep": keep,
        "hold": hold,
        "leave": leave,
        "fork": fork,
        "pool": pool,
    }
    commands[command](*arguments)
