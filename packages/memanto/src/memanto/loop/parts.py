"""Split a question into the parts that each want an answer of their own, and say what each part is about.

"What is the current goal, what did the last reconciliation run conclude, and what is one recorded failure and its
fix?" has three parts that three types of memory answer. A part whose words are only those of its kind ("the current
goal") is answered by whatever memory of that kind there is; one with a subject of its own ("the last *reconciliation*
run") by a memory about that subject. Kinds are recognised in English; parts in other languages are open questions.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from memanto.memory.terms import Term, terms_of
from memanto.models import MemoryType

MAX_PARTS: Final = 6


class PartKind(enum.StrEnum):
    """What a part of a question asks for."""

    GOAL = "goal"
    PLAN = "plan"
    RUN = "run"  #: what a run concluded
    FAILURE = "failure"  #: what went wrong, and its fix
    PATH = "path"  #: how to do something
    FACT = "fact"  #: what is known of the environment
    DECISION = "decision"
    OPEN = "open"  #: anything else


TYPES: Final[Mapping[PartKind, tuple[MemoryType, ...]]] = {
    PartKind.GOAL: (MemoryType.GOAL,),
    PartKind.PLAN: (MemoryType.CONTEXT,),
    PartKind.RUN: (MemoryType.EVENT,),
    PartKind.FAILURE: (MemoryType.ERROR,),
    PartKind.PATH: (MemoryType.INSTRUCTION, MemoryType.LEARNING, MemoryType.EVENT),
    PartKind.FACT: (MemoryType.FACT,),
    PartKind.DECISION: (MemoryType.DECISION,),
    PartKind.OPEN: (),
}
"""The types that each kind implies; none means all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a question.

    Attributes:
        text: Its words as they were asked.
        kind: What it asks for.
        subject: The words of its own that say what it is about; empty when only its kind does.
        topic: The subject of the whole question, for parts without one of their own.
        several: Whether it asks for more than one thing ("mistakes", "facts").
        asking: What to look for in place of its words, or `""`: "how to X" for "the fastest known path to X".
    """

    text: str
    kind: PartKind
    subject: tuple[Term, ...] = ()
    topic: str = ""
    several: bool = False
    asking: str = ""

    @property
    def query(self) -> str:
        """What to look for: its words, completed by the topic where they do not stand alone."""
        if self.asking:
            return self.asking
        alone = len(self.subject) > 1 or (self.subject and self.kind is not PartKind.OPEN)
        return self.text if alone or not self.topic else f"{self.text} {self.topic}"


_LEAD_IN: Final = re.compile(
    r"^\s*(?:please\s+)?(?:based\s+on|using|according\s+to|from|with)\s+[^,:?]{0,40}?\bmemor(?:y|ies)\b[^,:?]{0,60}[,:]\s*",
    re.IGNORECASE,
)
_ASKING: Final = (
    r"(?:what|which|who|whom|whose|where|why|how|name|list|tell\s+me|give\s+me|is|are|was|were|did|does|do|has|have"
    r"|when\s+(?:is|are|was|were|do|does|did|will|can|may|should|must)"
    r"|was|welche[rsnm]?|wer|wen|wem|wann|wo|warum|wieso|wie"
    r"|qu[ée]|cu[áa]l(?:es)?|qui[ée]n(?:es)?|cu[áa]ndo|d[óo]nde|por\s+qu[ée]|c[óo]mo"
    r"|quel(?:le)?s?|qui|quand|o[ùu]|pourquoi|comment)\b"
)
_STARTS: Final = re.compile(rf"^\W*+{_ASKING}", re.IGNORECASE)
_SEAM: Final = re.compile(
    rf"(?:[,;]\s*(?:(?:and|und|y|et)\s+)?|\s(?:and|und|y|et)\s+)(?={_ASKING})"
    r"|(?<=[?\uff1f])\s*(?=[^\s?\uff1f])",
    re.IGNORECASE,
)
_PAIR: Final = re.compile(r"\b(goal|plan)s?\s+and\s+(?:the\s+|current\s+)*(goal|plan)s?\b", re.IGNORECASE)

_KINDS: Final[tuple[tuple[PartKind, re.Pattern[str]], ...]] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (
            PartKind.FAILURE,
            (
                r"\b(?:recorded|known|past|previous|prior|stored|earlier)\s+(?:\w+\s+)?(?:failures?|errors?|mistakes?)\b"
                r"|\b(?:failures|mistakes|pitfalls|gotchas|dead\s+ends)\b|\b(?:one|a|any)\s+(?:failure|mistake)\b"
                r"|\bshould\s+(?:i|we)\s+avoid\b"
            ),
        ),
        (PartKind.PLAN, r"\b(?:current|present|active|stored|our|the)\s+plan\b(?!\s+(?:to|for)\s+\w+ing)"),
        (PartKind.GOAL, r"\b(?:current|present|active|overall|main|stored|our|the|my)\s+(?:goal|objective)\b"),
        (
            PartKind.RUN,
            (
                r"\b(?:last|latest|previous|prior|past|recent|most\s+recent)\s+(?:[\w-]+\s+){0,3}runs?\b"
                r"|\bruns?\s+of\s+[^?]*\bconclude"
            ),
        ),
        (
            PartKind.PATH,
            (
                r"\b(?:fastest|best|quickest|known|shortest|usual|right)\s+(?:known\s+)?(?:path|way|route|procedure)\b"
                r"|\b(?:runbook|procedure)\s+(?:for|to)\b|\bwhat\s+(?:has\s+)?worked\b"
                r"|\bhow\s+(?:do|should|can)\s+(?:i|we)\b|\bhow\s+to\b"
            ),
        ),
        (PartKind.FACT, r"\b(?:durable|stored|known|environment)\s+facts?\b|\bfacts?\s+(?:about|are|do|of)\b"),
        (PartKind.DECISION, r"\b(?:what|why|how|when)\s+(?:did|have|had)\s+we\s+decide\w*\b|\bwhat\s+was\s+decided\b"),
    )
)
_WAY: Final = re.compile(r"\b(?:path|way|route|procedure|runbook)\s+(?:to|for)\s+(\S.*)", re.IGNORECASE)
_SEVERAL: Final = re.compile(
    r"\b(?:failures|mistakes|pitfalls|gotchas|facts|goals|runs|errors|avoid|worked)\b", re.IGNORECASE
)
_ONE: Final = re.compile(r"\b(?:one|a|an|the\s+(?:last|latest|current|most\s+recent))\b", re.IGNORECASE)
_OF_KIND: Final = frozenset(
    """
    about active any anything avoid before best called conclude concluded conclusion correct correction current dead
    did durable earlier ends environment error errors ever exist exists fact facts failed failure failures fast fastest
    find finding fix fixes give goal goals got gotchas happened has have how know known last later latest learned list
    main memories memory mention mistake mistakes most name now objective one only outcome outcomes overall past path
    persistent pitfalls plan plans present previous prior procedure quickest recent record recorded remember result
    results right route run runbook runs say shortest should show state store stored stores task tasks tell there this
    time type types us usual way went what which worked works wrong
    """.split()  # noqa: SIM905 - words are read more easily than a list of strings
)
"""Words that belong to a kind of part and not to what it is about."""


def split_question(question: str) -> list[Part]:
    """Return the parts of a question in their order; at least one, at most `MAX_PARTS`.

    A clause is a part of its own when it and all before it begin as questions do. So "when the suite fails, what do
    I run?" stays whole, and so does anything that is not understood.
    """
    asked = _LEAD_IN.sub("", question).strip() or question.strip()
    clauses = [text for clause in _clauses(asked) for text in _pair_apart(clause)][:MAX_PARTS]
    parts = [_part(clause) for clause in clauses]
    topic = " ".join(dict.fromkeys(term.word for part in parts for term in part.subject))
    return [replace(part, topic=topic) for part in parts]


def _clauses(asked: str) -> list[str]:
    clauses: list[str] = []
    start = 0
    for seam in _SEAM.finditer(asked):
        before = asked[start : seam.start()]
        if _STARTS.match(before):
            clauses.append(before.strip())
            start = seam.end()
    clauses.append(asked[start:].strip())
    return [clause for clause in clauses if clause.strip(" ?\uff1f.")] or [asked]


def _pair_apart(clause: str) -> list[str]:
    """Return "the current goal and plan" as two clauses."""
    pair = _PAIR.search(clause)
    if pair is None or pair[1].lower() == pair[2].lower():
        return [clause]
    return [f"{clause[: pair.start()]}{word.lower()}{clause[pair.end() :]}" for word in pair.groups()]


def _part(clause: str) -> Part:
    kind = next((kind for kind, pattern in _KINDS if pattern.search(clause)), PartKind.OPEN)
    words = terms_of(clause)
    subject = words if kind is PartKind.OPEN else [term for term in words if term.word not in _OF_KIND]
    several = bool(_SEVERAL.search(clause)) and not (kind is not PartKind.FACT and _ONE.search(clause))
    way = _WAY.search(clause) if kind is PartKind.PATH else None
    asking = f"how to {way[1]}" if way else ""
    return Part(text=clause, kind=kind, subject=tuple(subject), several=several, asking=asking)
