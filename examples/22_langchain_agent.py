"""An agent with memory around it: a tool fails in one run, and the next one is warned, briefed and goes on."""

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool

from langchain_memanto import MemantoMiddleware
from memanto import InMemory, Memanto

ASK = {"messages": [("user", "Reconcile the ledger of March")]}
DOWN = [True]


class Scripted(FakeMessagesListChatModel):
    """Stands for a chat model that calls tools."""

    def bind_tools(self, *_, **__):
        return self


@tool
def pull_ledger(month: str) -> str:
    """Pull a month of the ledger."""
    if DOWN:
        raise TimeoutError("the ledger did not answer within 30 s")
    return f"214 rows of {month}"


def agent(memory: Memanto, answer: str):
    call = {"name": "pull_ledger", "args": {"month": "March"}, "id": "1"}
    model = Scripted(responses=[AIMessage("", tool_calls=[call]), AIMessage(answer)])
    return create_agent(model, [pull_ledger], middleware=[MemantoMiddleware(memory, task_type="reconciliation")])


with Memanto("clerk", store=InMemory()) as memory:
    memory.set_goal("Goal: every invoice of March is matched")
    try:
        agent(memory, "never said").invoke(ASK)
    except TimeoutError as error:
        print("first run:", error)

    DOWN.clear()
    result = agent(memory, "All 214 rows are matched.").invoke(ASK)
    [told] = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    print("second run:", told.text.splitlines()[0])
    print("warned of: ", "did not answer within 30 s" in told.text)
    for run in memory.runs("reconciliation"):
        print(f"{run.state:10}  {run.steps} steps  {run.failed_steps} failed  {run.outcome}")
    assert [run.state for run in memory.runs("reconciliation")] == ["success", "unfinished"]
    assert "<memory id=" in told.text  # the recorded failure, fenced
    assert not any("every invoice" in message.text for message in result["messages"])  # pins stay out of the messages
