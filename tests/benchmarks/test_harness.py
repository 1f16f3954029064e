"""The benchmarks measure what they say, on cases small enough to check by hand."""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.benchmarks import (
    abstention,
    datasets,
    harness,
    plot,
    retrieval,
    run,
    timelines,
    truth,
    truth_timeqa,
    truth_updates,
)
from tests.benchmarks.abstention_answer import Decision, decide, effect
from tests.benchmarks.abstention_rules import KEPT, Asked, Rule
from tests.benchmarks.datasets import Pool, Query
from tests.benchmarks.harness import Bench, Result, Suite
from tests.benchmarks.metrics import Tally, auc, curve, halves, interval, recall_at, reciprocal_rank
from tests.benchmarks.models import Answers, RememberingEmbedder
from tests.benchmarks.stores import FilledStore
from tests.benchmarks.timelines import Span, Timeline

from memanto.testing import HashEmbedder


def year(number: int) -> datetime:
    return datetime(number, 1, 1, tzinfo=UTC)


def write(folder: Path, name: str, value: Any) -> None:
    lines = "\n".join(map(json.dumps, value)) if ".jsonl" in name else json.dumps(value)
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(lines.encode()))


@pytest.fixture
def embedder() -> RememberingEmbedder:
    return RememberingEmbedder(HashEmbedder(), Answers(None))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with a conversation, an update, two timelines and a setting that changes once."""
    folder = tmp_path / "data"
    turns = [("Ann", "I moved to Berlin"), ("Bob", "My cat is called Kiwi"), ("Ann", "I play the cello on Mondays")]
    said = [{"speaker": who, "text": text, "dia_id": f"D1:{n}"} for n, (who, text) in enumerate(turns, 1)]
    asked = [
        {"question": "Where did Ann move?", "evidence": ["D1:1"], "category": 4},
        {"question": "What do Ann and Bob have?", "evidence": ["D1:2; D1:03"], "category": 1},
        {"question": "Who owns a dog?", "evidence": ["D1:2"], "category": 5},
    ]
    write(folder, datasets.LOCOMO, [{"sample_id": "conv-0", "conversation": {"session_1": said}, "qa": asked}])
    dated = [("2023/01/01 (Sun) 10:00", "I have three bikes"), ("2023/02/01 (Wed) 10:00", "I have four bikes")]
    evidence = [{"date": when, "turns": [{"role": "user", "content": text}]} for when, text in dated]
    update = {"question_id": "u1", "question_type": "knowledge-update", "question": "How many bikes?"}
    nothing = {"question_id": "n1_abs", "question_type": "multi-session", "question": "Which boat?", "evidence": []}
    write(folder, datasets.LONGMEMEVAL, [update | {"evidence": evidence}, nothing])
    spans = [["Who led X from 1990 to 1995?", ["Ada"]], ["Who led X from 1997 to 1999?", ["Cleo"]]]
    months = [["Where was Y from Apr 2001 to Jul 2003?", ["Rome"]], ["Where was Y from Jul 2003 to 2005?", ["Oslo"]]]
    rows = [{"index": "/wiki/X#P1", "link": "/wiki/X", "type": "P1", "questions": spans}]
    rows += [{"index": "/wiki/Y#P2", "link": "/wiki/Y", "type": "P2", "questions": months}]
    write(folder, timelines.VALUES, rows)
    write(folder, timelines.RELATIONS, {"P1": {"meaning": "leader"}, "P2": {"meaning": "seat"}})
    events = [
        {"event_id": f"e{session}", "session": session, "fact_key": "db", "value": value, "title": f"Change {session}"}
        | {"content": f"CANONICAL[db={value}]\nThe database is now {value}. This supersedes prior values."}
        for session, value in ((1, "mysql"), (9, "postgres"))
    ]
    probes = [
        {"checkpoint": 8, "fact_key": "db", "query": "Which database?", "expected_value": "mysql", "stale_values": []},
        {"checkpoint": 16, "fact_key": "db", "query": "Which database?", "expected_value": "postgres"}
        | {"stale_values": ["mysql"]},
    ]
    published = {"top1": 0.4, "mrr": 0.6, "current_recall": 0.9, "stale_conflict_rate": 0.8, "strict_accuracy": 0.2}
    stale = {"long_horizon": [{"seed": 1, "events": events, "probes": probes}]}
    write(folder, truth_updates.STALE, stale | {"reference_results": {"long_horizon": {"memanto": published}}})
    return folder


# -- metrics ------------------------------------------------------------------------------------------
def test_recall_is_the_share_of_the_gold_within_the_cut() -> None:
    assert recall_at([7, 3, 9, 1], {3, 1, 5, 8}, 2) == 0.25
    assert recall_at([7, 3, 9, 1], {3, 1, 5, 8}, 4) == 0.5
    assert recall_at([], {3}, 10) == 0.0


def test_reciprocal_rank_looks_at_the_first_right_result() -> None:
    assert reciprocal_rank([7, 3, 9, 1], {9, 1}) == pytest.approx(1 / 3)
    assert reciprocal_rank([7], {9}) == 0.0


def test_a_tally_means_over_questions_and_cuts_mrr_at_ten() -> None:
    tally = Tally()
    tally.add([1, 2, 3], {1}, tokens=10, seconds=0.001)
    tally.add([0] * 10 + [5], {5, 6}, tokens=20, seconds=0.003)
    figures = tally.figures()
    assert (figures["n"], figures["recall@5"], figures["any@10"], figures["mrr"]) == (2, 0.5, 0.5, 0.5)
    assert (figures["tokens"], figures["p50_ms"], figures["p95_ms"]) == (15, 1.0, 3.0)


def test_percentiles_are_values_that_were_measured() -> None:
    assert [harness.percentile([4, 1, 3, 2], share) for share in (0.25, 0.5, 0.95, 1.0)] == [1, 2, 4, 4]


def test_auc_counts_pairs_and_ties_by_half() -> None:
    assert auc([3, 4], [1, 2]) == 1.0
    assert auc([1, 2], [3, 4]) == 0.0
    assert auc([1, 2], [1, 2]) == 0.5
    assert auc([2, 3], [1, 2]) == pytest.approx(3.5 / 4)


def test_a_curve_goes_from_everything_let_through_to_the_best_alone() -> None:
    points = curve([3.0, 4.0], [1.0, 2.0], points=4)
    assert points[0] == (1.0, 1.0, 1.0)
    assert points[2] == (3.0, 0.0, 1.0)
    assert points[-1] == (4.0, 0.0, 0.5)


def test_an_interval_holds_the_paired_difference() -> None:
    mean, low, high = interval([1, 1, 0, 1] * 20, [0, 1, 0, 1] * 20, seed=1)
    assert mean == 0.25
    assert 0.1 < low < mean < high < 0.4


def test_halves_depend_on_the_text_alone() -> None:
    texts = [f"question {number}" for number in range(200)]
    assert halves(texts) == halves(reversed(texts))
    assert 70 < sum(halves(texts).values()) < 130


# -- sets ---------------------------------------------------------------------------------------------
def test_locomo_turns_carry_their_speaker_and_category_five_has_no_answer(data: Path) -> None:
    (pool,) = datasets.locomo(Bench(data=data))
    assert pool.texts[0] == "Ann: I moved to Berlin"
    assert [query.gold for query in pool.queries] == [{0}, {1, 2}]
    assert [query.text for query in pool.unanswerable] == ["Who owns a dog?"]


def test_longmemeval_is_one_pool_and_knows_what_has_no_evidence(data: Path) -> None:
    pool = datasets.longmemeval(Bench(data=data))
    assert pool.texts == ("I have three bikes", "I have four bikes")
    assert [query.gold for query in pool.queries] == [{0, 1}]
    assert len(pool.unanswerable) == 1


def test_pools_together_keep_their_answers() -> None:
    one = Pool("a", ("x", "y"), ("s", "s"), (Query("q", "k", frozenset({1})),))
    both = datasets.pooled("both", [one, one])
    assert [{both.texts[place] for place in query.gold} for query in both.queries] == [{"y"}, {"y"}]
    assert [query.gold for query in both.queries] == [{1}, {3}]
    assert both.sessions == ("a/s", "a/s", "a/s", "a/s")


def test_a_timeline_is_asked_in_every_interval_gap_and_boundary(data: Path) -> None:
    leaders, seats = timelines.load(Bench(data=data))
    assert leaders.spans == (Span(year(1990), year(1995), "Ada"), Span(year(1997), year(1999), "Cleo"))
    assert seats.spans[0].begins == datetime(2001, 4, 1, tzinfo=UTC)
    answers = [{span.value for span in timelines.true_together(leaders.spans, moment)} for moment in leaders.moments()]
    assert answers.count(set()) == 5  # before the first, at its end, twice later in the gap, at the last end
    assert timelines.middle(year(1995), year(1997)) in leaders.moments()


def test_in_a_slot_the_value_that_began_last_holds() -> None:
    spans = (Span(year(1990), year(2000), "old"), Span(year(1995), year(1997), "new"))
    held = {
        when: {span.value for span in timelines.true_in_slot(spans, year(when))} for when in (1994, 1995, 1997, 2000)
    }
    assert held == {1994: {"old"}, 1995: {"new"}, 1997: {"old"}, 2000: set()}
    assert Timeline("t", "s", "r", spans).one_at_a_time
    assert not Timeline("t", "s", "r", (spans[0], spans[0])).one_at_a_time


# -- the product as it is searched ----------------------------------------------------------------------
def test_a_filled_store_answers_in_places_of_the_pool(embedder: RememberingEmbedder) -> None:
    texts = ("the cat sleeps", "a dog barks", "the cat sleeps", "rain falls")
    with FilledStore(texts, embedder) as store:
        found = store.search("where does the dog bark")
        dense, lexical = store.lists("cat")
        assert found.places[0] == 1
        assert store.canonical() == {0: 0, 1: 1, 2: 0, 3: 3}
        assert {place for place, _ in dense} == {0, 1, 3}
        assert [place for place, _ in lexical] == [0]


def test_a_session_is_the_run_of_its_texts(embedder: RememberingEmbedder) -> None:
    with FilledStore(("the cat sleeps", "a dog barks", "rain falls"), embedder, sessions=("one", "one", "")) as store:
        runs = {hit.memory.content: hit.memory.run_id for hit in store.search("cat").hits}
    assert runs == {"the cat sleeps": "one", "a dog barks": "one", "rain falls": None}


def test_remembered_model_time_is_owed(embedder: RememberingEmbedder) -> None:
    first = embedder.embed_query("rain")
    assert embedder.owed == 0.0
    assert (embedder.embed_query("rain") == first).all()
    assert embedder.owed > 0.0


def test_grep_ranks_by_distinct_words_of_the_question() -> None:
    found = retrieval.grep(["one two", "three", "two one four"], "One four five?")
    assert found.places == (2, 0)


def test_a_floor_refuses_what_no_result_reaches(embedder: RememberingEmbedder) -> None:
    with FilledStore(("the cat sleeps at noon", "a dog barks"), embedder) as store:
        hits = store.search("when does the cat sleep").hits
    near = replace(hits[0], why=replace(hits[0].why, dense_score=0.65))
    decided = decide("when does the cat sleep", [near], None, {near.memory.id})
    assert decided["words and meaning, as shipped"] == Decision(answered=True, right=True)
    assert decided["words and meaning, and cosine >= 0.66"] == Decision(answered=False, right=False)


def test_decisions_are_counted_on_the_half_that_nothing_was_chosen_on() -> None:
    first = halves(f"q{n}" for n in range(40))
    asked = [(q, n % 2 == 0, {"rule": Decision(not chosen, n % 4 == 0)}) for n, (q, chosen) in enumerate(first.items())]
    figures = effect(asked)["rule"]
    assert sum(figures["n"]) == sum(not chosen for chosen in first.values())
    assert (figures["answered"], figures["refused"]) == (1.0, 0.0)
    assert 0 < figures["right"] < 1


def test_a_rule_learns_which_signal_matters() -> None:
    signals = [{"good": n % 2 + n / 100, "noise": float(n * 7 % 5)} for n in range(40)]
    rows = [Asked(f"q{n}", n % 2 == 1, n % 2 == 1, both) for n, both in enumerate(signals)]
    rule = Rule.fit([(row, 1.0) for row in rows], ["good", "noise"])
    scores = {found: [rule(row) for row in rows if row.found is found] for found in (True, False)}
    assert auc(scores[True], scores[False]) == 1.0
    threshold = rule.threshold([(row, 1.0) for row in rows])
    assert sum(score >= threshold for score in scores[True]) == KEPT * len(scores[True])


# -- frame --------------------------------------------------------------------------------------------
def test_a_result_says_what_it_was_measured_on_and_comes_back_equal(tmp_path: Path, data: Path) -> None:
    def measure(bench: Bench) -> harness.Figures:
        bench.skip("rival", "no environment")
        return {"questions": len(bench.load(datasets.LOCOMO)[0]["qa"])}

    suite = Suite(name="tiny", about="a test", run=measure, page=lambda result: "")
    result = harness.run_suite(suite, Bench(data=data, quick=True, seed=3))
    assert result.figures == {"questions": 3}
    manifest = result.manifest
    assert (manifest["quick"], manifest["seed"], manifest["skipped"]) == (True, 3, {"rival": "no environment"})
    assert len(manifest["data_sha256"][datasets.LOCOMO]) == 64
    assert {"commit", "versions", "machine", "load_1m", "timing_note"} <= manifest.keys()
    assert Result.read(result.write(tmp_path)) == result


def test_a_missing_set_is_skipped_with_its_reason(tmp_path: Path) -> None:
    nowhere, empty = Bench(), Bench(data=tmp_path)
    assert not nowhere.available("LoCoMo", datasets.LOCOMO)
    assert not empty.available("LoCoMo", datasets.LOCOMO)
    assert "no data folder" in nowhere.skipped["LoCoMo"]
    assert datasets.LOCOMO in empty.skipped["LoCoMo"]


def test_interleaved_arms_take_turns() -> None:
    calls: list[str] = []
    medians = harness.interleaved({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 3)
    assert calls == ["a", "b", "b", "a", "a", "b"]
    assert set(medians) == {"a", "b"}


def test_a_plot_is_xml_with_a_line_per_series() -> None:
    series = {"a": [(1.0, 2.0), (1000.0, 3.0)], "b": [(10.0, 1.0)]}
    picture = plot.lines("t < u", plot.Axis("x", log=True), plot.Axis("y", 0), series)
    root = ET.fromstring(picture)
    assert len(root.findall("{http://www.w3.org/2000/svg}polyline")) == 2


@pytest.mark.slow
def test_a_quick_run_measures_the_slice_and_writes_results_and_pages(
    tmp_path: Path, data: Path, embedder: RememberingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for suite in (retrieval, truth, abstention):
        monkeypatch.setattr(suite, "offline_models", lambda cache: (embedder, None))
    monkeypatch.setattr(retrieval, "measure_corpus", lambda embedder, reranker, seed: {"arms": {}})
    own = [Asked("q", True, True, {}), Asked("r", False, False, {})]
    monkeypatch.setattr(abstention, "_own", lambda embedder, reranker: own)
    monkeypatch.setattr(truth_timeqa, "VARIANTS", truth_timeqa.VARIANTS[:2])
    out = tmp_path / "out"
    chosen = [argument for name in ("retrieval", "truth", "abstention") for argument in ("--only", name)]
    assert run.main(["--quick", "--data", str(data), "--out", str(out), *chosen]) == 0
    arms = Result.read(out / "retrieval.json").figures["LoCoMo (sample)"]["arms"]
    assert arms["hybrid"]["recall@10"] == 1.0
    assert arms["full context"]["tokens"] > 0
    figures = Result.read(out / "truth.json").figures
    ways = figures["TimeQA"]["by way of writing"]
    assert all(count["asked"] == count["right"] for way in ways.values() for count in list(way.values())[1:])
    assert set(figures["LongMemEval updates"]["with a key"]["right"].values()) == {1}
    keyed = figures["stale facts"]["by way of writing"]["keys, stripped"]["hybrid"]
    assert (keyed["n"], keyed["top1"], keyed["stale shown"], keyed["strict"]) == (2, 1.0, 0.0, 1.0)
    unkeyed = figures["stale facts"]["by way of writing"]["no keys, stripped"]["hybrid"]
    assert unkeyed["stale shown"] == 0.0, "the older value is folded under the newer one"
    for name in ("retrieval", "truth", "abstention"):
        page = (out / f"{name}.md").read_text(encoding="utf-8")
        assert page.startswith("# ")
        assert "What this was measured on" in page


def test_the_committed_pages_are_those_of_the_committed_results(tmp_path: Path) -> None:
    from tests.benchmarks.tables import write_pages

    for page in write_pages(harness.RESULTS, tmp_path):
        assert (harness.PAGES / page.name).read_text(encoding="utf-8") == page.read_text(encoding="utf-8"), page.name


def test_the_page_of_figures_is_that_of_the_committed_results(tmp_path: Path) -> None:
    from tests.benchmarks import figures

    written = figures.write(harness.RESULTS, tmp_path / "figures.md").read_text(encoding="utf-8")
    assert figures.PAGE.read_text(encoding="utf-8") == written, "run `python -m tests.benchmarks.run --pages`"


def test_the_page_of_figures_says_by_itself_what_falls_short() -> None:
    from tests.benchmarks import figures

    def result(recall: float) -> harness.Result:
        found = {"LoCoMo turns": {"arms": {"hybrid": {"recall@10": recall}}}}
        return harness.Result(suite="retrieval", manifest={}, figures=found)

    assert "**.500**" in figures.page({"retrieval": result(0.5)})
    assert "recall@10: .500, aim: at least .685" in figures.page({"retrieval": result(0.5)})
    assert "**" not in figures.page({"retrieval": result(0.9)}).split("## How good")[1]
