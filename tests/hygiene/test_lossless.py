"""Random sequences of edits, decisions, undoing, expiry and restoring lose no text and change no earlier answer.

A specification: append-only upkeep, two time axes.
"""

from __future__ import annotations

import random
from contextlib import suppress
from datetime import timedelta

import pytest

from memanto import Memanto, Server
from memanto.errors import InvalidInputError
from memanto.hygiene.conflict import ACTIONS
from memanto.models import Memory
from memanto.testing import FixedClock, HashEmbedder

SEQUENCES = 100
STEPS = 6
_SUBJECTS = ("The primary database is now {}", "On-call owner is {}", "Retries of the worker are {}")
_VALUES = ("alpha", "beta-2", "gamma", "enabled", "disabled")


class Play:
    """One random sequence on a store of its own."""

    def __init__(self, memory: Memanto, clock: FixedClock, seed: int) -> None:
        self.memory = memory
        self.clock = clock
        self.dice = random.Random(seed)
        self.told: set[str] = set()
        self.answers: list[tuple[object, list[Memory], list[tuple[str, int]]]] = []

    def text(self) -> str:
        return self.dice.choice(_SUBJECTS).format(self.dice.choice(_VALUES))

    def step(self) -> None:
        memory, dice = self.memory, self.dice
        ids = [hit.memory.id for hit in memory.recall(limit=100, everything=True)]
        open_now, decided = memory.conflicts(), memory.conflicts(resolved=True)
        choices = [lambda: memory.remember(text, type="fact")]
        text = self.text()
        if ids:
            one = dice.choice(ids)
            choices += [lambda: memory.edit(one, content=text), lambda: memory.expire(one), lambda: memory.restore(one)]
        if open_now:
            conflict, action = dice.choice(open_now).id, dice.choice(ACTIONS)
            new = text if action in ("merge", "replace") else None
            choices += [lambda: memory.resolve_conflict(conflict, action, text=new)] * 4
        if decided:
            undone = dice.choice(decided).id
            choices += [lambda: memory.undo_conflict(undone)] * 3
        choices.append(lambda: memory.detect_conflicts(everything=dice.random() < 0.5))
        with suppress(InvalidInputError):  # what does not fit is refused, and has to change nothing either
            dice.choice(choices)()
        self.clock.advance(timedelta(hours=1))

    def look(self) -> None:
        """Note what is believed now, to be asked for again later."""
        moment = self.clock() - timedelta(minutes=1)
        self.answers.append((moment, self.believed(moment), self.found(moment)))
        for versions in (self.memory.history(m.id) for m in self.believed(moment)):
            self.told |= {version.content for version in versions}

    def believed(self, moment: object) -> list[Memory]:
        return [hit.memory for hit in self.memory.recall(limit=100, as_of=moment)]  # type: ignore[arg-type]

    def found(self, moment: object) -> list[tuple[str, int]]:
        hits = self.memory.recall("primary database on-call retries", as_of=moment)  # type: ignore[arg-type]
        return [(hit.memory.id, len(hit.folded)) for hit in hits]


@pytest.mark.slow
def test_no_text_is_lost_and_no_earlier_answer_changes() -> None:
    clock = FixedClock()
    store = Server(":memory:")
    with Memanto("root", store=store, embedder=HashEmbedder(), reranker=None, clock=clock) as root:
        for seed in range(SEQUENCES):
            with_agent = Memanto(f"play-{seed}", store=store, embedder=HashEmbedder(), reranker=None, clock=clock)
            with_agent._connection = root._connection  # one store for all, each sequence in an agent of its own
            with_agent.create_agent()
            play = Play(with_agent, clock, seed)
            for number in range(STEPS):
                play.step()
                if number % 2:
                    play.look()
            for moment, believed, found in play.answers:
                assert play.believed(moment) == believed, f"seed {seed}"
                assert play.found(moment) == found, f"seed {seed}"
            kept = "\n".join(with_agent.export())
            assert [text for text in play.told if text not in kept] == [], f"seed {seed}"
