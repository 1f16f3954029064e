"""How a rival is driven: requests and answers as JSON lines, with the clock inside the rival's own process.

A rival is a script that defines a `Store` and calls `serve(Store)`. It runs under the interpreter that has its
packages, so this module needs nothing but the standard library and numpy. What the vectors cost is spent before
the clock starts: they are random, unit length, and keyed by the text's hash, so that a query for a stored text has
that text as its nearest neighbour, whatever the store.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

DIMENSION = 384
TYPES = [
    "instruction",
    "fact",
    "decision",
    "goal",
    "commitment",
    "preference",
    "relationship",
    "context",
    "event",
    "learning",
    "observation",
    "artifact",
    "error",
]
_SUBJECTS = [
    "payments",
    "ledger",
    "orders",
    "auth",
    "search",
    "billing",
    "cache",
    "queue",
    "worker",
    "gateway",
    "schema",
    "deploy",
]
_VERBS = ["requires", "prefers", "uses", "rejects", "retries", "depends-on", "writes", "reads", "owns", "breaks"]
_OBJECTS = [
    "idempotency-keys",
    "postgres",
    "redis",
    "utf8",
    "feature-flags",
    "seeds",
    "migrations",
    "tls",
    "webhooks",
    "cron",
]

Item = tuple[int, str, str]
"""Number, text and type of a memory."""

_vectors: dict[str, np.ndarray] = {}


class Store:
    """What a rival offers. `folder` may hold what an earlier process stored; opening it is part of the clock."""

    keeps = True
    """Whether a new process finds what an earlier one stored."""

    def __init__(self, folder: str) -> None:
        raise NotImplementedError

    def add(self, items: list[Item]) -> None:
        """Store many at once, the way the rival does it best."""
        raise NotImplementedError

    def add_one(self, item: Item) -> None:
        """Store one."""
        self.add([item])

    def search(self, text: str, limit: int, kind: str | None) -> list[str]:
        """Return the texts nearest to this one, of one type only if `kind` is given."""
        raise NotImplementedError

    def settle(self) -> None:
        """Do what an owner does after a large import, before reading (build an index); nothing by default."""

    def close(self) -> None:
        """Let go of the folder."""


def item(number: int) -> Item:
    """Return the memory with this number: a short sentence, different for each number."""
    subject, verb = _SUBJECTS[number % 12], _VERBS[number // 12 % 10]
    text = (
        f"memory {number}: the {subject} service {verb} {_OBJECTS[number // 120 % 10]} in run {number * 7919 % 10007}"
    )
    return number, text, TYPES[number % 13]


def vector(text: str) -> np.ndarray:
    """Return the text's vector, float32 of unit length."""
    found = _vectors.get(text)
    if found is None:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
        drawn = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
        found = _vectors[text] = drawn / np.linalg.norm(drawn)
    return found


def serve(store: Any) -> None:
    """Answer requests on standard input until it ends; whatever the rival prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    session = _Session(store, sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(session, "do_" + request.pop("do"))(**request)
        except Exception as error:  # the process's edge: the one who asked gets to know
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


class _Session:
    def __init__(self, kind: Any, folder: str) -> None:
        self._kind = kind
        self._folder = folder
        self._store: Any = None

    def do_open(self, probe: int | None = None) -> dict[str, Any]:
        """Open the folder, and find one memory if a probe is named: a store that loads later has to by then."""
        text = None if probe is None else item(probe)[1]
        if text is not None:
            vector(text)
        begun = time.perf_counter()
        self._store = self._kind(self._folder)
        found = None if text is None else text in self._store.search(text, 10, None)
        return {"seconds": time.perf_counter() - begun, "found": found}

    def do_add(self, first: int, stop: int) -> dict[str, Any]:
        items = [item(number) for number in range(first, stop)]
        for _, text, _ in items:
            vector(text)
        busy, begun = time.process_time(), time.perf_counter()
        self._store.add(items)
        answer = {"seconds": time.perf_counter() - begun, "cpu": time.process_time() - busy}
        _vectors.clear()
        return answer

    def do_settle(self) -> dict[str, Any]:
        begun = time.perf_counter()
        self._store.settle()
        return {"seconds": time.perf_counter() - begun}

    def do_write(self, first: int, stop: int) -> dict[str, Any]:
        taken, cpu = [], []
        for number in range(first, stop):
            one = item(number)
            vector(one[1])
            busy, begun = time.process_time(), time.perf_counter()
            self._store.add_one(one)
            taken.append(time.perf_counter() - begun)
            cpu.append(time.process_time() - busy)
        return {"seconds": taken, "cpu": cpu}

    def do_search(self, numbers: list[int], typed: bool, limit: int = 10) -> dict[str, Any]:
        taken, cpu, first, found = [], [], 0, 0
        for number in (*numbers[-2:], *numbers[:1]):  # wakes what slept while others were asked
            self._store.search(item(number)[1], limit, None)
        for number in numbers:
            _, text, kind = item(number)
            vector(text)
            busy, begun = time.process_time(), time.perf_counter()
            texts = self._store.search(text, limit, kind if typed else None)
            taken.append(time.perf_counter() - begun)
            cpu.append(time.process_time() - busy)
            first += texts[:1] == [text]
            found += text in texts
        return {"seconds": taken, "cpu": cpu, "first": first, "found": found}

    def do_each(self, method: str, numbers: list[int], **arguments: Any) -> dict[str, Any]:
        """Call a method of the store that only one rival has, once per memory, and time it."""
        taken, cpu = [], []
        for number in numbers:
            one = item(number)
            vector(one[1])
            busy, begun = time.process_time(), time.perf_counter()
            getattr(self._store, method)(one, **arguments)
            taken.append(time.perf_counter() - begun)
            cpu.append(time.process_time() - busy)
        return {"seconds": taken, "cpu": cpu}

    def do_memory(self) -> dict[str, int]:
        return memory_now()

    def do_close(self) -> dict[str, Any]:
        begun = time.perf_counter()
        self._store.close()
        return {"seconds": time.perf_counter() - begun}


def memory_now() -> dict[str, int]:
    """Return this process's memory in bytes: resident, private (no other process shares it), anonymous (no file)."""
    try:
        with Path("/proc/self/smaps_rollup").open(encoding="ascii") as file:
            pairs = [line.split()[:2] for line in file if line.endswith("kB\n")]
    except OSError:
        return {}
    size = {name.rstrip(":"): int(kilobytes) * 1024 for name, kilobytes in pairs}
    private = size["Private_Clean"] + size["Private_Dirty"]
    return {"rss": size["Rss"], "private": private, "anonymous": size["Anonymous"]}
