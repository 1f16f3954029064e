"""Values that change: LongMemEval's knowledge updates at both dates, and the long-horizon stale facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tests.benchmarks import datasets
from tests.benchmarks.harness import Bench, Figures
from tests.benchmarks.models import RememberingEmbedder, RememberingReranker

from memanto import Draft, InMemory, Memanto
from memanto.models import MemoryType, Recollection
from memanto.testing import FixedClock

STALE: Final = "stale_facts.json.xz"
CHECKPOINTS: Final = (8, 16, 24, 32, 48)
TOP: Final = 5

_CANONICAL: Final = re.compile(r"^CANONICAL\[[^\]]*\]\n?", re.MULTILINE)
_SAYS_SO: Final = " This supersedes prior values."
_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Update:
    """A question with two dated statements, the second of which changes the answer."""

    id: str
    question: str
    statements: tuple[tuple[datetime, str], tuple[datetime, str]]


def load_updates(bench: Bench) -> list[Update]:
    """Return LongMemEval's knowledge-update questions that have two dated sessions of evidence."""
    found = []
    for row in bench.load(datasets.LONGMEMEVAL):
        sessions = [session for session in row["evidence"] if session["turns"]]
        dated = sorted((_when(one["date"]), "\n".join(turn["content"] for turn in one["turns"])) for one in sessions)
        if row["question_type"] == "knowledge-update" and len(dated) == 2 and dated[0][1] != dated[1][1]:
            found.append(Update(row["question_id"], row["question"], (dated[0], dated[1])))
    return found


def _when(text: str) -> datetime:
    return datetime.strptime(re.sub(r" \(\w+\)", "", text), "%Y/%m/%d %H:%M").replace(tzinfo=UTC)


def measure_updates(updates: Sequence[Update], embedder: RememberingEmbedder | None) -> Figures:
    """Return how often the statement of the time asked about is what comes back, with a key and without."""
    figures: Figures = {"pairs": len(updates)}
    for name, keyed in (("with a key", True), ("without a key", False)):
        clock = FixedClock(datetime(2000, 1, 1, tzinfo=UTC))
        with Memanto("bench", store=InMemory(), embedder=embedder, clock=clock) as memory:
            for when, text, update in sorted((w, t, u.id) for u in updates for w, t in u.statements):
                clock.set(when)
                memory.remember(Draft(content=text, type=MemoryType.FACT, key=update if keyed else None))
            clock.advance(_HOUR)
            figures[name] = _keyed_updates(memory, updates) if keyed else _plain_updates(memory, updates)
    return figures


def _keyed_updates(memory: Memanto, updates: Sequence[Update]) -> Figures:
    right = dict.fromkeys(("before both", "at the old date", "just before the new date", "at the new date", "now"), 0)
    found = dict.fromkeys(("old one found as of then", "new one found now", "old one shown now"), 0)
    for update in updates:
        (old, old_text), (new, new_text) = update.statements
        expected = {
            "before both": (old - _HOUR, []),
            "at the old date": (old + timedelta(seconds=30), [old_text]),
            "just before the new date": (new - timedelta(minutes=1), [old_text]),
            "at the new date": (new + timedelta(minutes=1), [new_text]),
        }
        for name, (moment, texts) in expected.items():
            right[name] += _texts(memory.recall(key=update.id, as_of=moment)) == texts
        right["now"] += _texts(memory.recall(key=update.id)) == [new_text]
        then, today = memory.recall(update.question, as_of=new - timedelta(minutes=1)), memory.recall(update.question)
        found["old one found as of then"] += old_text in _texts(then)
        found["new one found now"] += new_text in _texts(today)
        found["old one shown now"] += old_text in _texts(today)
    return {"right": right, "of which by query": found}


def _plain_updates(memory: Memanto, updates: Sequence[Update]) -> Figures:
    order = {"new first": 0, "old first": 0, "neither in the first ten": 0}
    for update in updates:
        texts = _texts(memory.recall(update.question))
        places = {text: texts.index(text) if text in texts else 99 for _, text in update.statements}
        old, new = (places[text] for _, text in update.statements)
        order["neither in the first ten" if old == new else "new first" if new < old else "old first"] += 1
    return order


def _texts(hits: Sequence[Recollection]) -> list[str]:
    return [hit.memory.content for hit in hits]


def measure_stale(
    sets: dict[str, Any], embedder: RememberingEmbedder | None, reranker: RememberingReranker | None
) -> Figures:
    """Return the long-horizon figures for each way of writing and ranking, beside the published ones."""
    arms: dict[str, Callable[[Memanto, str], list[Recollection]]] = {
        "hybrid": lambda memory, query: memory.recall(query, limit=TOP)
    }
    if reranker is not None:
        arms["hybrid + cross-encoder"] = lambda memory, query: memory.recall(query, limit=TOP, rerank=True)
    figures: Figures = {"published": sets["reference_results"]["long_horizon"], "by way of writing": {}}
    for keyed in (True, False):
        for stripped in (True, False):
            name = f"{'keys' if keyed else 'no keys'}, {'stripped' if stripped else 'as published'}"
            answers = _long_horizon(sets["long_horizon"], arms, embedder, reranker, keyed=keyed, stripped=stripped)
            figures["by way of writing"][name] = {arm: _scores(rows) for arm, rows in answers.items()}
    return figures


@dataclass(frozen=True, slots=True)
class _Answer:
    rank: int | None
    stale: bool


def _long_horizon(
    scenarios: Sequence[dict[str, Any]],
    arms: dict[str, Callable[[Memanto, str], list[Recollection]]],
    embedder: RememberingEmbedder | None,
    reranker: RememberingReranker | None,
    *,
    keyed: bool,
    stripped: bool,
) -> dict[str, list[_Answer]]:
    """Write the events in order and ask each probe at its checkpoint."""
    answers: dict[str, list[_Answer]] = {arm: [] for arm in arms}
    for scenario in scenarios:
        values = {event["event_id"]: (event["fact_key"], event["value"]) for event in scenario["events"]}
        clock = FixedClock()
        with Memanto("bench", store=InMemory(), embedder=embedder, reranker=reranker, clock=clock) as memory:
            for checkpoint, previous in zip(CHECKPOINTS, (0, *CHECKPOINTS), strict=False):
                for event in scenario["events"]:
                    if previous < event["session"] <= checkpoint:
                        clock.advance(timedelta(days=1))
                        memory.remember(_event(event, keyed=keyed, stripped=stripped))
                for probe in scenario["probes"]:
                    if probe["checkpoint"] == checkpoint:
                        for arm, ask in arms.items():
                            hits = ask(memory, probe["query"])
                            answers[arm].append(_judge([values[str(hit.memory.source_ref)] for hit in hits], probe))
    return answers


def _event(event: dict[str, Any], *, keyed: bool, stripped: bool) -> Draft:
    content = event["content"]
    if stripped:
        content = _CANONICAL.sub("", content).replace(_SAYS_SO, "")
    return Draft(
        content=content,
        title=event["title"],
        type=MemoryType.FACT,
        key=event["fact_key"] if keyed else None,
        source_ref=event["event_id"],
    )


def _judge(shown: Sequence[tuple[str, str]], probe: dict[str, Any]) -> _Answer:
    current = (probe["fact_key"], probe["expected_value"])
    stale = {(probe["fact_key"], value) for value in probe["stale_values"]}
    rank = next((rank for rank, value in enumerate(shown, 1) if value == current), None)
    return _Answer(rank, any(value in stale for value in shown))


def _scores(rows: Sequence[_Answer]) -> dict[str, float]:
    n = len(rows)
    return {
        "n": n,
        "top1": round(sum(row.rank == 1 for row in rows) / n, 4),
        "recall@5": round(sum(row.rank is not None for row in rows) / n, 4),
        "mrr": round(sum(1 / row.rank for row in rows if row.rank) / n, 4),
        "stale shown": round(sum(row.stale for row in rows) / n, 4),
        "strict": round(sum(row.rank is not None and not row.stale for row in rows) / n, 4),
    }
