"""`CrewModel`: any CrewAI language model as the language model of `answer`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crewai.llms.base_llm import BaseLLM

from memanto.errors import InvalidInputError, LanguageModelError, told
from memanto.llm.port import CONTEXT_TOKENS, MAX_TOKENS, Message, OnText, Reply

if TYPE_CHECKING:
    from crewai.utilities.types import LLMMessage


class CrewModel:
    """A CrewAI `LLM`, or any other `BaseLLM`, that serves `answer` and whatever else asks memanto's language model.

    It is both a `memanto.LanguageModel` and a function from a prompt to a reply. Time-outs and retries are the model's
    own. CrewAI hands over a reply when it is whole, so `on_text` is told once, and does not say whether a reply ran
    into its bound.

    Args:
        model: The model, as an agent takes it.
        context_tokens: Tokens that prompt and reply may take together; what the model says of itself when missing,
            else 4,096.
        max_tokens: Tokens that a reply may take. Kept free in the prompt; the model's own bound is not changed.

    Raises:
        InvalidInputError: It is no CrewAI model.
    """

    def __init__(self, model: BaseLLM, *, context_tokens: int | None = None, max_tokens: int = MAX_TOKENS) -> None:
        if not isinstance(model, BaseLLM):
            raise InvalidInputError(f"{model!r} is no model of CrewAI", hint='pass LLM(model="…") or agent.llm')
        self._model = model
        self._context_tokens = context_tokens
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        """The model's name where it has one, else its class."""
        return self._model.model or type(self._model).__name__

    @property
    def context_tokens(self) -> int:
        """See the argument."""
        return self._context_tokens or self._model.get_context_window_size() or CONTEXT_TOKENS

    @property
    def max_tokens(self) -> int:
        """See the argument."""
        return self._max_tokens

    def __call__(self, prompt: str) -> str:
        """Return the reply to a prompt given as one text.

        Raises:
            LanguageModelError: The model failed.
        """
        return self.complete([Message("user", prompt)]).text

    def complete(self, messages: Sequence[Message], *, on_text: OnText | None = None) -> Reply:
        """Return the reply to a prompt, told to `on_text` where it is given.

        Raises:
            LanguageModelError: The model failed, whatever it raised, or returned something else than text.
        """
        prompt: list[LLMMessage] = [{"role": one.role, "content": one.text} for one in messages]
        try:
            text = self._model.call(prompt)
        except Exception as error:  # every provider raises errors of its own
            raise LanguageModelError(f"{self.name} failed: {told(error)}") from error
        if not isinstance(text, str):
            raise LanguageModelError(
                f"{self.name} returned {type(text).__name__}", hint="use a model that answers with text"
            )
        if on_text is not None:
            on_text(text)
        return Reply(text)
