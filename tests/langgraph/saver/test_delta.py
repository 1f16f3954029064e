"""Channels kept as changes: their history is rebuilt, and pruning never empties them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from tests.langgraph.saver.delta_graph import STEPS, delta_graph
from tests.langgraph.saver.kit import checkpoint, config, ids, put

from langgraph_memanto import MemantoSaver
from memanto.errors import ConflictError


@pytest.fixture(params=[3, 1_000], ids=lambda every: f"snapshot-every-{every}")
def every(request: pytest.FixtureRequest) -> int:
    return request.param


def test_the_history_is_the_one_the_base_class_walks(every: int, saver: MemantoSaver) -> None:
    graph = delta_graph(saver, every)
    graph.invoke({"step": 0, "log": ["begin"], "total": 0}, config())
    for one in saver.list(config("t", None)):
        base = BaseCheckpointSaver.get_delta_channel_history(
            saver, config=one.config, channels=["log", "total", "none"]
        )
        assert saver.get_delta_channel_history(config=one.config, channels=["log", "total", "none"]) == base
    assert saver.get_delta_channel_history(config=config(), channels=[]) == {}


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_state_is_rebuilt_at_every_checkpoint_as_in_memory(durability: str, every: int, saver: MemantoSaver) -> None:
    states = []
    for one in (saver, InMemorySaver()):
        graph = delta_graph(one, every)
        graph.invoke({"step": 0, "log": ["begin"], "total": 0}, config(), durability=durability)
        graph.invoke({"step": 0, "log": ["again"]}, config(), durability=durability)
        states.append([state.values for state in graph.get_state_history(config())])
    assert states[0] == states[1]


@pytest.mark.parametrize("prune", [lambda saver: saver.prune(["t"]), lambda saver: saver.retain(keep_last=3)])
def test_pruning_never_empties_a_channel(prune: Callable[[MemantoSaver], Any], every: int, saver: MemantoSaver) -> None:
    graph = delta_graph(saver, every)
    graph.invoke({"step": 0, "log": ["begin"], "total": 0}, config())
    before = graph.get_state(config()).values
    prune(saver)
    prune(saver)
    assert graph.get_state(config()).values == before
    graph.invoke({"step": 0, "log": ["later"]}, config())
    after = graph.get_state(config()).values["log"]
    assert after == [*before["log"], "later", *(f"step {n}" for n in range(1, STEPS + 1))]


def test_pruning_removes_what_is_older_than_the_last_snapshot(saver: MemantoSaver) -> None:
    graph = delta_graph(saver, 2)
    graph.invoke({"step": 0, "log": ["begin"], "total": 0}, config())
    everything = ids(saver.list(config()))
    pruned = saver.retain(keep_last=1)
    kept = ids(saver.list(config()))
    assert kept == everything[: len(kept)]
    assert 1 <= len(kept) <= 4
    assert pruned.kept_for_rebuilding == len(kept) - 1
    assert pruned.checkpoints == len(everything) - len(kept)


def test_keeping_a_fork_keeps_its_own_history(saver: MemantoSaver) -> None:
    graph = delta_graph(saver, 1_000)
    graph.invoke({"step": 0, "log": ["begin"], "total": 0}, config())
    past = [state for state in graph.get_state_history(config()) if state.values.get("step") == 3][-1]
    graph.invoke(None, past.config)
    before = graph.get_state(config()).values
    saver.prune(["t"])
    assert graph.get_state(config()).values == before


def test_a_copy_is_rebuilt_without_its_source(every: int, saver: MemantoSaver) -> None:
    graph = delta_graph(saver, every)
    graph.invoke({"step": 0, "log": ["begin"], "total": 0}, config())
    before = graph.get_state(config()).values
    saver.copy_thread("t", "copy")
    saver.delete_thread("t")
    assert graph.get_state(config("copy")).values == before
    assert graph.get_state(config("t")).values == {}


def test_a_run_that_others_are_rebuilt_from_is_not_deleted(saver: MemantoSaver) -> None:
    graph = delta_graph(saver, 1_000)
    first, second = ({**config(), "metadata": {"run_id": name}} for name in ("first", "second"))
    graph.invoke({"step": 0, "log": ["begin"], "total": 0}, first)
    graph.invoke({"step": 0, "log": ["again"]}, second)
    before = graph.get_state(config()).values
    with pytest.raises(ConflictError, match="'t'"):
        saver.delete_for_runs(["first"])
    assert graph.get_state(config()).values == before
    saver.delete_for_runs(["second"])
    assert graph.get_state(config()).values["log"] == ["begin", *(f"step {n}" for n in range(1, STEPS + 1))]


def test_a_channel_counts_as_kept_in_changes_once_a_snapshot_was_seen(saver: MemantoSaver) -> None:
    """Also without the counters, which the framework calls beta (our decision)."""
    last = put(saver, config(), checkpoint({"log": _DeltaSnapshot(["a"])}, {"log": 1}))
    saver.put_writes(last, [("log", ["b"])], "task")
    last = put(saver, last, checkpoint({}, {"log": 2}))
    saver.put_writes(last, [("log", ["c"])], "task")
    last = put(saver, last, checkpoint({"n": 1}, {"log": 3, "n": 1}))
    history = saver.get_delta_channel_history(config=last, channels=["log"])
    saver.prune(["t"])
    assert saver.get_delta_channel_history(config=last, channels=["log"]) == history
    assert [write[2] for write in history["log"]["writes"]] == [["b"], ["c"]]
