"""Tool results that give way to pointers, for adapters whose messages are LangChain's. Nothing of it is imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeVar

from memanto.errors import InvalidInputError
from memanto.loop.fence import is_fenced, whole

if TYPE_CHECKING:
    from memanto.client import Memanto

__all__ = ["may_give_way", "pointers"]

_KEPT: Final = "memanto_artifact"
"""Marks a message whose text was kept apart, with the artifact's id."""


class ToolResult(Protocol):
    """A message that holds a tool's result, as far as it is read and changed here."""

    id: str | None
    name: str | None
    content: str | list[Any]
    response_metadata: dict[Any, Any]

    @property
    def text(self) -> str: ...

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self: ...


_Result = TypeVar("_Result", bound=ToolResult)


def may_give_way(message: ToolResult, over_tokens: int) -> bool:
    """Return whether a result may be too long; costs no call of memory.

    A text has at most as many tokens as characters. Results that show memories stay, as do those of more than text.
    """
    if not message.id or _KEPT in message.response_metadata or len(message.text) <= over_tokens:
        return False
    return _is_text(message.content) and not is_fenced(message.text)


def pointers(
    memory: Memanto, results: Iterable[_Result], *, over_tokens: int, source: str, how: str = ""
) -> list[_Result]:
    """Return those results that are too long as pointers, under their ids; each text is kept as an artifact.

    Args:
        memory: Where to.
        results: Any.
        over_tokens: Size from which a result is kept apart.
        source: Who writes.
        how: Said behind each pointer: how the model reads it; `{id}` stands for the artifact's id.
    """
    shorter = []
    for message in (one for one in results if may_give_way(one, over_tokens)):
        title = f"result of {message.name or 'a tool'}"
        try:
            kept = memory.keep_result(whole(message.text), title=title, over_tokens=over_tokens, source=source)
        except InvalidInputError:  # such as blank lines only: it stays, and the others are kept all the same
            continue
        if kept.receipt is not None:
            noted = {**message.response_metadata, _KEPT: kept.receipt.id}
            content = f"{kept.text}{how.replace('{id}', kept.receipt.id)}"
            changes = {"content": content, "artifact": None, "response_metadata": noted}
            shorter.append(message.model_copy(update=changes))
    return shorter


def _is_text(blocks: str | list[Any]) -> bool:
    return isinstance(blocks, str) or all(isinstance(one, str) or one.get("type") == "text" for one in blocks)
