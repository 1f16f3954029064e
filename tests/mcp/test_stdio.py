"""The server as a process of its own, spoken to in JSON-RPC by hand (specification)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.mcp.mcp_kit import AGENT, Wire, environment, memanto

from memanto import Embedded, Memanto

_NOISY = """
import os, subprocess, sys
from memanto_mcp import host, serve

class Noisy(host.Host):
    async def memory(self):
        print("a library prints")
        sys.stdout.flush()
        os.write(1, b"a library writes\\n")
        subprocess.run([sys.executable, "-c", "import sys; print(repr(sys.stdin.read()), 'a child prints')"])
        return await super().memory()

import memanto_mcp.server
memanto_mcp.server.Host = Noisy
serve(lambda: "loop")
"""


def seen(home: Path) -> list[tuple[str, str]]:
    """Return what the store holds: content and source of each memory."""
    with Memanto(AGENT, store=Embedded(home), embedder=None) as memory:
        return sorted((hit.memory.content, hit.memory.source) for hit in memory.recall(limit=100))


def test_a_client_is_greeted_lists_tools_and_its_name_is_the_source(tmp_path: Path) -> None:
    with Wire(memanto("mcp"), environment(tmp_path), client="claude-code") as wire:
        greeting = wire.initialize()
        assert greeting["serverInfo"] == {"name": "memanto", "version": "0.1.0+qdrant"} | {
            key: greeting["serverInfo"][key] for key in greeting["serverInfo"] if key == "title"
        }
        assert greeting["instructions"].startswith("Memory that outlives this session")
        assert len(wire.ask("tools/list")["result"]["tools"]) == 10
        stored = wire.call("remember", content="Use tabs", type="preference", provenance="explicit_statement")
        assert stored.get("isError") is not True
        assert json.loads(stored["content"][0]["text"]) == stored["structuredContent"]
        assert wire.call("recall", query="tabs")["structuredContent"]["memories"][0]["id"]
        out, _, status = wire.end()
    assert (out, status) == (b"", 0)
    assert seen(tmp_path) == [("Use tabs", "claude_code")]


def test_only_the_protocol_is_on_standard_output(tmp_path: Path) -> None:
    with Wire([sys.executable, "-c", _NOISY], environment(tmp_path)) as wire:
        wire.initialize()
        assert "structuredContent" in wire.call("recall")
        out, err, status = wire.end()
    assert (out, status) == (b"", 0)
    assert [b"a library prints" in err, b"a library writes" in err, b"'' a child prints" in err] == [True] * 3


def test_a_start_loads_no_model_and_opens_no_store(tmp_path: Path) -> None:
    script = (
        "import sys; from memanto_mcp import serve; serve(lambda: 'loop');"
        "print([one for one in ('onnxruntime', 'tokenizers', 'qdrant_client', 'fastembed') "
        "if one in sys.modules], file=sys.stderr)"
    )
    with Wire([sys.executable, "-c", script], environment(tmp_path / "home")) as wire:
        wire.initialize()
        wire.ask("tools/list")
        wire.ask("resources/list")
        wire.ask("prompts/list")
        _, err, _ = wire.end()
    assert err.decode().splitlines()[-1] == "[]"
    assert not (tmp_path / "home").exists()


def test_what_is_no_message_or_asks_for_the_impossible_does_not_end_the_session(tmp_path: Path) -> None:
    with Wire(memanto("mcp"), environment(tmp_path)) as wire:
        wire.initialize()
        for line in (b"", b"{", b"[]", b'"x"', b'{"jsonrpc": "2.0"}', b"\xff\xfe", b"\x00", b"[" * 10_000):
            wire.send(line)
        assert "error" in wire.ask("tools/fly")
        assert wire.call("fly")["isError"]
        assert wire.call("remember", content="x" * 1_000_000, type="fact", provenance="observed")["isError"]
        assert wire.call("remember", content={"a": [1]}, type=3, provenance=None)["isError"]
        assert "structuredContent" in wire.call("recall")


def test_a_client_that_leaves_in_the_middle_of_a_call_leaves_a_whole_store(tmp_path: Path) -> None:
    with Wire(memanto("mcp"), environment(tmp_path)) as wire:
        wire.initialize()
        wire.call("recall")
        for number in range(20):
            arguments = {"content": f"note {number}", "type": "learning", "provenance": "observed"}
            wire.send(wire.request("tools/call", name="remember", arguments=arguments))
        _, err, status = wire.end()
    assert (status, b"Traceback" in err) == (0, False), err
    assert {content for content, _ in seen(tmp_path)} <= {f"note {number}" for number in range(20)}


@pytest.mark.slow
def test_several_servers_and_a_command_line_write_to_one_store_and_lose_nothing(tmp_path: Path) -> None:
    def client(name: str) -> None:
        with Wire(memanto("mcp"), environment(tmp_path), client=name) as wire:
            wire.initialize()
            for number in range(5):
                stored = wire.call("remember", content=f"{name} {number}", type="learning", provenance="observed")
                assert not stored.get("isError"), stored

    names = ["one", "two", "three"]
    clients = [threading.Thread(target=client, args=(name,)) for name in names]
    for thread in clients:
        thread.start()
    command = memanto("remember", "from the shell", "--type", "learning", "--source", "shell", "--quiet")
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, check=False)
    for thread in clients:
        thread.join()
    wanted = [(f"{name} {number}", name) for name in names for number in range(5)]
    shell = [("from the shell", "shell")] if done.returncode == 0 else []  # whoever comes first makes the agent
    assert seen(tmp_path) == sorted([*wanted, *shell])
    assert done.returncode == 0 or b"no agent named" in done.stderr, done.stderr


@pytest.mark.skipif(
    "MEMANTO_TEST_MCP2_PYTHON" not in os.environ,
    reason="MEMANTO_TEST_MCP2_PYTHON names no interpreter that has memanto-mcp with mcp 2",
)
def test_the_other_major_of_the_sdk_serves_the_same_tools(tmp_path: Path) -> None:
    other = os.environ["MEMANTO_TEST_MCP2_PYTHON"]
    command = ["-c", "import sys; from memanto.cli.main import run; sys.exit(run())", "mcp"]
    tools = []
    for place, interpreter in enumerate((sys.executable, other)):
        with Wire([interpreter, *command], environment(tmp_path / str(place))) as wire:
            wire.initialize()
            tools.append([
                {key: tool[key] for key in ("name", "title", "description", "annotations")} | {
                    "arguments": sorted(tool["inputSchema"]["properties"])
                }
                for tool in wire.ask("tools/list")["result"]["tools"]
            ])  # fmt: skip
            assert "structuredContent" in wire.call("recall")
    assert tools[0] == tools[1]
