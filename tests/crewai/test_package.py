"""The package as a whole: what importing it costs, and what it uses of memanto."""

from __future__ import annotations

import ast
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_socket import SocketConnectBlockedError

import crewai_memanto

SOURCES = sorted(Path(crewai_memanto.__file__).parent.glob("*.py"))
PUBLIC = {
    "memanto", "memanto.adapter", "memanto.composition", "memanto.errors", "memanto.models", "memanto.times",
    "memanto.llm.port", "memanto.loop.fence",
}  # fmt: skip
HEAVY = {"crewai", "lancedb", "chromadb", "qdrant_client", "qdrant_edge", "onnxruntime", "numpy"}


def test_the_adapter_imports_what_is_meant_for_adapters_and_no_other_adapter() -> None:
    nodes = [node for path in SOURCES for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    named = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module is not None}
    named |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    own = {name for name in named if name.split(".")[0].endswith("memanto") or name.startswith("memanto_")}
    assert {name for name in own if not name.startswith(("crewai_memanto", "memanto.toolkit"))} <= PUBLIC


def test_importing_the_package_loads_no_framework_and_no_engine() -> None:
    code = "import sys, crewai_memanto\nprint(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert HEAVY & set(done.stdout.split()) == set()


@pytest.mark.filterwarnings("ignore:A test tried to use socket")
def test_these_tests_reach_no_other_machine() -> None:
    with pytest.raises(SocketConnectBlockedError), socket.socket() as connection:
        connection.connect(("192.0.2.1", 443))


def test_every_exported_name_is_there_and_described() -> None:
    for name in crewai_memanto.__all__:
        assert getattr(crewai_memanto, name).__doc__
    assert "MemantoMemory" in dir(crewai_memanto)
