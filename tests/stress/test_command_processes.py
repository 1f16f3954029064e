"""The command line in processes of its own: pipes, terminals, and homes that are not what they seem."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.acceptance.cli_kit import Cli
from tests.stress.stress_kit import PROGRAM, real, refused

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX streams and modes")


# -- real processes: bytes, pipes, terminals -----------------------------------------------------------------------
@pytest.fixture
def home(tmp_path: Path, cli: Cli) -> Path:
    cli.remember("kept \x1b[31mred\x1b[0m \u202egnp.exe \x07 end")
    return cli.home


@posix
def test_bytes_that_are_not_utf_8_are_refused_by_a_process_of_its_own(home: Path) -> None:
    for arguments in ([b"remember", b"\xff\xfe"], [b"recall", b"--tags", b"caf\xe9"]):
        done = real(*arguments, b"--json", home=home)
        assert (done.returncode, done.stdout) == (2, b""), done
        assert json.loads(done.stderr)["error"]["code"] == "invalid_input"


@posix
def test_a_reader_that_leaves_early_gets_no_traceback(home: Path) -> None:
    for arguments in (["recall"], ["export"], ["--help"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = real(*arguments, home=home, stdout=writer, stderr=subprocess.PIPE, capture_output=False)
        os.close(writer)
        assert done.stderr == b"", (arguments, done)
        assert done.returncode in {0, 141}
    read, write = os.pipe()
    os.close(read)
    done = real("show", "ffff", home=home, stdout=subprocess.PIPE, stderr=write, capture_output=False)
    os.close(write)
    assert done.stdout == b""


@posix
def test_closed_standard_streams_do_not_lose_what_was_remembered(home: Path, cli: Cli) -> None:
    shell = 'exec "$0" "$@" <&- >&- 2>&-'
    environment = {**os.environ, "MEMANTO_HOME": str(home), "MEMANTO_AGENT": "loop"}
    subprocess.run(
        ["/bin/sh", "-c", shell, sys.executable, "-c", PROGRAM, "remember", "into the void", "--type", "fact"],
        env=environment,
        timeout=120,
        check=False,
    )
    assert "into the void" in cli.recalled("into the void")


@posix
@pytest.mark.parametrize(
    "arguments", [["recall"], ["recall", "kept", "--explain"], ["show", "ID"], ["history", "ID"]], ids=" ".join
)
def test_stored_text_cannot_steer_a_terminal(home: Path, cli: Cli, arguments: list[str]) -> None:
    kept = cli.done("recall", "--json").json["results"][0]["memory"]["id"]
    shown = on_terminal([kept if word == "ID" else word for word in arguments], home)
    assert "kept" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", lambda code: "" if code[0] != "\x1b[31mred" else code[0], shown)
    assert "\x1b[31mred" not in shown
    assert not [c for c in plain if ord(c) < 32 and c not in "\r\n\t"]
    assert "\u202e" not in plain


@posix
def test_an_error_about_stored_or_given_text_cannot_steer_a_terminal(home: Path) -> None:
    shown = on_terminal(["remember", "x", "--type", "\x1b[2Jmemo\u202e\x9b"], home)
    assert "memo" in shown
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
    assert "\x9b" not in shown


def on_terminal(arguments: list[str], home: Path) -> str:
    """Return what a command writes to a terminal."""
    import pty

    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        env={**os.environ, "MEMANTO_HOME": str(home), "MEMANTO_AGENT": "loop", "TERM": "xterm-256color"},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        close_fds=True,
    )
    os.close(follower)
    chunks = []
    while True:
        try:
            chunk = os.read(leader, 1 << 16)
        except OSError:  # the other end of a terminal that nobody has open any more
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(leader)
    process.wait(timeout=60)
    return b"".join(chunks).decode("utf-8")


@posix
@pytest.mark.parametrize("answer", [b"n\n", b"\n", b"maybe\n"])
def test_on_a_terminal_only_yes_destroys(home: Path, cli: Cli, answer: bytes) -> None:
    import pty

    kept = cli.done("recall", "--json").json["results"][0]["memory"]["id"]
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "forget", kept],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "MEMANTO_HOME": str(home), "MEMANTO_AGENT": "loop"},
    )
    os.write(leader, answer)
    status = process.wait(timeout=60)
    os.close(follower)
    os.close(leader)
    assert status == 2
    assert cli.done("show", kept, "--json").json["status"] == "active"


# -- homes ----------------------------------------------------------------------------------------------------------
def test_a_home_that_is_a_file_is_refused(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("mine", "utf-8")
    monkeypatch.setenv("MEMANTO_HOME", str(file))
    monkeypatch.setenv("MEMANTO_AGENT", "loop")
    for arguments in (
        ["remember", "x"],
        ["recall", "x"],
        ["agent", "create", "a"],
        ["agent", "list"],
        ["status"],
        ["config", "set", "offline", "true"],
        ["doctor"],
        ["export"],
    ):
        outcome = cli(*arguments, "--json")
        assert outcome.status in {2, 3, 5}, (arguments, outcome)
        assert outcome.error["code"] != "internal"
    assert file.read_text("utf-8") == "mine"


def test_a_home_that_does_not_exist_yet_is_made_only_by_what_writes(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "deep" / "new home é"
    monkeypatch.setenv("MEMANTO_HOME", str(place))
    assert cli("recall", "x", "--agent", "nobody", "--json").status == 3
    cli("agent", "list", "--json")
    cli("config", "show", "--json")
    assert not [path for path in place.rglob("*") if path.is_file()] if place.exists() else True
    cli.done("agent", "create", "loop")
    assert cli.remember("here")


def test_a_home_behind_a_link_is_the_same_store(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = cli.remember("kept")
    (tmp_path / "link").symlink_to(cli.home)
    monkeypatch.setenv("MEMANTO_HOME", str(tmp_path / "link"))
    assert cli.recalled() == ["kept"]
    cli.done("forget", kept, "--yes")
    assert cli.recalled() == []
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nowhere")
    monkeypatch.setenv("MEMANTO_HOME", str(dangling))
    outcome = cli("agent", "create", "loop", "--json")
    assert outcome.status == 0 or outcome.error["code"] != "internal"


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_may_not_be_written_is_refused_with_its_path(cli: Cli) -> None:
    cli.remember("kept")
    for path in [cli.home, *cli.home.rglob("*")]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        for arguments in (["remember", "x"], ["agent", "create", "other"], ["config", "set", "offline", "true"]):
            outcome = cli(*arguments, "--json")
            assert outcome.status in {2, 5}
            assert str(cli.home) in outcome.error["message"]
    finally:
        for path in [cli.home, *cli.home.rglob("*")]:
            path.chmod(0o700 if path.is_dir() else 0o600)


def test_no_active_agent_exits_2_and_says_which_there_are_or_how_to_make_one(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.done("agent", "deactivate")
    assert "agent activate loop" in refused(cli("remember", "x", "--json"))["hint"]
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("MEMANTO_HOME", str(tmp_path / "empty"))
        assert "agent create" in refused(cli("remember", "x", "--json"))["hint"]
    assert refused(cli("remember", "x", "--agent", "nobody", "--json"), 3)["hint"]
    cli.done("agent", "create", "Loop")
    cli.done("agent", "create", "LOOP")
    assert {one["agent"]["id"] for one in cli.done("agent", "list", "--json").json["agents"]} == {
        "loop",
        "Loop",
        "LOOP",
    }
