"""What the embedded engine adds to the port: files, generations, durability, ties and pages.

What both engines promise is in `tests/conformance`.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from memanto.engine import layout, network_fs
from memanto.engine.edge import EdgeEngine
from memanto.engine.port import Change, Point, SparseVector
from memanto.engine.schema import OPEN_END
from memanto.errors import (
    BackendUnavailableError,
    ConfigurationError,
    DiskFullError,
    EmbedderError,
    InvalidInputError,
    NotFoundError,
    StoreDamagedError,
)
from memanto.filters import AnyOf, Either, Equals, Where
from memanto.ids import encode_agent_id, meta_point_id

AGENT = "Agent.1"
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EdgeEngine]:
    engine = EdgeEngine(tmp_path / "home", clock=lambda: NOON, lock_timeout=5)
    engine.open()
    engine.create(AGENT, {"kind": "meta", "schema": 1})
    yield engine
    engine.close()


def folder_of(tmp_path: Path) -> Path:
    return layout.namespaces_root(tmp_path / "home") / encode_agent_id(AGENT)


def new(number: int, **fields: object) -> Change:
    return Change(Point(UUID(int=number), {"kind": "version", "n": number, **fields}))


def modes(folder: Path) -> set[tuple[str, int]]:
    found = set()
    for path, _, files in os.walk(folder):
        found.add(("folder", stat.S_IMODE(Path(path).stat().st_mode)))
        found |= {("file", stat.S_IMODE((Path(path) / name).stat().st_mode)) for name in files}
    return found


# -- writing ------------------------------------------------------------------------------------------


def test_a_clock_that_stands_still_or_goes_back_gives_increasing_times(tmp_path: Path) -> None:
    ticks = iter([NOON, NOON, NOON - timedelta(hours=1), NOON - timedelta(hours=2)])
    for expected in ([0, 1, 2], [3]):  # the second time after closing and opening again
        engine = EdgeEngine(tmp_path, clock=lambda: next(ticks))
        engine.open()
        if expected == [0, 1, 2]:
            engine.create(AGENT, {"recorded_at": "2026-01-01T00:00:00.000000Z"})
        times = engine.commit(AGENT, [new(10 + n) for n in expected])
        engine.close()
        assert times == [NOON + timedelta(microseconds=n) for n in expected]


def test_the_time_of_an_erased_newest_point_is_not_given_again(engine: EdgeEngine) -> None:
    engine.commit(AGENT, [new(1), new(2)])
    engine.erase(AGENT, [UUID(int=2)], [])
    engine.close()
    engine.open()
    assert engine.commit(AGENT, [new(3)]) == [NOON + timedelta(microseconds=2)]


def test_a_batch_larger_than_one_operation_keeps_order_and_closings(engine: EdgeEngine) -> None:
    chain = [new(1, retired_at=OPEN_END)]
    for n in range(2, 601):
        point = Point(UUID(int=n), {"kind": "version", "retired_at": OPEN_END})
        chain.append(Change(point, closes=UUID(int=n - 1), closing={"superseded_by": str(n)}))
    times = engine.commit(AGENT, [*chain, new(5)])
    assert times[-1] is None
    assert times[:-1] == [NOON + timedelta(microseconds=n) for n in range(600)]
    points = engine.get(AGENT, [UUID(int=n) for n in range(1, 601)])
    for n in range(1, 600):
        payload = points[UUID(int=n)].payload
        assert payload["superseded_by"] == str(n + 1)
        assert payload["retired_at"] == points[UUID(int=n + 1)].payload["recorded_at"]
    assert points[UUID(int=600)].payload["retired_at"] == OPEN_END


def test_closing_a_point_keeps_its_vectors_bit_for_bit(engine: EdgeEngine) -> None:
    engine.add_vector_name(AGENT, "v", 3)
    vector = (0.26726123690605164, 0.5345224738121033, 0.8017837405204773)
    lexical = SparseVector((7, 3), (0.25, 0.1))
    engine.commit(AGENT, [Change(Point(UUID(int=1), {}, {"v": vector}, lexical))])
    before = engine.get(AGENT, [UUID(int=1)], vectors=True)[UUID(int=1)]
    engine.commit(AGENT, [Change(Point(UUID(int=2), {}), closes=UUID(int=1))])
    engine.erase(AGENT, [UUID(int=2)], [])
    after = engine.get(AGENT, [UUID(int=1)], vectors=True)[UUID(int=1)]
    assert after.dense == before.dense == {"v": vector}
    assert after.lexical == before.lexical
    assert "retired_at" in after.payload


def test_a_batch_with_one_bad_vector_stores_nothing(engine: EdgeEngine) -> None:
    engine.add_vector_name(AGENT, "v", 2)
    for bad in ({"v": (1.0, float("nan"))}, {"v": (1.0,)}, {"other": (1.0, 0.0)}):
        with pytest.raises(EmbedderError):
            engine.commit(AGENT, [new(1), Change(Point(UUID(int=2), {}, bad))])
    for text in ("\ud800", ["ok", {"deep": "\udfff"}]):
        with pytest.raises(InvalidInputError):
            engine.commit(AGENT, [new(1), new(2, content=text)])
    assert engine.count(AGENT, Where()) == 1


def test_a_nearly_full_disk_is_refused_before_anything_is_written(
    engine: EdgeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(layout.shutil, "disk_usage", lambda _: usage._replace(free=layout.FREE_SPACE - 1))
    for write in (
        lambda: engine.commit(AGENT, [new(1)]),
        lambda: engine.erase(AGENT, [meta_point_id(AGENT)], []),
        lambda: engine.create("other", {}),
    ):
        with pytest.raises(DiskFullError):
            write()
    monkeypatch.undo()
    assert engine.count(AGENT, Where()) == 1
    assert not engine.exists("other")


# -- reading ------------------------------------------------------------------------------------------


def test_ties_at_the_cut_are_never_split_and_ordered_by_id(engine: EdgeEngine) -> None:
    numbers = list(range(1, 201))
    random.Random(3).shuffle(numbers)
    engine.add_vector_name(AGENT, "v", 2)
    engine.commit(
        AGENT,
        [
            Change(Point(UUID(int=n), {}, {"v": (1.0, 0.0) if n < 4 else (0.6, 0.8)}, SparseVector((5,), (1.0,))))
            for n in numbers
        ],
    )
    dense = engine.search_dense(AGENT, "v", (1.0, 0.0), Where(), 30)
    assert [(hit.id.int, hit.score) for hit in dense] == [(n, 1.0 if n < 4 else 0.6) for n in range(1, 201)]
    for limit in (3, 5, 7):  # five: the long tie at the cut says less than the three above it; seven: it is very long
        assert [hit.id.int for hit in engine.search_dense(AGENT, "v", (1.0, 0.0), Where(), limit)] == [1, 2, 3]
    lexical = engine.search_lexical(AGENT, SparseVector((5,), (1.0,)), Where(), 1)
    assert [hit.id.int for hit in lexical] == list(range(1, 201))
    assert engine.search_dense(AGENT, "absent", (1.0, 0.0), Where(), 5) == []
    assert engine.search_lexical(AGENT, SparseVector((), ()), Where(), 5) == []


@pytest.mark.parametrize("descending", [True, False])
def test_a_scan_is_complete_and_ordered_beyond_one_page_and_through_equal_times(
    engine: EdgeEngine, descending: bool
) -> None:
    rng = random.Random(5)
    hours = {n: 0 if n <= 1500 else rng.randrange(40) for n in range(1, 2501)}
    stamps = {n: (NOON - timedelta(hours=h)).strftime("%Y-%m-%dT%H:%M:%S.%fZ") for n, h in hours.items()}
    changes = [Change(Point(UUID(int=n), {"recorded_at": stamp}), stamp=()) for n, stamp in stamps.items()]
    engine.commit(AGENT, changes)
    expected = sorted(hours, key=lambda n: (hours[n] if descending else -hours[n], n))

    def scanned(limit: int | None) -> list[int]:
        points = engine.scan(AGENT, Where(), order_by="recorded_at", descending=descending, limit=limit)
        return [point.id.int for point in points]

    assert scanned(None) == expected
    for limit in (1, 7, 1501, 2499, 5000):
        assert scanned(limit) == expected[:limit]
    assert [p.id.int for p in engine.scan(AGENT, Where((Equals("recorded_at", stamps[2000]),)))] == sorted(
        n for n in hours if stamps[n] == stamps[2000]
    )
    assert len(engine.scan(AGENT, Where())) == 2501


def test_years_1_and_9999_are_ordered_and_paged_exactly(engine: EdgeEngine) -> None:
    stamps = ["0001-01-01T00:00:00.000001Z", "9999-12-31T23:59:59.999997Z", "9999-12-31T23:59:59.999998Z"]
    engine.commit(AGENT, [Change(Point(UUID(int=n), {"event_at": stamps[n % 3]}), stamp=()) for n in range(1, 1201)])
    points = engine.scan(AGENT, Where(), order_by="event_at", descending=False)
    assert [p.payload["event_at"] for p in points] == [stamp for stamp in stamps for _ in range(400)]


def test_an_empty_choice_matches_nothing_and_an_empty_condition_everything(engine: EdgeEngine) -> None:
    engine.commit(AGENT, [new(n, type="fact") for n in range(1, 4)])
    assert engine.count(AGENT, Where((Either(()),))) == 0
    assert engine.count(AGENT, Where((AnyOf("type", ()),))) == 0
    assert engine.count(AGENT, Where((), (Either(()),))) == 4
    assert engine.count(AGENT, Where((Either((Where(), Equals("type", "none"))),))) == 4
    assert engine.count(AGENT, Where((), (Where(),))) == 0
    assert engine.facet(AGENT, "type", Where()) == {"fact": 3}


def test_fields_without_an_index_are_refused_for_order_and_facets(engine: EdgeEngine) -> None:
    with pytest.raises(InvalidInputError, match="'n'"):
        engine.scan(AGENT, Where(), order_by="n")
    with pytest.raises(InvalidInputError, match="'n'"):
        engine.facet(AGENT, "n", Where())


# -- namespaces and files -----------------------------------------------------------------------------


def test_names_that_differ_only_in_case_are_apart_and_dropping_one_leaves_the_other(engine: EdgeEngine) -> None:
    engine.create("AGENT.1", {"kind": "meta"})
    engine.commit("AGENT.1", [new(1)])
    assert engine.namespaces() == ["AGENT.1", AGENT]
    engine.drop(AGENT)
    assert engine.namespaces() == ["AGENT.1"]
    assert engine.count("AGENT.1", Where()) == 2
    for call in (
        lambda: engine.count(AGENT, Where()),
        lambda: engine.drop(AGENT),
        lambda: engine.commit(AGENT, [new(1)]),
        lambda: engine.hold(AGENT).__enter__(),
    ):
        with pytest.raises(NotFoundError):
            call()
    assert engine.create(AGENT, {"kind": "meta"})
    assert not engine.create(AGENT, {"kind": "other"})
    assert engine.get(AGENT, [meta_point_id(AGENT)])[meta_point_id(AGENT)].payload["kind"] == "meta"


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
def test_folders_and_files_are_the_owners_alone_once_closed(engine: EdgeEngine, tmp_path: Path) -> None:
    engine.commit(AGENT, [new(1)])
    engine.erase(AGENT, [UUID(int=1)], [new(2)])
    engine.optimize(AGENT)
    engine.close()
    assert modes(tmp_path / "home") == {("folder", 0o700), ("file", 0o600)}
    engine.open()
    engine.count(AGENT, Where())  # opening for reading makes files, too
    engine.close()
    assert modes(tmp_path / "home") == {("folder", 0o700), ("file", 0o600)}


def test_no_more_than_the_allowed_number_of_namespaces_stays_open(tmp_path: Path) -> None:
    engine = EdgeEngine(tmp_path, max_open=2)
    engine.open()
    names = ["a", "b", "c"]
    for name in names:
        engine.create(name, {"kind": "meta"})
    for name in [*names, "a"]:
        engine.commit(name, [Change(Point(UUID(int=len(name)), {}))])
        assert sum(engine._lease(other).is_open for other in names) <= 2
    assert engine._lease("a").is_open
    assert not engine._lease("b").is_open  # the least recently used
    assert [engine.count(name, Where()) for name in names] == [2, 2, 2]
    engine.close()


def test_a_closed_engine_refuses_work_and_can_be_opened_again(engine: EdgeEngine) -> None:
    engine.close()
    engine.close()
    with pytest.raises(BackendUnavailableError):
        engine.namespaces()
    engine.open()
    assert engine.namespaces() == [AGENT]


def test_full_durability_forces_the_log_to_the_disk_before_it_acknowledges(
    engine: EdgeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What that is worth is shown by `tests/stress/test_power_cut.py`, on a disk."""
    forced: list[Path] = []
    monkeypatch.setattr("memanto.engine.edge_shard.sync", forced.append)
    full = EdgeEngine(tmp_path / "home", durability="full")
    full.open()
    lease = full._lease(AGENT)
    for write in (
        lambda: full.commit(AGENT, [new(1)]),
        lambda: full.replace(AGENT, Point(UUID(int=3), {"k": 1}), None),
    ):
        forced.clear()
        write()
        with lease.use(1) as shard:
            log = shard.folder / "wal"
            assert not shard.dirty or {log, *log.iterdir()} <= set(forced)
    forced.clear()
    engine.commit(AGENT, [new(2)])
    assert forced == []
    full.add_vector_name(AGENT, "v", 4)
    with lease.use(1) as shard:
        assert not shard.dirty, "which vectors there are is in no log"
    full.close()


def test_optimising_in_a_child_keeps_every_point_and_a_failed_child_harms_nothing(
    engine: EdgeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.commit(AGENT, [new(n) for n in range(1, 50)])
    assert engine.optimize(AGENT) in {True, False}
    monkeypatch.setattr("sys.executable", shutil.which("false") or "/bin/false")
    with pytest.raises(Exception, match="exit status 1"):
        engine.optimize(AGENT)
    assert engine.count(AGENT, Where()) == 50


# -- damage -------------------------------------------------------------------------------------------


def test_missing_points_are_noticed_when_the_store_is_opened_and_nothing_is_changed(
    engine: EdgeEngine, tmp_path: Path
) -> None:
    """A truncated id file loads without complaint and simply knows fewer points.

    After a clean close the file's size tells; after a crash only the number of points that were flushed.
    """
    engine.commit(AGENT, [new(n) for n in range(1, 101)])
    engine.close()
    shutil.rmtree(next(folder_of(tmp_path).glob("shard-1/wal")))  # as when it was cut after a flush
    (mappings,) = folder_of(tmp_path).glob("shard-1/segments/*/mutable_id_tracker.mappings")
    content = mappings.read_bytes()
    mappings.write_bytes(content[: len(content) // 2])
    engine.open()
    with pytest.raises(StoreDamagedError, match=r"mutable_id_tracker.mappings has"):
        engine.count(AGENT, Where())
    note = folder_of(tmp_path) / "closed.json"
    note.write_text(json.dumps(json.loads(note.read_text()) | {"files": None}))
    with pytest.raises(StoreDamagedError, match="held 101"):
        engine.count(AGENT, Where())
    assert "held 101" in engine.problems(AGENT)[0]


def test_an_unclean_close_is_not_taken_for_damage(engine: EdgeEngine, tmp_path: Path) -> None:
    engine.commit(AGENT, [new(1)])
    engine.close()
    note = folder_of(tmp_path) / "closed.json"
    stale = json.dumps(json.loads(note.read_text()) | {"files": None})  # as the next write leaves it on the disk
    engine.open()
    engine.commit(AGENT, [new(2)])
    engine.close()
    for text in (stale, "", "{", "[]", json.dumps({"shard": "shard-9", "points": 99, "last_recorded_at": None})):
        note.write_text(text)
        engine.open()
        assert engine.problems(AGENT) == []
        assert engine.count(AGENT, Where()) == 3
        engine.close()


def remove_current(folder: Path) -> None:
    (folder / "CURRENT").unlink()


def garble_current(folder: Path) -> None:
    (folder / "CURRENT").write_text("shard-7\n")


def garble_settings(folder: Path) -> None:
    (folder / "shard-1" / "edge_config.json").write_text("{")


def remove_segment(folder: Path) -> None:
    for path in folder.glob("shard-1/segments/*/segment.json"):
        path.unlink()


@pytest.mark.parametrize("damage", [remove_current, garble_current, garble_settings, remove_segment])
def test_damaged_files_are_named_and_creating_again_destroys_nothing(
    engine: EdgeEngine, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    engine.close()
    folder = folder_of(tmp_path)
    damage(folder)
    before = sorted(folder.rglob("*"))
    engine.open()
    with pytest.raises(StoreDamagedError, match=folder.name) as raised:
        engine.count(AGENT, Where())
    assert "memanto doctor" in raised.value.hint
    assert engine.problems(AGENT)
    assert not engine.create(AGENT, {})
    assert set(before) <= set(folder.rglob("*"))


# -- network file systems -----------------------------------------------------------------------------

TABLE = """\
overlay / overlay rw 0 0
server:/x /mnt/my\\040share nfs4 rw 0 0
drvfs /mnt/c 9p rw 0 0
tmpfs /mnt/c/tmp tmpfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "overlay"),
        ("/mnt/mine", "overlay"),
        ("/mnt/my share/store", "nfs4"),
        ("/mnt/c/Users", "9p"),
        ("/mnt/cc", "overlay"),
        ("/mnt/c/tmp/x", "tmpfs"),
    ],
)
def test_the_longest_mount_point_decides_the_file_system(path: str, kind: str) -> None:
    assert network_fs.file_system_of(path, TABLE)[1] == kind


def test_network_file_systems_are_refused_and_a_sandboxs_root_is_not(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("host / 9p rw 0 0\n")
    network_fs.refuse_network_file_system(tmp_path, mounts)
    mounts.write_text(f"server:/x {os.path.realpath(tmp_path)} nfs rw 0 0\n")
    with pytest.raises(ConfigurationError, match="nfs"):
        network_fs.refuse_network_file_system(tmp_path, mounts)
    network_fs.refuse_network_file_system(tmp_path, tmp_path / "absent")


# -- what the operating system refuses ----------------------------------------------------------------


def test_a_home_that_is_a_file_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for home in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(BackendUnavailableError, match="file") as raised:
            EdgeEngine(home).open()
        assert "MEMANTO_HOME" in raised.value.hint


def test_a_caller_s_own_error_passes_through_a_hold_unchanged(engine: EdgeEngine) -> None:
    with pytest.raises(FileNotFoundError), engine.hold(AGENT):
        raise FileNotFoundError
    assert engine.count(AGENT, Where()) == 1
