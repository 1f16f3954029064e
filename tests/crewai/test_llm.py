"""A CrewAI model as the language model of `answer` (pins the specification)."""

from __future__ import annotations

import pytest
from crewai import LLM
from tests.crewai.crews import Script

from crewai_memanto import CrewModel
from memanto import InMemory, LanguageModel, Memanto
from memanto.errors import InvalidInputError, LanguageModelError
from memanto.llm.port import CONTEXT_TOKENS, Message
from memanto.testing import HashEmbedder

PROMPT = [Message("system", "Rules."), Message("user", "Question?")]


def test_answer_is_written_by_a_crews_model_and_checked() -> None:
    model = CrewModel(Script("It runs at 02:00 UTC [1]. It costs 900 EUR [1]."))
    assert isinstance(model, LanguageModel)
    with Memanto("asked", store=InMemory(), embedder=HashEmbedder(), reranker=None, llm=model) as memory:
        noted = memory.remember("The importer runs at 02:00 UTC", type="fact")
        answer = memory.answer("When does the importer run?")
    assert (answer.text, answer.how) == ("It runs at 02:00 UTC. [1]", "script")
    assert [one.id for one in answer.citations] == [noted.id]


def test_a_prompt_keeps_its_roles_and_a_function_takes_one_text() -> None:
    script = Script("a reply")
    model = CrewModel(script)
    pieces: list[str] = []
    assert model.complete(PROMPT, on_text=pieces.append).text == "a reply"
    assert (script.sent[0], pieces) == (
        [{"role": "system", "content": "Rules."}, {"role": "user", "content": "Question?"}], ["a reply"]
    )  # fmt: skip
    assert model("A question?") == "a reply"
    assert script.sent[1] == [{"role": "user", "content": "A question?"}]


def test_whatever_a_model_raises_or_returns_is_a_failing_language_model(memory: Memanto) -> None:
    memory.remember("The importer runs at 02:00 UTC", type="fact")
    broken = CrewModel(Script(ConnectionError("no such host")))
    with pytest.raises(LanguageModelError, match="no such host"):
        broken.complete(PROMPT)
    with pytest.raises(LanguageModelError, match="returned list"):
        CrewModel(Script([{"id": "1"}])).complete(PROMPT)
    answer = memory.answer("When does the importer run?", llm=broken)
    assert (answer.how, "02:00" in answer.text) == ("extractive", True)


def test_its_size_is_what_it_is_told_or_what_the_model_says_of_itself() -> None:
    class Silent(Script):
        def get_context_window_size(self) -> int:
            return 0

    assert CrewModel(Script()).context_tokens == 100_000
    assert CrewModel(Silent()).context_tokens == CONTEXT_TOKENS
    assert CrewModel(Script(), context_tokens=9_000, max_tokens=50).context_tokens == 9_000
    assert CrewModel(Script(), max_tokens=50).max_tokens == 50


def test_a_model_is_made_without_asking_anybody_and_nothing_else_is_taken() -> None:
    model = CrewModel(LLM(model="gpt-4o-mini", api_key="no key"))
    assert (model.name, model.context_tokens > CONTEXT_TOKENS) == ("gpt-4o-mini", True)
    with pytest.raises(InvalidInputError, match="no model of CrewAI"):
        CrewModel("gpt-4o-mini")  # type: ignore[arg-type]
