"""`memanto schedule`: upkeep every day, by what runs commands on this machine."""

from __future__ import annotations

import os
import sys
import time as clock
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from memanto.cli.schedule_state import LOG, LastRun, State, changed, only_one, read_state, write_state
from memanto.cli.session import Session
from memanto.cli.style import Palette, columns
from memanto.cli.text import stamp
from memanto.cli.timers import HOME, Job, choose, timers
from memanto.cli.verb import verb
from memanto.counted import counted
from memanto.errors import InvalidInputError, MemantoError

if TYPE_CHECKING:
    from memanto.hygiene.upkeep import UpkeepReport

DEFAULT_AT: Final = "23:55"
FAILED: Final = 3
"""Exit status of `schedule run` when a step or a check failed."""
OVERDUE: Final = timedelta(days=2)
_PASSED_ON: Final = ("MEMANTO_BACKEND", "MEMANTO_QDRANT_URL", "MEMANTO_OFFLINE", "TZ")
_LOG_BYTES: Final = 1_000_000


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="Run upkeep every day.", rich_markup_mode=None)
    verb(group, "enable")(enable)
    verb(group, "disable")(disable)
    verb(group, "status")(status)
    verb(group, "run")(run)
    app.add_typer(group, name="schedule")


# -- enable and disable -----------------------------------------------------------------------------
def enable(
    session: Session,
    at: Annotated[str, typer.Option("--at", metavar="HH:MM", help="Local time of day.")] = DEFAULT_AT,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="NAME", help="cron, systemd, launchd or windows-task.", show_default=False),
    ] = None,
    show: Annotated[bool, typer.Option("--print", help="Print the line to add by hand, and install nothing.")] = False,
) -> None:
    """Run upkeep every day.

    Summary, detection, policy and doctor for every agent of the store, by cron, a systemd user timer, launchd or the
    Windows scheduler: whichever is there. Enabling again replaces the time.
    """
    job = _job(session, at)
    if show:
        session.emit({"line": job.cron_line}, lambda _: [job.cron_line])
        return
    timer = choose(by, job, session.home())
    for other in timers(session.home()):
        if other.name != timer.name and other.installed():
            other.remove()
    timer.install(job)
    changed(session.home(), timer=timer.name, at=f"{job.at:%H:%M}")
    value = {"enabled": True, "timer": timer.name, "at": f"{job.at:%H:%M}", "next_run": next_run(job.at, session)}
    session.emit(value, lambda paint: [
        f"{paint('strong', 'enabled')} by {timer.name}, next run {stamp(next_run(job.at, session), session.zone)}"
    ])  # fmt: skip


def disable(session: Session) -> None:
    """Stop running upkeep.

    Removes what `enable` installed and nothing else.
    """
    removed = [timer.name for timer in timers(session.home()) if timer.installed() and timer.remove()]
    changed(session.home(), timer=None, at=None)
    value = {"enabled": False, "removed": removed}
    session.emit(value, lambda _: [f"disabled ({', '.join(removed)})" if removed else "nothing was enabled"])


def _job(session: Session, at: str) -> Job:
    home = session.home()
    kept = {name: os.environ[name] for name in _PASSED_ON if os.environ.get(name)}
    return Job(
        command=(sys.executable, "-m", "memanto.cli", "schedule", "run", "--quiet"),
        at=_time(at),
        environment={HOME: str(home.resolve()), **kept},
        log=home.resolve() / LOG,
    )


def _time(text: str) -> time:
    try:
        return datetime.strptime(text.strip(), "%H:%M").time()  # noqa: DTZ007 - a time of day has no zone
    except ValueError:
        raise InvalidInputError(f"--at {text!r} is no time of day", hint="such as 23:55") from None


def next_run(at: time, session: Session) -> datetime:
    """Return when the schedule runs next, in UTC."""
    now = session.now.astimezone(session.zone)
    today = datetime.combine(now.date(), at, session.zone)
    following = today if today > now else datetime.combine(now.date() + timedelta(days=1), at, session.zone)
    return following.astimezone(session.now.tzinfo)


# -- status -----------------------------------------------------------------------------------------
def status(session: Session) -> None:
    """Show whether upkeep is scheduled, and how the last run went."""
    state = read_state(session.home())
    here = [timer.name for timer in timers(session.home()) if timer.installed()]
    upcoming = next_run(_time(state.at), session) if state.at and here else None
    value = {"enabled": bool(here), "timer": here[0] if here else None, "at": state.at if here else None,
             "next_run": upcoming, "last": state.last, "overdue": is_overdue(state, session.now, enabled=bool(here)),
             "through": {name: day.isoformat() for name, day in state.through.items()}}  # fmt: skip
    session.emit(value, lambda paint: _status_lines(session, state, here, upcoming, paint))


def schedule_check(session: Session) -> tuple[bool, str, str]:
    """Return for `doctor` whether the schedule is in order, what was found, and the command that mends it."""
    state = read_state(session.home())
    here = [timer.name for timer in timers(session.home()) if timer.installed()]
    if state.last is not None and not state.last.ok:
        return False, f"the last run had problems: {state.last.problems[0]}", "memanto schedule run"
    if is_overdue(state, session.now, enabled=bool(here)):
        return False, "no run for more than two days", "memanto schedule run"
    if not here:
        return True, "upkeep is not scheduled; `memanto schedule enable` turns it on", ""
    last = "it has not run yet" if state.last is None else f"last run {stamp(state.last.at, session.zone)}"
    return True, f"by {here[0]} at {state.at}, {last}", ""


def is_overdue(state: State, now: datetime, *, enabled: bool) -> bool:
    """Return whether the schedule is on and has not run for two days."""
    return enabled and state.last is not None and now - state.last.at > OVERDUE


def _status_lines(
    session: Session, state: State, here: list[str], upcoming: datetime | None, paint: Palette
) -> Iterator[str]:
    if not here:
        yield "not enabled; `memanto schedule enable` turns it on"
    else:
        yield f"enabled by {here[0]} at {state.at}, next run {stamp(upcoming, session.zone)}"
    if state.last is None:
        yield "it has not run yet"
    else:
        yield from _last_lines(session, state.last, paint)
    if is_overdue(state, session.now, enabled=bool(here)):
        yield f"{paint('warn', 'overdue')}: no run for more than two days"


def _last_lines(session: Session, last: LastRun, paint: Palette) -> Iterator[str]:
    how = paint("good", "in order") if last.ok else paint("bad", "with problems")
    yield f"last run {stamp(last.at, session.zone)}, {last.seconds:.1f} s, {how}"
    for problem in last.problems:
        yield f"  {paint('bad', 'problem')}: {paint.safe(problem)}"
    rows = [["agent", "days", "examined", "open conflicts", "learned", "expired", "checks"]]
    rows += [
        [agent, str(len(told["summaries"])), str(told["examined"]), str(told["backlog"]), str(told["learned"]),
         str(told["expired"]), f"{told['checks'] - len(told['failed_checks'])} of {told['checks']}"]
        for agent, told in last.agents.items()
    ]  # fmt: skip
    if last.agents:
        header, *body = columns(rows, indent="  ")
        yield paint("faint", header)
        yield from body


# -- run --------------------------------------------------------------------------------------------
def run(session: Session) -> None:
    """Do upkeep now, for every agent of the store.

    Days missed since the last run are made up for. One run at a time. Exit status 3 when a step or a check failed.
    """
    home = session.home()
    with only_one(home):
        begun, counted = session.now, clock.monotonic()
        state = read_state(home)
        _shorten(home / LOG)
        try:
            told, problems = _all_agents(session, state)
        except Exception as error:
            # The process's edge: nobody watches this run, so the next command must hear of a fault of ours, too.
            failed = LastRun(at=begun, seconds=0.0, ok=False, problems=(f"{type(error).__name__}: {error}",))
            write_state(home, replace(state, last=failed))
            raise
        seconds = round(clock.monotonic() - counted, 2)
        last = LastRun(at=begun, seconds=seconds, ok=not problems, problems=tuple(problems), agents=told)
        today = begun.astimezone(session.zone).date()
        write_state(home, replace(state, last=last, through={**state.through, **dict.fromkeys(told, today)}))
    session.emit(last, lambda paint: _last_lines(session, last, paint))
    if problems:
        raise typer.Exit(FAILED)


def _all_agents(session: Session, state: State) -> tuple[dict[str, Any], list[str]]:
    """Do a pass for each agent; return what was done per agent, and what went wrong."""
    from memanto.cli.jsonable import jsonable
    from memanto.client import Memanto

    told: dict[str, Any] = {}
    problems: list[str] = []
    try:
        with Memanto(_ANY, create=False) as store:
            names = [one.id for one in store.agents()]
    except MemantoError as error:
        return {}, [f"the store: {error}"]
    for name in names:
        try:
            with session.memory(name) as memory, session.progress(name) as progress:
                report = memory.upkeep(since=state.through.get(name), zone=session.zone, progress=progress)
            told[name] = jsonable(report)
            problems += _problems(report)
        except MemantoError as error:
            problems.append(f"{name}: {error}")
    return told, problems


_ANY: Final = "schedule"
"""The store is asked for its agents through a handle, which needs a name; nothing is made under it."""


def _problems(report: UpkeepReport) -> Iterator[str]:
    for one in report.problems:
        yield f"{report.agent}, {one.step}: {one.message}" + (f". {one.hint}" if one.hint else "")
    for name, detail in report.failed_checks.items():
        yield f"{report.agent}, doctor: {name}: {detail}"
    if report.skipped_days:
        yield f"{report.agent}, summary: {counted(report.skipped_days, 'day')} too many to catch up"


def _shorten(log: Path) -> None:
    """Keep the end of a log that has grown large."""
    try:
        if log.stat().st_size > _LOG_BYTES:
            log.write_bytes(log.read_bytes()[-_LOG_BYTES // 2 :])
    except OSError:  # there is none yet, or it cannot be read: upkeep does not depend on it
        return
