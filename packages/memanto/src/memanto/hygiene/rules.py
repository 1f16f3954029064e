"""The rules that find a difference between two texts about the same subject, sentence by sentence.

Each rule takes what two texts state and returns what differs, or `None`. They need no model, no corpus and no
order of the two; `hygiene.compare` asks them in turn. Thresholds were chosen on one half of the public sets and
are reported on the other (`docs/benchmarks/conflicts.md`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from memanto.hygiene.lexicon import DESCRIBING, opposed
from memanto.hygiene.statements import Clause, Sentence, Told
from memanto.hygiene.values import Value
from memanto.hygiene.words import STOP, mass, stem

CONTAINED: Final = 0.85
"""Share of a denied clause's telling words that the other sentence must hold, where it is not all of them."""
CONTAINED_MASS: Final = 3.0
"""Weight these words must have then."""
ENOUGH: Final = 2.0
"""Weight of a denied clause from which it contradicts any clause that holds its words."""
EVER: Final = 0.6
"""The share for a denial of every case ("never"), which any case like it contradicts."""
EVER_MASS: Final = 1.5
VALUE_NEAR: Final = 1.0
"""Weight that the words shared around two values must have."""
VALUE_ALL: Final = 1.0
"""Weight that all shared words must exceed: near ones whole, those of the sentence half, those of the text a quarter.
One telling word beside both values and nothing else is not enough."""
COUNTED: Final = 1.0
"""Weight of what is shared away from the values where both count the same."""
SHORT: Final = 8
"""Telling words up to which a sentence is taken to begin with its subject."""
SAME_SUBJECT: Final = 0.75
"""Share of common words (Jaccard by weight) from which two claims are about the same subject."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What two texts differ in.

    Attributes:
        rule: The rule that found it.
        words: The telling words of the first text, and of the second.
    """

    rule: str
    words: tuple[tuple[str, ...], tuple[str, ...]]


Rule = Callable[[Told, Told], Difference | None]


def negation(one: Told, other: Told) -> Difference | None:
    """One clause denies what the other affirms: all words of the denied one are in the affirmed one.

    "There is no dog" contradicts "a brown dog runs", but "no brown dog runs" does not contradict "a dog runs".
    """
    for a in one.clauses:
        for b in other.clauses if a.denials else other.denied:
            if _opposite_polarity(a, b):
                denied, affirmed = (a, b) if a.denials > b.denials else (b, a)
                if denied.bag and denied.bag <= affirmed.bag and _carries(denied, affirmed):
                    return Difference("negation", (a.stems, b.stems))
    return None


def _opposite_polarity(a: Clause, b: Clause) -> bool:
    return a.denials != b.denials and ((a.denials == 0) != (b.denials == 0) or a.denials % 2 != b.denials % 2)


def _carries(denied: Clause, affirmed: Clause) -> bool:
    """Whether a denied clause says enough: a word or two only deny a clause of about these words."""
    said = mass(denied.bag)
    return said >= ENOUGH or said >= mass(affirmed.bag) / 2


def denial(one: Told, other: Told) -> Difference | None:
    """A sentence affirms most of what a clause of the other text denies.

    What denies or forbids an act ("never write to the shop database", "I have never met her") is contradicted by what
    speaks of that act, not by what describes the thing ("the shop database is PostgreSQL 16").
    """
    for no, yes in ((one, other), (other, one)):
        for clause in no.denied:
            least, weight = (EVER, EVER_MASS) if clause.always else (CONTAINED, CONTAINED_MASS)
            whole = mass(clause.bag)
            for sentence in yes.sentences:
                if clause.act and clause.act not in sentence.stems:
                    continue
                shared = clause.bag & sentence.stems
                held = mass(shared)
                if held >= weight and held >= least * whole and not _denies_too(sentence, clause, held):
                    words = (clause.stems, tuple(sorted(shared)))
                    return Difference("negation", words if no is one else words[::-1])
    return None


def _denies_too(sentence: Sentence, clause: Clause, held: float) -> bool:
    return any(part.denials and mass(part.bag & clause.bag) >= held / 2 for part in sentence.clauses)


def opposite(one: Told, other: Told) -> Difference | None:
    """Two clauses are the same but for a word and its opposite; at least one is about something in particular."""
    if not (one.against & other.core or other.against & one.core):
        return None
    for a in one.clauses:
        for b in other.clauses:
            may_be = a.against & b.core or b.against & a.core
            if may_be and bool(a.denials) == bool(b.denials) and not (a.unnamed and b.unnamed):
                found = _opposite_words(a, b)
                if found is not None:
                    return Difference("opposite", ((found[0],), (found[1],)))
    return None


def _opposite_words(a: Clause, b: Clause) -> tuple[str, str] | None:
    only_first, only_second = a.core - b.core, b.core - a.core
    if not (0 < len(only_first) <= 2 and 0 < len(only_second) <= 2) or mass((a.core & b.core) - STOP) < 1:
        return None
    for word in sorted(only_first):
        for against in sorted(only_second):
            rest = (only_first | only_second) - {word, against}
            if opposed(word, against) and rest <= STOP:
                return word, against
    return None


def order(one: Told, other: Told) -> Difference | None:
    """Two clauses have the same words, with what stands before and after "than", "before" or "over" exchanged."""
    for a in (clause for clause in one.clauses if clause.beyond):
        for b in other.clauses:
            for word in a.beyond & b.beyond if a.bag == b.bag else ():
                left, right = _around(a, word), _around(b, word)
                if all(left + right) and left != right and left[1] <= right[0]:
                    return Difference("order", (a.stems, b.stems))
    return None


def _around(clause: Clause, word: str) -> tuple[frozenset[str], frozenset[str]]:
    place = clause.words.index(word)
    before, after = (frozenset(map(stem, part)) for part in (clause.words[:place], clause.words[place + 1 :]))
    return before & clause.bag, after & clause.bag


def value(one: Told, other: Told) -> Difference | None:
    """The same kind of value differs where the words around it, in the sentence and in the text are shared."""
    best: tuple[float, Value, Value] | None = None
    common = one.stems & other.stems
    for a in one.valued:
        for b in other.valued:
            if _other_thing(a, b):
                continue
            shared = _subjects(a.stems & b.stems)
            rest = 0.25 * mass(common - shared) + 0.5 * mass(shared)
            for v, w in _differing(a, b):
                near = mass(v.near & w.near)
                score = near / 2 + rest
                counted = v.unit == w.unit != "" and rest >= COUNTED
                enough = (near >= VALUE_NEAR or counted) and score > max(VALUE_ALL, best[0] if best else 0.0)
                if enough and not _told_apart(v, w, a, b):
                    best = (score, v, w)
    if best is None:
        return None
    _, v, w = best
    near_words = tuple(sorted(v.near & w.near))
    return Difference(_rule_of(v), ((v.text, *near_words), (w.text, *near_words)))


def _rule_of(found: Value) -> str:
    return found.kind if found.kind in ("date", "time") else "date" if found.kind in ("day", "year") else "number"


def _subjects(stems: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in stems if not word[0].isdigit() and word[0] not in "$\u20ac\u00a3")


def _other_thing(a: Sentence, b: Sentence) -> bool:
    """Whether two sentences with values speak of two things: other labels, other subjects, or records of their own."""
    mine, theirs = ({(v.unit, v.amount) for v in s.values if v.kind == "label"} for s in (a, b))
    if any(unit == other and amount != number for unit, amount in mine for other, number in theirs):
        return True  # "run 12" and "run 13"
    amounts, others = ({v.amount for v in s.values} for s in (a, b))
    if min(len(amounts - others), len(others - amounts)) > 1:
        return True  # everything is different
    subject, other = a.clauses[0].subject, b.clauses[0].subject
    return (
        len(a.stems) <= SHORT
        and len(b.stems) <= SHORT
        and bool(subject and other)
        and subject not in b.stems
        and other not in a.stems
    )


def _told_apart(v: Value, w: Value, a: Sentence, b: Sentence) -> bool:
    """Whether a shared word by the values names two things: "the billing service" and "the search service"."""
    for noun in v.near & w.near:
        one, other = (sentence.before.get(noun, frozenset()) - _DESCRIBING for sentence in (a, b))
        if one - b.stems and other - a.stems and not one & other:
            return True
    return False


_DESCRIBING: Final = frozenset(map(stem, DESCRIBING))


def _differing(a: Sentence, b: Sentence) -> list[tuple[Value, Value]]:
    """Return the pairs of values of the same kind and unit that differ, each found on its own side only."""
    mine, theirs = ({v.amount for v in s.values} for s in (a, b))
    return [
        (v, w)
        for v in a.values
        for w in b.values
        if v.kind == w.kind != "label" and v.amount not in theirs and w.amount not in mine and _same_unit(v, w)
    ]


def _same_unit(v: Value, w: Value) -> bool:
    return not v.unit or not w.unit or v.unit == w.unit or v.unit in w.near or w.unit in v.near


def claimed(one: Told, other: Told) -> Difference | None:
    """Two claims about the same subject name different values."""
    for a in one.claiming:
        for b in other.claiming:
            if a.claim is None or b.claim is None or bool(a.denials) != bool(b.denials):
                continue
            x, y = a.claim, b.claim
            same = mass(x.subject & y.subject) >= SAME_SUBJECT * mass(x.subject | y.subject)
            if same and x.certain and y.certain and _other_value(set(x.value), set(y.value)):
                return Difference("value", (x.value, y.value))
    return None


def _other_value(one: set[str], other: set[str]) -> bool:
    return not one <= other and not other <= one


RULES: Final[tuple[Rule, ...]] = (negation, opposite, order, claimed, denial, value)
"""In the order in which they are asked: the surest first."""
