"""LangGraph: an orchestrator that splits work among sub-graphs, and remembers which way of splitting worked.

Memory holds strategies alone: `decision` (what worked for which shape of task) and `error` (how an orchestration
failed). The plan and what each sub-agent returned stay in the state.
"""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import Send

from langgraph_memanto import guard_node, remember_node
from memanto import Draft, InMemory, Memanto

TABLES = ["users", "orders", "invoices", "refunds", "carts", "audit"]
CLASH = (
    "When a schema migration is split three ways, split it two ways instead - root cause: the parts share foreign keys"
)


class Part(TypedDict):
    tables: list[str]
    report: str


class Plan(TypedDict, total=False):
    """The orchestrator's window: the task, what memory says against a way, and distilled returns."""

    task: str
    ways: int
    warnings: str
    reports: Annotated[list[str], operator.add]


def sub_agent():
    graph = StateGraph(Part)
    graph.add_node("migrate", lambda part: {"report": f"migrated {', '.join(part['tables'])}"})
    graph.add_edge(START, "migrate")
    return graph.compile()


def split(state: Plan) -> Plan:
    return {"ways": 2 if state["warnings"] else 3}


def fan_out(state: Plan) -> list[Send]:
    return [Send("sub_agent", {"tables": TABLES[part :: state["ways"]]}) for part in range(state["ways"])]


def outcome(state: Plan) -> list[Draft]:
    """Three parts lock each other's rows in this world; two do not."""
    if state["ways"] == 3:
        return [Draft(content=CLASH, type="error", confidence=0.9, provenance="observed")]
    kept = "Schema migrations: a two-way split worked, both parts ended without a lock"
    return [Draft(content=kept, type="decision", provenance="observed")]


def compiled(memory: Memanto):
    worker = sub_agent()
    graph = StateGraph(Plan)
    situation = lambda state: f"split three ways: {state['task']}"  # noqa: E731 - what is about to be done
    graph.add_node("guard", guard_node(memory, situation=situation))
    graph.add_node("split", split)
    graph.add_node("sub_agent", lambda part: {"reports": [worker.invoke(part)["report"]]})
    graph.add_node("keep", remember_node(memory, outcome, type="decision", provenance="observed"))
    graph.add_edge(START, "guard")
    graph.add_edge("guard", "split")
    graph.add_conditional_edges("split", fan_out, ["sub_agent"])
    graph.add_edge("sub_agent", "keep")
    return graph.compile()


with Memanto("orchestrator", store=InMemory()) as memory:
    app = compiled(memory)
    first, second = (app.invoke({"task": f"the schema migration of {shop}"}) for shop in ("shop one", "shop two"))
    print(f"first: {first['ways']} ways; second: {second['ways']} ways, since memory said")
    print(second["warnings"])
    assert (first["ways"], len(first["reports"]), second["ways"], len(second["reports"])) == (3, 3, 2, 2)
    assert set(memory.status().by_type) == {"decision", "error"}
