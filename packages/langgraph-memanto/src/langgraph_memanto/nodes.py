"""Nodes that put memory into a graph: brief, guard, hand over, remember; see `nodes_window` for two more.

Each function returns a node that works with `invoke` and `ainvoke`. What a node reads of the state is the name of a
field, or a function from the state; what memory says goes into a field, fenced where it is for a prompt. When memory
fails, the node writes nothing or `""`, the failure is logged once and counted, and the graph goes on; `strict=True`
raises instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from langgraph_memanto.members import member
from langgraph_memanto.nodes_base import Node, Source, node, read, text_of
from langgraph_memanto.prompting import handed
from memanto import Draft, Memanto, MemoryType, Provenance
from memanto.adapter import as_sync, warned
from memanto.errors import InvalidInputError, NotFoundError
from memanto.loop.fence import whole
from memanto.models import MAX_QUERY

if TYPE_CHECKING:
    from memanto import AsyncMemanto, Baton

Written: TypeAlias = str | Draft | Iterable[str | Draft] | None

_NOTHING: Final[dict[str, Any]] = {}


def brief_node(
    memory: Memanto | AsyncMemanto,
    *,
    task: Source,
    into: str = "brief",
    task_type: str | None = None,
    budget_tokens: int = 600,
    bullets: int = 5,
    words_only: bool = False,
    strict: bool = False,
) -> Node:
    """Return a node that writes what to know before planning: pins, then a few cited lines, fenced.

    Args:
        memory: Who opened it closes it.
        task: What is to be done.
        into: Field of the state for the text, `""` when memory knows nothing.
        task_type: Only prior runs of this kind.
        budget_tokens: Bound on the whole; only pins may go beyond it.
        bullets: 1..20 lines.
        words_only: By words alone, so that no embedder is loaded.
        strict: Raise when memory fails.
    """
    verbs = as_sync(memory)

    def act(state: Any) -> dict[str, Any]:
        asked = text_of(state, task)[:MAX_QUERY]
        try:
            brief = verbs.brief(
                asked or None,
                task_type=task_type,
                budget_tokens=budget_tokens,
                bullets=bullets,
                words_only=words_only,
            )
        except NotFoundError:  # nothing was ever written
            return {into: ""}
        return {into: brief.fenced()}

    return node("brief", act, {into: ""}, strict=strict)


def guard_node(
    memory: Memanto | AsyncMemanto,
    *,
    situation: Source | None = None,
    tool: Source | None = None,
    args: Source | None = None,
    into: str = "warnings",
    lane: str = "main",
    confirmed_only: bool = False,
    by_meaning: bool = False,
    strict: bool = False,
) -> Node:
    """Return a node that writes the recorded failures and finished steps that speak against an action, fenced.

    `""` when nothing does, so that an edge can branch on it.

    Args:
        memory: Who opened it closes it.
        situation: What is about to be done.
        tool: Name of the tool about to be called.
        args: Its arguments.
        into: Field of the state for the text.
        lane: The line of work whose handoff says what not to redo.
        confirmed_only: Leave out what nobody stated, checked or saw.
        by_meaning: Also match by meaning.
        strict: Raise when memory fails.
    """
    verbs = as_sync(memory)

    def act(state: Any) -> dict[str, Any]:
        given = None if args is None else read(state, args)
        told, name = text_of(state, situation), text_of(state, tool) or None
        if not (told or name or given):
            return {into: ""}
        try:
            triggers = verbs.guard(told, tool=name, args=given, lane=lane, by_meaning=by_meaning)
        except NotFoundError:  # nothing was ever written
            return {into: ""}
        return {into: warned([one for one in triggers if one.confirmed or not confirmed_only])}

    return node("guard", act, {into: ""}, strict=strict)


def handoff_node(
    memory: Memanto | AsyncMemanto,
    action: Literal["take", "write"],
    *,
    baton: Callable[[Any], Baton | Mapping[str, Any] | None] | None = None,
    into: str = "handoff",
    lane: str = "main",
    by: str | None = None,
    acknowledge: bool = True,
    source: str = "langgraph",
    strict: bool = False,
) -> Node:
    """Return a node that takes the baton of the shift before, or leaves one for the next.

    Args:
        memory: Who opened it closes it.
        action: `"take"` writes pins and baton, fenced, or `""` when none waits. `"write"` writes the baton's id.
        baton: For `"write"`: from the state to a `Baton`, the fields of one, or `None` for nothing to hand over.
        into: Field of the state.
        lane: The line of work.
        by: Who takes it.
        acknowledge: Acknowledge a baton that was taken at once; else it waits again when its claim expires.
        source: Who writes.
        strict: Raise when memory fails.

    Raises:
        InvalidInputError: The action is unknown, or there is nothing to write.
    """
    verbs = as_sync(memory)
    if action not in ("take", "write") or (action == "write" and baton is None):
        raise InvalidInputError(
            f"a handoff node cannot {action!r} with baton={baton!r}",
            hint='"take", or "write" with a function from the state to a baton',
        )

    def take(_: Any) -> dict[str, Any]:
        taken = verbs.take_handoff(lane=lane, by=by or source)
        if taken is None:
            return {into: ""}
        shown = handed(verbs.pins(), taken)
        if acknowledge:
            verbs.ack_handoff(lane=lane, by=by or source)
        return {into: shown}

    def write(state: Any) -> dict[str, Any]:
        assert baton is not None
        given = baton(state)
        if given is None:
            return {into: ""}
        written = (
            verbs.write_handoff(**given, lane=lane, source=source)
            if isinstance(given, Mapping)
            else verbs.write_handoff(given, lane=lane, source=source)
        )
        return {into: written.receipt.id}

    return node(f"handoff_{action}", take if action == "take" else write, {into: ""}, strict=strict)


def remember_node(
    memory: Memanto | AsyncMemanto,
    content: Source,
    *,
    type: MemoryType | str,  # noqa: A002 - the word users know it by
    provenance: Provenance | str,
    tags: Sequence[str] = (),
    into: str | None = None,
    source: str = "langgraph",
    strict: bool = False,
) -> Node:
    """Return a node that stores what the state holds.

    Args:
        memory: Who opened it closes it.
        content: Gives a text, a `Draft`, several of them, or `None` for nothing. A draft stands as it is.
        type: Of texts.
        provenance: Of texts: `observed` for what a tool said, `inferred` for what a model concluded.
        tags: Of texts.
        into: Field of the state for the ids stored; none when missing.
        source: Who writes.
        strict: Raise when memory fails.
    """
    verbs = as_sync(memory)
    kind, known = member("type", MemoryType, type), member("provenance", Provenance, provenance)

    def act(state: Any) -> dict[str, Any]:
        given: Written = read(state, content)
        items = [] if given is None else [given] if isinstance(given, str | Draft) else list(given)
        drafts = [
            one
            if isinstance(one, Draft)
            else Draft(content=whole(one), type=kind, provenance=known, tags=tuple(tags), source=source)
            for one in items
            if isinstance(one, Draft) or one.strip()
        ]
        receipts = verbs.remember_many(drafts) if drafts else []
        return {} if into is None else {into: [receipt.id for receipt in receipts]}

    return node("remember", act, _NOTHING if into is None else {into: []}, strict=strict)
