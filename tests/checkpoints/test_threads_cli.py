"""`memanto threads`: what graphs stored, listed, shown and pruned without the framework that stored it."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.cli_kit import Cli

from memanto import Embedded
from memanto.checkpoints import Blob, Checkpoint, CheckpointLog, Key, Packed, Write
from memanto.cli.session import Session

NOW = datetime.now(UTC)


@pytest.fixture
def loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line of somebody whose agent has two threads, one of them a month old."""
    monkeypatch.chdir(tmp_path)
    cli = Cli(tmp_path / "home", monkeypatch)
    monkeypatch.setenv("MEMANTO_AGENT", "loop")
    with CheckpointLog("loop", store=Embedded(cli.home)) as log:
        fill(log, "old", 3, age=40)
        fill(log, "young", 30, age=0)
    return cli


def fill(log: CheckpointLog, thread: str, number: int, *, age: int) -> None:
    parent = None
    for n in range(number):
        digest = f"{n:032x}"
        blob = Blob(log.ref(thread, digest), digest, Packed("msgpack", "z" * 1_000))
        made = (NOW - timedelta(days=age) + timedelta(seconds=n)).isoformat()
        key = Key(thread, "", f"1f1ecd6a-{n:04x}-6ba4-8001-f7c8119d9f1e")
        values = {"scratch": blob.ref}
        assert (
            log.put(Checkpoint(key, parent, Packed("msgpack", "r"), values, ts=made, step=n - 1, source="loop"), [blob])
            == []
        )
        assert log.put_writes(key, [Write("task", "", 0, "scratch", Packed("msgpack", "r"))], []) == []
        parent = key.id


def test_threads_are_listed_with_their_sizes_the_latest_first(loop: Cli) -> None:
    lines = loop.done("threads", "list").out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["young", "old"]
    assert "30 checkpoints" in lines[0]
    assert "kB" in lines[0]
    assert lines[2].endswith("on the disk")
    found = loop.done("threads", "list", "--json").json
    assert [(one["id"], one["checkpoints"], one["writes"]) for one in found["threads"]] == [
        ("young", 30, 30),
        ("old", 3, 3),
    ]
    assert found["size"]["bytes"] == sum(one["bytes"] for one in found["threads"])


def test_a_thread_is_shown_with_its_latest_checkpoints(loop: Cli) -> None:
    shown = loop.done("threads", "show", "young", "--limit", "2")
    assert shown.out.count("step") == 2
    assert "step 28" in shown.out
    assert "28 more" in shown.err
    found = loop.done("threads", "show", "old", "--json").json
    assert [one["step"] for one in found["checkpoints"]] == [1, 0, -1]
    assert found["checkpoints"][0]["parent"] == found["checkpoints"][1]["id"]
    assert found["checkpoints"][0]["writes"] == 1


def test_pruning_says_what_would_go_and_then_takes_it(loop: Cli) -> None:
    assert (
        "would remove 29 checkpoints of 2 threads" in loop.done("threads", "prune", "--keep-last", "2", "--dry-run").out
    )
    assert loop("threads", "prune", "--keep-last", "2").status == 2
    pruned = loop.done("threads", "prune", "--keep-last", "2", "--yes", "--json").json
    assert pruned["pruned"]["checkpoints"] == 29
    found = loop.done("threads", "list", "--json").json["threads"]
    assert {one["id"]: one["checkpoints"] for one in found} == {"young": 2, "old": 2}
    assert "removed 0 checkpoints" in loop.done("threads", "prune", "--keep-last", "2").out


def test_pruning_by_age_takes_whole_threads_and_leaves_the_others(loop: Cli) -> None:
    pruned = loop.done("threads", "prune", "--before", "30 days ago", "--yes")
    assert "removed 3 checkpoints of 1 thread" in pruned.out
    assert [one["id"] for one in loop.done("threads", "list", "--json").json["threads"]] == ["young"]


def test_only_the_named_threads_are_pruned(loop: Cli) -> None:
    loop.done("threads", "prune", "young", "--keep-last", "1", "--yes")
    found = loop.done("threads", "list", "--json").json["threads"]
    assert {one["id"]: one["checkpoints"] for one in found} == {"young": 1, "old": 3}


def test_a_thread_is_deleted_with_its_bytes(loop: Cli) -> None:
    assert loop("threads", "delete", "old").status == 2
    loop.done("threads", "delete", "old", "--yes")
    assert loop("threads", "show", "old").status == 3
    kept = [path.read_bytes() for path in (loop.home / "checkpoints").rglob("*") if path.is_file()]
    assert [one for one in kept if b'"old"' in one or b"\x03old" in one] == []


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The questions that a person is asked, who says yes to each."""
    questions: list[str] = []
    monkeypatch.setattr(Session, "confirm", lambda _, question, **__: questions.append(question()))
    return questions


def test_deleting_an_agent_takes_its_threads_too_and_says_so(loop: Cli, asked: list[str]) -> None:
    loop.done("agent", "create", "loop")
    loop.done("remember", "The importer runs at night", "--type", "fact")
    done = loop.done("agent", "delete", "loop", "--json").json
    assert asked == ["Delete agent loop with 1 memory in 1 version and 2 threads of 33 checkpoints for good?"]
    assert (done["memories"], done["threads"], done["checkpoints"]) == (1, 2, 33)
    assert not (loop.home / "checkpoints" / "loop").exists()
    assert loop.done("threads", "list", "--agent", "loop", "--json").json["threads"] == []
    assert loop("agent", "delete", "loop", "--yes").status == 3


def test_an_agent_that_has_only_threads_can_be_deleted(loop: Cli) -> None:
    assert "2 threads of 33 checkpoints" in loop.done("agent", "delete", "loop", "--yes").out
    assert loop.done("threads", "list", "--agent", "loop", "--json").json["threads"] == []


def test_an_agent_without_threads_is_deleted_without_a_word_of_them(loop: Cli) -> None:
    loop.done("agent", "create", "other")
    assert "thread" not in loop.done("agent", "delete", "other", "--yes").out
    assert len(loop.done("threads", "list", "--json").json["threads"]) == 2


def test_status_shows_what_checkpoints_take_where_there_are_any(loop: Cli) -> None:
    loop.done("agent", "create", "loop")
    loop.done("agent", "create", "other")
    assert "33 in 2 threads" in loop.done("status").out
    shown = loop.done("status", "--json").json["checkpoints"]
    assert (shown["threads"], shown["checkpoints"]) == (2, 33)
    assert shown["bytes"] > 0
    assert loop.done("status", "--agent", "other", "--json").json["checkpoints"] is None
    assert "checkpoints" not in loop.done("status", "--agent", "other").out


def test_looking_leaves_no_folder_of_checkpoints_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cli = Cli(tmp_path / "home", monkeypatch)
    cli.done("agent", "create", "quiet")
    cli.done("status")
    cli("doctor")
    cli.done("threads", "list")
    cli.done("agent", "delete", "quiet", "--yes")
    assert not (cli.home / "checkpoints").exists()


def test_doctor_reads_every_checkpoint_of_every_agent(loop: Cli) -> None:
    loop.done("agent", "create", "loop")
    with CheckpointLog("second", store=Embedded(loop.home)) as log:
        fill(log, "one", 1, age=0)
    found = {one["detail"]: one["ok"] for one in checked(loop)}
    assert [detail.split(";")[0].rsplit(",", 1)[0] for detail in found] == [
        "loop: 33 in 2 threads",
        "second: 1 in 1 thread",
    ]
    assert all(found.values())


def test_doctor_looks_at_an_agent_that_has_only_threads_and_refuses_one_that_has_nothing(loop: Cli) -> None:
    assert [one["ok"] for one in checked(loop)] == [True]
    assert loop("doctor", "--agent", "nobody").status == 3


def test_doctor_names_the_damaged_thread_which_can_be_deleted_then(loop: Cli) -> None:
    loop.done("agent", "create", "loop")
    change_a_letter(loop.home, "1f1ecd6a-0001-6ba4")
    [first, *_] = checked(loop)
    assert not first["ok"]
    assert "not what was stored" in first["detail"]
    assert "threads delete" in first["fix"]
    assert "damaged" in loop.done("status").out
    thread = next(one for one in ("old", "young") if f"thread '{one}'" in first["detail"])
    assert "damaged" in loop.done("threads", "delete", thread, "--yes").out
    assert all(one["ok"] for one in checked(loop))


def test_an_agent_with_damaged_threads_can_be_deleted(loop: Cli, asked: list[str]) -> None:
    change_a_letter(loop.home, "1f1ecd6a-0001-6ba4")
    loop.done("agent", "delete", "loop")
    assert "damaged checkpoints" in asked[0]
    assert not (loop.home / "checkpoints" / "loop").exists()


def checked(cli: Cli) -> list[dict[str, Any]]:
    """Return what doctor says of checkpoints."""
    return [one for one in cli("doctor", "--json").json["checks"] if one["name"] == "checkpoints"]


def change_a_letter(home: Path, text: str) -> None:
    """Change the last letter of a text in the payloads, where it stands first."""
    [page] = (home / "checkpoints" / "loop").rglob("payload_storage/page_*.dat")
    with page.open("r+b") as file:
        file.seek(page.read_bytes().index(text.encode()) + len(text) - 1)
        file.write(b"~")


def test_several_threads_are_deleted_at_once(loop: Cli, asked: list[str]) -> None:
    done = loop.done("threads", "delete", "old", "young", "--json").json
    assert asked == ["Delete threads old, young with 33 checkpoints for good?"]
    assert done["threads"] == [{"thread": "old", "checkpoints": 3}, {"thread": "young", "checkpoints": 30}]
    assert loop.done("threads", "list", "--json").json["threads"] == []


def test_what_is_wrong_is_said(loop: Cli) -> None:
    missing = loop("threads", "show", "none")
    assert missing.status == 3
    assert "threads list" in missing.err
    assert loop("threads", "prune", "none", "--keep-last", "1").status == 3
    assert loop("threads", "prune").status == 2
    assert loop("threads", "prune", "--keep-last", "0").status == 2


def test_an_agent_without_threads_has_an_empty_list(loop: Cli) -> None:
    listed = loop.done("threads", "list", "--agent", "other", "--json")
    assert listed.json["threads"] == []
    assert not (loop.home / "checkpoints" / "other").exists()


def test_the_command_needs_no_framework() -> None:
    program = (
        "import sys; from memanto.cli import threads; from memanto.checkpoints import CheckpointLog; "
        "print([name for name in sys.modules if name.split('.')[0] in {'langgraph', 'langchain_core', 'zstandard'}])"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
