"""What is no store, or no agent's name, is refused where it is given, with what to give instead (our decision)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memanto import AsyncMemanto, Embedded, InMemory, Memanto
from memanto.checkpoints import CheckpointLog
from memanto.errors import InvalidInputError

TAKERS: list[Callable[..., Any]] = [Memanto, AsyncMemanto, CheckpointLog]


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("given", ["/some/path", Path("/some/path")])
def test_a_path_is_no_store(taker: Callable[..., Any], given: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        taker("shop", store=given)
    assert caught.value.message == f"store {given!r} is no store"
    assert caught.value.hint == "pass Embedded('/some/path'), InMemory() or Server(url)"


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("given", [Embedded, InMemory, object(), 5, {"path": "x"}, "x" * 10_000])
def test_neither_is_anything_else_that_connects_to_nothing(taker: Callable[..., Any], given: object) -> None:
    with pytest.raises(InvalidInputError, match="is no store") as caught:
        taker("shop", store=given)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("taker", TAKERS)
def test_a_memory_is_no_agents_name_and_its_agent_is_told(taker: Callable[..., Any]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        taker(Memanto("shop", store=InMemory()))
    assert caught.value.hint == "pass the agent's name: 'shop'"


@pytest.mark.parametrize("given", [None, 5, b"shop", ["shop"]])
def test_what_is_no_text_is_no_agents_name(given: Any) -> None:
    with pytest.raises(InvalidInputError, match="is no text"):
        Memanto(given)
