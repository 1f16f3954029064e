"""Upkeep every day: installed by what the machine has, done for every agent, its result kept (our decision)."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from datetime import time as time_of_day
from pathlib import Path

import pytest
from tests.acceptance.cli_kit import Cli

from memanto.cli import timers
from memanto.cli.schedule_state import LastRun, only_one, read_state, write_state
from memanto.cli.timers import MARK, Cron, Job, Launchd, Systemd, WindowsTask, home_of
from memanto.times import utc_now

OLD, NEW = "The primary database is Postgres", "The primary database is now MySQL"

FAKE_CRONTAB = """#!/bin/sh
case "$1" in
  -l) test -f "$FAKE_TABLE" && cat "$FAKE_TABLE" || { echo "no crontab for you" >&2; exit 1; } ;;
  -r) rm -f "$FAKE_TABLE" ;;
  -) cat > "$FAKE_TABLE" ;;
esac
"""


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    monkeypatch.chdir(tmp_path)
    cli = Cli(tmp_path / "home", monkeypatch)
    cli.done("agent", "create", "tester")
    yield cli


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a crontab command that is a double; its daemon is taken to run."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "crontab"
    program.write_text(FAKE_CRONTAB, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_TABLE", str(tmp_path / "table"))
    monkeypatch.setattr(timers, "_daemon_runs", lambda names: True)
    monkeypatch.setattr(timers, "timers", lambda home: [Cron(home)])
    monkeypatch.setattr("memanto.cli.schedule.timers", lambda home: [Cron(home)])
    return tmp_path / "table"


posix = pytest.mark.skipif(os.name == "nt", reason="a crontab is a matter of Unix")


# -- installing -------------------------------------------------------------------------------------
@posix
def test_enabling_adds_one_line_and_disabling_removes_only_that(cli: Cli, table: Path) -> None:
    theirs = "# mine\n5 4 * * * backup --all % # nightly\n"
    table.write_text(theirs, encoding="utf-8")
    for at in ("23:55", "06:05"):
        assert cli.done("schedule", "enable", "--at", at, "--json").json["timer"] == "cron"
    lines = table.read_text("utf-8").splitlines()
    assert lines[:2] == theirs.splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("5 6 * * * ")
    assert lines[2].endswith(f"# {MARK}")
    status = cli.done("schedule", "status", "--json").json
    assert (status["enabled"], status["at"], status["last"]) == (True, "06:05", None)
    assert cli.done("schedule", "disable", "--json").json["removed"] == ["cron"]
    assert table.read_text("utf-8") == theirs
    assert "nothing was enabled" in cli.done("schedule", "disable").out


@posix
def test_disabling_the_only_line_removes_the_crontab(cli: Cli, table: Path) -> None:
    cli.done("schedule", "enable")
    cli.done("schedule", "disable")
    assert not table.exists()


@posix
def test_the_line_runs_upkeep_on_this_store_by_this_python(cli: Cli, table: Path) -> None:
    cli.remember(OLD, "--type", "fact")
    cli.done("schedule", "enable")
    command = table.read_text("utf-8").split(" * * * ")[1].rsplit(" # ", 1)[0].replace("\\%", "%")
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "MEMANTO_OFFLINE": "1"}
    subprocess.run(["/bin/sh", "-c", command], check=False, env=environment, timeout=120)
    last = read_state(cli.home).last
    assert last is not None, (cli.home / "schedule.log").read_text("utf-8")
    assert list(last.agents) == ["tester"]


def test_where_no_scheduler_runs_the_line_to_add_is_told(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timers, "timers", lambda home: [])
    outcome = cli("schedule", "enable", "--json")
    assert outcome.status == 2
    assert "no scheduler runs here" in outcome.error["message"]
    assert "55 23 * * * " in outcome.error["hint"]
    assert MARK in cli.done("schedule", "enable", "--print").out


@pytest.mark.parametrize("arguments", [["--at", "25:00"], ["--at", "noon"], ["--by", "anacron"]])
def test_a_time_or_scheduler_that_does_not_exist_is_refused(arguments: list[str], cli: Cli) -> None:
    assert cli("schedule", "enable", *arguments).status == 2


def home_in(folder: Path) -> Path:
    """Return a folder whose name holds what shells and schedulers read specially."""
    return folder / '100% "mine" $HOME # it\'s'


def job(folder: Path) -> Job:
    return Job(
        command=("/opt/my python/bin/python", "-m", "memanto.cli", "schedule", "run"),
        at=time_of_day(6, 5),
        environment={"MEMANTO_HOME": str(home_in(folder))},
        log=folder / "log",
    )


def test_what_shells_and_schedulers_read_specially_is_escaped(tmp_path: Path) -> None:
    line = job(tmp_path).cron_line
    assert "100\\% " in line
    assert home_of(line) == home_in(tmp_path)
    assert "'/opt/my python/bin/python'" in line
    service, timer = Systemd(home_in(tmp_path), tmp_path).units(job(tmp_path))
    assert "100%% " in service
    assert "$$HOME" in service
    assert "OnCalendar=*-*-* 06:05:00" in timer
    assert "Persistent=true" in timer
    told = plistlib.loads(Launchd(home_in(tmp_path), tmp_path).plist(job(tmp_path)))
    assert told["StartCalendarInterval"] == {"Hour": 6, "Minute": 5}
    assert told["EnvironmentVariables"]["MEMANTO_HOME"] == str(home_in(tmp_path))
    assert told["ProgramArguments"][0] == "/opt/my python/bin/python"
    assert "MEMANTO_HOME" in WindowsTask(home_in(tmp_path)).action(job(tmp_path))


@posix
def test_systemd_installs_and_removes_its_two_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, ...]] = []
    monkeypatch.setattr(
        timers, "_run", lambda command, stdin=None: told.append(tuple(command)) or subprocess.CompletedProcess([], 0)
    )
    timer = Systemd(tmp_path, tmp_path / "user")
    timer.install(job(tmp_path))
    assert timer.installed()
    [unit] = (tmp_path / "user").glob(f"{MARK}-*.timer")
    assert told[-1] == ("systemctl", "--user", "enable", "--now", unit.name)
    assert timer.remove()
    assert list((tmp_path / "user").iterdir()) == []
    assert not timer.remove()


# -- several stores ---------------------------------------------------------------------------------
@posix
def test_each_store_has_its_own_line_in_the_crontab(cli: Cli, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.done("schedule", "enable", "--at", "01:00")
    other = Cli(cli.home.parent / "other home", monkeypatch)
    other.done("agent", "create", "tester")
    assert not other.done("schedule", "status", "--json").json["enabled"]
    other.done("schedule", "enable", "--at", "02:00")
    lines = table.read_text("utf-8").splitlines()
    assert [home_of(line) for line in lines] == [cli.home.resolve(), other.home.resolve()]
    assert other.done("schedule", "disable", "--json").json["removed"] == ["cron"]
    assert table.read_text("utf-8").splitlines() == lines[:1]
    assert "nothing was enabled" in other.done("schedule", "disable").out
    assert Cron(cli.home).installed()


@pytest.mark.parametrize(
    "line",
    [
        "5 4 * * * backup --all % # nightly",
        f"5 4 * * * memanto schedule run # {MARK}",  # written by hand: of which store, nobody can tell
        f"#5 4 * * * MEMANTO_HOME=/home/me/store memanto schedule run # {MARK}",
        f"5 4 * * * MEMANTO_HOME='/home/me memanto schedule run # {MARK}",
    ],
)
def test_a_line_that_is_not_a_running_schedule_of_a_store_is_nobodys(line: str) -> None:
    assert home_of(line) is None


class FakeScheduler:
    """Stands for `launchctl` and `schtasks`: remembers which names were created."""

    def __init__(self) -> None:
        self.tasks: set[str] = set()

    def __call__(self, command: Sequence[str], *, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        status = 0
        if "/Create" in command:
            self.tasks.add(command[command.index("/TN") + 1])
        elif command[0] == "schtasks":
            name = command[command.index("/TN") + 1]
            status = 0 if name in self.tasks else 1
            if "/Delete" in command:
                self.tasks.discard(name)
        return subprocess.CompletedProcess(command, status, "", "")


@pytest.mark.parametrize("kind", ["systemd", "launchd", "windows-task"])
def test_a_job_of_another_store_is_neither_found_nor_removed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timers, "_run", FakeScheduler())
    monkeypatch.setattr(timers.shutil, "which", lambda name: name)
    folder = tmp_path / "jobs"
    make = {
        "systemd": lambda home: Systemd(home, folder),
        "launchd": lambda home: Launchd(home, folder),
        "windows-task": WindowsTask,
    }[kind]
    mine, theirs = make(tmp_path / "mine"), make(tmp_path / "theirs")
    mine.install(job(tmp_path))
    assert (mine.installed(), theirs.installed(), theirs.remove()) == (True, False, False)
    theirs.install(job(tmp_path))
    assert mine.remove()
    assert (mine.installed(), theirs.installed()) == (False, True)


# -- running ----------------------------------------------------------------------------------------
def test_a_run_does_all_four_for_every_agent_and_keeps_the_results(cli: Cli) -> None:
    cli.remember(OLD, "--type", "fact")
    cli.remember(NEW, "--type", "fact")
    cli.done("policy", "set", "goal", "--floor", "0.5")
    cli.remember("Ship it one day", "--type", "goal", "--confidence", "0.1")
    cli.done("agent", "create", "other")
    cli("schedule", "run")
    last = read_state(cli.home).last
    assert last is not None
    assert list(last.agents) == ["other", "tester"]
    told = last.agents["tester"]
    assert told["summaries"][0]["counts"] == {"Goals": 1, "Facts": 2}
    assert (told["examined"], told["found"], told["backlog"]) == (3, 1, 1)
    assert told["expired"] == 1
    assert told["checks"] > 3
    assert told["problems"] == []
    assert last.seconds >= 0
    shown = cli.done("schedule", "status").out
    assert "last run" in shown
    assert "tester" in shown


def test_missed_days_are_made_up_for(cli: Cli) -> None:
    cli.remember(OLD, "--type", "fact")
    cli("schedule", "run")
    state = read_state(cli.home)
    today = state.through["tester"]
    from dataclasses import replace

    write_state(cli.home, replace(state, through={"tester": today - timedelta(days=4)}))
    cli("schedule", "run")
    last = read_state(cli.home).last
    assert last is not None
    days = [one["day"] for one in last.agents["tester"]["summaries"]]
    assert days == [(today - timedelta(days=n)).isoformat() for n in (4, 3, 2, 1, 0)]
    assert read_state(cli.home).through == {"tester": today}


def test_only_one_run_goes_on_at_a_time(cli: Cli) -> None:
    with only_one(cli.home):
        outcome = cli("schedule", "run", "--json")
    assert outcome.status == 4
    assert outcome.error["code"] == "store_locked"


def test_a_failing_step_is_reported_the_others_are_done_and_the_next_command_tells(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memanto import Memanto
    from memanto.errors import BackendError

    cli.remember(OLD, "--type", "fact")

    def broken(self: Memanto, **_: object) -> object:
        raise BackendError("the shelf fell down", hint="put it up again")

    with monkeypatch.context() as patch:
        patch.setattr(Memanto, "detect_conflicts", broken)
        assert cli("schedule", "run").status == 3
    last = read_state(cli.home).last
    assert last is not None
    assert not last.ok
    assert last.agents["tester"]["checks"] > 3
    assert any("detection: the shelf fell down" in problem for problem in last.problems)
    assert "the scheduled upkeep had problems" in cli.done("recall", "--recent").err
    assert "the scheduled upkeep" not in cli.done("recall", "--recent", "--quiet").err
    write_state(cli.home, read_state(cli.home).__class__(last=LastRun(at=utc_now(), seconds=1, ok=True)))
    assert "the scheduled upkeep" not in cli.done("recall", "--recent").err


def test_a_fault_of_ours_is_told_at_the_next_command_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from memanto import Memanto

    def broken(self: Memanto, **_: object) -> object:
        raise ZeroDivisionError("division by zero")

    with monkeypatch.context() as patch:
        patch.setattr(Memanto, "upkeep", broken)
        assert cli("schedule", "run").status == 1
    assert "ZeroDivisionError: division by zero" in cli.done("recall", "--recent").err


def test_a_state_that_cannot_be_read_is_named(cli: Cli) -> None:
    (cli.home / "schedule.json").write_text("{", encoding="utf-8")
    outcome = cli("schedule", "status", "--json")
    assert outcome.status == 5
    assert "schedule.json" in outcome.error["message"]


# -- Debian's cron ----------------------------------------------------------------------------------
def _without_leftovers() -> None:
    """Remove the lines that a test which was killed has left: their stores are gone."""
    listed = subprocess.run(["crontab", "-l"], capture_output=True, text=True, check=False)
    lines = listed.stdout.splitlines() if listed.returncode == 0 else []
    kept = [line for line in lines if (home := home_of(line)) is None or home.exists()]
    if kept != lines:
        subprocess.run(["crontab", "-"], input="".join(f"{line}\n" for line in kept), text=True, check=True)


@pytest.fixture
def cron() -> Iterator[None]:
    """Debian's cron, which runs while the test does; skips where it cannot."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("starting cron takes root")
    if shutil.which("cron") is None or shutil.which("crontab") is None:
        pytest.skip("cron is not installed")
    _without_leftovers()
    if timers._daemon_runs(("cron", "crond")):
        yield
        return
    listed = subprocess.run(["crontab", "-l"], capture_output=True, text=True, check=False)
    if any(line.strip() and not line.startswith("#") for line in listed.stdout.splitlines()):
        pytest.skip("starting cron would run what else is in the crontab")
    daemon = subprocess.Popen(["cron", "-f"])
    yield
    daemon.terminate()
    daemon.wait(timeout=10)


@pytest.mark.slow
def test_cron_itself_runs_upkeep_at_the_minute(cron: None, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed for the next minute, run by the daemon, and its result read: waits up to that minute."""
    cli.remember(OLD, "--type", "fact")
    cli.remember(NEW, "--type", "fact")
    monkeypatch.setenv("MEMANTO_OFFLINE", "1")
    try:
        local = datetime.now().astimezone()  # cron reads the machine's clock, not TZ
        minute = local + timedelta(minutes=1 if local.second < 50 else 2)
        cli.done("schedule", "enable", "--by", "cron", "--at", f"{minute:%H:%M}")
        listed = subprocess.run(["crontab", "-l"], capture_output=True, text=True, check=True).stdout
        assert [home_of(line) for line in listed.splitlines() if MARK in line].count(cli.home.resolve()) == 1
        deadline = time.monotonic() + 180
        while read_state(cli.home).last is None and time.monotonic() < deadline:
            time.sleep(0.5)
        last = read_state(cli.home).last
        assert last is not None, (cli.home / "schedule.log").read_text("utf-8")
        told = last.agents["tester"]
        assert told["summaries"][0]["counts"] == {"Facts": 2}
        assert told["backlog"] == 1
        assert told["checks"] > 3
        assert told["problems"] == []
    finally:
        cli.done("schedule", "disable")
    assert not Cron(cli.home).installed()
