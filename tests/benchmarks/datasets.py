"""The public retrieval sets as pools of texts with questions about them. Texts stay as published."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.harness import Bench

LOCOMO = "noncommercial/locomo.json.xz"
LONGMEMEVAL = "longmemeval_evidence.jsonl.xz"
BEAM = {"BEAM 100K": "beam_100K.jsonl.xz", "BEAM 500K": "beam_500K_users.jsonl.xz"}

_LOCOMO_KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_TURN = re.compile(r"D:?(\d+):0*(\d+)")


@dataclass(frozen=True, slots=True)
class Query:
    """A question, its kind in the set's own words, and the places in the pool that answer it (none: unanswerable)."""

    text: str
    kind: str
    gold: frozenset[int]


@dataclass(frozen=True, slots=True)
class Pool:
    """Texts that are searched together.

    Attributes:
        name: Name of the conversation, chat or set.
        texts: In the order in which they were said.
        sessions: The session of each text; neighbours in a session are neighbours in `texts`.
        queries: Questions with at least one answering text.
        unanswerable: Questions that nothing in the pool answers.
    """

    name: str
    texts: tuple[str, ...]
    sessions: tuple[str, ...]
    queries: tuple[Query, ...]
    unanswerable: tuple[Query, ...] = ()


def pooled(name: str, pools: list[Pool]) -> Pool:
    """Return one pool that holds everything of several."""
    texts: list[str] = []
    sessions: list[str] = []
    queries: list[Query] = []
    nothing: list[Query] = []
    for pool in pools:
        start = len(texts)
        texts += pool.texts
        sessions += [f"{pool.name}/{session}" for session in pool.sessions]
        queries += [Query(q.text, q.kind, frozenset(place + start for place in q.gold)) for q in pool.queries]
        nothing += pool.unanswerable
    return Pool(name, tuple(texts), tuple(sessions), tuple(queries), tuple(nothing))


def locomo(bench: Bench) -> list[Pool]:
    """Return LoCoMo's conversations: a turn is `Speaker: text [shares a photo: caption]`.

    Category 5 asks for what was not said (of that person), so it counts as unanswerable; the turn it names as
    evidence is the one that misleads.
    """
    pools = []
    for record in bench.load(LOCOMO):
        turns = [(name, turn) for name, turns in _sessions(record["conversation"]) for turn in turns]
        place = {turn["dia_id"]: index for index, (_, turn) in enumerate(turns)}
        queries, nothing = [], []
        for question in record["qa"]:
            kind = _LOCOMO_KINDS[question["category"]]
            if kind == "adversarial":
                nothing.append(Query(question["question"], kind, frozenset()))
                continue
            named = _TURN.findall(" ".join(map(str, question.get("evidence") or ())))
            gold = frozenset(place[turn] for a, b in named if (turn := f"D{a}:{b}") in place)
            if gold:
                queries.append(Query(question["question"], kind, gold))
        texts, sessions = tuple(_said(turn) for _, turn in turns), tuple(name for name, _ in turns)
        pools.append(Pool(record["sample_id"], texts, sessions, tuple(queries), tuple(nothing)))
    return pools


def _sessions(conversation: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    names = [name for name in conversation if re.fullmatch(r"session_\d+", name)]
    for name in sorted(names, key=lambda one: int(one.rpartition("_")[2])):
        yield name, conversation[name]


def _said(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['speaker']}: {turn['text']}" + (f" [shares a photo: {caption}]" if caption else "")


def longmemeval(bench: Bench) -> Pool:
    """Return the evidence turns of all LongMemEval questions as one pool."""
    texts: dict[str, int] = {}
    sessions: list[str] = []
    queries, nothing = [], []
    for row in bench.load(LONGMEMEVAL):
        gold = set()
        for number, session in enumerate(row["evidence"]):
            for turn in session["turns"]:
                if turn["content"] not in texts:
                    texts[turn["content"]] = len(texts)
                    sessions.append(f"{row['question_id']}/{number}")
                gold.add(texts[turn["content"]])
        if gold and not row["question_id"].endswith("_abs"):
            queries.append(Query(row["question"], row["question_type"], frozenset(gold)))
        else:
            nothing.append(Query(row["question"], "no evidence", frozenset()))
    return Pool("LongMemEval", tuple(texts), tuple(sessions), tuple(queries), tuple(nothing))


def beam(bench: Bench, name: str) -> list[Pool]:
    """Return the chats of one size of BEAM, user turns only."""
    pools = []
    for chat in bench.load(BEAM[name]):
        said = [message for message in chat["messages"] if message["role"] == "user"]
        place = {message["id"]: index for index, message in enumerate(said)}
        queries, nothing = [], []
        for question in chat["questions"]:
            gold = frozenset(place[source] for source in _flat(question.get("source_chat_ids")) if source in place)
            if gold:
                queries.append(Query(question["question"], question["kind"], gold))
            elif question["kind"] == "abstention":
                nothing.append(Query(question["question"], question["kind"], frozenset()))
        texts, sessions = tuple(m["content"] for m in said), tuple(str(m.get("batch", "")) for m in said)
        pools.append(Pool(f"chat {chat['chat']}", texts, sessions, tuple(queries), tuple(nothing)))
    return pools


def _flat(value: Any) -> list[Any]:
    """Return the leaves of nested lists and objects; message ids are given in several shapes."""
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in _flat(part)]
    if isinstance(value, list):
        return [leaf for part in value for leaf in _flat(part)]
    return [] if value is None else [value]
