"""One invocation of the command line: its common options, its streams, and the way to memory."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memanto.cli.style import Palette, palette_for
from memanto.errors import InvalidInputError, MemantoError
from memanto.times import Edge, local_zone, parse_time, utc_now

if TYPE_CHECKING:
    from memanto.client import Memanto

Render = Callable[[Palette], Iterable[str]]
"""Makes the lines a person reads."""


@dataclass(slots=True)
class Session:
    """What the common options of an invocation say.

    Attributes:
        agent: The agent named by `--agent`, or `None`.
        json: Results and errors are JSON.
        quiet: Only results are written.
        now: The moment that relative times count from.
        zone: The user's time zone.
        times: The moments that time options named, by option, for the result.
        told: What the schedule had to say has been said.
    """

    agent: str | None = None
    json: bool = False
    quiet: bool = False
    now: datetime = field(default_factory=utc_now)
    zone: tzinfo = field(default_factory=lambda: local_zone(os.environ))
    times: dict[str, datetime] = field(default_factory=dict)
    told: bool = False

    @classmethod
    def of(cls, given_before: Mapping[str, Any] | None, given: Mapping[str, Any]) -> Session:
        """Return the session for common options given before the command and after it; the latter win."""
        before = given_before or {}
        return cls(
            agent=given["agent"] if given["agent"] is not None else before.get("agent"),
            json=bool(given["json"] or before.get("json")),
            quiet=bool(given["quiet"] or before.get("quiet")),
        )

    # -- writing ------------------------------------------------------------------------------------
    def emit(self, value: Any, lines: Render) -> None:
        """Write a result: `value` as one line of JSON, or the lines for a person."""
        if self.json:
            from memanto.cli.jsonable import jsonable

            text = json.dumps(jsonable(value), ensure_ascii=False)
        else:
            text = "\n".join(lines(palette_for(sys.stdout)))
        if text:
            sys.stdout.write(f"{text}\n")

    def note(self, text: str) -> None:
        """Tell a person something that is no result, on standard error."""
        if not self.quiet:
            palette = palette_for(sys.stderr)
            sys.stderr.write(f"{palette('faint', f'note: {text}')}\n")

    @contextmanager
    def progress(self, label: str) -> Iterator[Callable[[int, int], None] | None]:
        """Show a bar on a terminal while work goes on; yields what to call with (done, total), or `None`."""
        if self.quiet or self.json or not sys.stderr.isatty():
            yield None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)

    # -- reading ------------------------------------------------------------------------------------
    def moment(self, option: str, text: str | None, edge: Edge) -> datetime | None:
        """Return the moment a time option names, remembered for the result; words are resolved once and told.

        Args:
            option: Without dashes, such as `"as-of"`.
            text: What the user gave, or `None`.
            edge: Which end of a day or a longer span is meant.
        """
        if text is None:
            return None
        try:
            moment = parse_time(text, now=self.now, zone=self.zone, edge=edge)
        except InvalidInputError as error:
            raise InvalidInputError(f"--{option}: {error.message}", hint=error.hint) from error
        self.times[option.replace("-", "_")] = moment
        if not text.strip()[:1].isdigit() or "ago" in text:
            self.note(f"--{option} {text.strip()!r} is {moment.astimezone(self.zone).isoformat(timespec='seconds')}")
        return moment

    def confirm(self, question: Callable[[], str], *, yes: bool) -> None:
        """Ask before something is destroyed.

        Raises:
            InvalidInputError: The answer is no, or nobody can be asked and `--yes` is missing.
        """
        if yes:
            return
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise InvalidInputError(
                "this destroys memories and needs --yes", hint="nothing was done; add --yes to go on"
            )
        sys.stderr.write(f"{palette_for(sys.stderr).safe(question())} [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            raise InvalidInputError("not confirmed", hint="nothing was done")

    # -- memory -------------------------------------------------------------------------------------
    def memory(self, agent: str | None = None) -> Memanto:
        """Return the memory of an agent, by default the one in effect, to be used as a context manager."""
        from memanto.client import Memanto

        self._tell_of_the_schedule()
        return Memanto(agent if agent is not None else self.agent_id(), create=False)

    def _tell_of_the_schedule(self) -> None:
        """Say once that the last scheduled upkeep went wrong: nobody watches it."""
        home = self.home()
        if self.told or self.quiet or not (home / "schedule.json").is_file():
            return
        from memanto.cli.schedule_state import warning

        self.told = True
        if (text := warning(home)) is not None:
            self.note(text)

    def agent_id(self) -> str:
        """Return the id of the agent in effect.

        Raises:
            ConfigurationError: No agent is named anywhere.
        """
        return self.chosen_agent()[0]

    def chosen_agent(self, *, look: bool = True) -> tuple[str, str]:
        """Return the agent in effect and where it was named: flag, environment, project file or active agent.

        Args:
            look: Open the store, where none is named, for the error to name those that are there.

        Raises:
            ConfigurationError: No agent is named anywhere.
        """
        from memanto.agents import resolve_agent

        known = _known_agents if look else tuple
        return resolve_agent(self.agent, os.environ, Path.cwd(), self.home(), known=known)

    def home(self) -> Path:
        """Return the folder of this user's store and settings."""
        from memanto.config import resolve_home

        return resolve_home(os.environ, Path.cwd())[0]


def _known_agents() -> list[str]:
    """Return the ids of the store's agents for an error to name; none where they cannot be read."""
    from memanto.composition import configured_store
    from memanto.stores import Embedded

    try:
        store = configured_store()
        if isinstance(store, Embedded) and not Path(store.path).exists():  # looking must not make it
            return []
        with closing(store.connect(utc_now)) as engine:
            engine.open()
            return engine.namespaces()
    except MemantoError:
        return []
