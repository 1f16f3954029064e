"""Long results become pointers, many memories a line each, within their budgets (specification)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memanto import InMemory, Memanto
from memanto.errors import InvalidInputError
from memanto.loop.compress import distil, line_of, shortened
from memanto.memory.recall import tokens
from memanto.models import Memory, MemoryType
from memanto.testing import FixedClock, HashEmbedder
from memanto.times import utc_now

LONG = "".join(f"line {number}: grep found a match in services/api/handler_{number}.py\n" for number in range(900))


def test_a_short_result_stays_as_it_is(memory: Memanto) -> None:
    kept = memory.keep_result("three matches", title="grep")
    assert (kept.text, kept.receipt, kept.pages) == ("three matches", None, 0)
    assert memory.recall(types=["artifact"]) == []


def test_a_long_result_becomes_a_pointer_whose_pages_are_the_whole_text(memory: Memanto) -> None:
    kept = memory.keep_result(LONG, title="grep for handlers")
    assert kept.receipt is not None
    assert tokens(kept.text) < 150
    assert kept.receipt.id in kept.text
    pages = [memory.page(kept.receipt.id, number) for number in range(1, kept.pages + 1)]
    assert "".join(one.text for one in pages) == LONG
    assert max(tokens(one.text) for one in pages) <= 1_000
    stored = memory.show(kept.receipt.id)
    assert (stored.type, stored.provenance, stored.title) == ("artifact", "observed", "grep for handlers")


def test_what_the_pointer_keeps_can_be_found_by_its_words(memory: Memanto) -> None:
    kept = memory.keep_result(LONG, title="grep for handlers")
    assert kept.receipt is not None
    [best, *_] = memory.recall("handler_877", types=["artifact"], words_only=True)
    assert "handler_877" in best.memory.content
    assert best.memory.parent_id == kept.receipt.id


def test_of_a_very_long_result_the_beginning_is_searched_and_all_of_it_is_paged(clock: FixedClock) -> None:
    """Pins our decision: an agent waits while it is stored, and indexing megabytes takes seconds."""
    middle = "".join(f"{number}: handler in services/api/handler_{number}.py\n" for number in range(5_000))
    text = f"a nightingale\n{middle}a zebrafinch\n"
    embedder = Counting()
    with Memanto("t", store=InMemory(), embedder=embedder, reranker=None, clock=clock) as memory:
        memory.create_agent()
        kept = memory.keep_result(text, title="grep for handlers")
        assert kept.receipt is not None
        assert embedder.texts <= 10
        assert "".join(memory.page(kept.receipt.id, n).text for n in range(1, kept.pages + 1)) == text
        assert memory.recall("nightingale", words_only=True)[0].memory.parent_id == kept.receipt.id
        assert memory.recall("zebrafinch", words_only=True) == []
        assert all(one.ok for one in memory.doctor() if one.name in {"vectors", "lineage", "store"})
        again = memory.keep_result(text, title="grep for handlers")
        assert again.receipt is not None
        assert (again.receipt.id, again.receipt.duplicate) == (kept.receipt.id, True)
        memory.forget(kept.receipt.id)
        assert memory.recall("nightingale", words_only=True) == []


@pytest.mark.parametrize(
    "text", [f"{' ' * 300_000}the end", f"the start{' ' * 300_000}", "x" * 300_000], ids=["late", "early", "one word"]
)
def test_a_very_long_result_of_hardly_any_words_is_kept_whole(memory: Memanto, text: str) -> None:
    kept = memory.keep_result(text, title="a listing")
    assert kept.receipt is not None
    assert memory.show(kept.receipt.id).content == text


class Counting(HashEmbedder):
    """Counts the texts it embeds."""

    texts = 0

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.texts += len(texts)
        return super().embed_documents(texts)


@pytest.mark.parametrize("number", [0, -1, 2])
def test_a_page_that_is_not_there_is_refused(memory: Memanto, number: int) -> None:
    short = memory.remember("a short text", type="fact").id
    assert memory.page(short).text == "a short text"
    with pytest.raises(InvalidInputError, match="has pages 1 to 1"):
        memory.page(short, number)


def test_our_own_output_is_not_kept_as_a_result(memory: Memanto) -> None:
    memory.remember("The importer runs at 02:00", type="fact")
    fenced = memory.brief("the importer").fenced()
    with pytest.raises(InvalidInputError, match="as they were recalled"):
        memory.keep_result(fenced + LONG, title="prompt")


def _memory(number: int, kind: MemoryType, text: str, confidence: float = 0.8) -> Memory:
    return Memory(
        id=f"{number:08d}-0000-7000-8000-000000000000", version=1, namespace="t", type=kind, content=text, title="",
        recorded_at=utc_now(), confidence=confidence,
    )  # fmt: skip


_MEMORIES = st.lists(
    st.builds(_memory, st.integers(0, 99), st.sampled_from(list(MemoryType)), st.text(min_size=1, max_size=300)),
    max_size=12,
)


@given(_MEMORIES, st.integers(1, 300))
def test_a_distillate_keeps_its_budget_and_accounts_for_everything(memories: list[Memory], budget: int) -> None:
    made = distil(memories, budget)
    assert made.tokens == sum(map(tokens, made.lines)) <= budget
    assert len(made.lines) + len(made.left_out) == len({memory.id for memory in memories})
    assert all("\n" not in line for line in made.lines)


def test_what_changes_the_next_action_is_kept_first() -> None:
    memories = [
        _memory(1, MemoryType.OBSERVATION, "noticed " * 40),
        _memory(2, MemoryType.ERROR, "failed " * 40, 0.5),
        _memory(3, MemoryType.ERROR, "failed surely " * 40, 0.9),
    ]
    made = distil(memories, 60)
    assert [line.split(" ")[0] for line in made.lines] == ["error", "error"]
    assert made.left_out == (memories[0].id,)
    assert distil(memories, 30).left_out == (memories[0].id, memories[1].id)


def test_a_line_names_type_date_and_id() -> None:
    memory = _memory(1, MemoryType.FACT, "The importer\nruns  at 02:00")
    assert line_of(memory) == f"fact {memory.recorded_at:%Y-%m-%d}: The importer runs at 02:00 [00000001-0000-7000]"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1), st.integers(2, 50))
def test_a_shortened_text_keeps_its_size_and_its_beginning(text: str, size: int) -> None:
    short = shortened(text, size)
    assert tokens(short) <= size
    assert " ".join(text.split()).startswith(short.removesuffix(" …").removesuffix("…"))
