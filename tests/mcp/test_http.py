"""The server over HTTP: this machine alone, unless there is a token (specification)."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.mcp.mcp_kit import PROTOCOL, environment, memanto

from memanto.errors import ConfigurationError
from memanto_mcp import Listen

TOKEN = "a-token-for-tests-only"
_HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
_HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "tester", "version": "1"}},
}  # fmt: skip


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.10", "::", "example.org", "127.0.0.1.example.org", ""])
def test_an_address_beyond_this_machine_needs_a_token(host: str) -> None:
    with pytest.raises(ConfigurationError, match="no token") as raised:
        Listen(host=host)
    assert "MEMANTO_MCP_TOKEN" in raised.value.hint
    assert Listen(host=host, token=TOKEN).host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]"])
def test_this_machine_needs_none(host: str) -> None:
    assert Listen(host=host).token is None


def test_a_short_token_is_refused_and_none_is_ever_shown() -> None:
    with pytest.raises(ConfigurationError, match="15 characters"):
        Listen(token="x" * 15)
    assert TOKEN not in repr(Listen(token=TOKEN))


@contextmanager
def serving(home: Path, **environ: str) -> Iterator[str]:
    """Serve on a free port and yield the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = memanto("mcp", "--http", "--port", str(port))
    with subprocess.Popen(command, env=environment(home, **environ), stderr=subprocess.PIPE) as process:
        try:
            address = f"http://127.0.0.1:{port}/mcp"
            for _ in range(600):
                try:
                    httpx.get(address)
                    break
                except httpx.TransportError:
                    assert process.poll() is None, process.stderr and process.stderr.read()
                    time.sleep(0.05)
            yield address
        finally:
            process.terminate()


def ask(client: httpx.Client, address: str, method: str, **params: Any) -> httpx.Response:
    body = _HELLO if method == "initialize" else {"jsonrpc": "2.0", "id": 2, "method": method, "params": params}
    return client.post(address, json=body)


def test_it_serves_tools_on_this_machine_and_only_to_whoever_has_the_token(tmp_path: Path) -> None:
    with serving(tmp_path, MEMANTO_MCP_TOKEN=TOKEN) as address:
        for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}):
            with httpx.Client(headers=_HEADERS | given) as client:
                assert ask(client, address, "initialize").status_code == 401
        with httpx.Client(headers=_HEADERS | {"Authorization": f"Bearer {TOKEN}"}) as client:
            greeting = ask(client, address, "initialize")
            assert greeting.status_code == 200
            if "mcp-session-id" in greeting.headers:
                client.headers["mcp-session-id"] = greeting.headers["mcp-session-id"]
            client.headers["mcp-protocol-version"] = PROTOCOL
            client.post(address, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
            stored = ask(
                client, address, "tools/call", name="remember",
                arguments={"content": "over HTTP", "type": "learning", "provenance": "observed"},
            )  # fmt: skip
            assert '"structuredContent"' in stored.text
            found = ask(client, address, "tools/call", name="recall", arguments={"query": "HTTP"})
            assert 'source=\\"tester\\"' in found.text.replace("\\\\", "\\")


def test_a_page_in_a_browser_cannot_reach_it_by_another_name(tmp_path: Path) -> None:
    with serving(tmp_path) as address, httpx.Client(headers=_HEADERS) as client:
        assert ask(client, address, "initialize").status_code == 200
        answer = client.post(address, json=_HELLO, headers={"Host": "evil.example"})
        assert 400 <= answer.status_code < 500
        answer = client.post(address, json=_HELLO, headers={"Origin": "https://evil.example"})
        assert 400 <= answer.status_code < 500
