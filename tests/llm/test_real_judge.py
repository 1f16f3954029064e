"""Six conflicts before a real language model (opt-in: `make test-llm`; see `test_real_model`).

What does not depend on the model's size is asserted: nothing is retired or decided, and what is kept is a verdict there
is on a pair that was sent. How many verdicts are right is printed.
"""

from __future__ import annotations

import os
from datetime import timedelta

import pytest

from memanto import InMemory, Memanto
from memanto.hygiene.conflict import VERDICTS
from memanto.llm.openai import OpenAiModel
from memanto.llm.port import Reply
from memanto.testing import FixedClock, HashEmbedder

URL = os.environ.get("MEMANTO_TEST_LLM_URL", "")
pytestmark = [
    pytest.mark.llm,
    pytest.mark.slow,
    pytest.mark.skipif(not URL, reason="no language model: MEMANTO_TEST_LLM_URL is not set"),
]

PAIRS = (
    ("The ledger database is MySQL 8", "The ledger database is now PostgreSQL 17", "update"),
    ("Retries are enabled in the billing worker", "Retries are disabled in the billing worker", "contradiction"),
    ("Ledger pulls lag the source by 5 minutes", "By 5 minutes ledger pulls lag the source", "duplicate"),
    ("Raw webhook bodies are kept for 30 days", "Raw webhook bodies are kept for 45 days", "contradiction"),
    ("The ledger snapshot starts at 01:50 every night", "The ledger snapshot is copied at 04:10 every night", "none"),
    ("Rooms at the Harbour cost $120 in May", "Rooms at the Harbour cost $150 in August", "none"),
)


class Told(OpenAiModel):
    """The model under test; prints what it says."""

    def complete(self, messages: object, **options: object) -> Reply:
        reply = super().complete(messages, **options)  # type: ignore[arg-type]
        print(f"  said: {reply.text!r}")
        return reply


def test_a_real_model_gives_verdicts_and_decides_nothing() -> None:
    context = int(os.environ.get("MEMANTO_TEST_LLM_CONTEXT", "2048"))
    name, key = os.environ.get("MEMANTO_TEST_LLM_MODEL", "default"), os.environ.get("MEMANTO_TEST_LLM_KEY") or None
    model = Told(URL, name, api_key=key, timeout=300.0, max_tokens=80, context_tokens=context, local=True)
    right = 0
    for older, newer, expected in PAIRS:
        clock = FixedClock()
        with Memanto("judge", store=InMemory(), embedder=HashEmbedder(), reranker=None, clock=clock) as memory:
            memory.remember(older, type="fact")
            clock.advance(timedelta(days=1))
            memory.remember(newer, type="fact")
            detection = memory.detect_conflicts(llm=model)
            found = memory.conflicts(set_aside=True)
            assert detection.judging is not None
            assert detection.judging.asked == len(found)
            assert {hit.memory.content for hit in memory.recall(everything=True)} == {older, newer}
            assert [one.action for one in found] == [None] * len(found)
            said = [one.judgement.verdict for one in found if one.judgement is not None]
            assert set(said) <= set(VERDICTS)
            right += said == [expected]
            print(f"{newer!r}: rules {[one.kind.value for one in found]}, model {said}, right: {expected}")
            print(f"  {list(detection.judging.notes)}")
    print(f"{right} of {len(PAIRS)} right")
