"""How results are ordered, and that each says why. Pins docs/explanation/ranking.md."""

import random
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
import pytest

from memanto import Draft, Embedded, EmbedderIdentity, Memanto, MemoryType, Server
from memanto.engine.port import Candidate
from memanto.ids import version_point_id
from memanto.memory.ranking import RankingRule, rank
from memanto.testing import FixedClock, HashEmbedder

WORDS = ["ledger", "lag", "minutes", "database", "region", "limit", "deploy", "freeze", "alpha", "beta", "gamma"]
QUERY = "ledger lag in the database"


class Meanings:
    """An embedder that is told how near each text is to every query, as a cosine; what it was not told is far."""

    identity = EmbedderIdentity("test/meanings", 2)

    def __init__(self, cosines):
        self.cosines = cosines

    def embed_documents(self, texts):
        cosines = np.array([self.cosines.get(text, 0.0) for text in texts], np.float32)
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)

    def embed_query(self, text):
        return np.array([1, 0], np.float32)


def chatter(seed, number=60):
    """Random texts, each of one of three runs or of none."""
    draw = random.Random(seed)
    return [
        Draft(
            content=f"{' '.join(draw.choices(WORDS, k=draw.randint(1, 5)))} {number}",
            type=draw.choice([MemoryType.FACT, MemoryType.EVENT]),
            confidence=draw.choice([0.5, 1.0]),
            run_id=draw.choice([None, "one", "two", "three"]),
        )
        for number in range(number)
    ]


def contents(hits):
    return [hit.memory.content for hit in hits]


# -- words and meaning ------------------------------------------------------------------------------
def test_one_common_word_does_not_outweigh_what_is_meant(make_memory):
    meant, shared = "The importer starts at two", "The job market is quiet"
    others = [f"Note {number} on herring" for number in range(6)]
    near = Meanings({meant: 0.9, **{text: 0.5 - number / 100 for number, text in enumerate(others)}})
    memory = make_memory(embedder=near)
    memory.remember_many([Draft(content=text, type=MemoryType.FACT) for text in (shared, meant, *others)])
    hits = memory.recall("When does the nightly job begin?")
    assert contents(hits)[0] == meant
    [chance] = [hit.why for hit in hits if hit.memory.content == shared]
    assert chance.lexical_rank == 1
    assert 0.25 < chance.lexical_weight < 0.7


def test_words_that_hold_the_whole_query_weigh_as_much_as_meaning(make_memory):
    memory = make_memory()
    memory.remember_many([Draft(content=f"Note {number} on herring", type=MemoryType.FACT) for number in range(40)])
    memory.remember("The quota of PROJ-482 doubled", type="fact")
    assert memory.recall("quota PROJ-482")[0].why.lexical_weight == 1.0


def test_words_alone_weigh_fully_however_little_they_hold(make_memory):
    memory = make_memory()
    memory.remember("The job market is quiet", type="fact")
    assert [hit.why.lexical_weight for hit in memory.recall("nightly job begins", words_only=True)] == [1.0]


@pytest.mark.parametrize("seed", range(3))
def test_a_score_is_what_its_reasons_make_it(make_memory, seed):
    memory = make_memory()
    memory.remember_many(chatter(seed))
    for hit in memory.recall(QUERY, limit=40):
        why = hit.why
        fused = sum(
            weight / (1 + place)
            for place, weight in ((why.dense_rank, 1.0), (why.lexical_rank, why.lexical_weight))
            if place is not None
        )
        assert why.fused == pytest.approx(fused)
        assert hit.score == pytest.approx((why.fused + why.neighbours) * why.recency * why.confidence, abs=1e-9)


# -- neighbours -------------------------------------------------------------------------------------
def test_a_reply_is_found_by_what_it_replies_to(make_memory):
    def answered(**run):
        memory = make_memory(f"agent{len(run)}")
        talk = ["Where did the ledger lag come from?", "From the freeze.", "Good to know."]
        memory.remember_many([Draft(content=text, type=MemoryType.FACT, **run) for text in talk])
        others = [f"Minutes {number} of a freeze in the region" for number in range(30)]
        memory.remember_many([Draft(content=text, type=MemoryType.FACT) for text in others])
        return contents(memory.recall("ledger lag come from", limit=10))

    assert "From the freeze." in answered(run_id="talk")[:3]
    assert "From the freeze." not in answered()[:3]


@pytest.mark.parametrize("seed", range(4))
def test_the_best_five_lend_to_two_of_the_best_thirty_on_either_side_in_their_run(make_memory, seed):
    memory = make_memory()
    memory.remember_many(chatter(seed))
    hits = memory.recall(QUERY, limit=100)
    strongest = sorted(
        hits, key=lambda hit: (-hit.why.fused, version_point_id("tester", hit.memory.id, hit.memory.version))
    )
    told = sorted((hit for hit in strongest[:30] if hit.memory.run_id), key=lambda hit: hit.memory.recorded_at)
    lent = dict.fromkeys((hit.memory.id for hit in hits), 0.0)
    for lender in strongest[:5]:
        run = [hit for hit in told if hit.memory.run_id == lender.memory.run_id]
        if lender in run:
            place = run.index(lender)
            for other in run[max(0, place - 2) : place] + run[place + 1 : place + 3]:
                lent[other.memory.id] += 0.15 * lender.why.fused
    assert any(lent.values())
    assert {hit.memory.id: hit.why.neighbours for hit in hits} == pytest.approx(lent)


@pytest.mark.parametrize("seed", range(4))
def test_a_smaller_limit_returns_the_beginning_of_a_larger_one(make_memory, seed):
    memory = make_memory()
    memory.remember_many(chatter(seed))
    everything = memory.recall(QUERY, limit=50)
    for limit in (1, 2, 5, 10, 30):
        assert memory.recall(QUERY, limit=limit) == everything[:limit]


def test_runs_of_the_same_name_in_two_agents_are_two_runs(make_memory):
    one, two = make_memory("one"), make_memory("two")
    one.remember("ledger lag in the database", type="fact", run_id="nightly")
    two.remember("ledger of the region", type="fact", run_id="nightly")
    hits = one.recall(QUERY, agents=["one", "two"])
    assert len(hits) == 2
    assert [hit.why.neighbours for hit in hits] == [0.0, 0.0]


def test_a_neighbour_that_is_no_longer_believed_lends_nothing(memory, clock):
    strong = memory.remember("ledger lag in the database", type="fact", run_id="nightly")
    memory.remember("the region", type="fact", run_id="nightly")
    clock.advance(60)
    before = clock()
    clock.advance(60)
    memory.expire(strong.id)
    [left] = memory.recall(QUERY)
    assert left.why.neighbours == 0.0
    then = {hit.memory.content: hit.why.neighbours for hit in memory.recall(QUERY, as_of=before)}
    assert then["the region"] > 0


@pytest.mark.parametrize("runs", [True, False])
def test_neighbours_take_one_look_up_and_no_further_search(tmp_path, monkeypatch, runs):
    asked = []
    with Memanto("tester", store=Embedded(tmp_path / "store"), embedder=HashEmbedder()) as memory:
        memory.remember_many([draft if runs else replace(draft, run_id=None) for draft in chatter(1)])
        engine = memory._opened()
        for name in ("get", "search_dense", "search_lexical", "count", "scan", "facet"):
            monkeypatch.setattr(engine, name, noted(asked, name, getattr(engine, name)))
        memory.recall(QUERY)
    payloads, meta = (2, 1) if runs else (1, 1)
    assert sorted(asked) == ["count", *["get"] * (meta + payloads), "search_dense", "search_lexical"]


def noted(calls, name, function):
    def call(*arguments, **options):
        calls.append(name)
        return function(*arguments, **options)

    return call


# -- ties, and both engines -------------------------------------------------------------------------
def test_of_equal_scores_the_newest_comes_first(memory, clock):
    for number in (3, 1, 2, 9, 5):
        memory.remember(f"alpha {number}", type="fact")
        clock.advance(60)
    hits = memory.recall("alpha", words_only=True)
    assert len({hit.score for hit in hits}) == 1
    assert contents(hits) == ["alpha 5", "alpha 9", "alpha 2", "alpha 1", "alpha 3"]
    assert contents(memory.recall("alpha", words_only=True, limit=2)) == ["alpha 5", "alpha 9"]


def test_of_equal_scores_of_one_moment_the_smaller_id_comes_first():
    moment = {"type": "fact", "confidence": 1.0, "event_at": "", "recorded_at": "2026-01-01T00:00:00.000000Z"}
    found = [Candidate(UUID(int=number), 1.0, {**moment, "content": f"{number}"}) for number in (7, 3, 5)]
    rule = RankingRule(now=datetime(2026, 2, 1, tzinfo=UTC), terms=1, home=lambda _: "tester")
    assert [item.candidate.id.int for item in rank(found, [], rule, 3)] == [3, 5, 7]


@pytest.mark.parametrize("seed", range(3))
def test_both_engines_rank_alike(tmp_path, seed):
    told = []
    for store in (Embedded(tmp_path / "store"), Server(":memory:")):
        clock = FixedClock()
        with Memanto("tester", store=store, embedder=HashEmbedder(), clock=clock) as memory:
            for draft in chatter(seed):
                memory.remember(draft)
                clock.advance(60)
            told.append([(hit.memory.content, hit.score, hit.why) for hit in memory.recall(QUERY, limit=30)])
    for one, other in zip(*told, strict=True):
        assert one[:2] == other[:2]
        # Sums in another order may differ in the last digit that is kept.
        assert replace(one[2], lexical_score=None) == replace(other[2], lexical_score=None)
        assert one[2].lexical_score == pytest.approx(other[2].lexical_score, rel=1e-4)
