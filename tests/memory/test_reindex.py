"""Changing the embedder: beside the old vectors, resumable, reversible. Pins the specification."""

import warnings

import pytest

from memanto.errors import EmbedderError, EmbedderMismatchError
from memanto.testing import BrokenEmbedder, HashEmbedder


class Interrupted(HashEmbedder):
    """Fails after some texts."""

    def __init__(self, dimension, texts):
        super().__init__(dimension)
        self.left = texts

    def embed_documents(self, texts):
        self.left -= len(texts)
        if self.left < 0:
            raise EmbedderError("the model went away")
        return super().embed_documents(texts)


def fill(memory, count=150):
    from memanto import Draft, MemoryType

    memory.remember_many(
        [Draft(content=f"memory number {n} of the ledger", type=MemoryType.FACT) for n in range(count)]
    )


def test_another_embedder_is_refused_with_the_command_that_helps(make_memory):
    fill(make_memory(), 3)
    other = make_memory(embedder=HashEmbedder(32))
    for use in (lambda: other.recall("ledger"), lambda: other.remember("new", type="fact")):
        with pytest.raises(EmbedderMismatchError, match="memanto reindex --agent tester --embedder memanto/hash-32"):
            use()
    assert len(other.recall()) == 3


def test_reindexing_switches_when_complete_and_can_go_back(make_memory):
    memory = make_memory()
    fill(memory)
    done = make_memory(embedder=HashEmbedder(32)).reindex()
    assert (done.embedded, done.switched, done.former) == (150, True, "memanto/hash-64")
    new = make_memory(embedder=HashEmbedder(32))
    assert new.recall("memory number 77", limit=1)[0].memory.content == "memory number 77 of the ledger"
    new.remember("written after the switch about whales", type="fact")
    with pytest.raises(EmbedderMismatchError):
        memory.recall("ledger")
    back = memory.reindex()
    assert (back.embedded, back.switched, back.former) == (1, True, "memanto/hash-32")
    assert "whales" in memory.recall("about whales", limit=1)[0].memory.content


def test_an_interrupted_run_changes_nothing_and_goes_on_where_it_ended(make_memory):
    memory = make_memory()
    fill(memory)
    with pytest.raises(EmbedderError):
        memory.reindex(Interrupted(32, texts=100))
    assert len(memory.recall("memory number 5")) == 10
    assert memory.status().embedder == "memanto/hash-64"
    rest = memory.reindex(HashEmbedder(32))
    assert (rest.embedded, rest.switched) == (150 - 64, True)


def test_a_namespace_begun_without_vectors_gets_them(make_memory):
    lexical = make_memory(embedder=None)
    receipt = lexical.remember("the ledger lags", type="fact")
    assert receipt.searchable == "lexical"
    hybrid = make_memory()
    assert [hit.why.dense_rank for hit in hybrid.recall("ledger lags")] == [None]
    assert hybrid.remember("another one", type="fact").searchable == "lexical"
    done = hybrid.reindex()
    assert (done.embedded, done.former) == (2, None)
    assert [hit.why.dense_rank for hit in hybrid.recall("ledger lags", limit=1)] == [1]
    assert hybrid.remember("a third", type="fact").searchable == "hybrid"


def test_a_namespace_with_vectors_can_be_read_and_written_without_a_model(make_memory):
    make_memory().remember("the ledger lags", type="fact")
    lexical = make_memory(embedder=None)
    assert len(lexical.recall("ledger")) == 1
    assert lexical.remember("another", type="fact").searchable == "lexical"
    hybrid = make_memory()
    assert any(not check.ok and check.name == "vectors" for check in hybrid.doctor())
    assert hybrid.reindex().embedded == 1
    assert all(check.ok for check in hybrid.doctor() if check.name == "vectors")


@pytest.mark.parametrize("kind", ["nan", "wrong_size", "raises", "zeros"])
def test_an_embedder_that_fails_stores_nothing(make_memory, kind):
    memory = make_memory(embedder=BrokenEmbedder(kind))
    memory.create_agent()
    with pytest.raises(EmbedderError):
        memory.remember("the ledger lags", type="fact")
    assert memory.recall() == []
    assert memory.status().versions == 0


def test_doctor_is_content_with_a_sound_store(make_memory):
    memory = make_memory()
    fill(memory, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checks = memory.doctor()
    assert {check.name for check in checks if not check.ok} <= {"disk-space"}
    assert {check.name for check in checks} >= {"write-and-read", "embedder", "vectors", "lineage", "store"}
    assert [agent.id for agent in memory.agents()] == ["tester"]
