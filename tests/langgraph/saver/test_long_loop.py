"""A loop of five hundred steps, killed again and again, ends as one that nobody disturbed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.langgraph.saver._long_loop import CONFIG, WINDOW, advance, begin, build, line

from langgraph_memanto import MemantoSaver
from memanto import Embedded

ROOT = Path(__file__).resolve().parents[3]
STEPS = 500
KILLED = 9


@pytest.mark.slow
def test_five_hundred_steps_survive_every_death(tmp_path: Path) -> None:
    effects = tmp_path / "effects"
    effects.mkdir()
    seeds = random.Random(7)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    deaths: Counter[int] = Counter()
    for _ in range(400):
        command = [
            sys.executable, "-m", "tests.langgraph.saver._long_loop", str(tmp_path / "store"), str(effects), str(STEPS),
            str(seeds.randrange(10**9)),
        ]  # fmt: skip
        ended = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
        assert ended.returncode in {0, KILLED}, ended.stderr
        deaths[ended.returncode] += 1
        if ended.returncode == 0:
            break
    assert deaths[0] == 1
    assert deaths[KILLED] >= 5

    expected = begin()
    for _ in range(STEPS):
        expected = advance(expected)
    with MemantoSaver("loop", store=Embedded(tmp_path / "store")) as saver:
        graph = build(saver, STEPS, advance)
        assert graph.get_state(CONFIG).values == expected
        assert graph.get_state(CONFIG).next == ()
        history = [state.values["step"] for state in graph.get_state_history(CONFIG) if state.values]
        [thread] = saver.list_threads()
    assert history == sorted(history, reverse=True)
    assert len(history) == len(set(history)) <= 20 + 8  # no step has two checkpoints, and old ones are gone
    assert thread.checkpoints == len(history)
    assert expected["window"] == [line(n) for n in range(STEPS - WINDOW + 1, STEPS + 1)]
    assert len(set(expected["prompt_tokens"])) == 1  # the prompt stays as long as it was

    # Every step had its effect. Only one whose process died between its effect and its checkpoint had it again,
    # by another process, and none had it more often than there were deaths.
    attempts = {int(path.name): path.read_text().split() for path in effects.iterdir()}
    assert sorted(attempts) == list(range(1, STEPS + 1))
    repeated = sum(len(by) - 1 for by in attempts.values())
    assert all(len(set(by)) == len(by) for by in attempts.values())
    assert repeated <= deaths[KILLED]
