"""`AsyncMemanto` has the verbs of `Memanto` and shares its store. Pins the specification."""

import ast
import asyncio
import importlib.util
import inspect
from pathlib import Path

import pytest

from memanto import AsyncMemanto, Embedded, InMemory, Memanto, aio
from memanto.aio import BLOCKS, AsyncRun, AsyncScratch
from memanto.errors import InvalidInputError
from memanto.testing import HashEmbedder


def run(coroutine):
    return asyncio.run(coroutine)


def make_async_stub():
    path = Path(__file__).parents[2] / "scripts" / "make_async_stub.py"
    spec = importlib.util.spec_from_file_location("make_async_stub", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_verb_is_there_and_awaited():
    verbs = {n for n in dir(Memanto) if not n.startswith("_") and inspect.isfunction(getattr(Memanto, n))}
    assert verbs <= set(dir(AsyncMemanto))
    assert all(inspect.iscoroutinefunction(getattr(AsyncMemanto, verb)) for verb in verbs - BLOCKS)
    assert inspect.signature(AsyncMemanto.recall) == inspect.signature(Memanto.recall)


def test_the_types_that_editors_and_checkers_read_are_those_of_the_classes():
    assert make_async_stub().main(["--check"]) == 0, "run: python scripts/make_async_stub.py"


def test_every_public_name_of_the_derived_classes_is_in_the_stub():
    tree = ast.parse(Path(aio.__file__).with_suffix(".pyi").read_text("utf-8"))
    written = {node.name: {one.name for one in node.body} for node in tree.body if isinstance(node, ast.ClassDef)}
    for of in (AsyncMemanto, AsyncRun, AsyncScratch):
        assert {name for name in dir(of) if not name.startswith("_")} <= written[of.__name__]


def test_a_sub_agent_is_isolated_by_async_with():
    async def work():
        async with AsyncMemanto("tester", store=InMemory(), embedder=HashEmbedder()) as memory:
            await memory.create_agent()
            async with memory.isolate("find the schema", run_id="run-7") as scratch:
                await scratch.memory.remember("tried services/", type="observation")
                assert [hit.memory.content for hit in await scratch.memory.recall()] == ["tried services/"]
                await scratch.conclude("The schema lives in services/api")
                assert await memory.recall() == []
            assert scratch.receipt is not None
            [back] = await memory.recall()
            assert (back.memory.id, back.memory.run_id) == (scratch.receipt.id, "run-7")
            with pytest.raises(ZeroDivisionError):
                async with memory.isolate("divide") as scratch:
                    await scratch.conclude("it works")
                    raise ZeroDivisionError
            assert (scratch.task, scratch.receipt) == ("divide", None)
            with pytest.raises(InvalidInputError, match="needs a task"):
                async with memory.isolate(" "):
                    pass

    run(work())


def test_a_run_is_recorded_by_async_with_or_by_its_handle():
    async def work():
        async with AsyncMemanto("tester", store=InMemory(), embedder=HashEmbedder()) as memory:
            async with memory.run("nightly") as begun:
                step = await begun.step("pulled the ledger", tool_calls=2)
            assert (step.number, begun.record.state, len(begun.steps)) == (1, "success", 1)
            with pytest.raises(ZeroDivisionError):
                async with await memory.start_run("nightly"):
                    raise ZeroDivisionError
            resumed = await memory.resume_run()
            ended = await resumed.end("gave up", success=False)
            assert (ended.state, [one.state for one in await memory.runs()]) == ("failure", ["failure", "success"])

    run(work())


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
