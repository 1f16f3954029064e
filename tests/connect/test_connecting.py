"""Connecting a tool writes what the tool reads, keeps what was there, and can be taken back (specification)."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import json5
import pytest
import yaml
from tests.connect.conftest import AGENT, User
from tests.mcp.mcp_kit import Wire, environment

from memanto.connect.clients import CLIENTS, HOOKED
from memanto.connect.edits import BEGIN, END

SCOPES = {"project": (), "global": ("--global",)}
EVERY = [(client, scope) for client in CLIENTS for scope in SCOPES]
ARGUMENTS = ["mcp", "--agent", AGENT]

JSON_STYLES = {
    "comments": (
        '// mine\n{\n\t"theme": "dark", // keep\n\t"mcpServers": {\n\t\t/* one */\n\t\t"other": {"command": "x"}, // '
        "last\n"
        '\t\t// "off": {}\n\t},\n}\n'
    ),
    "one line": '{"mcpServers":{"other":{"command":"x"}},"servers":{"a":{}}}',
    "windows": '\ufeff{\r\n    "mcpServers": {},\r\n    "hooks": {"Stop": []}\r\n}\r\n',
    "no end": '{\n  "a": [1, 2]\n}',
    "empty object": "{}",
    "empty": "",
    "hooks": '{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "mine"}]}]}, "version": 1}\n',
}
TEXT_STYLES = {
    "text": "# Rules\n\nBe kind.\n",
    "no end": "# Rules",
    "windows": "# Rules\r\n\r\nBe kind.\r\n",
    "empty": "",
}
TOML_STYLES = {
    "comments": (
        'model = "o" # best\n\n# servers\n[mcp_servers.other]\ncommand = "x" # keep\n[mcp_servers.other.env]\nA = "1"\n'
    ),
    "inline": 'mcp_servers = { other = { command = "x" } }\n',
    "windows": "a = 1\r\n[b]\r\nc = 2",
    "empty": "",
}
YAML_STYLES = {
    "comments": "# mine\nGOOSE_MODEL: x # keep\nextensions:\n    # one\n    other:\n        type: stdio # last\nz: 1\n",
    "flow": "extensions: {}\nmcpServers: []\n",
    "list": "mcpServers:\n- name: other\n  command: x\nname: mine\n",
    "none": "name: mine",
    "windows": "a: 1\r\nextensions:\r\n  other:\r\n    type: stdio\r\n",
    "empty": "",
}


def styles(path: Path) -> dict[str, str]:
    if path.suffix == ".toml":
        return TOML_STYLES
    if path.suffix in {".yaml", ".yml"}:
        return YAML_STYLES
    return JSON_STYLES if path.suffix == ".json" else TEXT_STYLES


def parsed(path: Path) -> Any:
    """Return what a file says to a parser of its format: of Markdown its front matter, when it has any."""
    text = path.read_bytes().decode("utf-8-sig")
    match path.suffix:
        case ".json":
            return json5.loads(text) if text.strip() else {}
        case ".toml":
            return tomllib.loads(text)
        case ".yaml":
            return yaml.safe_load(text) or {}
        case _:
            return yaml.safe_load(text.split("---\n")[1]) if text.startswith("---\n") else text


def entry(data: Any) -> tuple[str, list[str]]:
    """Return the command and arguments registered under `memanto` in a tool's settings, wherever it keeps them."""
    for key in ("mcpServers", "servers", "mcp_servers", "mcp", "extensions"):
        servers = data.get(key)
        if isinstance(servers, list):
            servers = {one["name"]: one for one in servers}
        if isinstance(servers, dict) and "memanto" in servers:
            one = servers["memanto"]
            command = one.get("command", one.get("cmd"))
            return (command[0], command[1:]) if isinstance(command, list) else (command, one["args"])
    raise AssertionError(data)


def hook_commands(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("command"), str) and " hook " in value["command"]:
            yield value["command"]
        value = list(value.values())
    for one in value if isinstance(value, list) else []:
        yield from hook_commands(one)


# -- what is written --------------------------------------------------------------------------------
@pytest.mark.parametrize(("client", "scope"), EVERY)
def test_each_file_is_read_by_a_parser_of_its_format_and_registers_the_server(
    user: User, client: str, scope: str
) -> None:
    written = user.connect(client, *SCOPES[scope])
    settings = [path for path in written if path.suffix in {".json", ".toml", ".yaml"} and path.name != "hooks.json"]
    registered = [entry(parsed(path)) for path in settings if path.name != "settings.json" or ".gemini" in path.parts]
    own = [not path.is_relative_to(user.project) for path in settings]
    assert registered
    assert registered == [
        (str(user.program) if of_user else "memanto", ARGUMENTS) for of_user in own[: len(registered)]
    ]
    told = [path for path in written if path.suffix in {".md", ".mdc", ".goosehints"} or path.name == ".goosehints"]
    for path in told:
        parsed(path)
        assert "`record_failure`" in path.read_text("utf-8")
    for path in written:
        if path.suffix == ".json":
            json.loads(path.read_bytes())  # nothing was there, so it is plain JSON


@pytest.mark.parametrize("client", CLIENTS)
def test_files_meant_for_git_name_no_path_of_this_machine(user: User, client: str) -> None:
    for path in user.connect(client):
        if path.is_relative_to(user.project):
            text = path.read_text("utf-8")
            assert [one for one in (user.home, user.project, user.program) if str(one) in text] == []


def test_your_own_files_name_the_command_that_runs_wherever_it_lies(user: User) -> None:
    link = user.home / ".local" / "bin" / "memanto"
    link.parent.mkdir(parents=True)
    link.symlink_to(user.program)
    environ = environment(user.run.home) | {"PATH": "/usr/bin:/bin", "HOME": str(user.home)}
    for program in (user.program, link, Path(os.path.relpath(user.program))):
        command = [str(program), "connect", "cursor", "--global", "--agent", AGENT]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=True)
        named = str(program if program.is_absolute() else user.program)
        assert entry(parsed(user.home / ".cursor" / "mcp.json"))[0] == named
        assert shlex.split(next(hook_commands(parsed(user.home / ".cursor" / "hooks.json"))))[0] == named
        assert "PATH" not in done.stderr, "a full path needs none"


def test_a_command_that_only_an_active_environment_finds_is_warned_of(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warned(*arguments: str) -> bool:
        told = user.run.done("connect", "claude-code", *arguments, "--agent", AGENT).err
        return "tools started elsewhere will not find it" in told

    assert not warned()
    environment_folder = user.program.parent.parent
    monkeypatch.setattr(sys, "prefix", str(environment_folder))
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    assert warned()
    assert not warned("--global"), "its files name the full path"
    with_link = environment_folder.parent / f"{environment_folder.name}-bin"  # as `make install` links it
    with_link.mkdir()
    (with_link / "memanto").symlink_to(user.program)
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{with_link}")
    assert not warned()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert warned()


@pytest.mark.slow
def test_the_registered_commands_start_a_server_with_ten_tools(user: User) -> None:
    commands = set()
    for client, scope in (("claude-code", "project"), ("claude-code", "global")):
        [path, *_] = user.connect(client, *SCOPES[scope])
        command, arguments = entry(parsed(path))
        commands.add((command, *arguments))
    assert len(commands) == 2
    environ = environment(user.run.home) | {"PATH": os.environ["PATH"]}
    for command in commands:
        with Wire(command, environ) as wire:
            assert wire.initialize()["serverInfo"]["name"] == "memanto"
            assert len(wire.ask("tools/list")["result"]["tools"]) == 10


@pytest.mark.parametrize("client", HOOKED)
@pytest.mark.parametrize("scope", SCOPES)
def test_every_registered_hook_is_a_command_that_answers(user: User, client: str, scope: str) -> None:
    written = user.connect(client, *SCOPES[scope])
    commands = [one for path in written if path.suffix == ".json" for one in hook_commands(parsed(path))]
    events = [shlex.split(command)[2] for command in commands]
    assert sorted(events) == ["pre-compact", "pre-tool-use", "session-end", "session-start"]
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == ("memanto" if scope == "project" else str(user.program))
        assert arguments[2:] == ["--client", client, "--agent", AGENT]
        outcome = user.run(
            *arguments, stdin=b'{"tool_name": "Bash"}'
        )  # the agent does not exist: it says so and stays out of the way
        assert (outcome.status, outcome.out) == (0, "")
        assert "no agent named" in outcome.err


def test_strict_and_no_hooks_are_what_they_say(user: User) -> None:
    written = user.connect("claude-code", "--strict")
    commands = list(hook_commands(parsed(written[-1])))
    assert [one.endswith(" --strict") for one in commands if "pre-tool-use" in one] == [True]
    assert len(user.connect("cursor", "--no-hooks")) == 2


# -- what stays -------------------------------------------------------------------------------------
CASES = [(client, scope, style) for client, scope in EVERY for style in ("comments", "windows", "no end", "empty")]


def prepare(user: User, client: str, scope: str, style: str) -> list[Path]:
    """Put files of a style where the tool's files go, and return those that are merged into."""
    spots = user.run.done("connect", client, *SCOPES[scope], "--agent", AGENT, "--print", "--json").json["files"]
    paths = []
    for spot in spots:
        path = Path(spot["path"])
        if path.name.startswith("memanto."):
            continue  # a file of our own
        offered = styles(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(offered.get(style, next(iter(offered.values()))).encode())
        paths.append(path)
    return paths


@pytest.mark.parametrize(("client", "scope", "style"), CASES)
def test_removing_restores_every_byte(user: User, client: str, scope: str, style: str) -> None:
    prepare(user, client, scope, style)
    before = user.files()
    written = user.connect(client, *SCOPES[scope])
    assert {str(path) for path in written} <= {str(path) for path in [*user.project.rglob("*"), *user.home.rglob("*")]}
    assert user.files() != before
    user.connect("remove", client, *SCOPES[scope])
    assert user.files() == before


@pytest.mark.parametrize(
    ("name", "client", "text"),
    [
        *(("project/.mcp.json", "claude-code", text) for text in JSON_STYLES.values()),
        *(("project/.claude/settings.json", "claude-code", text) for text in JSON_STYLES.values()),
        *(("project/.cursor/hooks.json", "cursor", text) for text in JSON_STYLES.values()),
        *(("project/.codex/config.toml", "codex", text) for text in TOML_STYLES.values()),
        *(("user/.config/goose/config.yaml", "goose", text) for text in YAML_STYLES.values()),
        *(("user/.continue/config.yaml", "continue --global", text) for text in YAML_STYLES.values()),
    ],
)
def test_what_was_there_stays_and_survives_what_is_changed_meanwhile(
    user: User, name: str, client: str, text: str
) -> None:
    path = user.home.parent / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    before = parsed(path)
    user.connect(*client.split())
    once = path.read_bytes()
    assert [line for line in comments(text) if line not in once.decode()] == []
    user.connect(*client.split())
    assert path.read_bytes() == once
    changed = once + (b"" if once.endswith(b"\n") else b"\n") + b"// added\n" * (path.suffix == ".json")
    changed += b"# added\n" * (path.suffix != ".json")
    path.write_bytes(changed)
    user.connect("remove", *client.split())
    left = path.read_bytes().decode()
    assert parsed(path) in (before, {**before, **dict.fromkeys(set(before) & {"extensions", "mcpServers"})})
    assert "added" in left
    assert "memanto" not in left
    assert [line for line in comments(text) if line not in left] == []


def comments(text: str) -> list[str]:
    marks = ("// ", "/* ", "# ")
    return [line[line.index(mark) :].strip(" ,\r") for line in text.split("\n") for mark in marks if mark in line]


def test_a_block_keeps_its_place_and_its_file_when_it_is_written_anew(user: User) -> None:
    path = user.project / "CLAUDE.md"
    path.write_text(f"above\n\n{BEGIN}\nolder\n{END}\n\nbelow\n")
    user.connect("claude-code")
    text = path.read_text()
    assert text.startswith(f"above\n\n{BEGIN}\n## Memory")
    assert text.endswith(f"{END}\n\nbelow\n")
    user.connect("remove", "claude-code")
    assert path.read_text() == "above\n\nbelow\n"


def test_a_file_that_two_tools_share_loses_the_block_with_the_last_of_them(user: User) -> None:
    user.connect("codex")
    user.connect("opencode")
    user.connect("remove", "codex")
    assert BEGIN in (user.project / "AGENTS.md").read_text()
    user.connect("remove", "opencode")
    assert user.files() == {}


def test_an_older_registration_and_older_hooks_are_replaced_not_doubled(user: User) -> None:
    user.connect("claude-code")
    user.run.done("connect", "claude-code", "--agent", "another", "--strict")
    settings = parsed(user.project / ".claude" / "settings.json")
    assert all(len(groups) == 1 for groups in settings["hooks"].values())
    assert entry(parsed(user.project / ".mcp.json"))[1][-1] == "another"
    user.connect("remove", "claude-code")
    assert user.files() == {}


def test_hooks_of_others_stay_beside_ours(user: User) -> None:
    path = user.project / ".claude" / "settings.json"
    path.parent.mkdir()
    mine = {"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [mine], "Notification": [mine]}, "model": "x"}))
    user.connect("claude-code")
    data = parsed(path)
    assert data["hooks"]["PreToolUse"][0] == mine
    assert len(data["hooks"]["PreToolUse"]) == 2
    assert (data["model"], data["hooks"]["Notification"]) == ("x", [mine])


def test_a_file_another_person_connected_before_is_taken_as_it_is_and_can_be_left(user: User) -> None:
    """A clone of a repository holds the entries already, and this machine knows nothing of them."""
    user.connect("cursor")
    (user.run.home / "connections.json").unlink()
    assert user.run.done("connect", "cursor", "--agent", AGENT).out.count("unchanged") == 3
    user.connect("remove", "cursor")
    assert [name for name in user.files() if "memanto" in name] == []
    assert "memanto" not in (user.project / ".cursor" / "mcp.json").read_text()


@pytest.mark.parametrize(
    ("client", "scope", "name", "text"),
    [
        (
            "cursor",
            "project",
            "project/.cursor/mcp.json",
            '{"mcpServers": {"memanto": {"command": "uvx", "args": []}}}',
        ),
        ("codex", "global", "user/.codex/config.toml", '[mcp_servers.memanto]\nurl = "https://example.org" # theirs\n'),
        (
            "goose",
            "global",
            "user/.config/goose/config.yaml",
            "extensions:\n  memanto:\n    uri: https://example.org\n",
        ),
    ],
)
@pytest.mark.parametrize("meanwhile", [False, True])
def test_another_server_of_the_same_name_comes_back(
    user: User, client: str, scope: str, name: str, text: str, *, meanwhile: bool
) -> None:
    path = user.home.parent / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    theirs = parsed(path)
    user.connect(client, *SCOPES[scope])
    assert entry(parsed(path))[1] == ARGUMENTS
    if meanwhile:
        path.write_text(path.read_text() + "\n")
    user.connect("remove", client, *SCOPES[scope])
    assert parsed(path) == theirs
    assert meanwhile or path.read_text() == text


def test_a_lost_backup_costs_no_file_of_the_users(user: User) -> None:
    path = user.project / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"other": {"command": "x"}}}')
    user.connect("cursor")
    shutil.rmtree(user.run.home / "backups")
    user.connect("remove", "cursor")
    assert parsed(path) == {"mcpServers": {"other": {"command": "x"}}}


def test_an_empty_file_of_rules_is_left_as_it_was(user: User) -> None:
    rules = user.project / ".clinerules" / "memanto.md"
    rules.parent.mkdir()
    rules.write_bytes(b"")
    user.connect("cline")
    user.connect("remove", "cline")
    assert rules.read_bytes() == b""


@pytest.mark.parametrize(
    "records",
    [
        "[]",
        "[" * 100_000,
        '{"connections": [{"client": "cursor", "scope": "project", "project": null, "agent": "a"}], "files": {}}',
        '{"connections": [], "files": {"/x": {"existed": true, "backup": "", "after": "", "users": null}}}',
        '{"connections": [], "files": {"/x": {"existed": 1, "backup": "", "after": "", "users": []}}}',
        '{"connections": [], "files": {}, "folders": [1]}',
    ],
)
def test_damaged_records_are_told_and_change_nothing(user: User, records: str) -> None:
    user.run.home.mkdir(parents=True, exist_ok=True)
    (user.run.home / "connections.json").write_text(records)
    for arguments in (["list"], ["remove", "cursor"], ["cursor", "--agent", AGENT]):
        outcome = user.run("connect", *arguments, "--json")
        assert (outcome.status, outcome.error["code"]) == (2, "configuration")
        assert "is damaged" in outcome.error["message"]
    assert user.files() == {}


def test_a_tool_that_another_version_connected_is_listed_and_named(user: User) -> None:
    one = {"client": "later", "scope": "project", "project": str(user.project), "agent": AGENT}
    user.run.home.mkdir(parents=True, exist_ok=True)
    (user.run.home / "connections.json").write_text(json.dumps({"connections": [one], "files": {}, "folders": []}))
    assert user.run.done("connect", "list", "--json").json["connections"][0]["state"] == "missing"
    outcome = user.run("connect", "update", "--json")
    assert (outcome.status, outcome.error["code"]) == (2, "configuration")
    assert "'later'" in outcome.error["message"]


def test_a_folder_whose_name_is_too_long_is_none(user: User) -> None:
    outcome = user.run("connect", "cursor", "--agent", AGENT, "--project-dir", "x" * 5_000, "--json")
    assert (outcome.status, outcome.error["code"]) == (2, "configuration")


# -- what is refused --------------------------------------------------------------------------------
@pytest.mark.parametrize("link", [".mcp.json", ".claude"])
@pytest.mark.parametrize("inside", [True, False])
def test_a_link_in_a_project_is_refused_and_nothing_is_written(user: User, link: str, inside: bool) -> None:
    target = (user.project if inside else user.home) / "elsewhere"
    if link == ".claude":
        target.mkdir()
    else:
        target.write_text("{}")
    (user.project / link).symlink_to(target)
    before = user.files()
    outcome = user.run("connect", "claude-code", "--agent", AGENT, "--json")
    assert (outcome.status, outcome.error["code"]) == (2, "configuration")
    assert "symbolic link" in outcome.error["message"]
    assert user.files() == before


def test_a_link_in_the_users_own_folder_is_followed_and_stays_one(user: User) -> None:
    kept = user.home / "dotfiles" / "settings.json"
    kept.parent.mkdir()
    kept.write_text("{}")
    (user.home / ".gemini").mkdir()
    (user.home / ".gemini" / "settings.json").symlink_to(kept)
    user.connect("gemini-cli", "--global")
    assert (user.home / ".gemini" / "settings.json").is_symlink()
    assert entry(parsed(kept))[1] == ARGUMENTS


@pytest.mark.parametrize(
    ("name", "client", "data", "says"),
    [
        (".mcp.json", "claude-code", b'{"mcpServers": {\n"a": 1 "b"}}', "line 2"),
        (".mcp.json", "claude-code", b'{"mcpServers": []}', "mcpServers is not an object"),
        (".mcp.json", "claude-code", b"[]", "not an object"),
        (".mcp.json", "claude-code", b"[" * 5_000, "nesting"),
        (".mcp.json", "claude-code", b"\xff\xfe{}", "not UTF-8"),
        (".claude/settings.json", "claude-code", b'{"hooks": {"SessionStart": {}}}', "not an array"),
        ("CLAUDE.md", "claude-code", f"{BEGIN}\nno end".encode(), "do not pair"),
        ("CLAUDE.md", "claude-code", f"{BEGIN}\n{BEGIN}\n{END}\n{END}".encode(), "do not pair"),
        (".codex/config.toml", "codex", b"a = ", "not valid TOML"),
        (".codex/config.toml", "codex", b"mcp_servers = 3", "no table"),
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_named_and_no_file_is_changed(
    user: User, name: str, client: str, data: bytes, says: str
) -> None:
    path = user.project / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    before = user.files()
    outcome = user.run("connect", client, "--agent", AGENT, "--json")
    assert outcome.status == 2
    assert str(path) in outcome.error["message"]
    assert says in outcome.error["message"]
    assert user.files() == before


def test_when_writing_fails_what_was_written_is_put_back(user: User) -> None:
    (user.project / ".claude").write_text("a file where a folder is due")
    before = user.files()
    outcome = user.run("connect", "claude-code", "--agent", AGENT, "--json")
    assert outcome.status == 2
    assert user.files() == before
    assert user.run.done("connect", "list", "--json").json == {"connections": []}


def test_an_unknown_tool_is_named_with_those_there_are(user: User) -> None:
    outcome = user.run("connect", "emacs", "--agent", AGENT, "--json")
    assert outcome.status == 2
    assert "claude-code" in outcome.error["hint"]


# -- the command ------------------------------------------------------------------------------------
def test_bare_it_finds_tools_shows_what_it_would_write_and_off_a_terminal_changes_nothing(user: User) -> None:
    (user.project / ".cursor").mkdir()
    (user.home / ".codex").mkdir()
    before = user.files()
    outcome = user.run.done("connect", "--agent", AGENT)
    assert outcome.out.startswith(f"agent {AGENT} (flag --agent)")
    assert [word in outcome.out for word in ("Cursor", "Codex", "AGENTS.md", "hooks")] == [True] * 4
    assert "Windsurf" not in outcome.out
    assert "nothing was changed" in outcome.err
    assert set(user.run.done("connect", "--agent", AGENT, "--json").json["found"]) == {"cursor", "codex"}
    assert user.files() == before
    user.run.done("connect", "--agent", AGENT, "--yes")
    rows = user.run.done("connect", "list", "--json").json["connections"]
    assert {row["connection"]["client"] for row in rows} == {"cursor", "codex"}


def test_bare_without_a_tool_or_an_agent_it_says_so(user: User) -> None:
    assert "no coding tool" in user.run.done("connect", "--agent", AGENT).out
    assert user.run("connect").status == 2


def test_print_shows_the_change_and_makes_none(user: User) -> None:
    (user.project / "CLAUDE.md").write_text("# Mine\n")
    before = user.files()
    shown = user.run.done("connect", "claude-code", "--agent", AGENT, "--print").out
    assert f"+{BEGIN}" in shown
    assert " # Mine" in shown
    assert user.files() == before
    assert not (user.run.home / "connections.json").exists()


def test_the_list_tells_what_is_connected_changed_and_missing(user: User) -> None:
    user.connect("cursor")
    user.connect("codex", "--global")

    def states() -> dict[str, str]:
        rows = user.run.done("connect", "list", "--json").json["connections"]
        return {row["connection"]["client"]: row["state"] for row in rows}

    assert states() == {"cursor": "connected", "codex": "connected"}
    (user.project / ".cursor" / "mcp.json").write_text("{}")
    assert states()["cursor"] == "changed"
    user.run.done("connect", "update")
    assert states()["cursor"] == "connected"
    for path in (user.project / ".cursor").rglob("*.*"):
        path.unlink()
    assert states()["cursor"] == "missing"


def test_removing_asks_for_the_place_it_was_connected_in(user: User) -> None:
    user.connect("codex", "--global")
    assert user.run("connect", "remove").status == 3
    user.connect("remove", "codex", "--global")
    assert user.files() == {}


@pytest.mark.parametrize("arguments", [[], ["--print"], ["--global"]], ids=" ".join)
def test_removing_what_is_not_connected_finds_nothing_as_elsewhere(arguments: list[str], user: User) -> None:
    user.connect("codex")
    before = user.files()
    outcome = user.run("connect", "remove", "cursor", *arguments, "--json")
    assert (outcome.status, outcome.error["code"]) == (3, "not_found")
    assert "cursor is not connected here" in outcome.error["message"]
    assert "memanto connect list" in outcome.error["hint"]
    assert user.files() == before


def test_connections_are_kept_apart_by_project(user: User) -> None:
    other = user.project.parent / "other"
    other.mkdir()
    user.connect("cursor")
    user.connect("cursor", "--project-dir", str(other))
    user.connect("remove", "cursor", "--project-dir", str(other))
    assert list(other.iterdir()) == []
    assert (user.project / ".cursor" / "mcp.json").exists()


def test_a_command_from_a_subfolder_connects_the_repository(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    (user.project / ".git").mkdir()
    (user.project / "src").mkdir()
    monkeypatch.chdir(user.project / "src")
    assert user.connect("roo")[0] == user.project / ".roo" / "mcp.json"


def test_permissions_of_a_file_stay(user: User) -> None:
    path = user.project / ".mcp.json"
    path.write_text("{}")
    path.chmod(0o640)
    user.connect("claude-code")
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(("answer", "written"), [("y", True), ("n", False), ("", False)])
def test_on_a_terminal_it_asks_once(user: User, answer: str, written: bool) -> None:
    (user.project / ".roo").mkdir()
    ours, theirs = os.openpty()
    command = [str(user.program), "connect", "--agent", AGENT]
    environ = environment(user.run.home) | {"PATH": os.environ["PATH"], "HOME": str(user.home)}
    with subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, env=environ) as process:
        os.write(ours, f"{answer}\n".encode())
        out, _ = process.communicate(timeout=60)
    os.close(theirs)
    asked = os.read(ours, 10_000).decode()
    os.close(ours)
    assert (process.returncode, asked.count("Write these files?")) == (0, 1)
    assert b".roo" in out
    assert (user.project / ".roo" / "mcp.json").exists() is written
