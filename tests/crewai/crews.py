"""Language models and crews for tests: scripted, offline."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from typing import Any

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from pydantic import PrivateAttr

_NUMBERS = itertools.count()

Answer = str | list[dict[str, Any]] | BaseException | Callable[[list[dict[str, Any]]], Any]
"""What a scripted model does: say a text, call tools, fail, or look at what it was sent and choose."""


class Script(BaseLLM):
    """Gives its answers one after the other, the last one for ever, and keeps what it was sent.

    Safe under threads. An answer that is an exception is raised.
    """

    model: str = "script"
    native: bool = False
    """Whether it calls tools natively; else in the ReAct text form."""

    _answers: list[Answer] = PrivateAttr(default_factory=list)
    _sent: list[list[dict[str, Any]]] = PrivateAttr(default_factory=list)
    _guard: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, *answers: Answer, native: bool = False) -> None:
        super().__init__(model="script", native=native)
        self._answers = list(answers) or [final("done")]

    @property
    def sent(self) -> list[list[dict[str, Any]]]:
        """The messages of each call."""
        return self._sent

    @property
    def text_sent(self) -> list[str]:
        """Each call's messages as one text."""
        return ["\n".join(str(message.get("content")) for message in messages) for messages in self._sent]

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        given = (
            [{"role": "user", "content": messages}] if isinstance(messages, str) else [dict(one) for one in messages]
        )
        with self._guard:
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
            self._sent.append(given)
        if isinstance(answer, BaseException):
            raise answer
        return answer(given) if callable(answer) else answer

    async def acall(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        return self.call(messages, *args, **kwargs)

    def supports_function_calling(self) -> bool:
        return self.native

    def supports_stop_words(self) -> bool:
        return False

    def get_context_window_size(self) -> int:
        return 100_000


def final(text: str) -> str:
    """Return a model's last word in the ReAct form, which native models may say as well."""
    return f"Thought: I now know the answer.\nFinal Answer: {text}"


def acts(tool: str, **arguments: Any) -> str:
    """Return a call of a tool in the ReAct form."""
    return f"Thought: I use {tool}.\nAction: {tool}\nAction Input: {json.dumps(arguments)}"


def calls(*named: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return native calls of these tools at once, each under an id of its own."""
    return [
        {
            "id": f"call-{next(_NUMBERS)}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for name, arguments in named
    ]


def crew_of(
    llm: BaseLLM, *descriptions: str, role: str = "Clerk", tools: list[Any] | None = None, **options: Any
) -> Crew:
    """Return a crew of one agent with a task per description; `options` go to the crew."""
    agent = Agent(role=role, goal="Keep the books", backstory="Careful", llm=llm, tools=tools or [])
    tasks = [
        Task(description=text, expected_output="One line", agent=agent) for text in descriptions or ("Do the work",)
    ]
    return Crew(agents=[agent], tasks=tasks, **options)
