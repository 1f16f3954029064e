"""Threads stay as long as they are told to, and say what they take (our decisions)."""

from __future__ import annotations

import operator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from tests.langgraph.saver.conftest import MakeSaver
from tests.langgraph.saver.kit import chain, checkpoint, config, ids, put, values

from langgraph_memanto import MemantoSaver
from memanto import Embedded
from memanto.errors import BackendError, InvalidInputError
from memanto.testing import FixedClock

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def _aged(saver: MemantoSaver, days: list[int], thread: str = "t", ns: str = "") -> list[str]:
    """Put a chain of checkpoints that are so many days old."""
    last = config(thread, ns)
    made = []
    for n, age in enumerate(days):
        last = put(saver, last, checkpoint({"n": n}, {"n": n}, ts=(NOW - timedelta(days=age)).isoformat()), step=n)
        made.append(last)
    return ids(made)


def test_a_thread_that_is_written_keeps_its_last_checkpoints(make_saver: MakeSaver) -> None:
    saver = make_saver(keep_last=5)
    made: list[str] = []
    last = config()
    for n in range(60):
        last = put(saver, last, checkpoint({"n": ["x"] * 99 + [n]}, {"n": n}))
        saver.put_writes(last, [("n", ["y"] * 99 + [n])], "task")
        made += ids([last])
        kept = ids(saver.list(config()))
        assert kept == made[::-1][: len(kept)]
        assert min(len(made), 5) <= len(kept) <= 5 + 8
    assert values(saver, config())["n"][-1] == 59
    [info] = saver.list_threads()
    assert info.checkpoints == info.writes == len(kept)
    assert info.by_kind["values"] < 2 * 13 * 200


def test_a_thread_that_is_written_loses_what_is_too_old(make_saver: MakeSaver) -> None:
    clock = FixedClock(NOW)
    saver = make_saver(max_age=timedelta(days=7), clock=clock)
    made = _aged(saver, [30, 20, 10, *[1] * 8])
    assert ids(saver.list(config())) == made[3:][::-1]


def test_retain_prunes_every_thread_and_says_so_beforehand(make_saver: MakeSaver) -> None:
    saver = make_saver(clock=FixedClock(NOW))
    old, mixed, young = (
        _aged(saver, days, name) for name, days in {"o": [40, 35], "m": [40, 20, 3], "y": [2, 1]}.items()
    )
    planned = saver.retain(max_age=timedelta(days=30), dry_run=True)
    assert (planned.threads, planned.checkpoints) == (2, 3)
    assert [one.id for one in saver.list_threads()] == ["y", "m", "o"]
    assert saver.retain(max_age=timedelta(days=30)) == planned
    assert [one.id for one in saver.list_threads()] == ["y", "m"]
    assert ids(saver.list(config("m"))) == mixed[1:][::-1]
    assert saver.retain(keep_last=1).checkpoints == 2
    assert ids(saver.list(None)) == [young[-1], mixed[-1]] or ids(saver.list(None)) == [mixed[-1], young[-1]]
    assert old


@pytest.mark.parametrize("limits", [{}, {"keep_last": 0}, {"keep_last": 1.5}])
def test_limits_out_of_range_delete_nothing(limits: dict[str, Any], saver: MemantoSaver) -> None:
    chain(saver, 3)
    with pytest.raises(InvalidInputError):
        saver.retain(**limits)
    with pytest.raises(InvalidInputError, match="strategy"):
        saver.prune(["t"], strategy="keep_some")
    assert len(list(saver.list(config()))) == 3


def test_values_that_only_pruned_checkpoints_had_are_gone_and_shared_ones_stay(saver: MemantoSaver) -> None:
    shared = ["shared"] * 200
    last = config()
    for n in range(5):
        held = {"plan": shared, "own": [f"own {n}"] * 200}
        last = put(saver, last, checkpoint(held, {"plan": 1, "own": n}), new={"own": n} if n else None)
    before = saver.list_threads()[0].by_kind["values"]
    saver.prune(["t"])
    after = saver.list_threads()[0].by_kind["values"]
    assert after < before if saver.size().disk_bytes is not None else after <= before  # a server waits a while
    assert values(saver, config()) == {"plan": shared, "own": ["own 4"] * 200}


def test_a_value_that_was_pruned_away_can_be_stored_again(edge_saver: MemantoSaver) -> None:
    """A saver remembers which values it stored; another one may have deleted them since."""
    held = ["again"] * 200
    first = put(edge_saver, config(), checkpoint({"a": held}))
    second = put(edge_saver, first, checkpoint({"a": ["other"] * 200}, {"a": 2}))
    edge_saver.prune(["t"])
    third = put(edge_saver, second, checkpoint({"a": held}, {"a": 3}))
    edge_saver.put_writes(third, [("b", ["other"] * 200)], "task")
    assert values(edge_saver, config()) == {"a": held}
    edge_saver.delete_thread("t")
    fourth = put(edge_saver, third, checkpoint({"a": held}, {"a": 3}), new={})
    edge_saver.put_writes(fourth, [("b", held)], "task")
    found = edge_saver.get_tuple(config())
    assert found is not None
    assert found.checkpoint["channel_values"] == {"a": held}
    assert found.pending_writes == [("task", "b", held)]


def test_a_thread_that_cannot_be_pruned_is_written_all_the_same(
    edge_saver: MemantoSaver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise BackendError("no room")

    with MemantoSaver("loop", store=Embedded(tmp_path / "other"), keep_last=1) as saver:
        monkeypatch.setattr(saver._log, "prune", refuse)
        made = chain(saver, 20)
        assert len(list(saver.list(config()))) == len(made)
    assert "could not be pruned" in caplog.text


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def _with_subgraph(saver: MemantoSaver, *, stateful: bool) -> Any:
    inner = StateGraph(State)
    inner.add_node("a", lambda state: {"log": ["a"]})
    inner.add_node("b", lambda state: {"log": [interrupt("b?")]})
    inner.add_edge(START, "a")
    inner.add_edge("a", "b")
    outer = StateGraph(State)
    outer.add_node("sub", inner.compile(checkpointer=True if stateful else None))
    outer.add_node("end", lambda state: {"log": ["end"]})
    outer.add_edge(START, "sub")
    outer.add_edge("sub", "end")
    return outer.compile(checkpointer=saver)


@pytest.mark.parametrize("durability", ["sync", "exit"])
@pytest.mark.parametrize("stateful", [False, True], ids=["called", "stateful"])
def test_a_pruned_thread_that_waits_can_be_resumed(stateful: bool, durability: str, saver: MemantoSaver) -> None:
    graph = _with_subgraph(saver, stateful=stateful)
    for number in range(3):
        graph.invoke({"log": [f"start {number}"]}, config(), durability=durability)
        saver.prune(["t"])
        ended = graph.invoke(Command(resume=f"b {number}"), config(), durability=durability)
        assert ended["log"][-1] == "end"
        assert f"b {number}" in ended["log"]


def test_namespaces_of_finished_calls_go_with_the_checkpoint_they_belong_to(saver: MemantoSaver) -> None:
    graph = _with_subgraph(saver, stateful=False)
    for number in range(4):
        graph.invoke({"log": []}, config())
        graph.invoke(Command(resume=f"b {number}"), config())
    assert saver.list_threads()[0].namespaces == 5
    saver.prune(["t"])
    assert saver.list_threads()[0].namespaces == 1
    stateful = _with_subgraph(saver, stateful=True)
    stateful.invoke({"log": []}, config("s"))
    stateful.invoke(Command(resume="b"), config("s"))
    saver.prune(["s"])
    [info] = [one for one in saver.list_threads() if one.id == "s"]
    assert (info.namespaces, info.checkpoints) == (2, 2)


def test_figures_of_threads_and_of_the_store(edge_saver: MemantoSaver) -> None:
    made = chain(edge_saver, 3, "one")
    edge_saver.put_writes(made[-1], [("a", 1), ("b", ["x"] * 500)], "task")
    chain(edge_saver, 1, "two")
    two, one = edge_saver.list_threads()
    assert (one.id, one.checkpoints, one.namespaces, one.writes) == ("one", 3, 1, 2)
    assert (two.id, two.checkpoints, two.writes) == ("two", 1, 0)
    assert one.bytes == sum(one.by_kind.values()) > two.bytes > 0
    assert one.updated < two.updated
    size = edge_saver.size()
    assert (size.threads, size.checkpoints, size.writes, size.bytes) == (2, 4, 2, one.bytes + two.bytes)
    assert size.disk_bytes
    assert Path(size.location).is_dir()


def test_compacting_destroys_the_bytes_of_what_was_deleted(edge_saver: MemantoSaver) -> None:
    secret = "swordfish"
    put(edge_saver, config(secret), checkpoint({"n": 1}))
    chain(edge_saver, 2, "kept")
    edge_saver.delete_thread(secret)
    edge_saver.compact()
    location = Path(edge_saver.size().location)
    edge_saver.close()
    kept = [path.read_bytes() for path in location.rglob("*") if path.is_file()]
    assert kept
    assert [one for one in kept if secret.encode() in one] == []
    assert values(edge_saver, config("kept")) == {"n": 1}
