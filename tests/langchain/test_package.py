"""The package as a whole: what importing it costs, what it exports, and the failsafe that adapters share."""

from __future__ import annotations

import ast
import asyncio
import logging
import subprocess
import sys
from pathlib import Path

import pytest

import langchain_memanto
from memanto.adapter import Failsafe


def loaded_by(statement: str) -> set[str]:
    """Return the top-level packages that a statement loads in a fresh interpreter."""
    code = f"import sys\n{statement}\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split())


SOURCES = sorted(Path(langchain_memanto.__file__).parent.glob("*.py"))
PUBLIC = {
    "memanto", "memanto.adapter", "memanto.adapter_results", "memanto.errors", "memanto.models", "memanto.llm.port",
    "memanto.loop.fence",
    "memanto.loop.citations", "memanto.toolkit", "memanto.toolkit.arguments", "memanto.toolkit.reading",
}  # fmt: skip
ENGINES = {"qdrant_client", "qdrant_edge", "fastembed", "onnxruntime", "numpy"}


def test_the_adapter_imports_what_is_meant_for_adapters_and_no_other_adapter() -> None:
    nodes = [node for path in SOURCES for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    named = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module is not None}
    named |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    own = {name for name in named if name.split(".")[0].endswith("memanto") or name.startswith(("memanto_", "crewai"))}
    assert {name for name in own if not name.startswith("langchain_memanto")} == PUBLIC


def test_importing_the_package_loads_no_framework_and_no_engine() -> None:
    assert (ENGINES | {"langchain", "langchain_core", "langgraph"}) & loaded_by("import langchain_memanto") == set()


def test_retriever_and_tools_load_no_engine_and_no_agent_framework_before_they_are_used() -> None:
    statement = "from langchain_memanto import MemantoRetriever, cite, memory_tools"
    assert (ENGINES - {"numpy"} | {"langchain", "langgraph"}) & loaded_by(statement) == set()


def test_every_exported_name_is_there_and_described() -> None:
    for name in langchain_memanto.__all__:
        assert getattr(langchain_memanto, name).__doc__
    assert "cite" in dir(langchain_memanto)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        langchain_memanto.nothing  # noqa: B018


def test_a_failsafe_stands_in_counts_and_tells_the_first_failure_only(caplog: pytest.LogCaptureFixture) -> None:
    failsafe = Failsafe("the test")
    with caplog.at_level(logging.WARNING, "memanto"):
        assert failsafe.call("divide", lambda: 4 // 2, otherwise=0) == 2
        assert failsafe.call("divide", lambda a, b: a // b, 1, 0, otherwise=7) == 7
        assert asyncio.run(failsafe.acall("divide", lambda a, *, b: a // b, 1, b=0, otherwise=8)) == 8
    assert (failsafe.failures, type(failsafe.last_error)) == (2, ZeroDivisionError)
    assert caplog.messages == [
        "the test cannot divide and goes on without (ZeroDivisionError): integer division or modulo by zero"
    ]
    with pytest.raises(ZeroDivisionError):
        Failsafe("the test", strict=True).call("divide", lambda: 1 // 0, otherwise=0)


def test_a_failsafe_tells_of_an_error_that_has_no_words(caplog: pytest.LogCaptureFixture) -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def fail() -> int:
        raise MuteError

    with caplog.at_level(logging.WARNING, "memanto"):
        assert Failsafe("the test").call("speak", fail, otherwise=7) == 7
    assert caplog.messages == ["the test cannot speak and goes on without (MuteError): "]


def test_a_failsafe_lets_an_interruption_through() -> None:
    def interrupt() -> int:
        raise KeyboardInterrupt

    failsafe = Failsafe("the test")
    with pytest.raises(KeyboardInterrupt):
        failsafe.call("go on", interrupt, otherwise=0)
    assert failsafe.failures == 0
