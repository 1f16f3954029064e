"""`ChatModel`: any LangChain chat model as the language model of `answer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from memanto.errors import LanguageModelError, told
from memanto.llm.port import CONTEXT_TOKENS, MAX_TOKENS, Message, OnText, Reply

_ENDINGS: Final = ("finish_reason", "stop_reason", "done_reason")
_CUT: Final = frozenset({"length", "max_tokens", "model_context_window_exceeded", "MAX_TOKENS"})
"""How providers say that a reply ran into its bound."""


class ChatModel:
    """A LangChain chat model that serves `answer` and whatever else asks memanto's language model.

    It is both a `memanto.LanguageModel` and a function from a prompt to a reply. Time-outs and retries are the chat
    model's own.

    Args:
        model: The chat model.
        context_tokens: Tokens that prompt and reply may take together; what the model says of itself when missing,
            else 4,096.
        max_tokens: Tokens that a reply may take. Kept free in the prompt; the chat model's own bound is not changed.

    Examples:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> ChatModel(FakeListChatModel(responses=["hello"]))("Say hello.")
        'hello'
    """

    def __init__(
        self, model: BaseChatModel, *, context_tokens: int | None = None, max_tokens: int = MAX_TOKENS
    ) -> None:
        self._model = model
        self._context_tokens = context_tokens or _stated_context(model) or CONTEXT_TOKENS
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        """The model's name where it has one, else the class of the chat model."""
        for field in ("model_name", "model", "model_id"):
            named = getattr(self._model, field, None)
            if isinstance(named, str) and named:
                return named
        return type(self._model).__name__

    @property
    def context_tokens(self) -> int:
        """See the argument."""
        return self._context_tokens

    @property
    def max_tokens(self) -> int:
        """See the argument."""
        return self._max_tokens

    def __call__(self, prompt: str) -> str:
        """Return the reply to a prompt given as one text.

        Raises:
            LanguageModelError: The chat model failed.
        """
        return self.complete([Message("user", prompt)]).text

    def complete(self, messages: Sequence[Message], *, on_text: OnText | None = None) -> Reply:
        """Return the reply to a prompt, told piece by piece to `on_text` where it is given.

        Raises:
            LanguageModelError: The chat model failed, whatever it raised.
        """
        prompt: list[BaseMessage] = [
            SystemMessage(one.text) if one.role == "system" else HumanMessage(one.text) for one in messages
        ]
        try:
            return self._invoked(prompt) if on_text is None else self._streamed(prompt, on_text)
        except Exception as error:  # every provider raises errors of its own
            raise LanguageModelError(f"{self.name} failed: {told(error)}") from error

    def _invoked(self, prompt: list[BaseMessage]) -> Reply:
        message = self._model.invoke(prompt)
        return Reply(str(message.text), complete=not _was_cut(message.response_metadata))

    def _streamed(self, prompt: list[BaseMessage], on_text: OnText) -> Reply:
        pieces: list[str] = []
        cut = False
        for chunk in self._model.stream(prompt):
            cut = cut or _was_cut(chunk.response_metadata)
            if piece := str(chunk.text):
                pieces.append(piece)
                on_text(piece)
        return Reply("".join(pieces), complete=not cut)


def _was_cut(metadata: Mapping[str, Any]) -> bool:
    return any(metadata.get(name) in _CUT for name in _ENDINGS)


def _stated_context(model: BaseChatModel) -> int | None:
    """Return the context that a chat model's profile names, or `None`."""
    profile = getattr(model, "profile", None)
    stated = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
    return stated if isinstance(stated, int) and stated > 0 else None
