"""What the tests of the CrewAI adapter share: a framework that is quiet and offline, a throw-away memory."""

from __future__ import annotations

import atexit
import inspect
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Read when CrewAI is imported, which test modules do at their top; and so before any fixture.
os.environ.update(
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_DISABLE_TRACKING="true",
    CREWAI_DISABLE_VERSION_CHECK="true",
    CREWAI_TRACING_ENABLED="false",
    CREWAI_TESTING="true",
    OTEL_SDK_DISABLED="true",
    CREWAI_STORAGE_DIR=tempfile.mkdtemp(prefix="crewai-"),
)
os.environ.pop("OPENAI_API_KEY", None)

from crewai.context import ExecutionContext, apply_execution_context
from crewai.events.event_bus import crewai_event_bus

from memanto import InMemory, Memanto
from memanto.testing import FixedClock, HashEmbedder

atexit.register(shutil.rmtree, os.environ["CREWAI_STORAGE_DIR"], ignore_errors=True)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(name: str, obj: object) -> None:
    """Mark coroutine tests, those of CrewAI's contract suite among them, which expect the automatic mode."""
    if name.startswith("test_") and inspect.iscoroutinefunction(obj):
        pytest.mark.asyncio(obj)


@pytest.fixture(autouse=True)
def offline(socket_enabled: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Refuse connections but to this machine, and give every test a folder of its own for CrewAI's files."""
    from pytest_socket import socket_allow_hosts

    socket_allow_hosts(["127.0.0.1", "::1"], allow_unix_socket=True)
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path / "crewai"))


@pytest.fixture(autouse=True)
def crewais_own_warnings() -> None:
    """Let CrewAI use what it deprecates itself, and tests fork where it had loaded LanceDB.

    Pytest forgets the filters with the test.
    """
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"crewai(_core)?\.")
    warnings.filterwarnings("ignore", message="lance is not fork-safe")


@pytest.fixture(autouse=True)
def events(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Forget what a test leaves with CrewAI: handlers on its process-wide bus, and whose work goes on."""
    apply_execution_context(ExecutionContext())
    crewai_event_bus.reset_runtime_state()
    # It registers its checkpoints' handlers once in a process.
    monkeypatch.setattr("crewai.state.checkpoint_listener._handlers_registered", False)
    with crewai_event_bus.scoped_handlers():
        yield crewai_event_bus
        crewai_event_bus.flush()


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def memory(clock: FixedClock) -> Iterator[Memanto]:
    with Memanto("tester", store=InMemory(), embedder=HashEmbedder(), reranker=None, llm=None, clock=clock) as opened:
        yield opened
