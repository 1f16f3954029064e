"""Targets that read the files of other tools: their settings, which `connect` edits as text, and their transcripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from tests.fuzz.kit import refusing, scratch, target, to_bytes

from memanto.connect import jsonc, tables
from memanto.connect.edits import BEGIN, END, Block, Edit, JsonHook, JsonMember, TomlTable, YamlChild
from memanto.connect.transcript import read_shift

_SERVER: Final[dict[str, Any]] = {"command": "memanto", "args": ["mcp", "--agent", "a"]}
_HOOK: Final[dict[str, Any]] = {"command": "memanto hook session-end --client x"}
_EDITS: Final[tuple[Edit, ...]] = (
    JsonMember(("mcpServers", "memanto"), _SERVER),
    JsonHook(("hooks", "Stop"), _HOOK),
    TomlTable(("mcp_servers", "memanto"), _SERVER),
    YamlChild("extensions", "memanto", _SERVER),
    YamlChild("mcpServers", "memanto", {"name": "memanto", **_SERVER}, listed=True),
    Block("Ask memory first."),
)


@target(
    "settings-of-tools",
    seeds=(
        '{\n  // mine\n  "mcpServers": {"other": {"command": "x"},},\n}\n',
        '{"hooks": {"Stop": [{"command": "memanto hook stop"}, 1]}, "mcpServers": {"memanto": 5}}',
        '[mcp_servers.memanto]\ncommand = "memanto"\nargs = ["mcp"]\n\n[a]\nb = 1 # c\n',
        "mcp_servers = {memanto = {command = 1}}\n",
        "extensions:\n  other: {cmd: x}\n  memanto:\n    command: y\n# end\n",
        "mcpServers:\n- name: memanto\n  command: z\nkey: !!int ''\n",
        f"# Rules\n\n{BEGIN}\nold\n{END}\nmore\n",
        "extensions: {}\r\nb: [1]\r\n",
    ),
    words=(
        '"mcpServers": ', '"memanto": ', '"hooks": ', '"Stop": ', "// x\n", "/* x */", "/*", ",", "{", "}", "[", "]",
        '"command": "memanto hook stop"', "[mcp_servers.memanto]\n", "[mcp_servers]\n", "[[mcp_servers]]\n",
        "memanto = 1\n",
        "extensions:", "mcpServers:", "\n- name: memanto\n", "\n  memanto:\n", "null", "~", "!!bool x", "&a ", "*a",
        "---\n",
        BEGIN, END, "\r\n", "\ufeff", "\x00", "'''", '"""', "\t", "# ", "9" * 400, "[" * 300,
    ),
    lead="{",
    longest=8_000,
)  # fmt: skip
def settings_of_tools(text: str) -> None:
    """An edit adds what it should, or is refused; done twice it changes nothing, and taken back it leaves no trace."""
    for edit in _EDITS:
        with refusing():
            added = edit.add(text)
            assert edit.add(added) == added, (edit, added)
            if "memanto" not in text:  # what was there under our name before may be replaced
                assert _means(edit, edit.remove(added, text)) == _means(edit, text), (edit, added)


def _means(edit: Edit, text: str) -> Any:
    """Return what a file says to whoever reads it."""
    match edit:
        case JsonMember() | JsonHook():
            return _canonical(jsonc.parse(text).value)
        case TomlTable():
            return _canonical(tables.table_at(text, ()))
        case YamlChild():
            return _canonical(tables._yaml(text))
        case _:
            return text.rstrip("\r\n")


def _canonical(value: Any) -> str:
    """Return a value as text: members in any order are the same, and so are an empty container and nothing."""
    if isinstance(value, dict):
        return (
            f"{{{', '.join(sorted(f'{name!r}: {_canonical(one)}' for name, one in value.items()))}}}" if value else ""
        )
    if isinstance(value, list):
        return f"[{', '.join(map(_canonical, value))}]" if value else ""
    return "" if value is None else repr(value)


@target(
    "transcript",
    seeds=(
        '{"type": "user", "message": {"role": "user", "content": "close the books"}, "timestamp": "2026-01-01"}',
        '{"message": {"role": "assistant", "content": [{"type": "text", "text": "done"}]}}',
        '{"message": {"content": [{"type": "tool_use", "name": "Edit", "input": {"file_path": "/p/a.py"}}]}}',
        '{"payload": {"type": "function_call", "name": "x", "arguments": "{\\"plan\\": [{\\"step\\": \\"a\\"}]}"}}\n',
        '{"type": "tool-call", "name": "TaskUpdate", "args": {"taskId": [1], "status": {}}}\n',
    ),
    words=(
        '"role": ', '"content": ', '"type": ', '"name": ', '"input": ', '"todos": ', '"file_path": ',
        '"timestamp": ', "\n",
        "null", "[]", "{}", "5", '"\\ud800"', '"\\u0000"', "*** Begin Patch\\n*** Add File: x", "<user_query>",
        "[" * 300,
        "9" * 5_000, "NaN",
    ),
    lead='{"content": ',
)  # fmt: skip
def transcript(text: str) -> None:
    """A transcript of any shape tells something or nothing, within bounds."""
    path = scratch() / "transcript.jsonl"
    path.write_bytes(to_bytes(text))
    shift = read_shift(path, Path("/p"))
    assert len(shift.asked) <= 302
    assert len(shift.said) <= 502
    assert len(shift.files) <= 30
    json.dumps([shift.asked, shift.said, *shift.done, *shift.left, *shift.files])
