"""Types guessed from texts: how often right, the traps, and what a guess does on the way into the store.

The sentences of `typing_sentences.jsonl` were written before the examples and the cues were, and no weight or cue was
chosen by them.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memanto import InMemory, Memanto
from memanto.embedding.choice import default_embedder
from memanto.embedding.port import Embedder, EmbedderIdentity
from memanto.memory import classify as module
from memanto.memory.classify import GUESS_FACTOR, UNSURE, classify, prototypes
from memanto.memory.typing_features import HEAD, features
from memanto.models import DEFAULT_CONFIDENCE, MemoryType, Status
from memanto.testing import HashEmbedder

ROOT = Path(__file__).resolve().parents[2]
Row = dict[str, str]


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


HELD_APART = read(ROOT / "tests/data/typing_sentences.jsonl")
DEVELOPMENT = read(ROOT / "tests/data/typing_development.jsonl")
EXAMPLES = read(Path(module.__file__).with_name("typing_examples.jsonl"))


class Counting:
    """An embedder with the identity of the default one that points every text at one type, and counts."""

    def __init__(self, kind: MemoryType, identity: EmbedderIdentity | None = None) -> None:
        direction = np.array(prototypes().directions[list(MemoryType).index(kind)], dtype=np.float64)
        self.identity = identity or prototypes().embedder
        self.seen: list[str] = []
        self._vector = direction / np.linalg.norm(direction)

    def embed_documents(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.seen.extend(texts)
        return np.tile(self._vector, (len(texts), 1)).astype(np.float32)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        return self.embed_documents([text])[0]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    model = default_embedder(cache=tmp_path_factory.mktemp("none")).model
    if model is None:
        pytest.skip("the offline model is not installed")
    return model


@pytest.fixture
def memory() -> Iterator[Memanto]:
    with Memanto("typist", store=InMemory(), embedder=HashEmbedder()) as opened:
        yield opened


def right(rows: Sequence[Row], vectors: Sequence[Sequence[float] | None]) -> dict[str, float]:
    """Return the share of right guesses over all rows, over the English ones, and over the others."""
    hits = [classify(row["text"], vector).type == row["type"] for row, vector in zip(rows, vectors, strict=True)]
    english = [hit for hit, row in zip(hits, rows, strict=True) if row["lang"] == "en"]
    other = [hit for hit, row in zip(hits, rows, strict=True) if row["lang"] != "en"]
    return {name: sum(part) / len(part) for name, part in (("all", hits), ("en", english), ("other", other))}


# -- how often right ------------------------------------------------------------------------------
def test_with_the_default_model_the_held_apart_sentences_are_typed_as_promised(embedder: Embedder) -> None:
    vectors = embedder.embed_documents([row["text"] for row in HELD_APART]).tolist()
    shares = right(HELD_APART, vectors)
    assert shares["all"] >= 0.85, shares
    assert shares["en"] >= 0.95, shares


def test_without_a_model_the_held_apart_sentences_are_typed_nearly_as_well() -> None:
    shares = right(HELD_APART, [None] * len(HELD_APART))
    assert min(shares.values()) >= 0.9, shares


@pytest.mark.parametrize("language", ["de", "es", "fr", "ja", "pt", "zh"])
def test_a_language_other_than_english_does_not_become_fact(language: str) -> None:
    others = [row for row in HELD_APART if row["lang"] == language and row["type"] != "fact"]
    facts = [row["text"] for row in others if classify(row["text"]).type is MemoryType.FACT]
    assert len(facts) <= len(others) / 10, facts


@pytest.mark.parametrize("kind", list(MemoryType))
def test_every_type_has_enough_held_apart_sentences_in_enough_languages(kind: MemoryType) -> None:
    languages = Counter(row["lang"] for row in HELD_APART if row["type"] == kind)
    assert languages["en"] >= 10
    assert languages.total() - languages["en"] >= 10
    assert len(languages) >= 5


@pytest.mark.parametrize("others", [EXAMPLES, DEVELOPMENT], ids=["examples", "development"])
def test_no_held_apart_sentence_resembles_one_that_was_learned_from(others: list[Row]) -> None:
    pairs = itertools.product(*([(words(row["text"]), row["text"]) for row in rows] for rows in (HELD_APART, others)))
    near = [(one, two) for (mine, one), (theirs, two) in pairs if len(mine & theirs) >= 0.5 * len(mine | theirs)]
    assert near == []


def words(text: str) -> set[str]:
    """Return the words of a text, or characters and their pairs where it has no spaces; punctuation aside."""
    return {name for name in features(text) if name.startswith(("w:", "c:")) and name[2:].isalnum()}


# -- traps ----------------------------------------------------------------------------------------
TRAPS = [
    ("The customer is on the enterprise plan", "fact"),
    ("I promise to send the report by Friday", "commitment"),
    ("SESSION HANDOFF | Goal: migrate REST to GraphQL | Done: 60% | Next: /v1/orders", "context"),
    ("Goal: reconcile the ledger against the payments source every night and flag deltas over $0.01", "goal"),
    ("Main API schema lives at services/api/schema.graphql", "artifact"),
    ("Chose to re-pull the ledger instead of patching deltas; root pull was stale, not the diff logic", "decision"),
    (
        "When Postgres tests fail with 'relation does not exist', run db:seed first — root cause: CI has an empty DB",
        "error",
    ),
    ("Der Kunde bevorzugt kurze Antworten", "preference"),
    ("Obiecuję wysłać raport do piątku.", "commitment"),
    ("Ekip metin yerine tablo tercih eder", "preference"),
    ("हमने PostgreSQL चुनने का फैसला किया", "decision"),
    ("Användaren föredrar korta svar", "preference"),
    ("أعدك بإرسال التقرير غدا", "commitment"),
]


@pytest.mark.parametrize(("text", "kind"), TRAPS)
def test_a_known_trap_is_typed_right(text: str, kind: str) -> None:
    assert classify(text).type == kind


@pytest.mark.parametrize(("text", "kind"), TRAPS[:8])
def test_a_known_trap_is_typed_right_with_the_default_model_too(text: str, kind: str, embedder: Embedder) -> None:
    [vector] = embedder.embed_documents([text]).tolist()
    assert classify(text, vector).type == kind


@pytest.mark.parametrize("text", ["", "   ", "zzz qqq", "🙂🙂", "(((((((("])
def test_a_text_that_says_nothing_is_a_fact_without_confidence(text: str) -> None:
    guess = classify(text)
    assert guess.type is MemoryType.FACT
    assert guess.confidence <= UNSURE


# -- the function ---------------------------------------------------------------------------------
@given(st.text(max_size=2 * HEAD))
def test_a_guess_is_one_of_the_types_and_always_the_same(text: str) -> None:
    guess = classify(text)
    assert guess == classify(text)
    assert 0 < guess.confidence <= 1
    assert guess.runner_up is not guess.type


@given(st.text(max_size=2 * HEAD), st.text(min_size=1, max_size=50))
def test_what_follows_the_first_characters_changes_nothing(text: str, more: str) -> None:
    head = text.ljust(HEAD, "x")
    assert features(head + more) == features(head[:HEAD])
    assert classify(head + more) == classify(head[:HEAD])


@pytest.mark.parametrize("text", ["ﷺ", "東", "a/", "(", "a.b-", "\u0344", "x ", '"', "when "])
def test_the_evidence_of_a_long_text_stays_small(text: str) -> None:
    assert len(features(text * 100_000)) < 4 * HEAD


def test_a_baton_is_context_whatever_its_vector_says() -> None:
    vector = Counting(MemoryType.ERROR).embed_query("").tolist()
    assert classify("Session handoff: error everywhere", vector).type is MemoryType.CONTEXT


# -- on the way into the store --------------------------------------------------------------------
def test_a_guessed_type_is_shown_as_guessed_and_lowers_the_confidence(memory: Memanto) -> None:
    receipt = memory.remember("We decided to use Kafka because it scales")
    assert (receipt.type, receipt.type_guessed) == (MemoryType.DECISION, True)
    assert "type guessed from the text: decision" in receipt.warnings
    assert memory.show(receipt.id).confidence == pytest.approx(DEFAULT_CONFIDENCE * GUESS_FACTOR)


def test_the_vector_has_its_say_and_the_text_is_embedded_once() -> None:
    embedder = Counting(MemoryType.OBSERVATION)
    with Memanto("typist", store=InMemory(), embedder=embedder) as memory:
        receipt = memory.remember("zzz qqq")
        assert embedder.seen == ["zzz qqq"]
        assert receipt.type is MemoryType.OBSERVATION
        assert receipt.warnings == ("type guessed from the text: observation",)
        assert memory.show(receipt.id).type is MemoryType.OBSERVATION


def test_a_given_type_is_kept_whatever_the_vector_says() -> None:
    with Memanto("typist", store=InMemory(), embedder=Counting(MemoryType.OBSERVATION)) as memory:
        receipt = memory.remember("zzz qqq", type="goal")
    assert (receipt.type, receipt.type_guessed, receipt.warnings) == (MemoryType.GOAL, False, ())


def test_vectors_of_another_embedder_have_no_say() -> None:
    other = EmbedderIdentity("another model", prototypes().embedder.dimension)
    with Memanto("typist", store=InMemory(), embedder=Counting(MemoryType.OBSERVATION, other)) as memory:
        assert memory.remember("zzz qqq").type is MemoryType.FACT


def test_a_dry_run_tells_the_type_that_would_be_stored() -> None:
    with Memanto("typist", store=InMemory(), embedder=Counting(MemoryType.OBSERVATION)) as memory:
        memory.remember("the first memory binds the agent to its embedder", type="fact")
        assert memory.remember("zzz qqq", dry_run=True).type is memory.remember("zzz qqq").type


@pytest.mark.parametrize(
    ("kind", "status"), [(MemoryType.FACT, Status.QUARANTINED), (MemoryType.OBSERVATION, Status.ACTIVE)]
)
def test_what_is_inferred_and_taken_for_a_fact_is_quarantined(kind: MemoryType, status: Status) -> None:
    with Memanto("typist", store=InMemory(), embedder=Counting(kind)) as memory:
        receipt = memory.remember("zzz qqq", provenance="inferred")
        assert (receipt.type, receipt.status) == (kind, status)
        assert memory.show(receipt.id).status is status
        assert memory.remember("zzz qqq", provenance="inferred").duplicate


# -- the weights ----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def training() -> ModuleType:
    path = ROOT / "scripts" / "train_typing.py"
    spec = importlib.util.spec_from_file_location("train_typing", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def stored_model() -> dict[str, Any]:
    model: dict[str, Any] = json.loads(Path(module.__file__).with_name("typing_model.json").read_text("utf-8"))
    return model


def test_the_weights_come_from_the_examples_and_cues_that_are_there(training: ModuleType) -> None:
    assert stored_model()["sources"] == training.sources(), "run `python scripts/train_typing.py`"


@pytest.mark.slow
def test_learning_again_gives_the_same_weights(training: ModuleType, embedder: Embedder) -> None:
    assert training.difference(stored_model(), training.train()) <= training.TOLERANCE


def test_the_directions_belong_to_the_default_embedder(embedder: Embedder) -> None:
    assert prototypes().embedder == embedder.identity
