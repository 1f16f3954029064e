"""Decide from retrieval alone whether memory answers a part of a question, and with which memories.

Three signals say how well a memory fits a question: the cosine of their vectors, the share of the question's words
it holds (each weighed by its rarity among the candidates), and the cross-encoder's logit. Each alone is weak; what
counts is their weighted sum against a threshold. No model is asked whether it knows the answer: small ones always
believe they do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from memanto.memory.terms import Term, index_terms
from memanto.models import Recollection, Why

CALIBRATED: Final = frozenset({"BAAI/bge-small-en-v1.5"})
"""Embedders whose cosines the weights below were fitted to. Cosines of other models lie elsewhere, so they take no
part in the decision (they still rank)."""

CALIBRATED_JUDGES: Final = frozenset({"Xenova/ms-marco-MiniLM-L-12-v2"})
"""Cross-encoders whose logits they were fitted to."""

BACKGROUND: Final = 20
"""Imagined texts that hold none of the words, so that a word's rarity means something among few candidates."""

_LOGIT_SPAN: Final = 11.0
"""Logits of the cross-encoder lie in -11..11; they are mapped to 0..1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Weights of the three signals, and from which sum on a memory supports an answer.

    Attributes:
        dense: Weight of the cosine (0..1).
        words: Weight of the share of words (0..1).
        logit: Weight of the mapped logit (0..1).
        threshold: Least sum of a memory that supports.
        near: How far below the best a further one may be.
    """

    dense: float
    words: float
    logit: float
    threshold: float
    near: float

    @property
    def loosely(self) -> Rule:
        """The same for a question that asks for whatever there is about a subject, not for one thing about it."""
        return replace(self, threshold=0.9 * self.threshold)


# Fitted on one half of 113 questions to the project's log (63 that it answers, a third of which share no rare word
# with their answer, and 50 that it does not), so that at most three of the 25 unanswerable ones of that half pass.
# That of words alone was raised from .32, which let four of the other half's pass.
# docs/howto/answer.md holds the figures of the other half; tests/loop/test_answer_calibration.py keeps them true.
ALL_SIGNALS: Final = Rule(dense=3.0, words=0.5, logit=1.0, threshold=2.3, near=0.6)
NO_JUDGE: Final = Rule(dense=1.0, words=0.3, logit=0.0, threshold=0.748, near=0.12)
NO_VECTORS: Final = Rule(dense=0.0, words=0.5, logit=1.0, threshold=0.445, near=0.4)
WORDS_ONLY: Final = Rule(dense=0.0, words=1.0, logit=0.0, threshold=0.36, near=0.25)


def rule_for(*, dense: bool, judged: bool) -> Rule:
    """Return the rule for the signals there are."""
    if dense:
        return ALL_SIGNALS if judged else NO_JUDGE
    return NO_VECTORS if judged else WORDS_ONLY


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A memory with how well it fits a part of a question.

    Attributes:
        recollection: The memory as it was recalled.
        words: Share of the question's words it holds, each weighed by its rarity, 0..1.
        strength: Weighted sum of the signals; comparable under one rule only.
        supports: Whether the sum reaches the rule's threshold.
    """

    recollection: Recollection
    words: float
    strength: float
    supports: bool


def weigh(words: Sequence[Term], hits: Sequence[Recollection], rule: Rule) -> list[Evidence]:
    """Return the recollections with how well they fit, strongest first, ties in their order.

    Args:
        words: The question's words that count.
        hits: Candidates. How rare a word is, is counted over them; one that none of them holds is the rarest.
        rule: The weights.
    """
    texts = [index_terms([hit.memory.content, hit.memory.title]) for hit in hits]
    shares = [[text.share(word) for word in words] for text in texts]
    counts = [sum(share[i] >= 0.5 for share in shares) for i in range(len(words))]
    weights = [math.log((len(texts) + BACKGROUND + 1) / (count + 1)) for count in counts]
    total = sum(weights)
    weighed = []
    for hit, share in zip(hits, shares, strict=True):
        held = sum(map(float.__mul__, weights, share)) / total if total else 0.0
        strength = _strength(hit.why, held, rule)
        weighed.append(Evidence(recollection=hit, words=held, strength=strength, supports=strength >= rule.threshold))
    return sorted(weighed, key=lambda one: -one.strength)


def best(evidence: Sequence[Evidence], rule: Rule) -> list[Evidence]:
    """Return the supporting memories that are about as strong as the strongest."""
    supporting = [one for one in evidence if one.supports]
    return [one for one in supporting if one.strength >= supporting[0].strength - rule.near]


def _strength(why: Why, words: float, rule: Rule) -> float:
    dense = max(0.0, why.dense_score or 0.0)
    logit = -_LOGIT_SPAN if why.rerank_score is None else max(-_LOGIT_SPAN, min(_LOGIT_SPAN, why.rerank_score))
    mapped = (logit + _LOGIT_SPAN) / (2 * _LOGIT_SPAN)
    return round(rule.dense * dense + rule.words * words + rule.logit * mapped, 6)
