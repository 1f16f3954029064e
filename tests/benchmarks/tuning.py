"""What was tried to find more: chosen on one part of the questions, shown on the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tests.benchmarks import datasets, own_corpus
from tests.benchmarks.datasets import Pool, Query
from tests.benchmarks.harness import Bench, Figures, Suite, register
from tests.benchmarks.metrics import halves, interval, recall_at, reciprocal_rank
from tests.benchmarks.models import RememberingEmbedder, RememberingReranker, offline_models
from tests.benchmarks.stores import FilledStore
from tests.benchmarks.tuning_page import page
from tests.benchmarks.tuning_variants import BASE, BASE_JUDGED, JUDGED, PLAIN, Case, Prepared

from memanto.corpus import QuestionKind, load_questions
from memanto.errors import NotFoundError
from memanto.models import Status

CHOICE: Final = ("conv-26", "conv-30", "conv-41")
"""LoCoMo's conversations that choices are made on; the other two show them."""

MEASURES: Final = ("recall@5", "recall@10", "mrr")

Part = dict[str, dict[str, list[float]]]
"""Scores question by question, by variant and measure."""


def measure(bench: Bench) -> Figures:
    """Rank the candidates that the product found in other ways, and compare."""
    embedder, reranker = offline_models(bench.cache)
    if embedder is None:
        bench.skip("tuning", "the offline model is not installed")
        return {}
    if reranker is None:
        bench.skip("tuning the cross-encoder", "the offline model is not installed")
    sets: dict[str, tuple[Part, Part]] = {"own corpus": _ask(_own(embedder), embedder, reranker)}
    if bench.available("LoCoMo", datasets.LOCOMO):
        sets["LoCoMo"] = _ask(datasets.locomo(bench), embedder, reranker)
        bench.say("LoCoMo done")
    if bench.available("LongMemEval", datasets.LONGMEMEVAL):
        sets["LongMemEval"] = _ask([datasets.longmemeval(bench)], embedder, reranker)
        bench.say("LongMemEval done")
    for name, file in datasets.BEAM.items():
        if bench.available(name, file):
            sets[name] = _ask(datasets.beam(bench, name), embedder, None)
            bench.say(f"{name} done")
    bench.skip("cross-encoder on BEAM", "long turns: some ten minutes of pairs")
    return {
        name: {
            "choice": _means(choice),
            "shown": _means(shown),
            "interval of recall@10": _intervals(shown, bench.seed),
        }
        for name, (choice, shown) in sets.items()
    }


def _own(embedder: RememberingEmbedder) -> list[Pool]:
    """Return what is current in the project's own corpus after its last line, with the questions about today."""
    with own_corpus.replayed(embedder, None) as (memory, ids):
        current: dict[str, str] = {}
        for memory_id in dict.fromkeys(ids.values()):
            try:
                version = memory.show(memory_id)
            except NotFoundError:
                continue
            if version.status is Status.ACTIVE:
                current[memory_id] = version.content
    place = {memory_id: index for index, memory_id in enumerate(current)}
    kinds = (QuestionKind.LEXICAL, QuestionKind.PARAPHRASE)
    queries = [
        Query(question.question, question.kind.value, frozenset(place[ids[ref]] for ref in question.expected))
        for question in load_questions()
        if question.kind in kinds and all(ids[ref] in place for ref in question.expected)
    ]
    # Nothing in the log is said in reply to its neighbour, so every text is a session of its own.
    return [Pool("own corpus", tuple(current.values()), tuple(current), tuple(queries))]


def _ask(
    pools: Sequence[Pool], embedder: RememberingEmbedder, reranker: RememberingReranker | None
) -> tuple[Part, Part]:
    """Return the scores on the part that chooses and on the part that shows."""
    choice: Part = {}
    shown: Part = {}
    for pool in pools:
        first = halves(query.text for query in pool.queries)
        with FilledStore(pool.texts, embedder) as store:
            prepared = Prepared.of(pool, store, embedder)
            for query in pool.queries:
                case = Case.of(query.text, prepared, store, embedder, reranker)
                gold = {prepared.same[place] for place in query.gold}
                chooses = pool.name in CHOICE if pool.name.startswith("conv-") else first[query.text]
                for name, variant in (PLAIN | (JUDGED if reranker is not None else {})).items():
                    ranked = variant(case)
                    scores = (recall_at(ranked, gold, 5), recall_at(ranked, gold, 10), reciprocal_rank(ranked, gold))
                    row = (choice if chooses else shown).setdefault(name, {measure: [] for measure in MEASURES})
                    for measure_name, score in zip(MEASURES, scores, strict=True):
                        row[measure_name].append(score)
    return choice, shown


def _means(part: Part) -> dict[str, Mapping[str, float]]:
    return {
        name: {"n": len(scores["mrr"])} | {m: round(sum(scores[m]) / len(scores[m]), 4) for m in MEASURES}
        for name, scores in part.items()
    }


def _intervals(part: Part, seed: int) -> dict[str, list[float]]:
    """Return the difference to the base with its 95 % interval, in points of recall@10."""
    result = {}
    for name, scores in part.items():
        base = part[BASE_JUDGED if name in JUDGED else BASE]
        difference = interval(scores["recall@10"], base["recall@10"], seed=seed)
        result[name] = [round(100 * value, 2) for value in difference]
    return result


register(
    Suite(
        name="tuning",
        about="ways to find more, chosen on one part and shown on the other",
        run=measure,
        page=page,
        in_quick=False,
    )
)
