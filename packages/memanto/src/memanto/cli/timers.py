"""What runs a command every day on this machine: cron, a systemd user timer, launchd or the Windows scheduler.

Each way installs, removes and finds exactly what it installed itself for one store, recognised by its mark and the
store's folder (`MEMANTO_HOME`), and touches nothing else: several stores of one user have a schedule each. All of
them run the same command line.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import time
from pathlib import Path
from typing import Final, Protocol

from memanto.errors import BackendError, ConfigurationError

MARK: Final = "memanto-upkeep"
HOME: Final = "MEMANTO_HOME"
"""Variable that names the folder of the store; every job is given it."""
_TIMEOUT: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to run every day.

    Attributes:
        command: Program and arguments.
        at: Local time of day, to the minute.
        environment: Variables it needs, which a scheduler does not pass on.
        log: File that receives what it prints.
    """

    command: tuple[str, ...]
    at: time
    environment: Mapping[str, str] = field(default_factory=dict)
    log: Path

    @property
    def shell(self) -> str:
        """The command as a line for a shell."""
        variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in self.environment.items())
        return f"{variables} {shlex.join(self.command)} >> {shlex.quote(str(self.log))} 2>&1".strip()

    @property
    def cron_line(self) -> str:
        """The line of a crontab, with its mark; cron reads an unescaped "%" as the end of the command."""
        return f"{self.at.minute} {self.at.hour} * * * {self.shell}".replace("%", "\\%") + f" # {MARK}"


class Timer(Protocol):
    """A way to run the job of one store every day."""

    name: str

    def available(self) -> bool:
        """Whether this machine has it and it runs."""

    def install(self, job: Job) -> None:
        """Install the job in place of what was installed before."""

    def remove(self) -> bool:
        """Remove what was installed; `False` when nothing was."""

    def installed(self) -> bool:
        """Whether the job is there."""


def _run(command: Sequence[str], *, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603 - programs and arguments of this module
            command, input=stdin, capture_output=True, text=True, check=False, timeout=_TIMEOUT
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BackendError(
            f"{command[0]!r} cannot be run ({error})", hint="`memanto schedule enable --print`"
        ) from error


def _must(command: Sequence[str], *, stdin: str | None = None) -> None:
    done = _run(command, stdin=stdin)
    if done.returncode:
        told = (done.stderr or done.stdout).strip().splitlines()
        raise BackendError(
            f"{shlex.join(command)} failed: {told[-1] if told else f'status {done.returncode}'}",
            hint="`memanto schedule enable --print` shows the line to add by hand",
        )


def _label(home: Path) -> str:
    """Return the name of a store's job where jobs have names: the mark and a digest of the store's folder."""
    import hashlib  # loads OpenSSL, and every command reads this module

    return f"{MARK}-{hashlib.blake2b(os.fsencode(home.resolve()), digest_size=4).hexdigest()}"


class Cron:
    """A line in the user's crontab.

    Args:
        home: Folder of the store that the line is for.
    """

    name = "cron"

    def __init__(self, home: Path) -> None:
        self._home = home.resolve()

    def available(self) -> bool:
        return shutil.which("crontab") is not None and _daemon_runs(("cron", "crond"))

    def install(self, job: Job) -> None:
        lines = [line for line in self._lines() if not self._is_ours(line)]
        self._write([*lines, job.cron_line])

    def remove(self) -> bool:
        lines = self._lines()
        kept = [line for line in lines if not self._is_ours(line)]
        if kept == lines:
            return False
        self._write(kept)
        return True

    def installed(self) -> bool:
        return shutil.which("crontab") is not None and any(map(self._is_ours, self._lines()))

    def _is_ours(self, line: str) -> bool:
        return home_of(line) == self._home

    def _lines(self) -> list[str]:
        done = _run(["crontab", "-l"])
        return done.stdout.splitlines() if done.returncode == 0 else []  # 1: this user has no crontab yet

    def _write(self, lines: Sequence[str]) -> None:
        if lines:
            _must(["crontab", "-"], stdin="\n".join(lines) + "\n")
        else:
            _run(["crontab", "-r"])


def home_of(line: str) -> Path | None:
    """Return the folder of the store that a line of a crontab is for; `None` for a line that is not of this module."""
    if not line.rstrip().endswith(f"# {MARK}") or line.lstrip().startswith("#"):
        return None
    try:
        words = shlex.split(line.replace("\\%", "%"), comments=True)
    except ValueError:  # somebody changed the line, and its quotes do not match
        return None
    homes = [word.removeprefix(f"{HOME}=") for word in words if word.startswith(f"{HOME}=")]
    return Path(homes[0]) if homes else None


def _daemon_runs(names: Sequence[str]) -> bool:
    """Whether a process of one of these names runs; where that cannot be told, it is taken to."""
    proc = Path("/proc")
    if not proc.is_dir():
        return True
    for entry in proc.iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "comm").read_text(encoding="utf-8").strip() in names:
                    return True
            except OSError:  # it ended just now, or is another user's
                continue
    return False


class Systemd:
    """A timer of the user's systemd, which catches up after the machine was off.

    Args:
        home: Folder of the store that the timer is for.
        folder: Where units are kept.
    """

    name = "systemd"

    def __init__(self, home: Path, folder: Path | None = None) -> None:
        config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        self._folder = folder or config / "systemd" / "user"
        self._label = _label(home)

    def available(self) -> bool:
        if shutil.which("systemctl") is None:
            return False
        return _run(["systemctl", "--user", "show-environment"]).returncode == 0

    def install(self, job: Job) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        service, timer = self.units(job)
        (self._folder / f"{self._label}.service").write_text(service, encoding="utf-8")
        (self._folder / f"{self._label}.timer").write_text(timer, encoding="utf-8")
        _must(["systemctl", "--user", "daemon-reload"])
        _must(["systemctl", "--user", "enable", "--now", f"{self._label}.timer"])

    def units(self, job: Job) -> tuple[str, str]:
        """Return the texts of the service and of its timer; systemd reads "%" as the start of a specifier."""
        shell = job.shell.replace("%", "%%")
        service = (
            f"[Unit]\nDescription=Upkeep of memanto\n\n[Service]\nType=oneshot\nExecStart=/bin/sh -c {_quoted(shell)}\n"
        )
        timer = (
            f"[Unit]\nDescription=Upkeep of memanto every day\n\n[Timer]\nOnCalendar=*-*-* {job.at:%H:%M}:00\n"
            "Persistent=true\n\n[Install]\nWantedBy=timers.target\n"
        )
        return service, timer

    def remove(self) -> bool:
        if not self.installed():
            return False
        _run(["systemctl", "--user", "disable", "--now", f"{self._label}.timer"])
        for kind in ("timer", "service"):
            (self._folder / f"{self._label}.{kind}").unlink(missing_ok=True)
        _run(["systemctl", "--user", "daemon-reload"])
        return True

    def installed(self) -> bool:
        return (self._folder / f"{self._label}.timer").exists()


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$") + '"'


class Launchd:
    """A launch agent of macOS, which runs after the machine wakes when it slept then.

    Args:
        home: Folder of the store that the agent is for.
        folder: Where launch agents are kept.
    """

    name = "launchd"

    def __init__(self, home: Path, folder: Path | None = None) -> None:
        self._label = f"local.{_label(home)}"
        self._file = (folder or Path.home() / "Library" / "LaunchAgents") / f"{self._label}.plist"

    def available(self) -> bool:
        return sys.platform == "darwin" and shutil.which("launchctl") is not None

    def install(self, job: Job) -> None:
        self.remove()
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_bytes(self.plist(job))
        _must(["launchctl", "load", "-w", str(self._file)])

    def plist(self, job: Job) -> bytes:
        """Return the property list of the agent."""
        import plistlib

        return plistlib.dumps(
            {
                "Label": self._label,
                "ProgramArguments": list(job.command),
                "EnvironmentVariables": dict(job.environment),
                "StartCalendarInterval": {"Hour": job.at.hour, "Minute": job.at.minute},
                "StandardOutPath": str(job.log),
                "StandardErrorPath": str(job.log),
            }
        )

    def remove(self) -> bool:
        if not self.installed():
            return False
        _run(["launchctl", "unload", "-w", str(self._file)])
        self._file.unlink(missing_ok=True)
        return True

    def installed(self) -> bool:
        return self._file.exists()


class WindowsTask:
    """A task of the Windows scheduler.

    Args:
        home: Folder of the store that the task is for.
    """

    name = "windows-task"

    def __init__(self, home: Path) -> None:
        self._label = _label(home)

    def available(self) -> bool:
        return sys.platform == "win32" and shutil.which("schtasks") is not None

    def install(self, job: Job) -> None:
        _must(
            [
                "schtasks",
                "/Create",
                "/F",
                "/TN",
                self._label,
                "/SC",
                "DAILY",
                "/ST",
                f"{job.at:%H:%M}",
                "/TR",
                self.action(job),
            ]
        )

    def action(self, job: Job) -> str:
        """Return what the task runs."""
        variables = "".join(f'set "{name}={value}" && ' for name, value in job.environment.items())
        return f'cmd /c "{variables}{subprocess.list2cmdline(job.command)} >> "{job.log}" 2>&1"'

    def remove(self) -> bool:
        return self.installed() and _run(["schtasks", "/Delete", "/F", "/TN", self._label]).returncode == 0

    def installed(self) -> bool:
        return shutil.which("schtasks") is not None and _run(["schtasks", "/Query", "/TN", self._label]).returncode == 0


def timers(home: Path) -> list[Timer]:
    """Return the ways there are to run the job of the store in this folder, the preferred first."""
    return [Launchd(home), WindowsTask(home), Cron(home), Systemd(home)]


def choose(wanted: str | None, job: Job, home: Path) -> Timer:
    """Return the timer to use: the one that is named, else the first that this machine has.

    Raises:
        ConfigurationError: There is none; the hint is the line to add by hand.
    """
    known = {timer.name: timer for timer in timers(home)}
    if wanted is not None and wanted not in known:
        raise ConfigurationError(f"unknown scheduler {wanted!r}", hint=f"one of {', '.join(known)}")
    for timer in known.values() if wanted is None else [known[wanted]]:
        if timer.available():
            return timer
    what = "no scheduler runs here" if wanted is None else f"{wanted} does not run here"
    raise ConfigurationError(what, hint=f"add this line to whatever runs commands every day: {job.cron_line}")
