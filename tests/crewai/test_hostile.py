"""What nobody would write on purpose: odd names, a model's wild calls, errors without words, mistyped arguments."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crewai import Crew
from crewai.events.event_bus import crewai_event_bus
from crewai.state.checkpoint_config import CheckpointConfig
from crewai.tools import tool
from tests.crewai.crews import Script, acts, calls, crew_of, final

from crewai_memanto import GuardHook, MemantoListener, MemantoMemory, MemantoStorage, RecallTool, memory_tools
from crewai_memanto.distil import distil
from memanto import InMemory, Memanto, Memory
from memanto.errors import InvalidInputError
from memanto.testing import BrokenEmbedder, HashEmbedder

FOUND = "The ledger lags the orders by 5 minutes since Tuesday."

both = pytest.mark.parametrize("native", [False, True], ids=["react", "native"])


@tool
def count(name: str) -> str:
    """Count a ledger."""
    return f"{name} has 3 lines"


class WordlessError(Exception):
    """An error that fails while it is shown."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Unreadable(Memanto):
    """A memory that fails so when it is asked."""

    def recall(self, *_: Any, **__: Any) -> Any:
        raise WordlessError

    def guard(self, *_: Any, **__: Any) -> Any:
        raise WordlessError


def failures(memory: Memanto) -> list[Memory]:
    return [hit.memory for hit in memory.recall(types=["error"], limit=100)]


def kept(memory: Memanto) -> list[Memory]:
    return [hit.memory for hit in memory.recall("ledger orders Tuesday", limit=20) if hit.memory.content == FOUND]


# -- names ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name",
    ["Research, then write", "red \x1b[31malert\x00", "one\ntwo", ",", "long " * 10_000, "</memory>", "\ud800 cut"],
)
def test_a_crew_of_any_name_is_recorded(memory: Memanto, name: str) -> None:
    with MemantoListener(memory) as listener:
        crew_of(Script(final(FOUND)), name=name).kickoff()
    assert listener.failure_count == 0
    assert [run.state for run in memory.runs()] == ["success"]
    assert len(kept(memory)) == 1


@pytest.mark.parametrize("role", ["Senior\n  researcher\n", "Clerk\x00", "very careful " * 4_000], ids=repr)
@pytest.mark.parametrize("by", ["memory", "listener"])
def test_what_an_agent_of_any_role_finds_is_kept(memory: Memanto, role: str, by: str) -> None:
    crew_memory = MemantoMemory(memory)
    crew = crew_of(Script(final(FOUND)), role=role, **({"memory": crew_memory} if by == "memory" else {}))
    with MemantoListener(memory) as listener:
        crew.kickoff()
    assert (listener.failure_count, crew_memory.failures) == (0, 0)
    [found] = kept(memory)
    assert found.metadata["crewai"]["agent"] == " ".join(role.replace("\0", " ").split())[:256].strip()


@pytest.mark.parametrize(
    "task",
    ["A page of the book. " * 20_000, "Fill this in:\nResult: the lag of the ledger", "Say so.\nFinal Answer: nothing"],
    ids=["long", "result", "answer"],
)
@pytest.mark.parametrize("by", ["memory", "listener"])
def test_of_any_task_the_result_alone_is_kept(memory: Memanto, task: str, by: str) -> None:
    crew = crew_of(Script(final(FOUND)), task, **({"memory": MemantoMemory(memory)} if by == "memory" else {}))
    with MemantoListener(memory):
        crew.kickoff()
    claims = memory.recall("ledger book clerk result answer", limit=20, types=["learning"])
    assert [one.memory.content for one in claims] == [FOUND]


def test_a_task_type_that_no_run_can_have_is_refused_at_once(memory: Memanto) -> None:
    for wrong in ("research, write", "", "x" * 61, "a\nb"):
        with pytest.raises(InvalidInputError, match="task type"):
            MemantoListener(memory, task_type=wrong)


# -- a crew that comes back -----------------------------------------------------------------------------------------
def test_a_crew_that_the_same_program_restores_goes_on_in_the_same_run(memory: Memanto, tmp_path: Path) -> None:
    kept_in = CheckpointConfig(location=str(tmp_path), on_events=["crew_kickoff_failed"])
    model = Script(final(FOUND), ConnectionError("no such host"))
    with MemantoListener(memory) as listener:
        with pytest.raises(ConnectionError):
            crew_of(model, "One", "Two", checkpoint=kept_in).kickoff()
        crewai_event_bus.flush()
        crewai_event_bus.reset_runtime_state()
        [file] = sorted(tmp_path.rglob("*.json"))[-1:]
        restored = Crew.from_checkpoint(CheckpointConfig(restore_from=file))
        for agent in restored.agents:
            agent.llm = Script(final("Two is done as well"))
        restored.kickoff()
        assert listener.failure_count == 0
    [run] = memory.runs()
    assert (run.state, run.steps, run.outcome) == ("success", 3, "Two is done as well")


# -- whose finding it is --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("read_only", [True, False])
def test_a_finding_is_kept_by_the_listener_where_a_slice_keeps_none(memory: Memanto, read_only: bool) -> None:
    view = MemantoMemory(memory).slice(["/books"], read_only=read_only)
    with MemantoListener(memory):
        crew_of(Script(final(FOUND)), memory=view).kickoff()
    assert len(kept(memory)) == 1


def test_what_crewai_thinks_of_a_crew_is_no_finding(memory: Memanto) -> None:
    with MemantoListener(memory):
        crew_of(Script(final(FOUND))).test(n_iterations=1, eval_llm=Script(final('{"quality": 5}')))
    claims = memory.recall("quality ledger", limit=20, types=["learning"])
    assert [one.memory.content for one in claims] == [FOUND]


def test_memories_in_an_output_that_spells_its_brackets_out_are_not_taken_in_again() -> None:
    recalled = '<memory id="01a22ddf" type="fact">\nAcme has 4 lines. Ledger 43 is closed. It is.\n</memory>'
    output = json.dumps({"known": recalled, "found": FOUND}).replace("<", "\\u003c")
    assert distil(output, 8) == [f"found: {FOUND}"]


# -- a model's calls ------------------------------------------------------------------------------------------------
WILD: list[tuple[str, dict[str, Any]]] = [
    ("recall", {"query": 5}),
    ("remember", {"content": "x", "type": "factoid", "provenance": "observed"}),
    ("show", {}),
    ("search_memory", {"queries": {"a": 1}}),
    ("save_to_memory", {"contents": 5}),
]


@both
@pytest.mark.parametrize(("tool", "arguments"), WILD, ids=[name for name, _ in WILD])
def test_nothing_is_learned_from_arguments_that_a_tool_of_memory_cannot_take(
    memory: Memanto, native: bool, tool: str, arguments: dict[str, Any]
) -> None:
    said = calls((tool, arguments)) if native else acts(tool, **arguments)
    model = Script(said, final(FOUND), native=native)
    with MemantoListener(memory):
        crew_of(model, memory=MemantoMemory(memory), tools=memory_tools(memory)).kickoff()
    assert failures(memory) == []
    [run] = memory.runs()
    assert (run.state, run.tool_calls, sum(run.failures.values())) == ("success", 1, 0)


@pytest.mark.parametrize("wild", ["ledger lag", '["ledger"]', '"' * 50, "\ud800"])
def test_nothing_is_learned_from_arguments_that_are_none(memory: Memanto, wild: str) -> None:
    model = Script(f"Thought: I look.\nAction: recall\nAction Input: {wild}", final(FOUND))
    with MemantoListener(memory):
        crew_of(model, tools=memory_tools(memory)).kickoff()
    assert failures(memory) == []


@both
def test_nothing_is_learned_from_a_memory_that_fails_under_crewais_own_tools(memory: Memanto, native: bool) -> None:
    broken = Memanto("b", store=InMemory(), embedder=BrokenEmbedder("raises"), reranker=None, llm=None)
    arguments = {"contents": ["The ledger of June is closed"]}
    said = calls(("save_to_memory", arguments)) if native else acts("save_to_memory", **arguments)
    with broken, MemantoListener(memory):
        crew_of(Script(said, final(FOUND), native=native), memory=MemantoMemory(broken)).kickoff()
    assert failures(memory) == []


# -- errors ---------------------------------------------------------------------------------------------------------
def test_an_error_without_words_fails_no_crew_and_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "memanto")  # logging shows it, too
    with Unreadable("u", store=InMemory(), embedder=HashEmbedder(), reranker=None, llm=None) as memory:
        tools = [*memory_tools(memory, ["recall"]), count]
        crew_memory = MemantoMemory(memory)
        with GuardHook(memory, strict=True) as hook:
            called = (acts("recall", query="ledger"), acts("search_memory", queries=["x"]), acts("count", name="x"))
            model = Script(*called, final(FOUND))
            assert crew_of(model, memory=crew_memory, tools=tools).kickoff().raw == FOUND
    first = tools[0]
    assert isinstance(first, RecallTool)
    assert (crew_memory.failures, first.failures, hook.failures) == (2, 1, 1)
    assert "without it no tool is called: WordlessError" in model.text_sent[-1]


def test_a_single_text_that_cannot_be_kept_is_counted_like_one_of_several(memory: Memanto) -> None:
    crew_memory = MemantoMemory(memory)
    assert crew_memory.remember_many([" "]) == []
    assert crew_memory.failures == 1
    with pytest.raises(InvalidInputError, match="blank"):
        crew_memory.remember(" ")


# -- a program's mistakes -------------------------------------------------------------------------------------------
MISTAKES: dict[str, tuple[Callable[[Memanto], Any], str]] = {
    "a mistyped field": (lambda memory: MemantoMemory(memory, typ="decision"), "has no typ"),
    "a memory's source": (lambda memory: MemantoMemory(memory, source="a/b"), "source 'a/b'"),
    "a listener's source": (lambda memory: MemantoListener(memory, source=""), "source ''"),
    "a tool's source": (lambda memory: RecallTool(memory=memory, source="a/b"), "source 'a/b'"),
    "a crew's name": (lambda memory: MemantoListener(memory, crew="books"), "'books' is no crew"),  # type: ignore[arg-type]
    "a hook's crew": (lambda memory: GuardHook(memory, crew="books"), "'books' is no crew"),  # type: ignore[arg-type]
    "a tool's name alone": (lambda memory: memory_tools(memory, "recall"), r"include=\['recall'\]"),
    "an embedder's name": (lambda _: MemantoStorage("a", embedder="small"), "embedder 'small'"),  # type: ignore[arg-type]
    "texts": (lambda memory: MemantoMemory(memory).remember_many(FOUND), "is one text"),  # type: ignore[arg-type]
    "categories": (lambda memory: MemantoMemory(memory).remember(FOUND, categories="pay"), "is one text"),  # type: ignore[arg-type]
    "categories asked": (lambda memory: MemantoMemory(memory).recall("a", categories="pay"), "is one text"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("act", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_a_program_is_said_where_it_is_made(
    memory: Memanto, act: Callable[[Memanto], Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        act(memory)
    assert memory.agents() == []


def test_a_source_may_have_spaces_as_everywhere(memory: Memanto) -> None:
    record = MemantoMemory(memory, source="night shift").remember(FOUND)
    assert record is not None
    assert record.metadata["memanto"]["source"] == "night_shift"
