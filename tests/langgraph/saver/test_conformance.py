"""The kit of the checkpointer's own project, unchanged (a specification)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability
from tests.langgraph.saver.conftest import MakeSaver

from langgraph_memanto import MemantoSaver


def test_every_capability_is_there_and_passes(make_saver: MakeSaver) -> None:
    @checkpointer_test(name="MemantoSaver")
    async def saver() -> AsyncIterator[MemantoSaver]:
        async with make_saver() as made:
            yield made

    report = asyncio.run(validate(saver))
    assert [failure for result in report.results.values() for failure in result.failures or ()] == []
    assert {name for name, result in report.results.items() if result.detected} == {one.value for one in Capability}
    assert sum(result.tests_passed for result in report.results.values()) == 81
    assert report.passed_all()
