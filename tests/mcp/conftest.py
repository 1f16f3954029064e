"""A server in this process: for each test, or one for all tests of a module that leave its store as it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.mcp.mcp_kit import Direct


@pytest.fixture
def direct() -> Iterator[Direct]:
    served = Direct()
    yield served
    served.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[Direct]:
    served = Direct()
    yield served
    served.close()
