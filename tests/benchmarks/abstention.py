"""Whether a result list tells that nothing stored answers the question, signal by signal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from tests.benchmarks import datasets, own_corpus
from tests.benchmarks.abstention_answer import DEPTH, decide, effect
from tests.benchmarks.abstention_page import page, plots
from tests.benchmarks.abstention_rules import Asked, compare
from tests.benchmarks.datasets import Pool
from tests.benchmarks.harness import Bench, Figures, Suite, register
from tests.benchmarks.metrics import auc
from tests.benchmarks.models import RememberingEmbedder, RememberingReranker, offline_models
from tests.benchmarks.stores import FilledStore

from memanto.corpus import QuestionKind, load_questions
from memanto.models import Recollection

QUICK_QUESTIONS: Final = 20

_WORD: Final = re.compile(r"\w{3,}")
_COMMON: Final = frozenset(
    """the and was were what which when where who how why did does has have had for from with that this are you your
    about into his her their our its any all can will would""".split()  # noqa: SIM905 - a list of 38 lines says no more
)


def similarity(query: str, hits: Sequence[Recollection]) -> float:
    """Cosine of the nearest result."""
    return max((hit.why.dense_score for hit in hits if hit.why.dense_score is not None), default=-1.0)


def words(query: str, hits: Sequence[Recollection]) -> float:
    """BM25 of the best result by words, per term of the query."""
    best = max((hit.why.lexical_score for hit in hits if hit.why.lexical_score is not None), default=0.0)
    return best / max(1, len(_terms(query)))


def agreement(query: str, hits: Sequence[Recollection]) -> float:
    """Fused score of the best result: 1 when both lists begin with it."""
    return max((hit.why.fused for hit in hits), default=0.0)


def coverage(query: str, hits: Sequence[Recollection]) -> float:
    """Share of the query's telling words that the best three results hold, by their first five letters."""
    wanted = {word[:5] for word in _terms(query)}
    held = {word[:5] for hit in hits[:3] for word in _terms(hit.memory.content)}
    return len(wanted & held) / len(wanted) if wanted else 0.0


def lead(query: str, hits: Sequence[Recollection]) -> float:
    """How much nearer the nearest result is than the median of the ten."""
    scores = [hit.why.dense_score for hit in hits if hit.why.dense_score is not None]
    return max(scores) - float(np.median(scores)) if scores else 0.0


def verdict(query: str, hits: Sequence[Recollection]) -> float:
    """Highest logit of the cross-encoder."""
    return max((hit.why.rerank_score for hit in hits if hit.why.rerank_score is not None), default=-12.0)


PLAIN: Final[dict[str, Callable[[str, Sequence[Recollection]], float]]] = {
    "nearest cosine": similarity,
    "lead of the nearest": lead,
    "BM25 per term": words,
    "agreement of the lists": agreement,
    "query words covered": coverage,
}
JUDGED: Final = "cross-encoder logit"


def measure(bench: Bench) -> Figures:
    """Ask answerable and unanswerable questions and see which signals part them."""
    embedder, reranker = offline_models(bench.cache)
    if embedder is None:
        bench.skip("abstention", "the offline model is not installed")
        return {}
    if reranker is None:
        bench.skip(JUDGED, "the offline model is not installed")
    sets = {"own corpus": list(_own(embedder, reranker))}
    if bench.available("LoCoMo", datasets.LOCOMO):
        pools = datasets.locomo(bench)
        chosen = [_some(pools[0], QUICK_QUESTIONS)] if bench.quick else pools
        sets["LoCoMo"] = [asked for pool in chosen for asked in _ask(pool, embedder, None if bench.quick else reranker)]
        bench.say("LoCoMo done")
    if bench.quick:
        bench.skip("LongMemEval, BEAM, the cross-encoder on LoCoMo", "quick run")
    else:
        if bench.available("LongMemEval", datasets.LONGMEMEVAL):
            sets["LongMemEval"] = list(_ask(datasets.longmemeval(bench), embedder, reranker))
            bench.say("LongMemEval done")
        if bench.available("BEAM 100K", datasets.BEAM["BEAM 100K"]):
            chats = datasets.beam(bench, "BEAM 100K")
            sets["BEAM 100K"] = [asked for pool in chats for asked in _ask(pool, embedder, reranker)]
            bench.say("BEAM done")
    rules = {} if bench.quick else {"rules": compare(sets, PLAIN, JUDGED)}
    return {name: _figures(rows) for name, rows in sets.items()} | rules


def _some(pool: Pool, number: int) -> Pool:
    step = max(1, len(pool.queries) // number)
    return Pool(pool.name, pool.texts, pool.sessions, pool.queries[::step], pool.unanswerable[:number])


def _ask(pool: Pool, embedder: RememberingEmbedder, reranker: RememberingReranker | None) -> Iterator[Asked]:
    with FilledStore(pool.texts, embedder, reranker, pool.sessions) as store:
        same = store.canonical()
        for query in (*pool.queries, *pool.unanswerable):
            plain = store.search(query.text)
            judged = store.search(query.text, rerank=True) if reranker is not None else None
            gold = {same[place] for place in query.gold}
            found = bool(gold & set((judged or plain).places[:5]))
            signals = _signals(query.text, plain.hits, None if judged is None else judged.hits)
            more = store.search(query.text, limit=DEPTH).hits
            best = None if reranker is None else store.search(query.text, limit=DEPTH, rerank=True).hits
            right = {hit.memory.id for hit in (*more, *(best or ())) if not gold.isdisjoint(store.places([hit]))}
            decisions = decide(query.text, more, best, right)
            yield Asked(query.text, bool(gold), found, signals, decisions)


def _own(embedder: RememberingEmbedder, reranker: RememberingReranker | None) -> Iterator[Asked]:
    with own_corpus.replayed(embedder, reranker) as (memory, ids):
        for question in load_questions():
            plain = own_corpus.recall(memory, question)
            judged = own_corpus.recall(memory, question, rerank=True) if reranker is not None else None
            gold = {ids[ref] for ref in question.expected}
            found = any(hit.memory.id in gold for hit in (judged or plain)[:5])
            more = own_corpus.recall(memory, question, limit=DEPTH)
            best = own_corpus.recall(memory, question, limit=DEPTH, rerank=True) if reranker is not None else None
            decisions = decide(question.question, more, best, gold)
            answerable = question.kind is not QuestionKind.NONE
            yield Asked(question.question, answerable, found, _signals(question.question, plain, judged), decisions)


def _signals(query: str, plain: Sequence[Recollection], judged: Sequence[Recollection] | None) -> dict[str, float]:
    signals = {name: signal(query, plain) for name, signal in PLAIN.items()}
    return signals | ({JUDGED: verdict(query, judged)} if judged is not None else {})


def _figures(rows: Sequence[Asked]) -> Figures:
    """Return each signal's AUC: answerable against not, and found in the first five against not."""
    names = list(rows[0].signals)
    answerable = [row for row in rows if row.answerable]
    return {
        "answerable": len(answerable),
        "unanswerable": len(rows) - len(answerable),
        "found in the first five": sum(row.found for row in rows),
        "auc answerable": {name: _auc(rows, name, lambda row: row.answerable) for name in names},
        "auc found": {name: _auc(rows, name, lambda row: row.found) for name in names},
        "answer": effect([(row.question, row.answerable, row.decisions) for row in rows]),
    }


def _auc(rows: Sequence[Asked], name: str, label: Callable[[Asked], bool]) -> float:
    positive = [row.signals[name] for row in rows if label(row)]
    return round(auc(positive, [row.signals[name] for row in rows if not label(row)]), 4)


def _terms(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold())) - _COMMON


register(Suite(name="abstention", about="what tells that nothing stored answers", run=measure, page=page, plots=plots))
