"""When two memories are near enough to be compared; thresholds belong to the model that measured the nearness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from memanto.embedding.specs import DEFAULT_RERANKER

SAME_SUBJECT: Final[Mapping[str, float]] = {"BAAI/bge-small-en-v1.5": 0.65}
"""Cosine from which two texts may be about the same subject, by embedder. Of the pairs that a rule found rightly in
the public sets none lies below .656, while unrelated texts of a set mostly do."""

SAME_SUBJECT_ELSEWHERE: Final = 0.5
"""The same for an embedder that was not measured: loose, so that the rules decide."""

RELATED: Final[Mapping[str, float]] = {DEFAULT_RERANKER: -2.5}
"""Logit of the cross-encoder, by its name, that the two differing sentences must reach. It tells related from
unrelated, not conflicting from agreeing. On the halves of the public sets that the rules were chosen on, 99 in 100
right pairs reach it, and half of what rules flag among neighbours in unrelated conversations does not."""

REACH: Final = 10
"""Neighbours of a memory by meaning, and by words, that detection compares it with."""


def least_cosine(embedder: str | None) -> float:
    """Return the cosine from which texts may be about the same subject."""
    return SAME_SUBJECT.get(embedder or "", SAME_SUBJECT_ELSEWHERE)
