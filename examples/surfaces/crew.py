"""A CrewAI crew that stores what it finds; a script stands for its model."""

import sys

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM

from crewai_memanto import MemantoMemory
from memanto import Embedded, Memanto

FINDING = "The queue stalls when the Redis pool has fewer than 20 connections."


class Model(BaseLLM):
    def call(self, *_: object, **__: object) -> str:
        return f"Thought: I know it.\nFinal Answer: {FINDING}"

    def get_input_tokens_count(self, messages: list[dict], *_: object, **__: object) -> int:
        return len(str(messages)) // 4


with Memanto("shop", store=Embedded(sys.argv[1])) as memory:
    scout = Agent(role="Scout", goal="Find causes", backstory="Careful", llm=Model(model="script"))
    task = Task(description="Find out why the queue stalls", expected_output="A finding", agent=scout)
    Crew(agents=[scout], tasks=[task], memory=MemantoMemory(memory)).kickoff()
