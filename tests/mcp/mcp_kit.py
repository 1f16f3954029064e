"""Drives the MCP server: in this process, or as a process of its own over its standard streams."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pytest

from memanto import InMemory, Memanto
from memanto.testing import HashEmbedder
from memanto_mcp import Host, make_server
from memanto_mcp.sdk import ToolError

AGENT = "loop"
PROTOCOL = "2025-06-18"


class Direct:
    """A server in this process over a throw-away store, and the memory behind it."""

    def __init__(self, choose_agent: Callable[[], str] = lambda: AGENT) -> None:
        self._loop = asyncio.new_event_loop()
        self.host = Host(choose_agent, store=InMemory(), embedder=HashEmbedder(), reranker=None, llm=None)
        self.server: Any = make_server(self.host)

    def run(self, coroutine: Any) -> Any:
        return self._loop.run_until_complete(coroutine)

    @property
    def memory(self) -> Memanto:
        """The memory, for what tools do not do."""
        return self.run(self.host.memory())._memory

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its structured result."""
        result = self.run(self.server.call_tool(name, arguments))
        structured = getattr(result, "structured_content", None) or result[1]
        assert isinstance(structured, dict)
        return structured

    def fails(self, name: str, /, **arguments: Any) -> str:
        """Call a tool that has to refuse, and return what it says."""
        with pytest.raises(ToolError) as raised:
            self.run(self.server.call_tool(name, arguments))
        return str(raised.value)

    def tools(self) -> dict[str, dict[str, Any]]:
        """Return every tool as it goes over the wire."""
        return {one.name: _plain(one) for one in self.run(self.server.list_tools())}

    def resource(self, name: str) -> str:
        [content] = self.run(self.server.read_resource(f"memanto://{name}"))
        return str(content.content)

    def prompt(self, name: str, **arguments: str) -> str:
        result = self.run(self.server.get_prompt(name, arguments))
        return str(result.messages[0].content.text)

    def close(self) -> None:
        self.run(self.host.close())
        self._loop.close()


def _plain(value: Any) -> dict[str, Any]:
    plain = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert isinstance(plain, dict)
    return plain


class Wire:
    """A server process, spoken to in lines of JSON-RPC by hand: whatever is no protocol on its output shows."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], *, client: str = "Test Client") -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(environ)
        )
        self._number = 0
        self._client = client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.end()

    def send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """Return the next answer; notifications are passed over."""
        assert self._process.stdout is not None
        while True:
            line = self._process.stdout.readline()
            assert line, self._process.stderr and self._process.stderr.read()
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            if "id" in message:
                return dict(message)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its answer."""
        self.send(self.request(method, **params))
        answer = self.receive()
        assert answer["id"] == self._number
        return answer

    def request(self, method: str, **params: Any) -> bytes:
        self._number += 1
        body = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        return json.dumps(body).encode()

    def initialize(self) -> dict[str, Any]:
        """Open the session and return what the server says of itself."""
        info = {"name": self._client, "version": "1"}
        answer = self.ask("initialize", protocolVersion=PROTOCOL, capabilities={}, clientInfo=info)
        self.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        return dict(answer["result"])

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        return dict(self.ask("tools/call", name=tool, arguments=arguments)["result"])

    def end(self) -> tuple[bytes, bytes, int]:
        """Close its input, and return what was left on its outputs and its exit status."""
        out, err = self._process.communicate(timeout=60)
        return out, err, self._process.returncode


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return the environment of a user whose store is in `home`, without models."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMANTO_")}
    sources = Path(__file__).parents[2] / "packages" / "memanto-mcp" / "src"
    path = os.pathsep.join(filter(None, [str(sources), kept.get("PYTHONPATH", "")]))
    return kept | {
        "MEMANTO_HOME": str(home), "MEMANTO_OFFLINE": "1", "MEMANTO_AGENT": AGENT, "PYTHONPATH": path,
        "PYTHONWARNINGS": "default", **more,
    }  # fmt: skip


def memanto(*arguments: str) -> list[str]:
    """Return the command line of memanto under this interpreter."""
    return [sys.executable, "-c", "import sys; from memanto.cli.main import run; sys.exit(run())", *arguments]
