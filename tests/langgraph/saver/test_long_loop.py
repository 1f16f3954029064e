"""A loop of five hundred steps, killed again and again, ends as one that nobody disturbed."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.langgraph.saver._long_loop import CONFIG, DEATHS, PINS, WINDOW, advance, baton, begin, build, line

from langgraph_memanto import MemantoSaver
from memanto import Embedded, Memanto
from memanto.loop.fence import NOTICE

ROOT = Path(__file__).resolve().parents[3]
STEPS = 500


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Counter[int]]:
    """The folder of a loop that ran to its end, and how often a process of it ended with which status."""
    folder = tmp_path_factory.mktemp("loop")
    (folder / "notes").mkdir()
    seeds = random.Random(7)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    ends: Counter[int] = Counter()
    while ends[0] == 0 and ends.total() < 400:
        command = [
            sys.executable, "-m", "tests.langgraph.saver._long_loop",
            str(folder / "store"), str(folder / "notes"), str(STEPS), str(seeds.randrange(10**9)),
        ]  # fmt: skip
        ended = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
        assert ended.returncode in {0, *DEATHS.values()}, ended.stderr
        ends[ended.returncode] += 1
    return folder, ends


def notes(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(text) for text in (folder / "notes" / name).read_text().splitlines()]


@pytest.mark.slow
def test_five_hundred_steps_end_in_the_state_of_a_loop_that_nobody_disturbed(loop: tuple[Path, Counter[int]]) -> None:
    folder, ends = loop
    assert ends[0] == 1
    assert all(ends[status] for status in DEATHS.values())  # every place saw a death
    expected = begin()
    for _ in range(STEPS):
        expected = advance(expected)
    with MemantoSaver("loop", store=Embedded(folder / "store")) as saver:
        graph = build(saver, STEPS, advance, advance)
        found = graph.get_state(CONFIG)
        history = [state.values["step"] for state in graph.get_state_history(CONFIG) if state.values]
        [thread] = saver.list_threads()
    assert {name: value for name, value in found.values.items() if name != "baton"} == expected
    assert found.next == ()
    assert expected["window"] == [line(n) for n in range(STEPS - WINDOW + 1, STEPS + 1)]
    assert history == sorted(history, reverse=True)
    assert set(Counter(history).values()) <= {1, 2}  # a checkpoint after a step and one after its baton, never a third
    assert thread.checkpoints == len(history) <= 20 + 8  # and old ones are gone


@pytest.mark.slow
def test_no_step_is_done_twice_unless_its_process_died_before_it_could_say_so(loop: tuple[Path, Counter[int]]) -> None:
    folder, ends = loop
    attempts = {int(path.name): path.read_text().split() for path in (folder / "notes").glob("[0-9]*")}
    assert sorted(attempts) == list(range(1, STEPS + 1))
    assert all(len(set(by)) == len(by) for by in attempts.values())
    assert sum(len(by) - 1 for by in attempts.values()) == ends[DEATHS["after"]]


@pytest.mark.slow
def test_each_process_takes_the_baton_of_the_one_before(loop: tuple[Path, Counter[int]]) -> None:
    folder, ends = loop
    first, *later = notes(folder, "starts")
    assert not first["handed_over"]
    assert len(later) == ends.total() - 1
    for start in later:
        assert start["handed_over"]
        # Where the checkpoints end; a step whose death came before its baton is told by its checkpoint alone.
        reached = start["step"] or 0
        assert any(baton({"step": step})["state"] in start["opening"] for step in (reached, reached - 1))
    with Memanto("loop", store=Embedded(folder / "store"), embedder=None) as memory:
        [left] = memory.show_handoff()
    assert left.baton.state == f"{STEPS:04} steps are done"


@pytest.mark.slow
def test_pins_lead_every_prompt_and_its_size_stays(loop: tuple[Path, Counter[int]]) -> None:
    prompts = notes(loop[0], "prompts")
    assert {one["step"] for one in prompts} == set(range(1, STEPS + 1))
    for one in prompts:
        opening, *pins = [one["prompt"].index(text) for text in (NOTICE, *PINS)]
        assert opening == 0
        assert pins == sorted(pins)
        assert not re.search(r"SESSION HANDOFF|step [0-9]", one["prompt"][: pins[-1]])
    full = [one for one in prompts if one["step"] > WINDOW]
    for handed_over in (False, True):
        assert len({one["tokens"] for one in full if one["handed_over"] is handed_over}) == 1
