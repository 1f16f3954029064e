"""Fixtures of the stress tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.stress.stress_kit import Workers


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def workers() -> Iterator[Workers]:
    started = Workers()
    yield started
    started.end()
