"""How well and at what cost the product finds what answers a question, beside simpler ways of looking."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.benchmarks import datasets
from tests.benchmarks.datasets import Pool
from tests.benchmarks.harness import Bench, Figures, Suite, register
from tests.benchmarks.metrics import Tally
from tests.benchmarks.models import RememberingEmbedder, RememberingReranker, offline_models
from tests.benchmarks.own_corpus import measure as measure_corpus
from tests.benchmarks.retrieval_page import page
from tests.benchmarks.stores import DEPTH, FilledStore, Found, tokens

ARMS = ("grep", "BM25", "dense", "hybrid, no runs", "hybrid", "hybrid + cross-encoder", "full context")
QUICK_QUERIES = 20
"""Questions of the sample that a quick run asks."""

JUDGED = ("BEAM 100K",)
"""The sizes of BEAM that the cross-encoder judges, too."""

_WORD = re.compile(r"\w+")

Scores = dict[str, dict[str, Tally]]
"""Tallies by group (`all`, or a kind of question) and arm."""


def measure(bench: Bench) -> Figures:
    """Ask every set's questions with every arm."""
    embedder, reranker = offline_models(bench.cache)
    for model, name in ((embedder, "dense, hybrid"), (reranker, "hybrid + cross-encoder")):
        if model is None:
            bench.skip(name, "the offline model is not installed")
    figures: Figures = {"own corpus": measure_corpus(embedder, reranker, bench.seed)}
    bench.say("own corpus done")
    if bench.quick:
        if bench.available("LoCoMo", datasets.LOCOMO):
            figures["LoCoMo (sample)"] = _sample(bench, embedder, reranker)
        for name in ("LongMemEval", "BEAM"):
            bench.skip(name, "quick run")
        return figures
    if bench.available("LoCoMo", datasets.LOCOMO):
        figures |= _locomo(bench, embedder, reranker)
    if bench.available("LongMemEval", datasets.LONGMEMEVAL):
        figures["LongMemEval"] = _figures(_ask(datasets.longmemeval(bench), embedder, reranker))
        bench.say("LongMemEval done")
    for name, file in datasets.BEAM.items():
        if bench.available(name, file):
            figures |= _beam(bench, name, embedder, reranker if name in JUDGED else None)
            if name not in JUDGED:
                bench.skip(f"{name}: cross-encoder", "long turns: some ten minutes of pairs")
    return figures


def _sample(bench: Bench, embedder: RememberingEmbedder | None, reranker: RememberingReranker | None) -> Figures:
    pool = datasets.locomo(bench)[0]
    step = -(-len(pool.queries) // QUICK_QUERIES)
    some = Pool(pool.name, pool.texts, pool.sessions, pool.queries[::step])
    return _figures(_ask(some, embedder, reranker))


def _locomo(bench: Bench, embedder: RememberingEmbedder | None, reranker: RememberingReranker | None) -> Figures:
    pools = datasets.locomo(bench)
    turns, sessions, by_pool = _empty(), _empty(), {}
    for pool in pools:
        scores = _ask(pool, embedder, reranker, sessions=sessions)
        by_pool[pool.name] = {arm: tally.figures() for arm, tally in scores["all"].items()}
        _merge(turns, scores)
        bench.say(f"LoCoMo {pool.name} done")
    together = _ask(datasets.pooled("LoCoMo", pools), embedder, None)
    bench.skip("LoCoMo, one pool of all: cross-encoder", "other pairs than in the separate pools: five more minutes")
    bench.say("LoCoMo in one pool done")
    return {
        "LoCoMo turns": _figures(turns) | {"by conversation": by_pool},
        "LoCoMo sessions": _figures(sessions),
        "LoCoMo turns, all conversations in one pool": _figures(together),
    }


def _beam(
    bench: Bench, name: str, embedder: RememberingEmbedder | None, reranker: RememberingReranker | None
) -> Figures:
    pools = datasets.beam(bench, name)
    scores = _empty()
    for pool in pools:
        _merge(scores, _ask(pool, embedder, reranker))
        bench.say(f"{name} {pool.name} done")
    together = _ask(datasets.pooled(name, pools), embedder, None)
    bench.say(f"{name} in one pool done")
    return {name: _figures(scores), f"{name}, all chats in one pool": _figures(together)}


def _ask(
    pool: Pool,
    embedder: RememberingEmbedder | None,
    reranker: RememberingReranker | None,
    *,
    sessions: Scores | None = None,
) -> Scores:
    """Ask a pool's questions with every arm that the models allow; also score sessions by their best turn."""
    scores = _empty()
    judge = reranker is not None
    with (
        FilledStore(pool.texts, None) as words,
        FilledStore(pool.texts, embedder) as alone,
        FilledStore(pool.texts, embedder, reranker, pool.sessions) as both,
    ):
        same = words.canonical()
        cost = sum(map(tokens, pool.texts))
        for query in pool.queries:
            gold = frozenset(same[place] for place in query.gold)
            for arm, found in _arms(pool, query.text, words, alone if embedder else None, both, judge=judge):
                for group in ("all", query.kind):
                    scores[group][arm].add(found.places, gold, tokens=found.tokens, seconds=found.seconds)
                if sessions is not None:
                    ranked = list(dict.fromkeys(pool.sessions[place] for place in found.places))
                    wanted = {pool.sessions[place] for place in gold}
                    number = {name: index for index, name in enumerate(dict.fromkeys((*ranked, *wanted)))}
                    places = [number[one] for one in ranked]
                    sessions["all"][arm].add(places, {number[one] for one in wanted})
            scores["all"]["full context"].tokens.append(cost)
    return scores


def _arms(
    pool: Pool, query: str, words: FilledStore, alone: FilledStore | None, both: FilledStore, *, judge: bool
) -> Iterator[tuple[str, Found]]:
    yield "grep", grep(pool.texts, query)
    yield "BM25", _twice(words, query)
    if alone is not None:
        yield "dense", _by_meaning(alone, query)
        yield "hybrid, no runs", _twice(alone, query)
        yield "hybrid", _twice(both, query)
    if judge:
        yield "hybrid + cross-encoder", _twice(both, query, rerank=True)


def _twice(store: FilledStore, query: str, *, rerank: bool = False) -> Found:
    """Search as users do, and once more for what follows the first ten (sessions are ranked by their best turn)."""
    ten = store.search(query, rerank=rerank)
    deep = store.search(query, limit=DEPTH, rerank=rerank)
    places = tuple(dict.fromkeys((*ten.places, *deep.places)))
    return Found(places, ten.hits, ten.seconds, ten.tokens)


def _by_meaning(store: FilledStore, query: str) -> Found:
    """Search by both lists and take the order of the dense one, which each result tells."""
    found = store.search(query, limit=100)
    ranks = {hit.memory.id: hit.why.dense_rank for hit in found.hits if hit.why.dense_rank is not None}
    hits = sorted((hit for hit in found.hits if hit.memory.id in ranks), key=lambda hit: ranks[hit.memory.id])[:DEPTH]
    cost = sum(tokens(hit.memory.content) for hit in hits[:10])
    return Found(store.places(hits), tuple(hits), found.seconds, cost)


def grep(texts: Sequence[str], query: str) -> Found:
    """Rank texts by how many of the query's distinct words they contain anywhere, earliest first among equals."""
    begun = time.perf_counter()
    wanted = set(_WORD.findall(query.casefold()))
    counts = [(-sum(word in text for word in wanted), place) for place, text in enumerate(map(str.casefold, texts))]
    places = [place for count, place in sorted(counts)[:DEPTH] if count]
    seconds = time.perf_counter() - begun
    return Found(tuple(places), (), seconds, sum(tokens(texts[place]) for place in places[:10]))


def _empty() -> Scores:
    return defaultdict(lambda: defaultdict(Tally))


def _merge(into: Scores, scores: Scores) -> None:
    for group, arms in scores.items():
        for arm, tally in arms.items():
            into[group][arm].extend(tally)


def _figures(scores: Scores) -> dict[str, Any]:
    """Return each arm's figures, and recall@10 by kind of question."""
    arms: dict[str, Mapping[str, float]] = {}
    for arm in ARMS:
        if arm not in scores["all"]:
            continue
        tally = scores["all"][arm]
        if arm == "full context":
            arms[arm] = {"recall@10": 1.0, "tokens": round(sum(tally.tokens) / len(tally.tokens))}
        else:
            arms[arm] = tally.figures()
    kinds = {
        kind: {arm: tally.figures()["recall@10"] for arm, tally in by_arm.items()} | {"n": _count(by_arm)}
        for kind, by_arm in sorted(scores.items())
        if kind != "all"
    }
    return {"arms": arms} | ({"recall@10 by kind": kinds} if len(kinds) > 1 else {})


def _count(by_arm: Mapping[str, Tally]) -> int:
    return max(len(tally.reciprocal) for tally in by_arm.values())


register(Suite(name="retrieval", about="what is found, at which cost, beside simpler ways", run=measure, page=page))
