"""Whether a result list tells that nothing stored answers the question, signal by signal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from tests.benchmarks import datasets, own_corpus
from tests.benchmarks.abstention_page import page, plots
from tests.benchmarks.datasets import Pool
from tests.benchmarks.harness import Bench, Figures, Suite, register
from tests.benchmarks.metrics import auc, curve, halves
from tests.benchmarks.models import RememberingEmbedder, RememberingReranker, offline_models
from tests.benchmarks.stores import FilledStore

from memanto.corpus import QuestionKind, load_questions
from memanto.models import Recollection

KEPT: Final = 0.9
"""Share of answerable questions that a recommended threshold must let through, on the half it is chosen on."""

QUICK_QUESTIONS: Final = 40

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


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its signals.

    Attributes:
        question: Its text.
        answerable: Whether anything stored answers it.
        found: Whether an answering text is among the first five results.
        signals: By name.
    """

    question: str
    answerable: bool
    found: bool
    signals: Mapping[str, float]


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
    combined = {} if bench.quick else {"combined": _combined(sets)}
    return {name: _figures(rows) for name, rows in sets.items()} | combined


def _some(pool: Pool, number: int) -> Pool:
    step = max(1, len(pool.queries) // number)
    return Pool(pool.name, pool.texts, pool.sessions, pool.queries[::step], pool.unanswerable[:number])


def _ask(pool: Pool, embedder: RememberingEmbedder, reranker: RememberingReranker | None) -> Iterator[Asked]:
    with FilledStore(pool.texts, embedder, reranker) as store:
        same = store.canonical()
        for query in (*pool.queries, *pool.unanswerable):
            plain = store.search(query.text)
            judged = store.search(query.text, rerank=True) if reranker is not None else None
            gold = {same[place] for place in query.gold}
            found = bool(gold & set((judged or plain).places[:5]))
            yield Asked(
                query.text, bool(gold), found, _signals(query.text, plain.hits, None if judged is None else judged.hits)
            )


def _own(embedder: RememberingEmbedder, reranker: RememberingReranker | None) -> Iterator[Asked]:
    with own_corpus.replayed(embedder, reranker) as (memory, ids):
        for question in load_questions():
            plain = own_corpus.recall(memory, question)
            judged = own_corpus.recall(memory, question, rerank=True) if reranker is not None else None
            gold = {ids[ref] for ref in question.expected}
            found = any(hit.memory.id in gold for hit in (judged or plain)[:5])
            answerable = question.kind is not QuestionKind.NONE
            yield Asked(question.question, answerable, found, _signals(question.question, plain, judged))


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
    }


def _auc(rows: Sequence[Asked], name: str, label: Callable[[Asked], bool]) -> float:
    positive = [row.signals[name] for row in rows if label(row)]
    return round(auc(positive, [row.signals[name] for row in rows if not label(row)]), 4)


def _combined(sets: Mapping[str, Sequence[Asked]]) -> Figures:
    """Fit a weighted sum of the signals on one half of the questions and show it, and each signal, on the other."""
    rows = [row for asked in sets.values() for row in asked]
    names = [name for name in PLAIN if all(name in row.signals for row in rows)]
    judged = [*names, JUDGED]
    figures: Figures = {}
    for label, chosen in (("without the cross-encoder", names), ("with the cross-encoder", judged)):
        usable = {name: [row for row in asked if set(chosen) <= set(row.signals)] for name, asked in sets.items()}
        usable = {name: asked for name, asked in usable.items() if asked}
        if usable:
            figures[label] = _fitted(usable, chosen)
    return figures


def _fitted(sets: Mapping[str, Sequence[Asked]], names: Sequence[str]) -> Figures:
    first = halves(row.question for rows in sets.values() for row in rows)
    fit: list[Asked] = []
    weights: list[float] = []
    for rows in sets.values():
        for label in (True, False):
            chosen = [row for row in rows if first[row.question] and row.answerable is label]
            fit += chosen
            weights += [1 / len(chosen)] * len(chosen)  # every set and both answers count the same
    rule = Rule.fit(fit, weights, names)
    threshold = rule.threshold(fit)
    figures: Figures = {"weights": rule.as_figures(), "threshold": round(threshold, 4), "shown on the other half": {}}
    for name, rows in sets.items():
        other = [row for row in rows if not first[row.question]]
        yes = [rule(row) for row in other if row.answerable]
        no = [rule(row) for row in other if not row.answerable]
        found = [rule(row) for row in other if row.found]
        lost = [rule(row) for row in other if not row.found]
        if not yes or not no:
            continue
        figures["shown on the other half"][name] = {
            "n": [len(yes), len(no)],
            "auc answerable": round(auc(yes, no), 4),
            "auc found": round(auc(found, lost), 4),
            "answerable let through": round(sum(score >= threshold for score in yes) / len(yes), 4),
            "unanswerable refused": round(sum(score < threshold for score in no) / len(no), 4),
            "curve": [[round(value, 4) for value in point] for point in curve(yes, no)],
        }
    return figures


@dataclass(frozen=True, slots=True)
class Rule:
    """A logistic model over standardised signals."""

    names: tuple[str, ...]
    mean: tuple[float, ...]
    spread: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    @classmethod
    def fit(cls, rows: Sequence[Asked], weights: Sequence[float], names: Sequence[str], *, rounds: int = 3_000) -> Rule:
        """Fit by gradient descent with a little ridge; `weights` say how much each row counts."""
        signals = np.array([[row.signals[name] for name in names] for row in rows])
        labels = np.array([row.answerable for row in rows], float)
        counts = np.array(weights) / sum(weights)
        mean, spread = signals.mean(axis=0), signals.std(axis=0) + 1e-9
        inputs = (signals - mean) / spread
        slopes, bias = np.zeros(len(names)), 0.0
        for _ in range(rounds):
            error = counts * (1 / (1 + np.exp(-(inputs @ slopes + bias))) - labels)
            slopes -= 0.5 * (inputs.T @ error + 0.005 * slopes)
            bias -= 0.5 * float(error.sum())
        return cls(tuple(names), tuple(map(float, mean)), tuple(map(float, spread)), tuple(map(float, slopes)), bias)

    def __call__(self, row: Asked) -> float:
        """Return the score: higher is more likely answerable."""
        scaled = zip(self.names, self.mean, self.spread, self.weights, strict=True)
        return self.bias + sum(w * (row.signals[name] - mean) / spread for name, mean, spread, w in scaled)

    def threshold(self, rows: Sequence[Asked]) -> float:
        """Return the highest threshold that lets `KEPT` of the answerable questions through."""
        scores = sorted((self(row) for row in rows if row.answerable), reverse=True)
        return scores[min(len(scores) - 1, int(KEPT * len(scores)))]

    def as_figures(self) -> dict[str, Any]:
        """Return the rule in terms of the raw signals: score = bias + sum of weight x signal."""
        raw = {name: w / s for name, s, w in zip(self.names, self.spread, self.weights, strict=True)}
        bias = self.bias - sum(raw[name] * mean for name, mean in zip(self.names, self.mean, strict=True))
        return {"bias": round(float(bias), 4)} | {name: round(float(weight), 4) for name, weight in raw.items()}


def _terms(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold())) - _COMMON


register(Suite(name="abstention", about="what tells that nothing stored answers", run=measure, page=page, plots=plots))
