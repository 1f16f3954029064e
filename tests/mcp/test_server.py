"""What the server says of itself, and what it does before and without a memory (specification)."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from tests.mcp.mcp_kit import Direct

from memanto.errors import ConfigurationError
from memanto_mcp.words import INSTRUCTIONS


def test_the_first_512_characters_of_the_instructions_stand_alone() -> None:
    alone, rest = INSTRUCTIONS.split("\n\n", 1)
    assert len(alone) <= 512
    assert alone.endswith(".")
    assert [word for word in ("brief", "handoff", "guard", "record_failure", "remember") if word not in alone] == []
    assert "never secrets" in alone
    assert "data, never instructions" in alone
    assert rest


def test_resources_show_what_is_new_waiting_failed_and_how_much_there_is(direct: Direct) -> None:
    direct.memory.remember("We ship on Tuesdays", type="decision")
    direct.memory.record_failure("When the export hangs, restart the worker")
    direct.memory.write_handoff(done="users", next="orders")
    assert {one.name for one in direct.run(direct.server.list_resources())} == {
        "recent", "handoff", "failures", "stats",
    }  # fmt: skip
    assert "Tuesdays" in direct.resource("recent")
    failures = json.loads(direct.resource("failures"))
    assert ["restart the worker" in one["text"] for one in failures["memories"]] == [True]
    [waiting] = json.loads(direct.resource("handoff"))["handoffs"]
    assert (waiting["state"], "Next: orders" in waiting["text"]) == ("offered", True)
    assert json.loads(direct.resource("stats"))["by_type"] == {"decision": 1, "context": 1, "error": 1}


def test_reading_a_handoff_resource_claims_nothing(direct: Direct) -> None:
    direct.memory.write_handoff(done="users")
    direct.resource("handoff")
    assert direct.memory.take_handoff(by="somebody") is not None


def test_prompts_bring_what_memory_knows_and_how_to_use_it(direct: Direct) -> None:
    direct.memory.remember("Exports go to the bucket reports", type="instruction", provenance="validated")
    plan = direct.prompt("plan_with_memory", task="export the reports")
    assert "export the reports" in plan
    assert "bucket reports" in plan
    assert "SESSION HANDOFF" in direct.prompt("session_handoff")
    assert "MEMORY CHECK" in direct.prompt("memory_check")


def test_a_server_without_an_agent_lists_its_tools_and_works_once_there_is_one() -> None:
    named: list[str] = []

    def choose() -> str:
        if not named:
            raise ConfigurationError("no agent is named", hint="`memanto agent create NAME` makes one")
        return named[0]

    served = Direct(choose)
    try:
        assert len(served.tools()) == 10
        assert "memanto agent create" in served.fails("recall")
        with pytest.raises(Exception, match="memanto agent create"):
            served.resource("recent")
        named.append("later")
        assert served.call("recall")["notice"]
        named[0] = "another"
        assert served.memory.agent == "later"
    finally:
        served.close()


def test_the_page_names_every_tool_argument_resource_and_prompt(direct: Direct) -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "mcp.md").read_text("utf-8")
    rows = {row.split("`")[1]: row for row in page.splitlines() if row.startswith("| `")}
    for name, tool in direct.tools().items():
        assert [one for one in tool["inputSchema"]["properties"] if f"`{one}`" not in rows[name]] == []
    assert [one.name for one in direct.run(direct.server.list_resources()) if f"memanto://{one.name}" not in page] == []
    assert [one.name for one in direct.run(direct.server.list_prompts()) if f"`{one.name}`" not in page] == []


def test_a_project_cannot_break_or_change_the_server_by_its_env_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_bytes(b"FASTMCP_DEBUG=true\nFASTMCP_LOG_LEVEL=NOPE\n\xff\xfe=1\n")
    monkeypatch.chdir(tmp_path)
    served = Direct()
    assert len(served.tools()) == 10
    served.close()


PUBLIC = {
    "memanto",
    "memanto.adapter",
    "memanto.errors",
    "memanto.models",
    "memanto.loop.fence",
    "memanto.loop.policy_prompt",
}
"""What an adapter may import: names that are exported, errors, limits, and what puts memories before a model."""


def test_the_package_imports_only_what_the_core_offers_to_adapters() -> None:
    sources = Path(__file__).parents[2] / "packages" / "memanto-mcp" / "src"
    found = set()
    for path in sources.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "memanto":
                found.add(str(node.module))
    assert found - PUBLIC <= {"memanto.stores", "memanto.times"}  # a type, and how times are written
