"""What memory says, as text for a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from langchain_core.messages import ToolMessage

from memanto import Memanto
from memanto.errors import InvalidInputError
from memanto.loop.fence import NOTICE, fence_one, is_fenced, whole

if TYPE_CHECKING:
    from memanto import Trigger
    from memanto.loop.handoff import Handoff
    from memanto.loop.pins import Pins

_KEPT: Final = "memanto_artifact"
"""Marks a message whose text was kept apart, with the artifact's id."""


def warned(triggers: Iterable[Trigger]) -> str:
    """Return what speaks against an action, fenced; `""` for nothing."""
    lines = [line for one in triggers for line in _trigger(one)]
    return "\n".join([NOTICE, *lines]) if lines else ""


def _trigger(trigger: Trigger) -> Iterator[str]:
    what = "recorded failure" if trigger.kind == "failure" else "step not to be redone"
    yield f"{what}{'' if trigger.confirmed else ', unconfirmed'} ({trigger.why_matched}):"
    yield fence_one(trigger.memory, text=None if trigger.kind == "failure" else trigger.when)


def handed(pins: Pins, taken: Handoff) -> str:
    """Return a baton behind the pins, fenced."""
    return "\n".join([NOTICE, *map(fence_one, pins.memories), fence_one(taken.memory)])


def shorter_results(
    memory: Memanto, results: Iterable[ToolMessage], *, over_tokens: int, source: str
) -> list[ToolMessage]:
    """Return those tool results that are too long, as pointers under their ids; each text is kept as an artifact.

    Results that show memories stay as they are, and so do those that hold more than text.
    """
    shorter = []
    for message in results:
        if not _may_be_kept(message, over_tokens):
            continue
        title = f"result of {message.name or 'a tool'}"
        try:
            kept = memory.keep_result(whole(message.text), title=title, over_tokens=over_tokens, source=source)
        except InvalidInputError:  # such as blank lines only: it stays, and the others are kept all the same
            continue
        if kept.receipt is not None:
            noted = {**message.response_metadata, _KEPT: kept.receipt.id}
            changes = {"content": kept.text, "artifact": None, "response_metadata": noted}
            shorter.append(message.model_copy(update=changes))
    return shorter


def _may_be_kept(message: ToolMessage, over_tokens: int) -> bool:
    """Return whether a result may be too long; a text has at most as many tokens as characters."""
    if not message.id or _KEPT in message.response_metadata or len(message.text) <= over_tokens:
        return False
    return _is_text(message) and not is_fenced(message.text)


def _is_text(message: ToolMessage) -> bool:
    blocks = message.content
    return isinstance(blocks, str) or all(isinstance(one, str) or one.get("type") == "text" for one in blocks)
