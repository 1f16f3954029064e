"""A disk that is full, and one that became read-only: refused in time, and nothing acknowledged is lost."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.stress.disk_kit import Disk, on_a_disk

pytestmark = [on_a_disk, pytest.mark.slow]

REFUSED = ["disk_full", True, True]  # code, may be tried again, says what to do
WRITES = ("remember", "edit", "forget", "reindex", "create")


def run(tmp_path: Path, command: str) -> list[Any]:
    """Return what the worker told, line by line, on a disk of 300 MB."""
    disk = Disk.make(tmp_path / "disk.img", 300)
    mount_point = tmp_path / "disk"
    done = subprocess.run(
        disk.command(mount_point, command, mount_point / "store"),
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_full_disk_refuses_every_write_in_time_and_answers_every_read(tmp_path: Path) -> None:
    told, found = run(tmp_path, "refuse")
    for left, answers in told["answers"].items():
        assert {verb: answers[verb] for verb in WRITES} == dict.fromkeys(WRITES, REFUSED), left
        assert answers["recall"] == answers["recall after opening"] == ["kept from before"], left
        assert "disk-space" in answers["doctor"], left
    assert told["opening"] == REFUSED
    assert found == told["told"]


def test_a_process_that_the_full_disk_kills_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    """The engine maps its files, so a disk that others fill up in the middle of a write ends in SIGBUS."""
    told, found = run(tmp_path, "die")
    assert told["status"] == -signal.SIGBUS
    assert len(told["told"]) > 10
    assert [one for one in told["told"] if one not in found] == []


def test_a_read_only_disk_is_named_by_every_verb_and_loses_nothing(tmp_path: Path) -> None:
    answers, found = run(tmp_path, "read-only")
    for verb in ("remember", "recall", "forget", "create"):
        assert answers[verb] == ["backend_unavailable", True, True]
    assert "backend_unavailable" in answers["doctor"]
    assert [content for _, _, content in found] == ["kept from before"]
