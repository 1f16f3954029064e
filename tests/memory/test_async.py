"""`AsyncMemanto` has the verbs of `Memanto` and shares its store. Pins the specification."""

import asyncio
import inspect

import pytest

from memanto import AsyncMemanto, Embedded, InMemory, Memanto
from memanto.errors import InvalidInputError
from memanto.testing import HashEmbedder


def run(coroutine):
    return asyncio.run(coroutine)


def test_every_verb_is_there_and_awaited():
    verbs = {n for n in dir(Memanto) if not n.startswith("_") and inspect.isfunction(getattr(Memanto, n))}
    assert verbs <= set(dir(AsyncMemanto))
    assert all(inspect.iscoroutinefunction(getattr(AsyncMemanto, verb)) for verb in verbs)
    assert inspect.signature(AsyncMemanto.recall) == inspect.signature(Memanto.recall)


def test_verbs_work_side_by_side():
    async def work():
        async with AsyncMemanto("tester", store=InMemory(), embedder=HashEmbedder()) as memory:
            receipts = await asyncio.gather(*(memory.remember(f"note {n}", type="fact") for n in range(40)))
            assert len({receipt.id for receipt in receipts}) == 40
            hits = await memory.recall("note 7", limit=40)
            assert {hit.memory.id for hit in hits} == {receipt.id for receipt in receipts}
            lines = await memory.export()
            assert len(lines) == 41

    run(work())


def test_other_tasks_go_on_while_a_call_is_carried_out():
    async def work():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        async with AsyncMemanto("tester", store=InMemory(), embedder=HashEmbedder()) as memory:
            ticker = asyncio.create_task(tick())
            await memory.remember("note", type="fact")
            ticker.cancel()
        assert ticks > 1

    run(work())


def test_errors_and_closing_are_those_of_the_sync_class(tmp_path):
    async def work():
        memory = AsyncMemanto("tester", store=Embedded(tmp_path), embedder=HashEmbedder())
        await memory.open()
        with pytest.raises(InvalidInputError):
            await memory.remember("   ")
        await memory.remember("kept", type="fact")
        await memory.close()
        await memory.close()

    run(work())
    with Memanto("tester", store=Embedded(tmp_path), embedder=HashEmbedder()) as memory:
        assert [hit.memory.content for hit in memory.recall()] == ["kept"]
