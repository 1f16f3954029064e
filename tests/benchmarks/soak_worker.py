"""One of the processes of the suite `soak`: all verbs, again and again, over texts that are always the same.

python -m tests.benchmarks.soak_worker STORE NUMBER SECONDS SEED NOTE

What it stores is drawn from a fixed set of texts, all of which are there at the beginning, and what it has stored it
forgets in turn. So the store holds much the same all the time, and whatever grows is a leak. It writes what it did to
the file NOTE every few seconds, and at its end to standard output.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.process_worker import opened

from memanto import Memanto, MemantoError

TEXTS: Final = 400
SLOTS: Final = 20
VALUES: Final = 10
FAILURES: Final = 20
BATONS: Final = 6
LIVE: Final = 100
"""Memories that a process has stored and not forgotten, before it forgets the oldest `FORGOTTEN` of them."""
FORGOTTEN: Final = 50
HANDLE: Final = 45.0
"""Seconds until a process closes its handle and opens another."""
NOTED: Final = 5.0
PAUSE: Final = 0.15
"""Longest pause between two calls, in seconds: agents think, and a saturated machine would only measure itself."""

WEIGHTS: Final = {
    "remember": 26, "slot": 5, "recall": 26, "as-of": 8, "edit": 10, "failure": 2, "guard": 8, "brief": 4, "handoff": 4,
    "take": 4, "export": 1,
}  # fmt: skip
EXPECTED: Final = frozenset({"not_found", "invalid_input", "conflict", "version_conflict"})
"""What may be refused because another process was faster, such as an edit of what it has forgotten."""

_KINDS: Final = ("fact", "decision", "event", "context", "observation", "learning")
_TAGS: Final = ("ledger", "queue", "cache", "parser", "index", "report", "invoice", "schedule", "gateway", "mailer")
_SYLLABLES: Final = ("ba", "do", "fe", "gu", "ka", "lo", "mi", "nu", "pa", "re", "so", "tu", "va", "wi", "xo", "ze")


def word(number: int) -> str:
    """Return a word of three syllables, another one for each number below 4096."""
    return "".join(_SYLLABLES[number // 16**place % 16] for place in range(3))


def sentence(number: int) -> str:
    """Return one of the texts. They share few words and no form, so that none contradicts or repeats another."""
    rng = random.Random(number)
    return " ".join(word(rng.randrange(4_096)) for _ in range(14))


class Worker:
    """A process that uses memory as an agent does, until its time is over."""

    def __init__(self, store: Path, number: int, seconds: float, seed: int, note: Path) -> None:
        self.store = store
        self.name = f"worker-{number}"
        self.until = time.monotonic() + seconds
        self.note = note
        self.rng = random.Random(seed)
        self.begun = datetime.now(UTC)
        self.live: dict[str, None] = {}
        self.done: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.versions = 0
        self.acts: dict[str, Callable[[Memanto], None]] = {
            "remember": self._remember,
            "slot": self._slot,
            "recall": self._recall,
            "as-of": self._as_of,
            "edit": self._edit,
            "failure": self._failure,
            "guard": lambda memory: self._ask(memory.guard),
            "brief": lambda memory: self._ask(memory.brief),
            "handoff": self._handoff,
            "take": self._take,
            "export": self._export,
        }

    def work(self) -> None:
        noted = 0.0
        while time.monotonic() < self.until:
            memory = opened(self.store, relay=True)
            try:
                reopen = min(self.until, time.monotonic() + HANDLE * self.rng.uniform(0.7, 1.3))
                while time.monotonic() < reopen:
                    self._act(memory)
                    if time.monotonic() - noted > NOTED:
                        noted = time.monotonic()
                        self._write_note()
                    time.sleep(self.rng.uniform(0, PAUSE))
            finally:
                memory.close()
        self._write_note()

    def figures(self) -> dict[str, Any]:
        return {
            "done": dict(self.done), "refused": dict(self.refused), "versions": self.versions, "live": list(self.live),
        }  # fmt: skip

    def _act(self, memory: Memanto) -> None:
        name = self.rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        try:
            self.acts[name](memory)
            if len(self.live) > LIVE:
                name = "forget"
                self._forget(memory)
        except MemantoError as error:
            if error.code not in EXPECTED:
                raise
            self.refused[f"{name}: {error.code}"] += 1
        else:
            self.done[name] += 1

    def _write_note(self) -> None:
        aside = self.note.with_suffix(".new")
        aside.write_text(json.dumps(self.figures()), "utf-8")
        aside.replace(self.note)

    # -- acts ---------------------------------------------------------------------------------------
    def _keep(self, memory_id: str) -> None:
        self.live.setdefault(memory_id)  # what is said again is no younger, or its versions would pile up

    def _remember(self, memory: Memanto) -> None:
        number = self.rng.randrange(TEXTS)
        tags = [_TAGS[number % 10]]
        self._keep(memory.remember(sentence(number), type=_KINDS[number % len(_KINDS)], tags=tags).id)

    def _slot(self, memory: Memanto) -> None:
        slot, value = self.rng.randrange(SLOTS), self.rng.randrange(VALUES)
        text = f"{word(slot)} {sentence(TEXTS + VALUES * slot + value)}"
        self._keep(memory.remember(text, type="fact", key=word(slot)).id)

    def _recall(self, memory: Memanto) -> None:
        filters: dict[str, Any] = self.rng.choice([{}, {}, {"types": ["fact"]}, {"tags": [self.rng.choice(_TAGS)]}])
        memory.recall(self._question(), **filters)

    def _as_of(self, memory: Memanto) -> None:
        age = (datetime.now(UTC) - self.begun) * self.rng.random()
        memory.recall(self._question(), as_of=datetime.now(UTC) - age)

    def _edit(self, memory: Memanto) -> None:
        if self.live:
            chosen = self.rng.choice(list(self.live))
            memory.edit(chosen, confidence=self.rng.randrange(1, 10) / 10, reason="seen again")

    def _failure(self, memory: Memanto) -> None:
        text = sentence(2_000 + self.rng.randrange(FAILURES))
        self._keep(memory.record_failure(f"When {text[:34]}, {text[35:]}", cause=text[-6:]).id)

    def _ask(self, verb: Callable[[str], object]) -> None:
        verb(sentence(2_000 + self.rng.randrange(FAILURES))[:34])

    def _question(self) -> str:
        return " ".join(sentence(self.rng.randrange(TEXTS)).split()[:4])

    def _handoff(self, memory: Memanto) -> None:
        text = sentence(3_000 + self.rng.randrange(BATONS))
        written = memory.write_handoff(goal="keep the books", done=[text[:34]], next=[text[35:]])
        self._keep(written.receipt.id)

    def _take(self, memory: Memanto) -> None:
        if memory.take_handoff(by=self.name, hold=timedelta(minutes=1)) is not None:
            memory.ack_handoff(by=self.name)

    def _export(self, memory: Memanto) -> None:
        self.versions = sum(1 for _ in memory.export()) - 1

    def _forget(self, memory: Memanto) -> None:
        doomed = list(self.live)[:FORGOTTEN]
        for memory_id in doomed:
            del self.live[memory_id]
        gone = []
        for memory_id in doomed:  # another process may have been faster
            with suppress(MemantoError):
                if memory.show(memory_id).status != "forgotten":
                    gone.append(memory_id)
        if gone:
            memory.forget(*gone)


def main() -> None:
    store, number, seconds, seed, note = sys.argv[1:]
    worker = Worker(Path(store), int(number), float(seconds), int(seed), Path(note))
    print("ready", flush=True)
    worker.work()
    print(json.dumps(worker.figures()), flush=True)


if __name__ == "__main__":
    main()
