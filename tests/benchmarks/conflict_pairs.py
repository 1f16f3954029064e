"""Pairs of statements that conflict, and hard pairs that do not, from the public sets.

Positives: LongMemEval's knowledge updates, BEAM's contradictions and updates, ConflictQA's rival answers, SICK's
contradictions. Negatives: for the first three, the three other statements nearest to the later one by BM25; for
ConflictQA the nearest answer to another question; for SICK its own other labels.
"""

from __future__ import annotations

import hashlib
import lzma
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.benchmarks import datasets
from tests.benchmarks.harness import Bench

CONFLICTQA: Final = "conflictqa_strategyqa_gpt4.json.xz"
SICK: Final = "noncommercial/sick_train.txt.xz"
BEAM_USERS: Final = ("beam_100K.jsonl.xz", "beam_500K_users.jsonl.xz")
_NEAREST: Final = 3
_WORD: Final = re.compile(r"[a-z0-9]+")
_STOP: Final = frozenset(
    """a an the is are was were be been to of in on at for and or i my me you your it its this that with as do did does
    have has had what when where who which how""".split()  # noqa: SIM905 - words are read more easily than a list
)


@dataclass(frozen=True, slots=True)
class Pair:
    """An older and a newer statement, whether they conflict, and which half of its set the pair is in."""

    older: str
    newer: str
    conflicts: bool
    half: int


class Nearest:
    """Plain BM25 (k1 1.2, b 0.75) over a few texts, for choosing hard negatives."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(_terms(text)) for text in texts]
        self._lengths = [sum(count.values()) for count in counts]
        self._mean = sum(self._lengths) / max(1, len(texts)) or 1.0
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, count in enumerate(counts):
            for word, number in count.items():
                self._postings[word].append((place, number))
        self._number = len(texts)

    def order(self, query: str) -> list[int]:
        """Return the places of all texts, the nearest first, ties in the order of the texts."""
        scores = [0.0] * self._number
        for word in set(_terms(query)):
            found = self._postings.get(word, ())
            idf = math.log(1 + (self._number - len(found) + 0.5) / (len(found) + 0.5))
            for place, number in found:
                norm = number + 1.2 * (1 - 0.75 + 0.75 * self._lengths[place] / self._mean)
                scores[place] += idf * number * 2.2 / norm
        return sorted(range(self._number), key=lambda place: -scores[place])


def _terms(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP]


def _half(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % 2


def load(bench: Bench) -> dict[str, list[Pair]]:
    """Return the pairs of every set that is in the data folder."""
    sets: dict[str, list[Pair]] = {}
    if bench.available("LongMemEval updates", datasets.LONGMEMEVAL):
        sets["LongMemEval updates"] = list(_longmemeval(bench.load(datasets.LONGMEMEVAL)))
    if all(bench.available(f"BEAM ({name})", name) for name in BEAM_USERS):
        chats = [chat for name in BEAM_USERS for chat in bench.load(name)]
        sets["BEAM contradictions"] = list(_beam(chats, "contradiction_resolution"))
        sets["BEAM updates"] = list(_beam(chats, "knowledge_update"))
    if bench.available("ConflictQA", CONFLICTQA):
        sets["ConflictQA"] = list(_conflictqa(_lines(bench, CONFLICTQA)))
    if bench.available("SICK", SICK):
        sets["SICK"] = list(_sick(_text(bench, SICK)))
    return sets


def _text(bench: Bench, name: str) -> str:
    assert bench.data is not None
    raw = (bench.data / name).read_bytes()
    bench.read[name] = hashlib.sha256(raw).hexdigest()
    return lzma.decompress(raw).decode("utf-8")


def _lines(bench: Bench, name: str) -> list[dict[str, Any]]:
    import json

    return [json.loads(line) for line in _text(bench, name).splitlines() if line.strip()]


def _longmemeval(rows: Sequence[dict[str, Any]]) -> Iterator[Pair]:
    pool = sorted({t["content"] for row in rows for session in row["evidence"] for t in session["turns"]})
    nearest = Nearest(pool)
    for row in rows:
        evidence = [session for session in row["evidence"] if session["turns"]]
        if row["question_type"] == "knowledge-update" and len(evidence) == 2:
            own = {turn["content"] for session in evidence for turn in session["turns"]}
            older, newer = evidence[0]["turns"][0]["content"], evidence[1]["turns"][-1]["content"]
            yield from _with_negatives(
                older, newer, [text for i in nearest.order(newer) if (text := pool[i]) not in own]
            )


def _beam(chats: Sequence[dict[str, Any]], kind: str) -> Iterator[Pair]:
    for chat in chats:
        said = {m["id"]: m["content"] for m in chat["messages"] if m["role"] == "user"}
        ids = list(said)
        nearest = Nearest(list(said.values()))
        for question in chat["questions"]:
            sources = question.get("source_chat_ids")
            if question["kind"] != kind or not isinstance(sources, dict) or len(sources) != 2:
                continue
            first, second = (
                [one for one in (value if isinstance(value, list) else [value]) if one in said]
                for value in sources.values()
            )
            if first and second and set(first) != set(second):
                older, newer = said[min(*first, *second)], said[max(*first, *second)]
                gold = {*first, *second}
                others = [said[ids[i]] for i in nearest.order(newer) if ids[i] not in gold]
                yield from _with_negatives(older, newer, others)


def _with_negatives(older: str, newer: str, others: Sequence[str]) -> Iterator[Pair]:
    half = _half(newer)
    yield Pair(older, newer, True, half)
    for other in others[:_NEAREST]:
        yield Pair(other, newer, False, half)


def _conflictqa(rows: Sequence[dict[str, Any]]) -> Iterator[Pair]:
    answers = [row["memory_answer"] for row in rows]
    nearest = Nearest(answers)
    for place, row in enumerate(rows):
        yield Pair(row["memory_answer"], row["counter_answer"], True, _half(row["counter_answer"]))
        other = next(i for i in nearest.order(answers[place]) if i != place and rows[i]["question"] != row["question"])
        yield Pair(answers[other], answers[place], False, _half(answers[place]))


def _sick(text: str) -> Iterator[Pair]:
    for row in (line.split("\t") for line in text.splitlines()[1:]):
        yield Pair(row[1], row[2], row[4] == "CONTRADICTION", _half(row[1] + row[2]))
