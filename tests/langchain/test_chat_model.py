"""A LangChain chat model as the language model of `answer` (pins the specification)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGenerationChunk
from tests.langchain.agents import Script

from langchain_memanto import ChatModel
from memanto import LanguageModel, Memanto
from memanto.errors import LanguageModelError
from memanto.llm.port import CONTEXT_TOKENS, Message

PROMPT = [Message("system", "Rules."), Message("user", "Question?")]


class Broken(FakeListChatModel):
    def _call(self, *args: Any, **kwargs: Any) -> str:
        raise ConnectionError("no such host")

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk("half a "))
        raise ConnectionError("the line broke")


def test_answer_is_written_by_a_chat_model_and_checked(memory: Memanto) -> None:
    noted = memory.remember("The importer runs at 02:00 UTC", type="fact")
    model = ChatModel(FakeListChatModel(responses=["It runs at 02:00 UTC [1]. It costs 900 EUR [1]."]))
    assert isinstance(model, LanguageModel)
    answer = memory.answer("When does the importer run?", llm=model)
    assert (answer.text, answer.how) == ("It runs at 02:00 UTC. [1]", "FakeListChatModel")
    assert [one.id for one in answer.citations] == [noted.id]


def test_a_prompt_keeps_its_roles_and_a_function_takes_one_text() -> None:
    script = Script(responses=[AIMessage("a reply")])
    model = ChatModel(script)
    assert model.complete(PROMPT).text == "a reply"
    assert [(type(one), one.text) for one in script.sent[0]] == [
        (SystemMessage, "Rules."), (HumanMessage, "Question?")
    ]  # fmt: skip
    assert model("A question?") == "a reply"


def test_a_reply_arrives_piece_by_piece_where_it_is_asked_for() -> None:
    pieces: list[str] = []
    model = ChatModel(GenericFakeChatModel(messages=iter([AIMessage("one two three")])))
    assert model.complete(PROMPT, on_text=pieces.append).text == "one two three"
    assert ("".join(pieces), len(pieces) > 1) == ("one two three", True)


@pytest.mark.parametrize("ending", [{"finish_reason": "length"}, {"stop_reason": "max_tokens"}])
def test_a_reply_that_ran_into_its_bound_is_not_complete(ending: dict[str, str]) -> None:
    cut: list[BaseMessage] = [AIMessage("half a", response_metadata=ending)]
    assert not ChatModel(Script(responses=cut)).complete(PROMPT).complete
    whole: list[BaseMessage] = [AIMessage("whole", response_metadata={"finish_reason": "stop"})]
    assert ChatModel(Script(responses=whole)).complete(PROMPT).complete


def test_whatever_a_chat_model_raises_is_a_failing_language_model(memory: Memanto) -> None:
    memory.remember("The importer runs at 02:00 UTC", type="fact")
    model = ChatModel(Broken(responses=["x"]))
    with pytest.raises(LanguageModelError, match="no such host"):
        model.complete(PROMPT)
    with pytest.raises(LanguageModelError, match="the line broke"):
        model.complete(PROMPT, on_text=lambda _: None)
    answer = memory.answer("When does the importer run?", llm=model)
    assert (answer.how, "02:00" in answer.text) == ("extractive", True)
    assert any("no such host" in note for note in answer.notes)


def test_its_size_is_what_it_is_told_or_what_the_model_says_of_itself() -> None:
    plain = FakeListChatModel(responses=["x"])
    assert ChatModel(plain).context_tokens == CONTEXT_TOKENS
    assert ChatModel(plain, context_tokens=9_000, max_tokens=50).context_tokens == 9_000
    profiled = FakeListChatModel(responses=["x"], profile={"max_input_tokens": 128_000})
    assert ChatModel(profiled).context_tokens == 128_000
    assert ChatModel(profiled, max_tokens=50).max_tokens == 50
