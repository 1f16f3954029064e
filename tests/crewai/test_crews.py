"""Crews, agents and flows with `MemantoMemory`: what their models see, and what is left behind (our decisions)."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from crewai import Agent, Crew, Flow, Task
from crewai.events.event_bus import CrewAIEventsBus
from crewai.flow.flow import start
from crewai.memory import Memory
from crewai.state.checkpoint_config import CheckpointConfig
from crewai.tools import tool
from crewai_memory_core.testing import FakeEmbedder
from tests.crewai.crews import Script, acts, calls, crew_of, final

from crewai_memanto import MemantoMemory, MemantoStorage
from memanto import InMemory, Memanto, Server
from memanto.testing import HashEmbedder

LEDGER = "The ledger lags the source by 5 minutes"
MATCHED = "All 214 invoices of March are matched."


@pytest.fixture
def known(memory: Memanto) -> Memanto:
    memory.remember(LEDGER, type="fact")
    return memory


def broken() -> Memanto:
    """Return a memory whose server does not answer."""
    return Memanto("tester", store=Server("http://127.0.0.1:9", timeout=0.2), embedder=None, reranker=None, llm=None)


def findings(memory: Memanto) -> list[str]:
    return sorted(hit.memory.content for hit in memory.recall(tags=["crewai"], limit=100))


def run(crew: Crew, how: str, inputs: dict[str, Any] | None = None) -> Any:
    if how == "kickoff":
        return crew.kickoff(inputs)
    return asyncio.run(crew.kickoff_async(inputs) if how == "kickoff_async" else crew.akickoff(inputs))


# -- a crew -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("how", ["kickoff", "kickoff_async", "akickoff"])
def test_a_crew_is_told_what_memory_knows_and_leaves_its_findings(known: Memanto, how: str) -> None:
    llm = Script(final(MATCHED))
    crew = crew_of(llm, "How far does the ledger lag?", "Pull the ledger", memory=MemantoMemory(known))
    assert run(crew, how).raw == MATCHED
    assert all(f"\n{LEDGER}\n</memory>" in text for text in llm.text_sent)
    assert len(llm.sent) == 2, "memory asks no model"
    assert findings(known) == [MATCHED], "the same finding of two tasks is one memory"
    [hit] = known.recall("invoices", tags=["crewai"])
    assert (hit.memory.type.value, hit.memory.provenance.value, hit.memory.actor) == ("learning", "inferred", "Clerk")
    origin = hit.memory.metadata["crewai"]
    assert (origin["crew"], origin["task"], origin["agent"]) == (str(crew.id), str(crew.tasks[0].id), "Clerk")
    assert hit.memory.run_id is not None
    assert hit.memory.title == "How far does the ledger lag?"


def test_a_later_crew_is_told_what_an_earlier_one_found(memory: Memanto) -> None:
    crew_of(Script(final(MATCHED)), "Reconcile March", memory=MemantoMemory(memory)).kickoff()
    llm = Script(final("April is matched as well, 230 invoices."))
    crew_of(llm, "Which invoices of March are matched?", memory=MemantoMemory(memory)).kickoff()
    assert f"\n{MATCHED}\n</memory>" in llm.text_sent[0]
    assert 'provenance="inferred"' in llm.text_sent[0]


def test_each_run_of_kickoff_for_each_recalls_for_its_own_input(known: Memanto) -> None:
    for month in ("March", "April"):
        known.remember(f"{month} has its own ledger", type="fact")
    llm = Script(final(MATCHED))
    crew = crew_of(llm, "Reconcile the ledger of {month}", memory=MemantoMemory(known))
    crew.kickoff_for_each([{"month": "March"}, {"month": "April"}])
    asyncio.run(crew.akickoff_for_each([{"month": "March"}, {"month": "April"}]))
    told = ["Reconcile the ledger of March" in text and "March has its own ledger" in text for text in llm.text_sent]
    assert len(told) == 4
    assert sum(told) == 2
    assert findings(known) == [MATCHED]


def test_a_crew_may_have_a_scope_or_several_of_them(memory: Memanto) -> None:
    shared = MemantoMemory(memory)
    shared.remember("sushi at noon", scope="/a/x")
    shared.remember("sushi at midnight", scope="/b")
    scoped, sliced = Script(final("The sushi table is booked.")), Script(final("Nothing to add here."))
    crew_of(scoped, "Order sushi", memory=shared.scope("/a")).kickoff()
    crew_of(sliced, "Order sushi", memory=shared.slice(["/b"])).kickoff()
    assert "sushi at noon" in scoped.text_sent[0]
    assert "sushi at midnight" not in scoped.text_sent[0]
    assert "sushi at midnight" in sliced.text_sent[0]
    assert "sushi at noon" not in sliced.text_sent[0]
    assert [one.record.scope for one in shared.recall("sushi table booked", limit=1)] == ["/a"]


def test_findings_of_an_agent_lie_below_the_root_scope(memory: Memanto) -> None:
    own = MemantoMemory(memory, root_scope="/crew/books")
    crew_of(Script(final(MATCHED)), memory=own).kickoff()
    assert [record.scope for record in own.list_records()] == ["/crew/books/agent/clerk"]


def test_an_agents_own_memory_comes_before_the_crews(known: Memanto) -> None:
    llm = Script(final(MATCHED))
    crew = crew_of(llm, "How far does the ledger lag?")
    crew.agents[0].memory = MemantoMemory(known)
    crew.kickoff()
    assert LEDGER in llm.text_sent[0]
    assert findings(known) == [MATCHED]


def test_an_agent_on_its_own_recalls_and_remembers(known: Memanto) -> None:
    llm = Script(final(MATCHED))
    agent = Agent(role="Clerk", goal="Keep the books", backstory="Careful", llm=llm, memory=MemantoMemory(known))
    agent.kickoff("How far does the ledger lag?")
    assert LEDGER in llm.text_sent[0]
    assert findings(known) == [MATCHED]


# -- the tools that CrewAI adds ---------------------------------------------------------------------
@pytest.mark.parametrize("native", [False, True], ids=["ReAct", "native"])
def test_an_agent_searches_and_saves_with_crewais_own_tools(known: Memanto, native: bool) -> None:
    saving = {"contents": ["Invoices of customer 4711 arrive on Mondays"]}
    asked = {"queries": ["ledger lag", "how old is the ledger"]}
    script = (
        [calls(("save_to_memory", saving)), calls(("search_memory", asked))]
        if native
        else [acts("save_to_memory", **saving), acts("search_memory", **asked)]
    )
    llm = Script(*script, final("Nothing else to say here."), native=native)
    crew_of(llm, "Write the weekly report", memory=MemantoMemory(known)).kickoff()
    assert "Saved to memory (scope=/" in llm.text_sent[1]
    assert "Found memories:\nThe <memory> elements" in llm.text_sent[2]
    assert llm.text_sent[2].count(f"\n{LEDGER}\n") >= 1
    assert "Invoices of customer 4711 arrive on Mondays" in findings(known)


def test_ten_saves_at_once_are_stored_once_each(memory: Memanto) -> None:
    saves = [("save_to_memory", {"contents": [f"Invoice {number} is paid"]}) for number in range(10)]
    llm = Script(calls(*saves), final("Nothing else to say here."), native=True)
    own = MemantoMemory(memory)
    crew_of(llm, "Write down what is paid", memory=own).kickoff()
    assert own.failures == 0
    assert [text for text in findings(memory) if "paid" in text] == [
        f"Invoice {number} is paid" for number in range(10)
    ]


def test_a_retried_task_leaves_each_finding_once(memory: Memanto) -> None:
    rejected = iter([(False, "too short"), (True, MATCHED)])
    llm = Script(final(MATCHED))
    crew = crew_of(llm, "Reconcile March", memory=MemantoMemory(memory))
    crew.tasks[0] = Task(
        description="Reconcile March", expected_output="One line", agent=crew.agents[0],
        guardrail=lambda output: next(rejected),
    )  # fmt: skip
    crew.kickoff()
    assert len(llm.sent) == 2
    assert findings(memory) == [MATCHED]


def test_a_task_that_crashes_leaves_nothing_false_behind(known: Memanto) -> None:
    llm = Script(final(MATCHED), ValueError("the model is gone"))
    with pytest.raises(ValueError, match="gone"):
        crew_of(llm, "Reconcile March", "Reconcile April", memory=MemantoMemory(known)).kickoff()
    assert findings(known) == [MATCHED]


def test_tasks_that_run_at_once_leave_their_findings_each(known: Memanto) -> None:
    llm = Script(lambda sent: final(f"{'March' if 'March' in str(sent) else 'April'} is matched, 214 invoices."))
    names = ("Reconcile March", "Reconcile April", "Say when all is done")
    tasks = [crew_of(llm, name, role=name).tasks[0] for name in names]  # an agent does one thing at a time
    for task in tasks[:2]:
        task.async_execution = True
    crew = Crew(agents=[task.agent for task in tasks], tasks=tasks, memory=MemantoMemory(known))
    crew.kickoff()
    assert findings(known) == ["April is matched, 214 invoices.", "March is matched, 214 invoices."]
    told = {hit.memory.content[:5]: hit.memory.metadata["crewai"]["task"] for hit in known.recall(tags=["crewai"])}
    assert told == {"March": str(crew.tasks[0].id), "April": str(crew.tasks[1].id)}


def test_a_manager_delegates_and_the_finding_is_the_coworkers(known: Memanto) -> None:
    work = {"task": "Pull the ledger", "context": "of March", "coworker": "Clerk"}
    manager = Script(acts("delegate_work_to_coworker", **work), final("The year is closed with 12 ledgers."))
    clerk = Script(final(MATCHED))
    crew = crew_of(clerk, "Close the year", memory=MemantoMemory(known), process="hierarchical", manager_llm=manager)
    crew.kickoff()
    assert f"\n{LEDGER}\n" in clerk.text_sent[0]
    assert {hit.memory.content: hit.memory.actor for hit in known.recall(tags=["crewai"])} == {
        MATCHED: "Clerk",
        "The year is closed with 12 ledgers.": "Crew Manager",
    }


def test_a_replayed_task_leaves_its_finding_once(known: Memanto) -> None:
    crew = crew_of(Script(final(MATCHED)), "Reconcile March", memory=MemantoMemory(known))
    crew.kickoff()
    crew.replay(str(crew.tasks[0].id))
    assert findings(known) == [MATCHED]


# -- when memory fails ------------------------------------------------------------------------------
@pytest.mark.parametrize("how", ["kickoff", "akickoff"])
def test_a_crew_goes_on_without_a_memory_that_fails(how: str) -> None:
    own = MemantoMemory(broken())
    llm = Script(acts("save_to_memory", contents=["Invoice 7 is paid"]), final(MATCHED))
    assert run(crew_of(llm, memory=own), how).raw == MATCHED
    assert own.failures >= 3
    assert "Saved to memory" not in llm.text_sent[-1], "what was not stored is not said to be"


def test_a_strict_memory_reaches_the_agent_as_a_tools_error() -> None:
    llm = Script(acts("save_to_memory", contents=["Invoice 7 is paid"]), final(MATCHED))
    assert crew_of(llm, memory=MemantoMemory(broken(), strict=True)).kickoff().raw == MATCHED
    assert "cannot be reached" in llm.text_sent[-1]


# -- several crews ----------------------------------------------------------------------------------
def test_two_crews_at_once_share_an_agents_memory(memory: Memanto) -> None:
    scripts = {name: Script(final(f"Customer {name} pays 400 euros.")) for name in ("Ada", "Bob")}
    crews = [crew_of(llm, f"What does {name} pay?", memory=MemantoMemory(memory)) for name, llm in scripts.items()]
    threads = [threading.Thread(target=crew.kickoff) for crew in crews]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert findings(memory) == ["Customer Ada pays 400 euros.", "Customer Bob pays 400 euros."]
    origins = {hit.memory.metadata["crewai"]["crew"] for hit in memory.recall(tags=["crewai"])}
    assert origins == {str(crew.id) for crew in crews}


# -- flows ------------------------------------------------------------------------------------------
class Ledger(Flow[Any]):
    """Recalls, remembers one text and then two."""

    @start()
    def work(self) -> list[str]:
        found = [match.record.content for match in self.recall("ledger")]
        self.remember("Invoice 7 is paid")
        self.remember(["Invoice 8 is paid", "Invoice 9 is late"])
        return found


def test_a_flow_recalls_and_remembers(known: Memanto) -> None:
    assert Ledger(memory=MemantoMemory(known)).kickoff() == [LEDGER]
    assert findings(known) == ["Invoice 7 is paid", "Invoice 8 is paid", "Invoice 9 is late"]


def test_a_flow_goes_on_without_a_memory_that_fails() -> None:
    assert Ledger(memory=MemantoMemory(broken())).kickoff() == []


# -- checkpoints ------------------------------------------------------------------------------------
def test_a_crew_restored_from_a_checkpoint_goes_on_with_the_memory_it_is_given(known: Memanto, tmp_path: Path) -> None:
    kept = CheckpointConfig(location=str(tmp_path / "checkpoints"), on_events=["task_completed"])
    crew = crew_of(
        Script(final(MATCHED), ValueError("gone")), "One", "Two", memory=MemantoMemory(known), checkpoint=kept
    )
    with pytest.raises(ValueError, match="gone"):
        crew.kickoff()
    [latest, *_] = sorted((tmp_path / "checkpoints").rglob("*.json"), reverse=True)
    restored = Crew.from_checkpoint(CheckpointConfig(restore_from=str(latest)))
    llm = Script(final("April is matched, 230 invoices."))
    for agent in restored.agents:
        agent.llm, agent.memory = llm, MemantoMemory(known)
    restored.tasks[1].agent = restored.agents[0]
    assert restored.kickoff().raw == "April is matched, 230 invoices."
    assert findings(known) == [MATCHED, "April is matched, 230 invoices."]


# -- CrewAI's own memory on our storage -------------------------------------------------------------
def test_crewais_own_memory_works_on_a_storage_of_ours(events: CrewAIEventsBus) -> None:
    storage = MemantoStorage("tester", store=InMemory(), embedder=HashEmbedder())
    own = Memory(storage=storage, embedder=storage.embedder, llm=Script("no JSON"), consolidation_threshold=1.0)
    own.remember(LEDGER, scope="/", categories=["ledger"], importance=0.5)
    llm = Script(final(MATCHED))
    crew_of(llm, "How far does the ledger lag?", memory=own).kickoff()
    assert f"{LEDGER}\n" in llm.text_sent[0]
    assert [hit.memory.content for hit in storage.memory.recall("ledger lag", limit=1)] == [LEDGER]
    own.close()


def test_crewais_own_memory_does_not_fail_the_crew_with_our_storage() -> None:
    storage = MemantoStorage("tester", store=Server("http://127.0.0.1:9", timeout=0.2))
    own = Memory(storage=storage, embedder=FakeEmbedder(64), llm=Script("no JSON"))
    assert crew_of(Script(final(MATCHED)), memory=own).kickoff().raw == MATCHED


@tool
def unused(text: str) -> str:
    """Do nothing."""
    return text


def test_a_users_own_tools_stay(known: Memanto) -> None:
    llm = Script(acts("unused", text="a"), final(MATCHED))
    crew_of(llm, tools=[unused], memory=MemantoMemory(known)).kickoff()
    assert "Observation: a" in llm.text_sent[1]
