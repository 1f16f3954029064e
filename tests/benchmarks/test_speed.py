"""The speed, growth and cold-start benchmarks on tiny stores: that they measure what they say, not how fast."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks import arms, cold_start, environments, growth, growth_page, harness, speed, speed_page
from tests.benchmarks.arms import Arm, RivalError, disk_bytes, median_ratio, start
from tests.benchmarks.cold_start_page import page as cold_start_page
from tests.benchmarks.remembering import RandomVectors
from tests.benchmarks.rivals import protocol

from memanto import Embedded, EmbedderIdentity, Memanto, MemoryType

SIZE = 40
HERE = [arm for arm in speed.ARMS if arm.name in {"memanto", "memanto, durability full", speed.REFERENCE}]


@pytest.fixture
def bench() -> harness.Bench:
    return harness.Bench(quick=True)


@pytest.fixture(scope="module")
def compared() -> tuple[dict[str, Any], harness.Bench]:
    bench = harness.Bench(quick=True)
    return speed.compare(HERE, [SIZE], 2, bench, queries=10, writes=2), bench


def result_of(suite: str, figures: dict[str, Any]) -> harness.Result:
    manifest = {
        "commit": {"id": "0", "changed_files": []},
        "versions": {},
        "machine": {"cores": 2, "cpu": "any", "memory_gb": 1},
        "load_1m": {"before": 0, "after": 0},
        "seconds": 1,
        "seed": 7,
        "timing_note": "",
        "data_sha256": {},
        "skipped": {},
    }
    return harness.Result(suite=suite, manifest=manifest, figures=json.loads(json.dumps(figures)))


def test_every_arm_finds_each_memory_by_its_own_text(compared):
    figures, bench = compared
    assert set(figures[str(SIZE)]) == {arm.name for arm in HERE}
    assert not bench.skipped
    for found in figures[str(SIZE)].values():
        assert found["plain_first"] == found["typed_first"] == 1
        assert found["plain_found"] == found["typed_found"] == 1


def test_the_reference_is_the_unit_of_every_ratio(compared):
    unit = compared[0][str(SIZE)][speed.REFERENCE]
    assert unit["plain_ratio"] == unit["typed_cpu_ratio"] == unit["write_ratio"] == 1


def test_what_was_stored_takes_room_on_disk_and_in_memory(compared):
    for found in compared[0][str(SIZE)].values():
        assert found["disk_bytes"] > SIZE * 4 * protocol.DIMENSION
        assert found["memory"] == {} or found["memory"]["rss"] >= found["memory"]["anonymous"] > 0


def test_the_page_shows_each_arm_once_per_table(compared):
    figures = {
        "arms": {arm.name: arms.describe(arm) for arm in HERE},
        "sizes": compared[0],
        "remember with embedding": None,
    }
    text = speed_page.page(result_of("speed", figures))
    assert text.count(f"| {speed.REFERENCE} |") == 2
    assert "Every query found its own memory in every store." in text


def test_a_store_keeps_its_memories_for_the_next_process(tmp_path):
    for script in ("edge", "memanto_log"):
        folder = tmp_path / script
        folder.mkdir()
        arm = Arm(name=script, script=script, survives="process")
        first = start(arm, folder, Path(sys.executable))
        first.ask("open")
        first.ask("add", first=0, stop=5)
        first.stop()
        second = start(arm, folder, Path(sys.executable))
        assert second.ask("open", probe=3)["found"]
        second.stop()


def test_an_arm_that_fails_is_left_out_and_named(bench, tmp_path):
    broken = Arm(name="broken", script="no_such_script", survives="process")
    figures = speed.compare([HERE[-1], broken], [SIZE], 1, bench, queries=4, writes=1)
    assert set(figures[str(SIZE)]) == {HERE[-1].name}
    assert f"broken at {SIZE}" in bench.skipped


def test_an_error_inside_a_rival_is_told(tmp_path):
    rival = start(HERE[0], tmp_path, Path(sys.executable))
    with pytest.raises(RivalError, match="AttributeError"):
        rival.ask("no such request")
    rival.stop()


def test_an_arm_beyond_its_largest_size_is_left_out_with_its_reason(bench):
    small = Arm(name="small", script="edge", survives="process", largest=10, reason="it is small")
    assert speed.compare([small], [SIZE], 1, bench, queries=4, writes=1) == {str(SIZE): {}}
    assert bench.skipped == {f"small at {SIZE}": "it is small"}


def test_a_quick_run_makes_no_environment(tmp_path, bench, monkeypatch):
    monkeypatch.setattr(environments, "cache_folder", lambda: tmp_path)
    assert arms.interpreters([Arm(name="Chroma", script="chroma", survives="disk", requirements="chroma")], bench) == {}
    assert "environments" in bench.skipped["Chroma"]
    assert not list(tmp_path.iterdir())


def test_every_arm_has_a_script_and_pins():
    for arm in speed.ARMS:
        assert (Path(arms.__file__).parent / "rivals" / f"{arm.script}.py").is_file()
        if arm.requirements is not None:
            assert all(environments.pins_of(arm.requirements).values())


def test_memories_are_told_apart_and_vectors_depend_on_the_text_alone():
    texts = {protocol.item(number)[1] for number in range(2_000)}
    assert len(texts) == 2_000
    one = protocol.vector("a text")
    protocol._vectors.clear()
    assert (protocol.vector("a text") == one).all()
    assert abs(float((one**2).sum()) - 1) < 1e-5
    assert set(protocol.TYPES) == {kind.value for kind in MemoryType}


def test_ratios_are_medians_over_passes():
    assert median_ratio([2, 30, 4], [1, 10, 1]) == 3


def test_sparse_files_count_for_what_they_take(tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(50_000_000)
    (tmp_path / "full").write_bytes(b"x" * 10_000)
    assert 10_000 <= disk_bytes(tmp_path) < 1_000_000


def test_growth_goes_on_where_it_stopped(tmp_path, bench, monkeypatch):
    monkeypatch.setattr(growth, "_QUERIES", 5)
    monkeypatch.setattr(growth, "_WRITES", 3)
    first = growth.grow(tmp_path, [20], bench)
    grown = growth.grow(tmp_path, [20, SIZE], bench)
    assert grown["20"] == first["20"]
    assert {"open_ms", "plain_p50_ms", "as_of_p50_ms", "write_p50_ms", "disk_bytes"} <= set(grown[str(SIZE)])
    assert grown[str(SIZE)]["optimised"]["plain_found"] == 1
    result = result_of("growth", {"sizes": grown})
    assert f"| {SIZE} |" in growth_page.page(result)
    assert "<svg" in growth_page.plots(result)["growth-recall.svg"]


def test_cold_start_names_what_a_command_imports_and_leaves_out_what_fails(tmp_path, bench):
    embedder = RandomVectors(EmbedderIdentity("benchmark/random", protocol.DIMENSION))
    with Memanto("cold", store=Embedded(tmp_path), embedder=embedder) as memory:
        known = memory.remember("one", type="fact").id
    commands = {"--version": ["--version"], "config show": ["config", "show"], "wrong": ["no-such-command"]}
    figures = cold_start.time_commands(commands, tmp_path, known, 1, bench)
    assert set(figures["commands"]) == {cold_start.NOTHING, "--version", "config show"}
    assert "memanto wrong" in bench.skipped
    imported = figures["commands"]["config show"]["imports"]["packages"]
    assert "typer" in imported
    assert not {"numpy", "onnxruntime", "qdrant_edge"} & set(imported)
    text = cold_start_page(result_of("cold-start", {"memories": 1, **figures}))
    assert "`memanto config show`" in text
