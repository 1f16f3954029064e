"""A language model's words about a day: only what cites items that were sent is kept."""

from __future__ import annotations

from dataclasses import replace

from memanto.hygiene.summary import DailySummary
from memanto.llm.port import LanguageModel
from memanto.loop.answer_model import write
from memanto.memory.versions import VersionLog

_QUESTIONS = (
    "What was learned, what failed, what was decided, promised and handed over in this span of time?",
    "What should be looked at next?",
)


def with_digest(summary: DailySummary, log: VersionLog, model: LanguageModel) -> DailySummary:
    """Return a summary with a model's few sentences about it; when the model fails, a note says so."""
    if not summary.items:
        return summary
    heads = log.heads([item.id for item in summary.items])
    numbered = {
        number: (heads[item.id], item.line) for number, item in enumerate(summary.items, start=1) if item.id in heads
    }
    written = write(model, _QUESTIONS, numbered)
    cited = {number: numbered[number][0].id for number in written.cited}
    return replace(summary, digest=written.text, cited=cited, notes=(*summary.notes, *written.notes))
