"""Finding the items of a store among an agent's memories."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from langgraph.store.base import ListNamespacesOp, MatchCondition, SearchItem, SearchOp

from langgraph_memanto.store_filter import matches
from langgraph_memanto.store_items import Kept, kept_of
from langgraph_memanto.store_long import loaded, place_of_whole
from langgraph_memanto.store_names import STORE, Namespace, item_tag, prefix_tag, slot_of
from memanto import Memanto, Memory, Status
from memanto.adapter import newest_first
from memanto.errors import InvalidInputError, NotFoundError, SerializationError
from memanto.loop.fence import whole
from memanto.models import MAX_LIMIT, MAX_QUERY, MAX_TAGS

_LOGGER: Final = logging.getLogger("memanto")
_HELD_BACK: Final = (Status.ACTIVE, Status.QUARANTINED)

Place = tuple[Namespace, str]


class StoreReader:
    """Reads items.

    Args:
        memory: The agent's memory.
        held_back: Whether items are shown that the trust gate holds back from `recall`. Where none can be, what is
            quarantined was demoted by somebody, and reads are quicker.
    """

    def __init__(self, memory: Memanto, *, held_back: bool) -> None:
        self._memory = memory
        self._standing: dict[str, Any] = {"status": _HELD_BACK} if held_back else {}

    # -- by key -------------------------------------------------------------------------------------
    def get(self, places: Iterable[Place]) -> dict[Place, Kept]:
        """Return the items at these places, without those that are not there."""
        found: dict[Place, Kept] = {}
        for place, memories in self.memories(places).items():
            kept = next((one for one in map(kept_of, memories) if one is not None), None)
            if kept is not None:
                found[place] = loaded(self._memory, kept)
        return found

    def memories(self, places: Iterable[Place], *, everything: bool = False) -> dict[Place, list[Memory]]:
        """Return the memories in the slots of these items, newest first.

        There are several where an inference was kept beside a trusted value.

        Args:
            places: Namespace and key.
            everything: Also what expired or was retired.
        """
        wanted = {slot_of(*place): place for place in places}
        found: dict[Place, list[Memory]] = {}
        waiting = iter(wanted.values())
        while group := list(islice(waiting, MAX_TAGS)):
            tags = [item_tag(*place) for place in group]
            for memory in self._walk(tags, everything=everything):
                place = wanted.get(memory.key or "")
                if place is not None:
                    found.setdefault(place, []).append(memory)
        return found

    def wholes(self, place: Place) -> list[str]:
        """Return the ids of memories that hold an item's value apart, whatever their standing."""
        found = self._walk([item_tag(*place)], everything=True)
        return [memory.id for memory in found if place_of_whole(memory) == place]

    # -- by search ----------------------------------------------------------------------------------
    def search(self, op: SearchOp) -> list[tuple[Kept, float | None]]:
        """Return the items a search asks for, each with its score.

        With a query: what recall ranks comes first (at most 100), then the rest, latest first, without a score.
        Without one: latest first.
        """
        start, end = max(op.offset, 0), max(op.offset, 0) + max(op.limit, 0)
        ranked: dict[Place, tuple[Kept, float | None]] = {}
        if op.query and op.query.strip() and end > start:
            ranked = self._ranked(op, end)
        if len(ranked) >= end:
            return list(ranked.values())[start:end]

        def all_of_them() -> Iterator[tuple[Kept, float | None]]:
            yield from ranked.values()
            first = MAX_LIMIT if op.filter or ranked else min(MAX_LIMIT, max(end, 1))
            for kept in self.below(op.namespace_prefix, first=first):
                if (kept.namespace, kept.key) not in ranked and matches(kept.value, op.filter):
                    yield kept, None

        return list(islice(all_of_them(), start, end))

    def _ranked(self, op: SearchOp, needed: int) -> dict[Place, tuple[Kept, float | None]]:
        """Return what recall ranks of the items asked for, best first."""
        limit = MAX_LIMIT if op.filter else min(MAX_LIMIT, needed)
        while True:
            found = self._recall(op, limit)
            chosen: dict[Place, tuple[Kept, float | None]] = {}
            for kept, score in found:
                if kept.indexed and matches(kept.value, op.filter):
                    chosen.setdefault((kept.namespace, kept.key), (kept, score))
            if len(chosen) >= needed or limit == MAX_LIMIT:
                return chosen
            limit = MAX_LIMIT

    def _recall(self, op: SearchOp, limit: int) -> list[tuple[Kept, float]]:
        assert op.query is not None
        try:
            hits = self._memory.recall(
                whole(op.query[:MAX_QUERY]), tags=[prefix_tag(op.namespace_prefix)], limit=limit, **self._standing
            )
        except NotFoundError:  # nothing was ever written
            return []
        pages = {place for hit in hits if (place := place_of_whole(hit.memory)) is not None}
        items = {place: kept for place in pages if (kept := self._of_page(place)) is not None}
        found: list[tuple[Kept, float]] = []
        for hit in hits:
            place = place_of_whole(hit.memory)
            kept = self._kept(hit.memory) if place is None else items.get(place)
            if kept is not None and _is_below(kept, op.namespace_prefix):
                found.append((kept, hit.score))
        return found

    def _kept(self, memory: Memory, *, values: bool = True) -> Kept | None:
        """Return the item of a memory, or `None` for none; one that cannot be read must not hide all others."""
        try:
            kept = kept_of(memory)
            return loaded(self._memory, kept) if values and kept is not None else kept
        except (NotFoundError, SerializationError) as error:
            _LOGGER.warning("MemantoStore: an item is left out: %s", error)
            return None

    def _of_page(self, place: Place) -> Kept | None:
        found = (self._kept(memory) for memory in self.memories([place]).get(place, []))
        return next((kept for kept in found if kept is not None), None)

    # -- all ----------------------------------------------------------------------------------------
    def below(self, prefix: Namespace, *, values: bool = True, first: int = MAX_LIMIT) -> Iterator[Kept]:
        """Yield the items of a namespace and of those below it, latest first.

        Args:
            prefix: The namespace; `()` for all.
            values: Whether long values are read, too.
            first: How many are read at first, 1..100; then a hundred at a time.
        """
        seen: set[Place] = set()
        for memory in self._walk([prefix_tag(prefix)], first=first):
            kept = self._kept(memory, values=values)
            if kept is None or not _is_below(kept, prefix) or (kept.namespace, kept.key) in seen:
                continue
            seen.add((kept.namespace, kept.key))
            yield kept

    def namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        """Return the namespaces that hold items and meet all conditions, sorted."""
        conditions = op.match_conditions or ()
        known = {kept.namespace for kept in self.below(_common_prefix(conditions), values=False)}
        chosen = {one for one in known if all(_fits(condition, one) for condition in conditions)}
        if op.max_depth is not None:
            chosen = {one[: op.max_depth] for one in chosen}
        return sorted(chosen)[max(op.offset, 0) :][: max(op.limit, 0)]

    def expired(self, tag: str) -> list[str]:
        """Return the ids of memories with this tag whose time is over."""
        now = self._memory.clock()
        over = self._walk([tag], everything=True)
        return [memory.id for memory in over if memory.valid_to is not None and memory.valid_to <= now]

    def _walk(self, tags: Sequence[str], *, everything: bool = False, first: int = MAX_LIMIT) -> Iterator[Memory]:
        """Yield the current memories with any of these tags, latest first, a page at a time."""
        standing = {"everything": True} if everything else self._standing
        return newest_first(self._memory, tags, first=first, **standing)


def found_items(found: Iterable[tuple[Kept, float | None]]) -> list[SearchItem]:
    """Return a search's results as LangGraph has them."""
    return [kept.found(score) for kept, score in found]


def _is_below(kept: Kept, prefix: Namespace) -> bool:
    return kept.namespace[: len(prefix)] == prefix


def _common_prefix(conditions: Iterable[MatchCondition]) -> Namespace:
    """Return the longest prefix without a wildcard that the conditions ask for, so that little is read."""
    longest: Namespace = ()
    for condition in conditions:
        if condition.match_type == "prefix":
            path = tuple(condition.path)
            plain = path[: path.index("*")] if "*" in path else path
            longest = max(longest, plain, key=len)
    return longest


def _fits(condition: MatchCondition, namespace: Namespace) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    if condition.match_type == "prefix":
        part = namespace[: len(path)]
    elif condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :]
    else:
        raise InvalidInputError(f"unknown match type {condition.match_type!r}", hint='"prefix" or "suffix"')
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


__all__ = ["STORE", "Place", "StoreReader", "found_items"]
