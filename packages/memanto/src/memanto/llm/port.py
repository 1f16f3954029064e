"""The port to a language model, and the models that need no endpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, runtime_checkable

from memanto.errors import InvalidInputError, LanguageModelError, told

Role = Literal["system", "user"]
OnText = Callable[[str], None]
"""Called with each piece of a reply as it arrives."""

MAX_TOKENS: Final = 600
"""Tokens a reply may take by default: some twenty cited sentences."""

TIMEOUT: Final = 60.0
"""Seconds that a whole reply may take by default."""

CONTEXT_TOKENS: Final = 4_096
"""Tokens that prompt and reply may take together by default: what small local models are started with."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered.

    Attributes:
        text: The reply, as it came.
        complete: Whether the model ended it; `False` when it ran into the bound on tokens.
    """

    text: str
    complete: bool = True


@runtime_checkable
class LanguageModel(Protocol):
    """Turns a prompt into a reply. One call at a time is enough; nothing is kept between calls."""

    @property
    def name(self) -> str:
        """What an answer says it was written by."""

    @property
    def context_tokens(self) -> int:
        """Tokens that prompt and reply may take together."""

    @property
    def max_tokens(self) -> int:
        """Tokens that a reply may take."""

    def complete(self, messages: Sequence[Message], *, on_text: OnText | None = None) -> Reply:
        """Return the reply to a prompt.

        Raises:
            LanguageModelError: There is none: no connection, an error, a time-out, a broken or cut stream.
        """


class CallableModel:
    """A function from a prompt to a reply, as a language model.

    Args:
        function: Takes the whole prompt as one text. A bound method of a model of a framework will do, if it
            returns text.
        context_tokens: See `LanguageModel`.
        max_tokens: See `LanguageModel`; the function is not told.
    """

    def __init__(
        self,
        function: Callable[[str], str],
        *,
        context_tokens: int = CONTEXT_TOKENS,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self._function = function
        self._context_tokens = context_tokens
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        return str(getattr(self._function, "__name__", type(self._function).__name__))

    @property
    def context_tokens(self) -> int:
        return self._context_tokens

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    def complete(self, messages: Sequence[Message], *, on_text: OnText | None = None) -> Reply:
        prompt = "\n\n".join(message.text for message in messages)
        try:
            text = self._function(prompt)
        except Exception as error:  # somebody else's function: whatever fails there is its failure
            raise LanguageModelError(
                f"{self.name} failed: {told(error)}",
                hint="call the function with a prompt on its own",
            ) from error
        if not isinstance(text, str):
            raise LanguageModelError(
                f"{self.name} returned {type(text).__name__}", hint="the function takes a prompt and returns text"
            )
        if on_text is not None:
            on_text(text)
        return Reply(text)


def as_model(model: LanguageModel | Callable[[str], str]) -> LanguageModel:
    """Return a model as it is, and a function from prompt to reply as a model.

    Raises:
        InvalidInputError: It is neither.
    """
    if isinstance(model, LanguageModel):
        return model
    if callable(model):
        return CallableModel(model)
    raise InvalidInputError(
        f"llm {model!r} is neither a language model nor a function",
        hint='hand in a function from prompt to reply, a LanguageModel, "default" for the configured one, or None',
    )
