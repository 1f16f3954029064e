"""LangChain's own suites for retrievers and tools, unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from langchain_memanto import MemantoRetriever
from langchain_memanto.tools import TOOLS
from memanto import InMemory, Memanto
from memanto.testing import HashEmbedder

ARGUMENTS: dict[str, dict[str, Any]] = {
    "remember": {"content": "The importer runs at 02:00", "type": "fact", "provenance": "observed"},
    "recall": {"query": "importer", "types": ["fact"], "limit": 3},
    "show": {"id": "FIRST"},
    "answer": {"question": "When does the importer run?"},
    "handoff": {"action": "write", "done": ["one"], "next": ["two"]},
    "record_failure": {"attempted": "pull the ledger", "wrong": "a timeout", "fix": "wait five minutes"},
    "guard": {"situation": "pull the ledger again"},
    "brief": {"task": "import the orders"},
    "check": {"task_type": "import"},
    "feedback": {"id": "FIRST", "verdict": "helped"},
}


@pytest.fixture(scope="module")
def filled() -> Iterator[Memanto]:
    with Memanto("suite", store=InMemory(), embedder=HashEmbedder(), reranker=None, llm=None) as memory:
        for number in range(5):
            memory.remember(f"The importer of shop {number} runs at 0{number}:00 UTC", type="fact")
        yield memory


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _given(self, filled: Memanto) -> None:
        self._memory = filled

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return MemantoRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self._memory, "strict": True}

    @property
    def retriever_query_example(self) -> str:
        return "when does the importer run"


class _Tool:
    """What both suites need to know of one tool."""

    kind = ""

    @pytest.fixture(autouse=True)
    def _given(self, filled: Memanto) -> None:
        self._memory = filled

    @property
    def tool_constructor(self) -> type[BaseTool]:
        return TOOLS[self.kind]

    @property
    def tool_constructor_params(self) -> dict[str, Any]:
        return {"memory": self._memory, "strict": True}

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        first = self._memory.recall("importer of shop 1")[0].memory.id
        return {name: first if value == "FIRST" else value for name, value in ARGUMENTS[self.kind].items()}


for _kind in TOOLS:
    _title = _kind.title().replace("_", "")
    globals()[f"Test{_title}Unit"] = type(f"Test{_title}Unit", (_Tool, ToolsUnitTests), {"kind": _kind})
    globals()[f"Test{_title}Integration"] = type(
        f"Test{_title}Integration", (_Tool, ToolsIntegrationTests), {"kind": _kind}
    )


def test_every_tool_is_held_against_the_suites() -> None:
    assert set(ARGUMENTS) == set(TOOLS)
