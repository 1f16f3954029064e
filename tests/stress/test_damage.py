"""Damaged files: what is acknowledged reads right, or a typed error says what to do; and what is left is saved.

Every kind of file that a store has is cut, lost or altered by one bit, each in a copy that another process reads.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.cli_kit import Cli
from tests.stress.damage_kit import DAMAGES, chosen, copied, files_of, kind_of, outcome
from tests.stress.stress_kit import AGENT, check_sound, handle

from memanto.errors import MemantoError

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="damaged stores are opened in forked processes"),
    pytest.mark.slow,
]

TYPES = ["fact", "decision", "event", "learning", "error"]


def build(store: Path) -> None:
    """Fill a store with something of everything, and erase one memory, so that it is a second generation."""
    with handle(store) as memory:
        ids = [memory.remember(f"word{n} stands for item {n * 7919}", type=TYPES[n % 5], tags=[f"tag{n % 3}"]).id
               for n in range(24)]  # fmt: skip
        for n in range(0, 24, 4):
            memory.edit(ids[n], content=f"word{n} was edited to {n * 7907}", reason="a correction")
        for n in (1, 2):
            memory.remember(f"slotted value {n}", type="fact", key="slot", metadata={"n": n, "share": 1 / 3})
        memory.expire(ids[3])
        memory.pin(ids[5])
        memory.forget(ids[6])


def build_and_crash(store: Path) -> None:
    """The same, and a crash: after a flush that covers the second part of it, and with writes that none covers."""
    build(store)
    memory = handle(store).open()
    for n in range(24, 30):
        memory.remember(f"word{n} stands for item {n * 7919}", type=TYPES[n % 5], tags=[f"tag{n % 3}"])
    memory._opened().flush(AGENT)
    memory.remember("word30 stands for an item that no flush covers", type="fact")
    os._exit(0)


def read(store: Path) -> Any:
    """Return everything that a store tells: every version, what each word and filter finds, and the figures."""
    memory = handle(store, lock_timeout=5.0).open()
    lines = [json.loads(line) for line in list(memory.export())[1:]]
    found = [[hit.memory.id for hit in memory.recall(f"word{n}", limit=3)] for n in range(0, 31, 3)]
    by_type = [sorted(hit.memory.id for hit in memory.recall(types=[kind], limit=100)) for kind in TYPES]
    by_tag = [sorted(hit.memory.id for hit in memory.recall(tags=[f"tag{n}"], limit=100)) for n in range(3)]
    held = [hit.memory.content for hit in memory.recall(key="slot")]
    status = memory.status()
    return [lines, found, by_type, by_tag, held, status.memories, status.versions, dict(status.by_type)]


def made(quick_root: Path, make: Callable[[Path], None]) -> tuple[Path, Any]:
    """Return a store, and what it tells; neither is made in this process, which must stay fit to be forked."""
    store = quick_root / f"damage-{make.__name__}"
    told = outcome(lambda: make(store), quick_root)
    assert told in ({"done": None}, {"ended": None}), told
    told = outcome(lambda: read(copied(store, quick_root / "damage-truth")), quick_root)
    assert "done" in told, told
    return store, told["done"]


@pytest.fixture(scope="module")
def closed(quick_root: Path) -> tuple[Path, Any]:
    return made(quick_root, build)


@pytest.fixture(scope="module")
def crashed(quick_root: Path) -> tuple[Path, Any]:
    return made(quick_root, build_and_crash)


def is_typed(told: dict[str, Any]) -> bool:
    code, _, hint = told.get("failed", ["", "", ""])
    return code == "store_damaged" and "memanto doctor --repair" in hint and "memanto export" in hint


def damaged_copies(store: Path, target: Path, rng: random.Random, count: int) -> Iterator[tuple[str, Path]]:
    """Yield copies with one file of each kind damaged, in `count` of the possible ways."""
    for path in chosen(files_of(store), rng):
        for name in rng.sample(sorted(DAMAGES), count):
            damaged = copied(store, target)
            DAMAGES[name](damaged / path, rng)
            yield f"{name} {kind_of(path)}", damaged


def without_done(told: dict[str, Any]) -> dict[str, Any]:
    return {"done": "something else"} if "done" in told else told


# -- noticed ---------------------------------------------------------------------------------------------
def test_whatever_file_is_damaged_between_uses_all_reads_right_or_a_typed_error_says_what_to_do(
    closed: tuple[Path, Any], tmp_path: Path
) -> None:
    store, truth = closed
    wrong, refused = [], 0
    for what, damaged in damaged_copies(store, tmp_path / "damaged", random.Random(5), 1):
        told = outcome(lambda: read(damaged), tmp_path)  # noqa: B023 - called at once
        refused += is_typed(told)
        if not is_typed(told) and told.get("done") != truth:
            wrong.append((what, without_done(told)))
    assert wrong == []
    assert refused > 10


def test_after_a_crash_damage_never_takes_what_was_flushed_without_being_named(
    crashed: tuple[Path, Any], tmp_path: Path
) -> None:
    """No seal covers files that a crash left. Sums and counts cover every version, `doctor` the indexes.

    An entry of the log that no flush has covered is lost with its bytes: nothing tells it from one that a power
    cut left unwritten.
    """
    store, truth = crashed
    flushed = [line for line in truth[0] if "no flush covers" not in line["content"]]
    wrong = []
    for what, damaged in damaged_copies(store, tmp_path / "damaged", random.Random(6), 1):
        told = outcome(lambda: read(damaged), tmp_path)  # noqa: B023 - called at once
        if is_typed(told) or told.get("done") == truth:
            continue
        kept = "done" in told and all(line in told["done"][0] for line in flushed)
        if not kept or ("/wal/" not in what and not outcome(lambda: complaints(damaged), tmp_path).get("done")):  # noqa: B023
            wrong.append((what, without_done(told)))
    assert wrong == [], "\n".join(map(str, wrong))


def complaints(store: Path) -> list[str]:
    """Return which checks of `doctor` fail."""
    with handle(store) as memory:
        return [f"{check.name}: {check.detail}" for check in memory.doctor() if not check.ok]


# -- mended ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("pattern", "how"),
    [
        ("shard-*/segments/*/mutable_id_tracker.mappings", "halve"),
        ("shard-*/segments/*/payload_storage/page_0.dat", "flip"),
        ("shard-*/segments/*/payload_index/*marks-map/page_0.dat", "flip"),
        ("shard-*/edge_config.json", "halve"),
        ("shard-*/wal/first-index", "empty"),
        ("CURRENT", "empty"),
    ],
)
def test_doctor_names_damage_and_mends_what_the_log_still_holds(
    closed: tuple[Path, Any], tmp_path: Path, pattern: str, how: str
) -> None:
    store, truth = closed
    damaged = copied(store, tmp_path / "damaged")
    (path,) = (damaged / "namespaces" / AGENT).glob(pattern)
    DAMAGES[how](path, random.Random(1))
    named = outcome(lambda: complaints(damaged), tmp_path)["done"]
    assert [one for one in named if one.startswith("store: ")]
    assert outcome(lambda: repaired(damaged), tmp_path) == {"done": [["shared: built anew, nothing is lost"], []]}
    assert outcome(lambda: read(damaged), tmp_path) == {"done": truth}


def repaired(store: Path) -> list[list[str]]:
    """Return what `doctor` mended, and which checks fail when it is asked again."""
    with handle(store) as memory:
        mended = [check.detail for check in memory.doctor(repair=True) if check.repaired]
    return [mended, complaints(store)]


def test_an_altered_log_does_not_make_the_engine_leave_out_what_is_written_next(
    closed: tuple[Path, Any], tmp_path: Path
) -> None:
    """It ends at the altered entry and numbers on from there; a point takes a lower number as one it has seen."""
    store, _ = closed
    damaged = copied(store, tmp_path / "damaged")
    (log,) = (damaged / "namespaces" / AGENT).glob("shard-*/wal/open-1")
    alter(log)

    def work() -> int:
        with handle(damaged) as memory:
            ids = [hit.memory.id for hit in memory.recall(limit=100)]
            for memory_id in ids:
                memory.edit(memory_id, content=f"edited after the damage: {memory_id}")
        with handle(damaged) as memory:
            return len(check_sound(memory)) - len(ids)

    assert outcome(work, tmp_path) == {"done": 2}  # one is expired and one forgotten


def test_after_a_crash_a_log_that_was_altered_is_told_once(crashed: tuple[Path, Any], tmp_path: Path) -> None:
    store, truth = crashed
    damaged = copied(store, tmp_path / "damaged")
    (log,) = (damaged / "namespaces" / AGENT).glob("shard-*/wal/open-1")
    alter(log)
    told = outcome(lambda: read(damaged), tmp_path)
    assert is_typed(told)
    assert "the last moments" in told["failed"][1]
    assert outcome(lambda: repaired(damaged), tmp_path)["done"][1] == []
    lines = outcome(lambda: read(damaged), tmp_path)["done"][0]
    assert [line for line in truth[0] if line not in lines and "no flush covers" not in line["content"]] == []


def alter(log: Path) -> None:
    """Alter an entry near the beginning."""
    with log.open("r+b") as file:
        file.seek(3000)
        byte = file.read(1)[0]
        file.seek(3000)
        file.write(bytes([byte ^ 4]))


# -- saved -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("log", ["there", "gone"])
def test_export_saves_what_is_left_and_names_what_is_missing(
    closed: tuple[Path, Any], tmp_path: Path, cli: Cli, log: str
) -> None:
    store, truth = closed
    shutil.rmtree(cli.home / "namespaces")
    copied(store / "namespaces", cli.home / "namespaces")
    folder = cli.home / "namespaces" / AGENT
    (ids,) = folder.glob("shard-*/segments/*/mutable_id_tracker.mappings")
    DAMAGES["halve"](ids, random.Random(1))
    if log == "gone":
        shutil.rmtree(next(folder.glob("shard-*/wal")))
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    file = tmp_path / "saved.jsonl"
    done = cli("export", "--agent", AGENT, "--output", str(file))
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before, "saving changed the store"
    saved = [json.loads(line) for line in file.read_text("utf-8").splitlines()][1:]
    if log == "there":
        assert (done.status, saved) == (0, truth[0])
        assert "doctor --repair" in done.err
    else:
        assert done.status == 5
        assert "gone: " in done.err
        assert 0 < len(saved) < len(truth[0])
        said = {line["content"] for line in truth[0]}
        assert {line["content"] for line in saved} <= said
    cli.done("agent", "create", "anew")
    cli.done("import", str(file), "--agent", "anew")
    assert len(cli.done("export", "--agent", "anew").out.splitlines()) == len(saved) + 1


def test_files_of_different_moments_are_refused(tmp_path: Path) -> None:
    """The segments of one moment and the log of a later one: what a copy of a busy store may hold."""
    store, copy = tmp_path / "store", tmp_path / "copy"
    with handle(store) as memory:
        for number in range(30):
            memory.remember(f"item {number}", type="fact")
        [shard] = (store / "namespaces").glob("*/shard-*")
        shutil.copytree(store, copy, ignore=shutil.ignore_patterns("*.socket", "wal", "closed.json"))
        for number in range(30, 60):
            memory.remember(f"item {number}", type="fact")
        engine = memory._opened()
        engine.flush(AGENT)
        shutil.copytree(shard / "wal", copy / shard.relative_to(store) / "wal")
    with handle(copy) as torn, pytest.raises(MemantoError, match="of different moments") as caught:
        torn.recall("item")
    assert caught.value.code == "store_damaged"
