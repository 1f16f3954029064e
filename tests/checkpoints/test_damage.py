"""A byte that changed by itself is noticed when read, and named with its thread and checkpoint (pins the spec)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memanto import Embedded
from memanto.checkpoints import Blob, Checkpoint, CheckpointLog, Key, Packed, Write
from memanto.errors import MemantoError, StoreDamagedError

KEYS = [Key("thread-a", "", f"1f1ecd6a-000{n}-6ba4-8001-f7c8119d9f1e") for n in range(2)]
OTHER = Key("thread-b", "sub|graph", "1f1ecd6a-0009-6ba4-8001-f7c8119d9f1e")


def noise(seed: int) -> str:
    """Return a text that no engine can compress, so that it stands in the file as it is."""
    return "".join(random.Random(seed).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", k=400))


BODY, BLOB, WRITE = noise(1), noise(2), noise(3)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[CheckpointLog]:
    """A log with two threads; the second checkpoint of the first has a body, a value and a write that can be found."""
    with CheckpointLog("loop", store=Embedded(tmp_path)) as log:
        blob = Blob(log.ref("thread-a", "d" * 32), "d" * 32, Packed("msgpack", BLOB))
        log.put(
            Checkpoint(KEYS[0], None, Packed("msgpack", "first"), {"plan": blob.ref}, ts="2026-01-01", run="r"), [blob]
        )
        log.put(Checkpoint(KEYS[1], KEYS[0].id, Packed("msgpack", BODY), {"plan": blob.ref}, step=1, source="loop"), [])
        log.put_writes(KEYS[1], [Write("task", "path", 0, "notes", Packed("msgpack", WRITE))], [])
        log.put(Checkpoint(OTHER, None, Packed("msgpack", noise(4)), root=KEYS[0].id), [])
        log.flush()
        yield log


def reads(log: CheckpointLog) -> dict[str, Callable[[], Any]]:
    """Return every way to read what is there."""
    return {
        "get": lambda: [log.get(key) for key in (*KEYS, OTHER)],
        "latest": lambda: [log.latest("thread-a", ""), log.latest("thread-b", "sub|graph")],
        "all": lambda: list(log.checkpoints()),
        "some": lambda: list(log.checkpoints(accept=lambda one: one.step == 1)),
        "chain": lambda: list(log.chain(KEYS[1])),
        "threads": log.threads,
        "outline": lambda: [log.outline("thread-a"), log.outline("thread-b")],
        "problems": log.problems,
    }


def pages(folder: Path) -> list[Path]:
    """Return the files that hold payloads; the engine has them mapped, so that what is written there it sees."""
    return list((folder / "checkpoints" / "loop").rglob("payload_storage/page_*.dat"))


@contextmanager
def flipped(path: Path, offset: int, bits: int = 1) -> Iterator[None]:
    """Flip bits of one byte of a file while the block lasts."""
    with path.open("r+b", buffering=0) as file:
        file.seek(offset)
        [byte] = file.read(1)
        for value in (byte ^ bits, byte):
            file.seek(offset)
            file.write(bytes([value]))
            if value != byte:
                yield


@contextmanager
def damaged(folder: Path, text: str) -> Iterator[None]:
    """Change a letter of a text in the payloads."""
    [page] = pages(folder)
    offset = page.read_bytes().index(text[:60].encode()) + 30
    with flipped(page, offset):
        yield


@pytest.mark.parametrize("text", [BODY, BLOB, WRITE], ids=["state", "value", "write"])
def test_a_changed_letter_is_an_error_that_names_thread_and_checkpoint(
    text: str, log: CheckpointLog, tmp_path: Path
) -> None:
    with damaged(tmp_path, text):
        for read in (lambda: log.get(KEYS[1]), lambda: log.latest("thread-a", ""), lambda: list(log.checkpoints())):
            with pytest.raises(StoreDamagedError, match="not what was stored") as caught:
                read()
            assert KEYS[1].id in caught.value.message
            assert "'thread-a'" in caught.value.message
            assert "threads delete" in caught.value.hint
        [problem] = log.problems()
        assert "thread-a" in problem
        assert log.latest("thread-b", "sub|graph") is not None
    assert log.problems() == []
    assert log.get(KEYS[1]) is not None


def test_a_changed_head_is_found_by_whoever_reads_no_bodies(log: CheckpointLog, tmp_path: Path) -> None:
    with damaged(tmp_path, OTHER.id):
        for read in (log.threads, lambda: log.outline("thread-b"), lambda: log.latest("thread-b", "sub|graph")):
            with pytest.raises(StoreDamagedError, match="'thread-b' is not what was stored"):
                read()
        assert log.latest("thread-a", "") is not None
        assert log.thread("thread-a") is not None


def test_whatever_byte_changes_nobody_reads_another_state(log: CheckpointLog, tmp_path: Path) -> None:
    expected = {name: read() for name, read in reads(log).items()}
    [page] = pages(tmp_path)
    data = page.read_bytes()
    held = [offset for offset, byte in enumerate(data[: 1 << 16]) if byte]
    noticed = 0
    for offset in random.Random(5).sample(held, 60):
        with flipped(page, offset, 1 << offset % 8):
            for name, read in reads(log).items():
                try:
                    found = read()
                except MemantoError as error:
                    assert isinstance(error, StoreDamagedError), (offset, name)
                    noticed += 1
                    continue
                assert found == expected[name] or name == "problems", (offset, name)
    assert noticed > 200


@contextmanager
def unreadable(folder: Path, text: str) -> Iterator[None]:
    """Make a text in the payloads one that the engine itself cannot read."""
    [page] = pages(folder)
    with flipped(page, page.read_bytes().index(text[:60].encode()) + 30, 0x80):
        yield


def test_a_thread_that_the_engine_cannot_read_can_be_deleted(log: CheckpointLog, tmp_path: Path) -> None:
    with unreadable(tmp_path, BODY):
        [problem] = log.problems()
        assert problem.startswith("thread 'thread-a'")
        log.delete_threads(["thread-a"])
        assert [one.id for one in log.threads()] == ["thread-b"]
        assert log.problems() == []
        log.put(Checkpoint(KEYS[0], None, Packed("msgpack", "anew")), [])
    assert len(log.threads()) == 2


def test_threads_that_the_engine_cannot_read_are_deleted_together(log: CheckpointLog, tmp_path: Path) -> None:
    log.put(Checkpoint(Key("thread-c", "", KEYS[0].id), None, Packed("msgpack", "whole")), [])
    with unreadable(tmp_path, BODY), unreadable(tmp_path, OTHER.id):
        assert [problem.split(":")[0] for problem in log.problems()] == ["thread 'thread-a'", "thread 'thread-b'"]
        with pytest.raises(StoreDamagedError, match="cannot read") as caught:
            log.delete_threads(["thread-a"])
        assert "delete them in one call" in caught.value.hint
        assert len(log.problems()) == 2
        log.delete_threads(["thread-b", "thread-a"])
    assert [one.id for one in log.threads()] == ["thread-c"]


def test_pruning_a_thread_that_the_engine_cannot_read_changes_nothing(log: CheckpointLog, tmp_path: Path) -> None:
    with unreadable(tmp_path, WRITE):
        with pytest.raises(StoreDamagedError):
            log.prune(["thread-a"], keep_last=1)
        log.put(Checkpoint(Key("thread-c", "", KEYS[0].id), None, Packed("msgpack", "whole")), [])
    assert log.problems() == []
    assert [one.checkpoints for one in log.threads() if one.id == "thread-a"] == [2]


def test_a_damaged_thread_can_be_deleted_and_the_others_go_on(log: CheckpointLog, tmp_path: Path) -> None:
    with damaged(tmp_path, OTHER.id), damaged(tmp_path, BODY):
        log.delete_threads(["thread-b", "thread-a"])
    assert log.threads() == []
    assert log.problems() == []
