"""What pages on frameworks need: no telemetry of theirs, and no complaint about what they deprecate themselves."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings

import pytest

# Read when CrewAI is imported.
os.environ.update(
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_DISABLE_VERSION_CHECK="true",
    CREWAI_STORAGE_DIR=tempfile.mkdtemp(prefix="crewai-"),
    CREWAI_TESTING="true",
    CREWAI_TRACING_ENABLED="false",
    OTEL_SDK_DISABLED="true",
)

atexit.register(shutil.rmtree, os.environ["CREWAI_STORAGE_DIR"], ignore_errors=True)


@pytest.fixture(autouse=True)
def frameworks_own_warnings() -> None:
    """Let CrewAI use what it deprecates itself; pytest forgets the filter with the test."""
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"crewai(_core)?\.")
