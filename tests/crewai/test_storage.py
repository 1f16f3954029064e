"""`MemantoStorage` beyond the contract suite: versions, dimensions, who else finds it (our decisions)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from crewai.memory import Memory
from crewai.memory.storage.backend import EmbeddingDimensionMismatchError, StorageBackend
from crewai.memory.types import MemoryRecord
from crewai_memory_core.testing import FakeEmbedder

from crewai_memanto import MemantoMemory, MemantoStorage
from crewai_memanto.storage import VectorDimensionError
from memanto import Embedded, InMemory, Memanto
from memanto.cli.main import run
from memanto.errors import EmbedderError, EmbedderMismatchError, InvalidInputError
from memanto.testing import FixedClock, HashEmbedder

EMBED = FakeEmbedder(64)
LEDGER = "The ledger lags the source by 5 minutes"


@pytest.fixture
def storage(clock: FixedClock) -> Iterator[MemantoStorage]:
    made = MemantoStorage("tester", store=InMemory(), clock=clock)
    yield made
    made.close()


def record(content: str = LEDGER, **fields: object) -> MemoryRecord:
    return MemoryRecord(content=content, **{"embedding": EMBED([content])[0], **fields})


def test_it_is_a_storage_of_crewais(storage: MemantoStorage) -> None:
    assert isinstance(storage, StorageBackend)


def test_a_record_is_a_typed_claim_and_its_updates_are_versions(storage: MemantoStorage) -> None:
    one = record("We decided to pull the ledger again", scope="/a", source="kim")
    storage.save([one])
    changed = one.model_copy(update={"content": "We decided to wait", "embedding": EMBED(["We decided to wait"])[0]})
    storage.update(changed)
    storage.update(changed.model_copy(update={"scope": "/b", "importance": 0.0, "embedding": None}))
    kept = storage.get_record(one.id)
    assert kept is not None
    assert (kept.content, kept.scope, kept.importance, kept.source) == ("We decided to wait", "/b", 0.0, "kim")
    assert storage.search(EMBED(["decided to wait"])[0], scope_prefix="/b")[0][0].id == one.id
    [hit] = storage.memory.recall(key=storage.memory.recall(tags=["crewai"])[0].memory.key)
    assert (hit.memory.type.value, hit.memory.provenance.value, hit.memory.version) == ("decision", "inferred", 3)


def test_an_update_of_what_is_not_there_stores_it(storage: MemantoStorage) -> None:
    storage.update(record())
    assert storage.count() == 1


def test_saving_the_same_record_again_replaces_it(storage: MemantoStorage) -> None:
    one = record(scope="/a", categories=["x"])
    storage.save([one, one])
    storage.save([one.model_copy(update={"scope": "/b", "categories": ["y"]})])
    kept = storage.get_record(one.id)
    assert kept is not None
    assert (kept.scope, kept.categories, storage.count(), storage.count("/a")) == ("/b", ["y"], 1, 0)


def test_two_records_may_say_the_same(storage: MemantoStorage) -> None:
    storage.save([record(scope="/a"), record(scope="/b"), record(scope="/b")])
    assert (storage.count(), storage.count("/b")) == (3, 2)


def test_what_is_deleted_is_erased_with_its_versions(storage: MemantoStorage) -> None:
    one = record()
    storage.save([one])
    storage.update(one.model_copy(update={"content": "changed"}))
    assert storage.delete(record_ids=[one.id]) == 1
    assert [hit.memory.content for hit in storage.memory.recall(everything=True)] == []
    storage.save([one])
    assert storage.get_record(one.id) is not None


def test_a_vector_of_another_dimension_is_refused_by_both_names(storage: MemantoStorage) -> None:
    storage.save([record()])
    for act in (
        lambda: storage.search([0.1] * 32),
        lambda: storage.save([record(embedding=[0.1] * 32)]),
        lambda: storage.update(record("other", embedding=[0.1] * 32)),
    ):
        with pytest.raises(VectorDimensionError, match="64 dimensions, not of 32") as raised:
            act()
        assert isinstance(raised.value, EmbedderMismatchError | EmbeddingDimensionMismatchError)
        assert (raised.value.stored_dim, raised.value.new_dim) == (64, 32)
    assert storage.count() == 1
    assert len(storage.search(EMBED([LEDGER])[0])) == 1


@pytest.mark.parametrize("vector", [None, [], [0.0] * 64, [float("nan")] * 64])
def test_a_record_without_a_usable_vector_is_refused(storage: MemantoStorage, vector: list[float] | None) -> None:
    with pytest.raises((InvalidInputError, EmbedderError)):
        storage.save([record(embedding=vector)])
    assert storage.count() == 0


def test_a_text_longer_than_a_memory_is_refused(storage: MemantoStorage) -> None:
    with pytest.raises(InvalidInputError, match="at most 10,000"):
        storage.save([record("word " * 2_001)])


def test_secrets_are_cut_out_and_the_vector_still_finds_the_rest(storage: MemantoStorage) -> None:
    token = "ghp_" + "a1B2" * 9
    text = f"The deploy token is {token}"
    storage.save([record(text)])
    [(found, score)] = storage.search(EMBED([text])[0])
    assert token not in found.content
    assert score == pytest.approx(1.0, abs=1e-4)


def test_it_can_be_opened_again_and_by_several_at_once(tmp_path: Path) -> None:
    first = MemantoStorage("tester", store=Embedded(tmp_path))
    second = MemantoStorage("tester", store=Embedded(tmp_path))
    first.save([record("sushi")])
    second.save([record("ramen")])
    assert {one.content for one in first.list_records()} == {"sushi", "ramen"}
    first.close()
    assert first.search(EMBED(["sushi"])[0], limit=1)[0][0].content == "sushi"
    for storage in (first, second):
        storage.close()


def test_before_anything_was_written_it_is_empty(storage: MemantoStorage) -> None:
    assert storage.search(EMBED(["x"])[0]) == []
    assert (storage.count(), storage.list_scopes(), storage.list_records(), storage.get_record("x")) == (
        0,
        [],
        [],
        None,
    )
    assert storage.delete(scope_prefix="/a") == 0
    storage.reset()


def test_naive_and_aware_times_come_back_naive(storage: MemantoStorage) -> None:
    moments = [datetime.fromisoformat("2026-03-01T10:00"), datetime(2026, 3, 1, 10, tzinfo=UTC)]
    for moment in moments:
        storage.save([record(f"at {moment.isoformat()}", created_at=moment)])
    assert [one.created_at for one in storage.list_records()] == [moments[0]] * 2
    assert storage.delete(older_than=datetime(2026, 3, 1, 10, 0, 1, tzinfo=UTC)) == 2


def test_ten_threads_save_each_record_once(storage: MemantoStorage) -> None:
    records = [record(f"note {number}", scope="/t") for number in range(10)]
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda number: asyncio.run(storage.asave([records[number % 10]])), range(20)))
    assert sorted(one.content for one in storage.list_records()) == sorted(one.content for one in records)


# -- who else finds it ------------------------------------------------------------------------------
def test_others_find_the_records_by_their_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMANTO_HOME", str(tmp_path))
    storage = MemantoStorage("tester", store=Embedded(tmp_path))
    storage.save([record()])
    assert [hit.memory.content for hit in storage.memory.recall("ledger", words_only=True)] == [LEDGER]
    with pytest.raises(EmbedderError, match="words_only"):
        storage.memory.recall("ledger")
    storage.close()
    assert run(["recall", "ledger", "--words-only", "--agent", "tester"]) == 0
    assert LEDGER in capsys.readouterr().out


def test_with_an_embedder_of_memantos_the_agent_is_shared_in_full(tmp_path: Path) -> None:
    storage = MemantoStorage("tester", store=Embedded(tmp_path), embedder=HashEmbedder())
    own = Memory(storage=storage, embedder=storage.embedder, llm="none/none")
    with Memanto("tester", store=Embedded(tmp_path), embedder=HashEmbedder(), reranker=None, llm=None) as memory:
        memory.remember("Pulled by a person at noon")
        storage.save([record(embedding=storage.embedder([LEDGER])[0])])
        assert [hit.memory.content for hit in memory.recall("how far does the ledger lag", limit=1)] == [LEDGER]
        found = own.recall("how far does the ledger lag", depth="shallow", limit=5)
        assert [match.record.content for match in found] == [LEDGER], "a storage shows its own records only"
        assert MemantoMemory(memory).recall("ledger lag", limit=1)[0].record.content == LEDGER
    own.close()


def test_a_person_who_wrote_the_program_may_say_that_it_is_stated() -> None:
    storage = MemantoStorage("tester", store=InMemory(), provenance="explicit_statement", source="importer")
    storage.save([record()])
    [hit] = storage.memory.recall(tags=["crewai"])
    assert (hit.memory.provenance.value, hit.memory.source) == ("explicit_statement", "importer")
    storage.close()
    with pytest.raises(InvalidInputError, match="'guessed' is not known"):
        MemantoStorage("tester", provenance="guessed")


def test_without_one_the_storage_cannot_embed(storage: MemantoStorage) -> None:
    with pytest.raises(EmbedderError, match="come from CrewAI"):
        storage.embedder(["text"])


def test_another_embedders_agent_is_not_taken_over(tmp_path: Path) -> None:
    with Memanto("tester", store=Embedded(tmp_path), embedder=HashEmbedder(), reranker=None, llm=None) as memory:
        memory.remember(LEDGER)
        storage = MemantoStorage("tester", store=Embedded(tmp_path))
        with pytest.raises(EmbedderMismatchError, match="hash-64"):
            storage.save([record()])
        storage.close()
