"""Processes killed at random moments: what was acknowledged is there, and the store opens by itself, sound."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from tests.stress.stress_kit import Lines, Workers, check_sound, handle, places_of, versions

from memanto import Draft, Memanto
from memanto.errors import EmbedderMismatchError
from memanto.testing import HashEmbedder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX")


def filled(store: Path, count: int, prefix: str = "memory") -> list[str]:
    with handle(store) as memory:
        drafts = [Draft(content=f"{prefix} number {n} says {n * 7919}") for n in range(count)]
        return [receipt.id for receipt in memory.remember_many(drafts)]


def check_acknowledged(found: dict[str, Lines], acknowledged: Lines) -> None:
    """Assert that every acknowledged version is there and says what it said."""
    for line in acknowledged:
        these = {one["version"]: one["content"] for one in found[line["id"]]}
        assert these[line["version"]] == line["content"]


@pytest.mark.slow
def test_a_writer_killed_again_and_again_loses_nothing_it_acknowledged(store: Path, workers: Workers) -> None:
    """One store goes through all kills, so that each start recovers what the one before left."""
    rng = random.Random(20260601)
    filled(store, 1)
    acknowledged: Lines = []
    for attempt in range(8):
        acknowledged += workers.run_and_kill(["churn", store, attempt], after=rng.randrange(1, 40), rng=rng)
        with handle(store) as memory:
            check_acknowledged(check_sound(memory), acknowledged)
            again = memory.remember(f"written after kill {attempt}", type="fact")
            assert memory.recall(f"written after kill {attempt}")[0].memory.id == again.id


@pytest.mark.slow
def test_writers_killed_while_others_go_on_lose_nothing_either(store: Path, workers: Workers) -> None:
    rng = random.Random(7)
    filled(store, 1)
    steady = workers.start("write", store, "steady", 60)
    acknowledged: Lines = []
    for attempt in range(5):
        acknowledged += workers.run_and_kill(["churn", store, attempt], after=rng.randrange(1, 20), rng=rng)
    lines = workers.finish(steady)
    assert len(lines) == 60
    with handle(store) as memory:
        found = check_sound(memory)
    check_acknowledged(found, acknowledged)
    assert {line["id"] for line in lines} <= set(found)


@pytest.mark.slow
def test_a_killed_forget_leaves_each_memory_whole_or_erased(store: Path, workers: Workers) -> None:
    """What it acknowledged is gone to the last byte; what it had not reached is untouched."""
    rng = random.Random(11)
    filled(store, 30, "doomed")
    kept = filled(store, 20, "kept")
    erased: Lines = []
    for _ in range(4):
        erased += workers.run_and_kill(["forget", store, "doomed"], after=rng.randrange(1, 5), rng=rng)
        with handle(store) as memory:
            found = check_sound(memory)
            assert all(memory.show(one).content.startswith("kept") for one in kept)
        assert all(found[line["id"]][-1]["status"] == "forgotten" for line in erased)
        gone = [these[-1] for these in found.values() if these[-1].get("status") == "forgotten"]
        assert len(erased) <= len(gone) <= len(erased) + 4, "at most one per kill was erased and not acknowledged"
        assert all("doomed" not in json.dumps(one) for one in gone)
        assert places_of([line["content"] for line in erased], store) == []
        assert len(found) == 50


@pytest.mark.slow
def test_a_killed_reindex_can_be_used_at_once_and_finished_later(store: Path, workers: Workers) -> None:
    rng = random.Random(5)
    ids = filled(store, 700)
    with handle(store) as memory:
        before = versions(memory)
    for after in (1, 2, 3, 4):
        workers.run_and_kill(["reindex", store, 32], after=after, rng=rng)
        try:
            with handle(store) as memory:
                check_searchable(memory, ids)
        except EmbedderMismatchError:  # it had switched already
            with handle(store, embedder=HashEmbedder(32)) as memory:
                check_searchable(memory, ids)
    workers.run("reindex", store, 32)
    with handle(store, embedder=HashEmbedder(32)) as memory:
        check_searchable(memory, ids)
        assert {check.name: check.ok for check in memory.doctor()}["vectors"]
        assert versions(memory) == before
        memory.reindex(HashEmbedder())
    with handle(store) as memory:
        check_searchable(memory, ids)


def check_searchable(memory: Memanto, ids: list[str]) -> None:
    hit = memory.recall("memory number 5 says", min_similarity=0.1)[0]
    assert hit.memory.id in ids
    assert hit.why.dense_rank is not None


@pytest.mark.slow
def test_a_killed_import_is_completed_by_running_it_again(store: Path, tmp_path: Path, workers: Workers) -> None:
    rng = random.Random(3)
    filled(tmp_path / "origin", 500)
    with handle(tmp_path / "origin") as memory:
        for memory_id in list(versions(memory))[:50]:
            memory.edit(memory_id, content=f"edited {memory_id}")
        file = tmp_path / "export.jsonl"
        file.write_text("\n".join(memory.export()), "utf-8")
        wanted = versions(memory)
    with handle(store) as memory:
        memory.create_agent()
    for after in (1, 2, 2):
        workers.run_and_kill(["import", store, file], after=after, rng=rng)
        with handle(store) as memory:
            check_sound(memory)
    workers.run("import", store, file)
    with handle(store) as memory:
        found = check_sound(memory)
        marked = {one: [{**version, "imported": True} for version in these] for one, these in wanted.items()}
        assert found == marked
        report = memory.import_(file.read_text("utf-8").split("\n"))
        assert (report.stored, report.conflicts) == (0, ())


@pytest.mark.slow
def test_a_killed_optimize_leaves_a_store_that_opens(store: Path, workers: Workers) -> None:
    rng = random.Random(2)
    ids = filled(store, 300)
    for attempt in range(3):
        workers.run_and_kill(["optimize", store], after=1 + attempt % 2, rng=rng)
        with handle(store) as memory:
            assert set(ids) <= set(check_sound(memory))
            memory.remember(f"after kill {attempt}", type="fact")


@pytest.mark.slow
def test_a_first_write_that_is_killed_leaves_no_half_made_agent(store: Path, workers: Workers) -> None:
    rng = random.Random(13)
    acknowledged: Lines = []
    for attempt in range(4):
        place = store / str(attempt)
        acknowledged = workers.run_and_kill(["write", place, "w", 3], after=attempt % 2, rng=rng)
        with handle(place) as memory:
            memory.remember("mine", type="fact")
            assert {line["id"] for line in acknowledged} <= set(check_sound(memory))
            assert memory.recall("mine")[0].why.dense_rank is not None
