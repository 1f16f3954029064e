"""Answering and checking, as verbs of `Memanto`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from memanto.models import DEFAULT_LIMIT, MemoryType

if TYPE_CHECKING:
    from memanto.embedding.port import Embedder, Reranker
    from memanto.llm.port import LanguageModel
    from memanto.loop.answer import Answer
    from memanto.loop.answer_find import Scope
    from memanto.loop.check import CheckReport
    from memanto.loop.port import Verbs


class AnswerVerbs:
    """Answering and checking."""

    if TYPE_CHECKING:  # what `Memanto` brings

        def _get_embedder(self) -> Embedder | None: ...

        def _get_reranker(self, *, warn: bool = True) -> Reranker | None: ...

        def _get_model(self) -> LanguageModel | None: ...

    def answer(
        self,
        question: str,
        *,
        types: Iterable[MemoryType | str] = (),
        as_of: datetime | None = None,
        limit: int = DEFAULT_LIMIT,
        budget_tokens: int | None = None,
        llm: LanguageModel | Callable[[str], str] | Literal["default"] | None = "default",
        rerank: bool = True,
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Answer a question from memory, part by part, every claim cited, or abstain.

        Whether memory can answer is decided from retrieval alone. Without a language model the answer consists of
        quotes. With one it is written by the model, and whatever the model says without citing a memory that it was
        sent is dropped; when nothing is left, it fails or takes too long, the quotes stand and `notes` says why.
        Only what is active, current and still true takes part.

        Args:
            question: May have several parts.
            types: Look only among these types.
            as_of: Answer from what was believed then.
            limit: 1..100 memories cited at most.
            budget_tokens: Bound on the text quoted, or sent to a model.
            llm: A language model, a function from prompt to reply, `None` for none, or `"default"` for the one this
                memory was made with or the user configured.
            rerank: Let the cross-encoder judge the candidates where it is installed (about 0.3 s a part).
            on_text: Called with each piece of a model's reply as it arrives, before it is checked.

        Returns:
            The answer. `abstained` is set when memory answers no part; `missing` names the parts it does not answer.

        Raises:
            InvalidInputError: The question is blank, or a value is out of its range.
            NotFoundError: The agent does not exist.
            ConfigurationError: A language model is configured by half, or not allowed offline.
        """
        from memanto.llm.port import as_model
        from memanto.loop.answer import answer

        model = self._get_model() if llm == "default" else None if llm is None else as_model(llm)
        scope = self._scope(types=types, as_of=as_of, rerank=rerank)
        return answer(question, scope, limit=limit, budget_tokens=budget_tokens, model=model, on_text=on_text)

    def check(self, questions: Any = None, *, task_type: str | None = None, rerank: bool = True) -> CheckReport:
        """Ask memory what it should know, and say for each answer whether it can be relied on.

        Args:
            questions: A file (YAML or JSON), a mapping from question to what the answer must hold, or a list of
                `CheckQuestion` or of mappings with their fields. Without any: the current goal and plan, what the
                last run concluded, one failure and its fix, and the durable facts.
            task_type: What runs and failures are asked about.
            rerank: See `answer`.

        Returns:
            A report: per question the answer, the cited ids, a verdict (supported, stale, conflicting,
            partly or absent) and where a miss arose (not_stored, not_retrieved or not_usable).

        Raises:
            InvalidInputError: The questions are malformed; the message says which one.
            NotFoundError: The agent does not exist.
        """
        from memanto.loop.check import check
        from memanto.loop.check_questions import read_questions, standard_questions

        asked = standard_questions(task_type) if questions is None else read_questions(questions)
        return check(asked, lambda **options: self._scope(rerank=rerank, **options), task_type=task_type)

    def _scope(
        self, *, types: Iterable[MemoryType | str] = (), as_of: datetime | None = None, rerank: bool = True
    ) -> Scope:
        """Return where to look and how candidates are weighed with the models there are."""
        from memanto.loop.answer_evidence import CALIBRATED, CALIBRATED_JUDGES, rule_for
        from memanto.loop.answer_find import Scope
        from memanto.memory.validation import coerce_type
        from memanto.times import utc

        embedder, judge = self._get_embedder(), self._get_reranker(warn=False) if rerank else None
        return Scope(
            memory=cast("Verbs", self),
            rule=rule_for(
                dense=embedder is not None and embedder.identity.name in CALIBRATED,
                judged=judge is not None and judge.name in CALIBRATED_JUDGES,
            ),
            rerank=judge is not None,
            types=tuple(dict.fromkeys(coerce_type(kind) for kind in types)),
            as_of=as_of and utc(as_of),
        )
