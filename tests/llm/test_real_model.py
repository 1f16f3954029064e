"""Ten questions to a real language model behind any endpoint of the OpenAI protocol (opt-in: `make test-llm`).

`make test-llm` starts a small model on this machine with `scripts/local_llm.py`, unless `MEMANTO_TEST_LLM_URL` names
an endpoint up to its version. `MEMANTO_TEST_LLM_MODEL` names the model, `MEMANTO_TEST_LLM_CONTEXT` its tokens (default
2,048), `MEMANTO_TEST_LLM_KEY` the key if there is one, `MEMANTO_TEST_LLM_LEAST` how many of the seven answerable
questions the model itself must answer. What does not depend on the model's size is asserted in full: citations are of
what was sent, the right memory is cited, and abstention is decided by retrieval, so that a model that always finds
something to say is not even asked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from memanto import InMemory, Memanto
from memanto.llm.openai import OpenAiModel
from memanto.llm.port import OnText, Reply
from memanto.loop.answer import Answer

URL = os.environ.get("MEMANTO_TEST_LLM_URL", "")
pytestmark = [
    pytest.mark.llm,
    pytest.mark.slow,
    pytest.mark.skipif(not URL, reason="no language model: MEMANTO_TEST_LLM_URL is not set"),
]

MEMORIES = (
    ("fact", "The ledger database is PostgreSQL 17 behind PgBouncer."),
    ("fact", "Ledger pulls lag the source by about 5 minutes."),
    ("relationship", "The nightly reconciler belongs to the Ledger team in Berlin."),
    ("decision", "We chose NATS JetStream for the notifier because clients replay a week of events."),
    ("error", "When captures double after a deploy, drain the old workers first - root cause: two key formats."),
    ("preference", "Kestrel Grocers wants its monthly statement as an XLSX workbook."),
    ("event", "The failover drill to Dublin took 6 minutes and lost no posting."),
)
ANSWERABLE = (
    ("Which database holds the ledger?", "PostgreSQL 17"),
    ("How far do ledger pulls lag the source?", "5 minutes"),
    ("Which team owns the nightly reconciler?", "Ledger team"),
    ("Why did we choose NATS JetStream for the notifier?", "replay"),
    ("What should be done when captures double after a deploy?", "drain the old workers"),
    ("In which format does Kestrel Grocers want its monthly statement?", "XLSX"),
    ("How long did the failover drill to Dublin take?", "6 minutes"),
)
UNANSWERABLE = ("Who won the football match?", "Which coffee does the kitchen serve?", "What is the price of a ticket?")


class Counting(OpenAiModel):
    """The model under test; counts how often it is asked."""

    asked = 0

    def complete(self, messages: object, *, on_text: OnText | None = None) -> Reply:
        self.asked += 1
        return super().complete(messages, on_text=on_text)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def model() -> Counting:
    name = os.environ.get("MEMANTO_TEST_LLM_MODEL", "default")
    key = os.environ.get("MEMANTO_TEST_LLM_KEY") or None
    context = int(os.environ.get("MEMANTO_TEST_LLM_CONTEXT", "2048"))
    return Counting(URL, name, api_key=key, timeout=300.0, max_tokens=120, context_tokens=context, local=True)


@pytest.fixture(scope="module")
def memory() -> Iterator[Memanto]:
    with Memanto("ledger-bot", store=InMemory(), llm=None) as made:
        for kind, text in MEMORIES:
            made.remember(text, type=kind)
        yield made


@dataclass(frozen=True)
class Told:
    """An answer, and the pieces in which the model's reply came."""

    answer: Answer
    pieces: tuple[str, ...]


@pytest.fixture(scope="module")
def told(memory: Memanto, model: Counting) -> dict[str, Told]:
    """Each answerable question, asked once; printed, so that `-rP` shows what the model made of it."""
    found = {}
    for question, _ in ANSWERABLE:
        pieces: list[str] = []
        answer = memory.answer(question, llm=model, on_text=pieces.append)
        found[question] = Told(answer, tuple(pieces))
        print(f"{question}\n  said: {''.join(pieces)!r}\n  {answer.how}: {answer.text!r} {list(answer.notes)}")
    return found


@pytest.mark.parametrize(("question", "holds"), ANSWERABLE)
def test_an_answer_cites_the_memory_that_holds_it(
    question: str, holds: str, told: dict[str, Told], memory: Memanto
) -> None:
    answer = told[question].answer
    assert not answer.abstained
    assert any(holds in one.quote for one in answer.citations)
    assert {int(n) for n in re.findall(r"\[(\d+)\]", answer.text)} == {one.number for one in answer.citations}
    assert {one.id for one in answer.citations} <= {hit.memory.id for hit in memory.recall()}


def test_the_model_wrote_some_answers_and_the_others_say_why_not(told: dict[str, Told], model: Counting) -> None:
    answers = [one.answer for one in told.values()]
    assert model.asked >= len(answers)
    written = [answer for answer in answers if answer.how == model.name]
    assert len(written) >= int(os.environ.get("MEMANTO_TEST_LLM_LEAST", "1"))
    for answer in answers:
        assert answer.how == model.name or any("composed without" in note for note in answer.notes)


def test_replies_arrive_piece_by_piece(told: dict[str, Told]) -> None:
    assert max(len(one.pieces) for one in told.values()) > 1


@pytest.mark.parametrize("question", UNANSWERABLE)
def test_retrieval_decides_to_abstain_and_the_model_is_not_asked(
    question: str, memory: Memanto, model: Counting
) -> None:
    before = model.asked
    answer = memory.answer(question, llm=model)
    assert answer.abstained
    assert answer.citations == ()
    assert model.asked == before
