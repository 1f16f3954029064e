"""The coding tools that can be connected, and what each keeps where.

Formats as their makers document them in 2026. A tool that keeps MCP servers for the whole user only gets its entry
there, also when a project is connected.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from memanto.connect import jsonc
from memanto.connect.edits import SERVER, Block, Edit, JsonDefault, JsonHook, JsonMember, Own, TomlTable, YamlChild
from memanto.connect.text import instructions, with_front_matter
from memanto.errors import MemantoError

Scope = Literal["project", "global"]
HOOK_TIMEOUT: Final = 10
"""Seconds after which a tool gives a hook up. A hook of ours gives itself up before."""
HOOKED: Final = ("claude-code", "cursor", "codex")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """For whom and where to connect.

    Attributes:
        scope: One project, or the whole user.
        project: The project's folder.
        home: The user's home folder.
        agent: Whose memory.
        program: How this machine starts memanto; used in the user's own files only.
        environ: The environment, in which some tools move their folder.
        hooks: Whether to register hooks where the tool has them.
        strict: Whether the hook before a tool call stops it when a confirmed failure matches.
    """

    scope: Scope
    project: Path
    home: Path
    agent: str
    program: str = SERVER
    environ: Mapping[str, str]
    hooks: bool = True
    strict: bool = False

    def inside(self, *parts: str) -> Spot:
        """Return a file of the project."""
        return Spot(self.project, parts, own=False)

    def of_user(self, *parts: str) -> Spot:
        """Return a file in the user's home."""
        return Spot(self.home, parts, own=True)

    def moved(self, variable: str, *default: str) -> Path:
        """Return a tool's folder: where a variable says, else in the user's home."""
        named = self.environ.get(variable)
        return Path(named).expanduser() if named else self.home.joinpath(*default)

    def command(self, spot: Spot) -> tuple[str, list[str]]:
        """Return what starts the MCP server; a file meant for git names no path of this machine."""
        return (self.program if spot.own else SERVER), ["mcp", "--agent", self.agent]

    def hook(self, spot: Spot, event: str, client: str) -> str:
        """Return the command line of a hook."""
        program = self.program if spot.own else SERVER
        quoted = shlex.quote(program) if os.name != "nt" else f'"{program}"' if " " in program else program
        strict = " --strict" if self.strict and event == "pre-tool-use" else ""
        return f"{quoted} hook {event} --client {client} --agent {self.agent}{strict}"


@dataclass(frozen=True, slots=True)
class Spot:
    """A file by the folder it belongs to; `own` folders are the user's, others come with a project."""

    root: Path
    parts: tuple[str, ...]
    own: bool

    @property
    def path(self) -> Path:
        """The file's path, not yet checked."""
        return self.root.joinpath(*self.parts)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one file is to hold: `what` in words, and the edits that see to it."""

    spot: Spot
    what: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Client:
    """A coding tool.

    Attributes:
        name: What `memanto connect` calls it.
        title: What its makers call it.
        programs: Executables that show it is installed.
        marks: Names in a project or home folder that show it is in use.
        files: Returns what to write for a place.
    """

    name: str
    title: str
    programs: tuple[str, ...]
    marks: tuple[str, ...]
    files: Callable[[Place], Iterator[Wanted]]


def _server(place: Place, spot: Spot, *path: str, **more: Any) -> Wanted:
    """Return the usual registration: command and arguments under a path in JSON."""
    command, args = place.command(spot)
    value = {**more, "command": command, "args": args}
    return Wanted(spot, "MCP server", (JsonMember((*path, SERVER), value),))


def _block(place: Place, spot: Spot) -> Wanted:
    return Wanted(spot, "instructions", (Block(instructions(place.agent)),))


def _rule(place: Place, spot: Spot, *front: str) -> Wanted:
    text = with_front_matter(front, place.agent) if front else instructions(place.agent)
    return Wanted(spot, "instructions", (Own(text),))


# -- tools with hooks -------------------------------------------------------------------------------
def _nested(place: Place, spot: Spot, client: str, events: Mapping[str, tuple[str, str | None]]) -> Wanted:
    """Return hooks in the form that Claude Code has and Codex took over: per event, groups with a matcher."""
    edits = []
    for name, (event, matcher) in events.items():
        entry = {"type": "command", "command": place.hook(spot, event, client), "timeout": HOOK_TIMEOUT}
        group = {"matcher": matcher, "hooks": [entry]} if matcher is not None else {"hooks": [entry]}
        edits.append(JsonHook(("hooks", name), group))
    return Wanted(spot, "hooks", tuple(edits))


def _claude_code(place: Place) -> Iterator[Wanted]:
    moved = place.moved("CLAUDE_CONFIG_DIR", ".claude")
    if place.scope == "project":
        yield _server(place, place.inside(".mcp.json"), "mcpServers", type="stdio")
        yield _block(place, place.inside("CLAUDE.md"))
        settings = place.inside(".claude", "settings.json")
    else:
        state = Spot(moved if place.environ.get("CLAUDE_CONFIG_DIR") else place.home, (".claude.json",), own=True)
        yield _server(place, state, "mcpServers", type="stdio")
        yield _block(place, Spot(moved, ("CLAUDE.md",), own=True))
        settings = Spot(moved, ("settings.json",), own=True)
    if place.hooks:
        yield _nested(
            place, settings, "claude-code",
            {
                "SessionStart": ("session-start", "startup|resume|clear|compact"),
                "PreToolUse": ("pre-tool-use", "Bash|Edit|MultiEdit|Write|NotebookEdit"),
                "PreCompact": ("pre-compact", None),
                "SessionEnd": ("session-end", None),
            },
        )  # fmt: skip


def _codex(place: Place) -> Iterator[Wanted]:
    moved = place.moved("CODEX_HOME", ".codex")
    local = place.scope == "project"
    config = place.inside(".codex", "config.toml") if local else Spot(moved, ("config.toml",), own=True)
    command, args = place.command(config)
    yield Wanted(config, "MCP server", (TomlTable(("mcp_servers", SERVER), {"command": command, "args": args}),))
    yield _block(place, place.inside("AGENTS.md") if local else Spot(moved, ("AGENTS.md",), own=True))
    if place.hooks:
        hooks = place.inside(".codex", "hooks.json") if local else Spot(moved, ("hooks.json",), own=True)
        yield _nested(
            place, hooks, "codex",
            {
                "SessionStart": ("session-start", "startup|resume|clear|compact"),
                "PreToolUse": ("pre-tool-use", "Bash|apply_patch"),
                "PreCompact": ("pre-compact", None),
                "Stop": ("session-end", None),  # it has no hook for the end of a session
            },
        )  # fmt: skip


def _cursor(place: Place) -> Iterator[Wanted]:
    local = place.scope == "project"
    at = place.inside if local else place.of_user
    yield _server(place, at(".cursor", "mcp.json"), "mcpServers")
    if local:  # rules for the whole user are kept in the application, not in a file
        front = ("description: How to use the project's memory", "alwaysApply: true")
        yield _rule(place, at(".cursor", "rules", "memanto.mdc"), *front)
    if place.hooks:
        hooks = at(".cursor", "hooks.json")
        edits: list[Edit] = [JsonDefault(("version",), 1)]
        for name, event, matcher in (
            ("sessionStart", "session-start", None),
            ("preToolUse", "pre-tool-use", "Shell|Write|Delete"),
            ("preCompact", "pre-compact", None),
            ("sessionEnd", "session-end", None),
        ):
            entry: dict[str, Any] = {"command": place.hook(hooks, event, "cursor"), "timeout": HOOK_TIMEOUT}
            edits.append(JsonHook(("hooks", name), entry | ({"matcher": matcher} if matcher else {})))
        yield Wanted(hooks, "hooks", tuple(edits))


# -- tools without hooks ----------------------------------------------------------------------------
def _windsurf(place: Place) -> Iterator[Wanted]:
    yield _server(place, place.of_user(".codeium", "windsurf", "mcp_config.json"), "mcpServers")
    if place.scope == "project":
        yield _rule(place, place.inside(".windsurf", "rules", "memanto.md"), "trigger: always_on")
    else:
        yield _block(place, place.of_user(".codeium", "windsurf", "memories", "global_rules.md"))


def _github_copilot(place: Place) -> Iterator[Wanted]:
    if place.scope == "project":
        yield _server(place, place.inside(".vscode", "mcp.json"), "servers", type="stdio")
        yield _rule(place, place.inside(".github", "instructions", "memanto.instructions.md"), 'applyTo: "**"')
    else:
        yield _server(place, Spot(_vs_code(place), ("mcp.json",), own=True), "servers", type="stdio")


def _gemini_cli(place: Place) -> Iterator[Wanted]:
    at = place.inside if place.scope == "project" else place.of_user
    yield _server(place, at(".gemini", "settings.json"), "mcpServers")
    yield _block(place, place.inside("GEMINI.md") if place.scope == "project" else at(".gemini", "GEMINI.md"))


def _cline(place: Place) -> Iterator[Wanted]:
    extension = Spot(
        _vs_code(place), ("globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json"), own=True
    )
    command_line = place.of_user(".cline", "data", "settings", "cline_mcp_settings.json")
    found = [spot for spot in (extension, command_line) if spot.path.parent.is_dir()]
    for spot in found or [command_line]:
        yield _server(place, spot, "mcpServers")
    if place.scope == "project":
        rules = place.inside(".clinerules")
        if rules.path.is_file():  # one file of rules, rather than a folder of them
            yield _block(place, rules)
        else:
            yield _rule(place, place.inside(".clinerules", "memanto.md"))


def _continue(place: Place) -> Iterator[Wanted]:
    at = place.inside if place.scope == "project" else place.of_user
    spot = at(".continue", "mcpServers", "memanto.yaml") if place.scope == "project" else at(".continue", "config.yaml")
    command, args = place.command(spot)
    entry = {"name": SERVER, "command": command, "args": args}
    if place.scope == "project":
        yield Wanted(spot, "MCP server", (Own(_continue_file(entry)),))
    else:
        yield Wanted(spot, "MCP server", (YamlChild("mcpServers", SERVER, entry, listed=True),))
    yield _rule(place, at(".continue", "rules", "memanto.md"), "name: memanto", "alwaysApply: true")


def _continue_file(entry: Mapping[str, Any]) -> str:
    import yaml  # type: ignore[import-untyped]

    shown = {"name": "memanto", "version": "0.1.0", "schema": "v1", "mcpServers": [dict(entry)]}
    return str(yaml.safe_dump(shown, sort_keys=False))


def _roo(place: Place) -> Iterator[Wanted]:
    if place.scope == "project":
        yield _server(place, place.inside(".roo", "mcp.json"), "mcpServers")
    else:
        settings = ("globalStorage", "rooveterinaryinc.roo-cline", "settings", "mcp_settings.json")
        yield _server(place, Spot(_vs_code(place), settings, own=True), "mcpServers")
    at = place.inside if place.scope == "project" else place.of_user
    yield _rule(place, at(".roo", "rules", "memanto.md"))


def _opencode(place: Place) -> Iterator[Wanted]:
    local = place.scope == "project"
    root = place.project if local else _config_folder(place) / "opencode"
    named = ("opencode.jsonc" if (root / "opencode.jsonc").is_file() else "opencode.json",)
    spot = Spot(root, named, own=not local)
    command, args = place.command(spot)
    value = {"type": "local", "command": [command, *args], "enabled": True}
    path = ("mcp", "servers", SERVER) if _has_second_form(spot) else ("mcp", SERVER)
    yield Wanted(spot, "MCP server", (JsonMember(path, value),))
    yield _block(place, place.inside("AGENTS.md") if local else Spot(root, ("AGENTS.md",), own=True))


def _has_second_form(spot: Spot) -> bool:
    """Return whether OpenCode's file keeps servers one level deeper, as its second major does."""
    try:
        servers = jsonc.value_at(spot.path.read_text("utf-8"), ("mcp", "servers"))
    except (OSError, ValueError, MemantoError):
        return False  # planning the change says what is wrong with the file
    return isinstance(servers, dict) and not isinstance(servers.get("command"), list)


def _goose(place: Place) -> Iterator[Wanted]:
    if sys.platform == "win32":
        folder = Path(place.environ.get("APPDATA") or place.home / "AppData" / "Roaming") / "Block" / "goose" / "config"
    else:
        folder = _config_folder(place) / "goose"
    spot = Spot(folder, ("config.yaml",), own=True)
    command, args = place.command(spot)
    value = {
        "type": "stdio", "name": SERVER, "description": "Memory that outlives the session", "cmd": command,
        "args": args, "enabled": True, "envs": {}, "timeout": 60,
    }  # fmt: skip
    yield Wanted(spot, "MCP server", (YamlChild("extensions", SERVER, value),))
    yield _block(
        place, place.inside(".goosehints") if place.scope == "project" else Spot(folder, (".goosehints",), own=True)
    )


def _config_folder(place: Place) -> Path:
    return Path(place.environ.get("XDG_CONFIG_HOME") or place.home / ".config")


def _vs_code(place: Place) -> Path:
    """Return the folder of VS Code's user settings."""
    if sys.platform == "win32":
        return Path(place.environ.get("APPDATA") or place.home / "AppData" / "Roaming") / "Code" / "User"
    if sys.platform == "darwin":
        return place.home / "Library" / "Application Support" / "Code" / "User"
    return _config_folder(place) / "Code" / "User"


CLIENTS: Final[Mapping[str, Client]] = {
    one.name: one
    for one in (
        Client("claude-code", "Claude Code", ("claude",), (".claude", "CLAUDE.md", ".mcp.json"), _claude_code),
        Client("cursor", "Cursor", ("cursor", "cursor-agent"), (".cursor",), _cursor),
        Client("windsurf", "Windsurf", ("windsurf",), (".windsurf", ".windsurfrules", ".codeium"), _windsurf),
        Client("codex", "Codex", ("codex",), (".codex",), _codex),
        Client(
            "github-copilot",
            "GitHub Copilot in VS Code",
            ("code",),
            (".vscode", ".github/copilot-instructions.md"),
            _github_copilot,
        ),
        Client("gemini-cli", "Gemini CLI", ("gemini",), (".gemini", "GEMINI.md"), _gemini_cli),
        Client("cline", "Cline", ("cline",), (".clinerules", ".cline"), _cline),
        Client("continue", "Continue", ("cn",), (".continue",), _continue),
        Client("roo", "Roo Code", (), (".roo", ".roorules"), _roo),
        Client(
            "opencode",
            "OpenCode",
            ("opencode",),
            ("opencode.json", "opencode.jsonc", ".opencode", ".config/opencode"),
            _opencode,
        ),
        Client("goose", "Goose", ("goose",), (".goosehints", ".config/goose"), _goose),
    )
}
"""Every tool, by name, in the order they are listed."""

ALIASES: Final[Mapping[str, str]] = {
    "claude": "claude-code", "copilot": "github-copilot", "vscode": "github-copilot", "vs-code": "github-copilot",
    "gemini": "gemini-cli", "roo-code": "roo", "open-code": "opencode",
}  # fmt: skip
