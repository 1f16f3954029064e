"""`memanto connect`: give coding tools an agent's memory, and take it away again."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from memanto.cli.session import Session
from memanto.cli.style import Palette
from memanto.cli.verb import verb
from memanto.config_keys import expanded
from memanto.errors import ConfigurationError, InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from memanto.connect.clients import Place
    from memanto.connect.plan import Change
    from memanto.connect.records import Connection, Records

_WORDS = ("list", "remove", "update")


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    verb(app, "connect")(connect)


def connect(
    session: Session,
    tool: Annotated[
        str | None,
        typer.Argument(metavar="TOOL|list|remove|update", help="A tool, or what to do with those connected."),
    ] = None,
    which: Annotated[str | None, typer.Argument(metavar="TOOL", help="Only this tool.", show_default=False)] = None,
    *,
    project_dir: Annotated[
        Path | None,
        typer.Option("--project-dir", metavar="DIR", help="By default the repository here.", show_default=False),
    ] = None,
    everywhere: Annotated[bool, typer.Option("--global", help="For every project of this user.")] = False,
    show: Annotated[bool, typer.Option("--print", help="Show what would change, and change nothing.")] = False,
    hooks: Annotated[bool, typer.Option("--hooks/--no-hooks", help="Register hooks where the tool has them.")] = True,
    strict: Annotated[
        bool, typer.Option("--strict", help="The hook before a tool call stops it on a confirmed failure.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Connect coding tools to memory.

    Registers the MCP server, instructions and hooks in the tool's own files. Without a tool it finds those in use
    here, shows what it would write, and asks once. Files keep what else is in them; `remove` restores them.

    Tools: claude-code, cursor, windsurf, codex, github-copilot, gemini-cli, cline, continue, roo, opencode, goose.
    """
    if tool not in _WORDS and which is not None:
        raise InvalidInputError(f"{which!r} is one tool too many", hint="connect one at a time, or all without a name")
    options = _Options(
        session, _project(project_dir), everywhere=everywhere, show=show, hooks=hooks, strict=strict, yes=yes
    )
    match tool:
        case "list":
            options.listed()
        case "remove":
            options.again(_name(which), remove=True)
        case "update":
            options.again(_name(which), remove=False)
        case None:
            options.found()
        case _:
            options.connect([str(_name(tool))])


class _Options:
    """One invocation of the command."""

    def __init__(self, session: Session, project: Path, **flags: bool) -> None:
        self._session = session
        self._project = project
        self._flags = flags

    # -- connecting ---------------------------------------------------------------------------------
    def found(self) -> None:
        """Connect the tools in use here, when the user agrees."""
        from memanto.connect.detect import found

        signs = found(self._project, Path.home(), os.environ)
        if not signs:
            agent = self._session.agent_id()
            self._session.emit(
                {"agent": agent, "found": {}, "files": []},
                lambda paint: [
                    "no coding tool was found here",
                    f"  {paint('faint', 'memanto connect TOOL names one')}",
                ],
            )
            return
        self.connect(list(signs), ask=not self._flags["yes"], signs=signs)

    def connect(self, names: Sequence[str], *, ask: bool = False, signs: Mapping[str, str] | None = None) -> None:
        """Connect these tools to the agent in effect."""
        from memanto.connect.plan import connect
        from memanto.connect.records import Records, changing

        agent, origin = self._session.chosen_agent()
        place = self._place(agent)
        planned = {name: self._planned(place, name, Records.load(self._session.home())) for name in names}
        if self._flags["show"] or ask:
            self._preview(agent, origin, planned, signs or {})
            if self._flags["show"] or not self._agreed():
                return
        written = []
        with changing(self._session.home()) as records:
            for name in names:
                changes = self._planned(place, name, records)
                connect(self._connection(place, name), changes, records)
                written += changes
        self._report(agent, names, written)

    def _planned(self, place: Place, name: str, records: Records) -> list[Change]:
        from memanto.connect.plan import plan

        return plan(place, name, records)

    def _place(self, agent: str) -> Place:
        from memanto.connect.clients import Place
        from memanto.connect.detect import program

        return Place(
            scope="global" if self._flags["everywhere"] else "project",
            project=self._project,
            home=Path.home(),
            agent=agent,
            program=program(os.environ),
            environ=os.environ,
            hooks=self._flags["hooks"],
            strict=self._flags["strict"],
        )

    def _connection(self, place: Place, name: str) -> Connection:
        from memanto.connect.records import Connection

        return Connection(
            client=name,
            scope=place.scope,
            project=str(place.project),
            agent=place.agent,
            hooks=place.hooks,
            strict=place.strict,
        )

    def _agreed(self) -> bool:
        """Ask once; without a terminal the answer is no, which is no error."""
        if self._session.json:
            return False
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            self._session.note("nothing was changed: name a tool, or add --yes")
            return False
        sys.stderr.write("Write these files? [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in {"y", "yes"}

    # -- afterwards ---------------------------------------------------------------------------------
    def listed(self) -> None:
        """Show what is connected, and whether its files still say so."""
        from memanto.connect.plan import state_of
        from memanto.connect.records import Records

        records = Records.load(self._session.home())
        rows = [(one, state_of(self._place_of(one), one)) for one in records.connections.values()]
        self._session.emit(
            {"connections": [{"connection": one, "state": state} for one, state in rows]},
            lambda paint: (
                _table(rows, paint) if rows else ["nothing is connected; `memanto connect` shows what can be"]
            ),
        )

    def again(self, name: str | None, *, remove: bool) -> None:
        """Take connections back, or write them anew in the present form."""
        from memanto.connect.plan import connect, disconnect, plan, unplan
        from memanto.connect.records import changing

        done: list[Change] = []
        clients: list[str] = []
        with changing(self._session.home()) as records:
            for one in self._chosen(records, name, remove=remove):
                place = self._place_of(one)
                changes = unplan(place, one, records) if remove else plan(place, one.client, records)
                if one.id not in records.connections and not any(change.changes for change in changes):
                    raise _not_connected(name)  # nor do its files have our marks
                done += changes
                clients.append(one.client)
                if not self._flags["show"]:
                    (disconnect if remove else connect)(one, changes, records)
        if self._flags["show"]:
            self._print(done)
            return
        self._report(None, clients, done, removed=remove)

    def _chosen(self, records: Records, name: str | None, *, remove: bool) -> list[Connection]:
        """Return the connections that are meant: of this place for `remove`, of every place for `update`."""
        scope = "global" if self._flags["everywhere"] else "project"
        chosen = [one for one in records.connections.values() if name in (None, one.client)]
        if remove:
            chosen = [
                one for one in chosen if one.scope == scope and (scope == "global" or one.project == str(self._project))
            ]
        if not chosen and remove and name is not None:  # connected elsewhere, or the records are lost: go by the marks
            return [self._connection(self._place("agent"), name)]
        if not chosen:
            raise _not_connected(name)
        return chosen

    def _place_of(self, one: Connection) -> Place:
        from dataclasses import replace

        scope: Literal["project", "global"] = "global" if one.scope == "global" else "project"
        return replace(
            self._place(one.agent), scope=scope, project=Path(one.project), hooks=one.hooks, strict=one.strict
        )

    # -- telling ------------------------------------------------------------------------------------
    def _preview(
        self, agent: str, origin: str, planned: Mapping[str, Sequence[Change]], signs: Mapping[str, str]
    ) -> None:
        if self._flags["show"]:
            self._print([one for changes in planned.values() for one in changes])
            return
        files = [one for changes in planned.values() for one in changes]
        self._session.emit(
            {"agent": agent, "origin": origin, "found": dict(signs), "files": [_summary(one) for one in files]},
            lambda paint: self._found_lines(agent, origin, planned, signs, paint),
        )

    def _found_lines(
        self,
        agent: str,
        origin: str,
        planned: Mapping[str, Sequence[Change]],
        signs: Mapping[str, str],
        paint: Palette,
    ) -> Iterator[str]:
        from memanto.connect.clients import CLIENTS

        yield f"agent {paint('strong', agent)} ({paint.safe(origin)})"
        for name, changes in planned.items():
            sign = f"  {paint('faint', signs[name])}" if name in signs else ""
            yield f"{paint('strong', CLIENTS[name].title)}{sign}"
            yield from _file_lines(changes, paint)

    def _print(self, changes: Sequence[Change]) -> None:
        """Write the changes as a diff, or as JSON with the files' new text."""
        self._session.emit(
            {
                "files": [
                    {**_summary(one), "text": None if one.after is None else one.after.decode()} for one in changes
                ]
            },
            lambda paint: (paint.safe(one.diff().rstrip("\n")) for one in changes if one.changes),
        )

    def _report(
        self, agent: str | None, names: Iterable[str], changes: Sequence[Change], *, removed: bool = False
    ) -> None:
        verb = "disconnected" if removed else "connected"
        clients = list(dict.fromkeys(names))
        to = f" to {agent}" if agent is not None else ""

        def lines(paint: Palette) -> Iterator[str]:
            yield f"{verb} {paint('strong', ', '.join(clients))}{paint.safe(to)}"
            yield from _file_lines(changes, paint)

        value: dict[str, Any] = {verb: clients, "files": [_summary(one) for one in changes]}
        self._session.emit(value if agent is None else {"agent": agent, **value}, lines)
        if not removed and not self._session.json:
            self._session.note("restart the tool; it may ask you to trust the server and the hooks")
            by_name = any(one.what != "instructions" and not one.own for one in changes)
            for lack in _lacking(by_name=by_name):
                self._session.note(lack)


def _not_connected(name: str | None) -> NotFoundError:
    return NotFoundError(
        f"{name or 'nothing'} is {'not ' if name else ''}connected here",
        hint="`memanto connect list` shows what is, and where",
    )


def _lacking(*, by_name: bool) -> Iterator[str]:
    """Yield what a tool would miss when it starts the server or a hook; `by_name`: not by the command's full path."""
    from memanto.connect.detect import program, unfindable

    wanted = by_name or not Path(program(os.environ)).is_absolute()
    if wanted and (why := unfindable(os.environ)) is not None:
        yield f"{why}, so tools started elsewhere will not find it: `make install` in a clone puts it there"
    if os.environ.get("MEMANTO_HOME"):
        yield "MEMANTO_HOME is set here; set it where the tool is started too, or it uses another store"
    if importlib.util.find_spec("memanto_mcp") is None:
        yield "the MCP server is not installed: `make install` in a clone installs it with the command"


def _summary(change: Change) -> dict[str, Any]:
    return {"path": change.path, "what": change.what, "action": _action(change)}


def _action(change: Change) -> str:
    if not change.changes:
        return "unchanged"
    if change.after is None:
        return "remove"
    return "create" if change.before is None else "change"


def _file_lines(changes: Iterable[Change], paint: Palette) -> Iterator[str]:
    for one in changes:
        whose = "" if not one.own else f" {paint('faint', '(your own file)')}"
        yield f"  {_action(one):9}  {paint.safe(str(one.path))}  {paint('faint', one.what)}{whose}"


def _table(rows: Sequence[tuple[Connection, str]], paint: Palette) -> Iterator[str]:
    for one, state in rows:
        where = one.project if one.scope == "project" else "every project"
        colour = "good" if state == "connected" else "warn"
        yield f"{one.client:15} {paint(colour, state):10} agent {paint.safe(one.agent)}  {paint.safe(where)}"


def _name(given: str | None) -> str | None:
    """Return a tool's name as we spell it.

    Raises:
        InvalidInputError: There is no such tool.
    """
    from memanto.connect.clients import ALIASES, CLIENTS

    if given is None:
        return None
    spelled = "-".join(given.lower().replace("_", "-").split())
    name = ALIASES.get(spelled, spelled)
    if name not in CLIENTS:
        raise InvalidInputError(f"unknown tool {given!r}", hint=f"one of {', '.join(CLIENTS)}")
    return name


def _project(given: Path | None) -> Path:
    """Return the project's folder, absolute and without links on the way to it.

    Raises:
        ConfigurationError: There is no such folder.
    """
    from memanto.connect.detect import project_folder

    folder = project_folder(Path.cwd(), Path.home()) if given is None else expanded(given)
    if not os.path.isdir(folder):  # noqa: PTH112 - also for a name that no file system takes, where `Path` raises
        raise ConfigurationError(f"there is no folder {str(folder)!r}", hint="name one that exists with --project-dir")
    return folder.resolve()
