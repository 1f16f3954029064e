"""A sub-agent's scratch is apart, and one conclusion comes back (specification)."""

from __future__ import annotations

import pytest

from memanto import Memanto
from memanto.errors import InvalidInputError


def test_one_learning_comes_back_tied_to_its_run(memory: Memanto) -> None:
    with memory.isolate("find the schema", run_id="run-7") as scratch:
        scratch.memory.remember("tried services/", type="observation")
        scratch.memory.remember("The schema lives in services/api", type="fact")
        [best, *_] = scratch.memory.recall("schema lives")
        assert best.memory.content == "The schema lives in services/api"
        assert memory.recall() == []
        scratch.conclude("The schema lives in services/api", confidence=0.9)
        assert memory.recall() == []
    [back] = memory.recall()
    assert scratch.receipt is not None
    assert back.memory.id == scratch.receipt.id
    assert (back.memory.type, back.memory.run_id, back.memory.confidence) == ("learning", "run-7", 0.9)
    assert back.memory.metadata["isolated"] == {"task": "find the schema"}


def test_the_scratch_does_not_see_the_parent(memory: Memanto) -> None:
    memory.remember("The parent's secret plan", type="context")
    with memory.isolate("look around") as scratch:
        scratch.memory.remember("something", type="fact")
        assert len(scratch.memory.recall()) == 1


def test_nothing_comes_back_when_the_block_raises(memory: Memanto) -> None:
    with pytest.raises(ZeroDivisionError), memory.isolate("divide") as scratch:
        scratch.conclude("it works")
        raise ZeroDivisionError
    assert scratch.receipt is None
    assert memory.recall() == []


def test_nothing_comes_back_without_a_conclusion(memory: Memanto) -> None:
    with memory.isolate("look") as scratch:
        pass
    assert scratch.receipt is None
    assert memory.recall() == []


def test_more_than_2000_tokens_are_refused_with_the_count(memory: Memanto) -> None:
    with memory.isolate("summarise") as scratch:
        with pytest.raises(InvalidInputError, match="about 2,001 tokens; at most 2,000"):
            scratch.conclude("x" * 8_001)
        scratch.conclude("x" * 8_000)
    [back] = memory.recall()
    assert back.memory.content == "x" * 8_000


@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_blank_conclusion_is_refused(memory: Memanto, text: str) -> None:
    with memory.isolate("look") as scratch, pytest.raises(InvalidInputError, match="blank"):
        scratch.conclude(text)


def test_a_second_conclusion_is_refused(memory: Memanto) -> None:
    with memory.isolate("look") as scratch:
        scratch.conclude("one")
        with pytest.raises(InvalidInputError, match="concluded already"):
            scratch.conclude("two")
    assert [one.memory.content for one in memory.recall()] == ["one"]


def test_the_scratch_is_gone_after_its_block(memory: Memanto) -> None:
    with memory.isolate("look") as scratch:
        pass
    with pytest.raises(InvalidInputError, match="the scratch is closed"):
        scratch.memory.recall()
    with pytest.raises(InvalidInputError, match="the scratch is closed"):
        scratch.conclude("late")


def test_a_sub_agent_needs_a_task(memory: Memanto) -> None:
    with pytest.raises(InvalidInputError, match="needs a task"):
        memory.isolate(" ")
