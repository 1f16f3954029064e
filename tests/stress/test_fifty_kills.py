"""Fifty processes killed at moments drawn by a seed, whatever they do: nothing acknowledged is lost, nothing is torn.

Five stores, ten kills each: every process goes on with what the one before it left. `test_crashes` kills one verb at a
time soon after an acknowledgement; here all verbs are mixed, and the moment is anywhere in what follows, also in the
middle of a build of the next generation.
"""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
from tests.stress.stress_kit import Workers, check_sound, handle, places_of

from memanto import Memanto
from memanto.errors import EmbedderMismatchError
from memanto.testing import HashEmbedder

KILLS = 10
MOST = 5
"""Acknowledgements that are waited for are fewer than these, so that a slow machine gets as far as a quick one."""
LATEST = 0.3
"""Seconds that a process lives at most after them; the heaviest verbs take as long."""
DIMENSIONS = (64, 32)
THEMES = {
    "write": "version",
    "edit": "version",
    "forget": "forgotten",
    "reindex": "dimension",
    "optimise": "optimised",
}
"""What is done most, and what the line of its acknowledgement holds."""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX")]


class Told:
    """What the killed processes had acknowledged, and what they were about."""

    def __init__(self) -> None:
        self.versions: dict[tuple[str, int], str] = {}
        self.forgotten: dict[str, list[str]] = {}
        self.doubtful: set[str] = set()  # its process was killed while it forgot them
        self.kinds: set[str] = set()
        self.ids: set[str] = set()

    def hear(self, lines: list[dict[str, Any]]) -> None:
        begun: set[str] = set()
        for line in lines:
            self.kinds |= line.keys()
            if "forgetting" in line:
                begun.add(line["forgetting"])
            elif "forgotten" in line:
                gone = line["forgotten"]
                begun.discard(gone)
                self.forgotten[gone] = [text for (one, _), text in self.versions.items() if one == gone]
                self.versions = {key: text for key, text in self.versions.items() if key[0] != gone}
            elif "version" in line:
                self.forgotten.pop(line["id"], None)  # its slot got another value
                self.versions[line["id"], line["version"]] = line["content"]
                self.ids.add(line["id"])
        self.doubtful |= begun

    def check(self, memory: Memanto, store: Path) -> None:
        found = check_sound(memory)
        erased = {one for one, these in found.items() if these[-1].get("status") == "forgotten"}
        refilled = set(self.forgotten) - erased
        assert all(found[one][-1].get("key") for one in refilled), "what comes back is a slot with another value"
        assert len(refilled) <= 1, "the one that the last process was writing to"
        for one in refilled:
            self.forgotten.pop(one)
        assert erased & self.ids <= set(self.forgotten) | self.doubtful  # records about them are erased with them
        for (one, version), text in self.versions.items():
            if one not in erased:
                contents = {these["version"]: these["content"] for these in found[one]}
                assert contents[version] == text
        assert places_of([text for texts in self.forgotten.values() for text in texts], store) == []
        alive = [(key, text) for key, text in self.versions.items() if key[0] not in erased]
        if alive:
            (one, version), text = alive[-1]
            if found[one][-1]["version"] == version:
                hits = memory.recall(text, min_similarity=0.99)
                assert one in {hit.memory.id for hit in hits}, "its vector is not there"


def opened_with(store: Path) -> tuple[Memanto, int]:
    """Return an open memory with the embedder that the store's vectors are from, and their dimension."""
    for dimension in DIMENSIONS:
        memory = handle(store, embedder=HashEmbedder(dimension)).open()
        try:
            memory.recall("anything")
        except EmbedderMismatchError:
            memory.close()
        else:
            return memory, dimension
    raise AssertionError("the vectors are from no embedder that was used")


@pytest.mark.parametrize("theme", THEMES)
def test_a_process_killed_at_any_moment_loses_nothing_it_acknowledged(
    store: Path, workers: Workers, theme: str
) -> None:
    rng = random.Random(f"kills while {theme}")
    told = Told()
    with handle(store) as memory:
        memory.remember("the first of all", type="fact")
    dimension = DIMENSIONS[0]
    for attempt in range(KILLS):
        process = workers.start("mix", store, theme, attempt, dimension)
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(1 + rng.randrange(MOST))]
        assert json.loads(lines[0]) == {"opened": True}
        time.sleep(rng.uniform(0, LATEST))
        told.hear([*map(json.loads, lines), *workers.kill(process)])
        memory, dimension = opened_with(store)
        try:
            told.check(memory, store)
            memory.remember(f"written after kill {attempt}", type="fact")
        finally:
            memory.close()
    assert THEMES[theme] in told.kinds, "the processes lived long enough to do what they were killed for"
