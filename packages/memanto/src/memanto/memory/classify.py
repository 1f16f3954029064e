"""Guess the type of a memory from cues in its text, when the writer gave none.

A guess is always shown as one, and its confidence is lowered by `GUESS_FACTOR`. Cues are words that state
the kind of utterance rather than its subject; the first rule that matches wins, and `fact` is the rest.
"""

from __future__ import annotations

import re
from typing import Final

from memanto.models import MemoryType

GUESS_FACTOR: Final = 0.9
"""Factor on the confidence of a memory whose type was guessed. Our choice: it keeps the default of 0.8 above 0.7."""

_RULES: Final[tuple[tuple[MemoryType, tuple[str, ...]], ...]] = (
    (
        MemoryType.CONTEXT,
        (
            r"^\s*(session\s+handoff|handoff)\b",
            r"\b(currently|right now|at the moment|so far)\b.*\b(working|state|done|left|progress)",
        ),
    ),
    (
        MemoryType.ERROR,
        (
            r"\broot cause\b",
            r"^\s*when\b.+\b(fails?|errors?|breaks?|times? out|crash\w*)\b",
            r"\b(failed|crashed|broke|errored)\b.*\b(because|due to|with|fix\w*)\b",
            r"\bUrsache\b.*\bFehler|\b(falló|a échoué|schlug fehl)\b|失敗|错误|失败|エラー",
        ),
    ),
    (
        MemoryType.COMMITMENT,
        (
            r"\b(i|we)\s+(promise|commit|will\s+(send|deliver|finish|ship|have|provide|fix|write))\b|\bpromised? to\b",
            r"\b(ich|wir)\s+(verspreche\w*|liefern)\b",
            r"\b(prometo|prometemos|je promets|nous promettons)\b|約束|承诺",
        ),
    ),
    (
        MemoryType.GOAL,
        (
            r"^\s*(goal|objective|target|ziel|objetivo|objectif)\b",
            r"\b(our|the|my) (goal|objective|target) (is|:)|目標|目标",
        ),
    ),
    (
        MemoryType.DECISION,
        (
            r"\b(decided|chose|chosen|we (will|'ll) (use|go with)|opted|agreed to)\b",
            r"\b(entschieden|beschlossen|decidimos|decidido|avons décidé)\b|決定|决定",
        ),
    ),
    (
        MemoryType.PREFERENCE,
        (
            r"\b(prefers?|preferred|likes?|dislikes?|hates?|favou?rs?|would rather)\b",
            r"\b(bevorzugt|mag kein\w*|prefiere\w*|préfère\w*)\b|好む|偏好|喜欢",
        ),
    ),
    (
        MemoryType.INSTRUCTION,
        (
            r"^\s*(always|never|do not|don't|must|to \w+[^.]{3,80}:|runbook|how to)\b",
            r"\b(must always|must never|make sure to|steps?:)\s",
            r"^\s*(immer|niemals|siempre|nunca|toujours|jamais)\b|必ず|务必|必须",
        ),
    ),
    (
        MemoryType.LEARNING,
        (
            r"\b(learn(ed|t)|lesson|turns out|it turned out|takeaway)\b",
            r"\b(gelernt|aprendimos|avons appris)\b|学んだ|学到",
        ),
    ),
    (
        MemoryType.RELATIONSHIP,
        (
            r"\b(owns|is owned by|belongs to|reports to|maintained by|depends on|is responsible for)\b",
            r"\b(gehört zu|pertenece a|appartient à)\b|所属|負責|负责",
        ),
    ),
    (
        MemoryType.OBSERVATION,
        (
            r"\b(noticed|observed|seems? to|appears? to|tends? to|keeps \w+ing|usually|every time)\b",
            r"\b(beobachtet|observamos)\b|気づ|注意到",
        ),
    ),
    (
        MemoryType.EVENT,
        (
            r"^\s*(on |at )?(yesterday|today|last (night|week|month)|this morning|\d{4}-\d{2}-\d{2})\b",
            r"\b(deployed|released|started|finished|completed|happened|went down|was restored)\b.*\b(at|on|after|in)\b",
            r"\brun \d+\b",
        ),
    ),
    (
        MemoryType.ARTIFACT,
        (
            r"https?://\S+",
            r"\b(lives|stored|saved|located|written|found) (at|in|under|to)\s+\S*[/\\.]\S+",
            r"^\s*\S+/\S+\.\w{1,5}\s*$",
        ),
    ),
)
_COMPILED: Final = tuple((kind, re.compile("|".join(cues), re.IGNORECASE)) for kind, cues in _RULES)


def classify(text: str) -> MemoryType:
    """Return the likeliest type of a text by its cues; looks at the first 500 characters."""
    head = text[:500]
    return next((kind for kind, pattern in _COMPILED if pattern.search(head)), MemoryType.FACT)


_BATON: Final = re.compile(r"^\W*(session[\s_-]*)?handoff\b", re.IGNORECASE)


def is_baton(text: str) -> bool:
    """Return whether a text is a session handoff: it opens with those words."""
    return _BATON.match(text) is not None
