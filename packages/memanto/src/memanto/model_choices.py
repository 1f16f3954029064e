"""Which models a handle uses: those it was given, or those the user configured, found when first needed."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from memanto.errors import InvalidInputError

if TYPE_CHECKING:
    from memanto.embedding.port import Embedder, Reranker
    from memanto.llm.port import LanguageModel


class LexicalOnlyWarning(UserWarning):
    """No embedder is available, so recall finds words and not meanings."""


class ModelChoices:
    """The embedder, the reranker and the language model of a handle."""

    def __init__(
        self,
        embedder: Embedder | Literal["default"] | None,
        reranker: Reranker | Literal["default"] | None,
        llm: LanguageModel | Callable[[str], str] | Literal["default"] | None,
    ) -> None:
        self._embedder_choice = embedder
        self._reranker_choice = reranker
        self._llm_choice = llm
        self._embedder: Embedder | None = None
        self._reranker: Reranker | None = None
        self._resolved: set[str] = set()
        self._choosing = threading.RLock()

    def _get_embedder(self) -> Embedder | None:
        with self._choosing:
            if self._embedder_choice != "default":
                if self._embedder_choice is not None and not hasattr(self._embedder_choice, "embed_documents"):
                    raise InvalidInputError(
                        f"embedder {self._embedder_choice!r} is no Embedder",
                        hint="see `memanto.Embedder` for what it needs",
                    )
                return self._embedder_choice
            if "embedder" not in self._resolved:
                from memanto.composition import configured_embedder

                choice = configured_embedder()
                self._embedder, self._why_lexical = choice.model, choice.reason
                self._resolved.add("embedder")
                if choice.model is None:
                    warnings.warn(
                        f"lexical only: {choice.reason}. {self._lexical_hint()}", LexicalOnlyWarning, stacklevel=4
                    )
            return self._embedder

    def _lexical_hint(self) -> str:
        return "Install the offline model with `make install`, or name a folder with MEMANTO_EMBED_MODEL_PATH"

    def _get_reranker(self, *, warn: bool = True) -> Reranker | None:
        with self._choosing:
            if self._reranker_choice != "default":
                return self._reranker_choice
            if "reranker" not in self._resolved:
                from memanto.composition import configured_reranker

                choice = configured_reranker()
                self._reranker, self._why_unranked = choice.model, choice.reason
                self._resolved.add("reranker")
            if self._reranker is None and warn and "unranked" not in self._resolved:
                self._resolved.add("unranked")
                text = f"not reranked: {self._why_unranked}. {self._lexical_hint()}"
                warnings.warn(text, LexicalOnlyWarning, stacklevel=4)
            return self._reranker

    def _get_model(self) -> LanguageModel | None:
        from memanto.llm.port import as_model

        if self._llm_choice == "default":
            from memanto.composition import configured_model

            return configured_model()
        return None if self._llm_choice is None else as_model(self._llm_choice)
