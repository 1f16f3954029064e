"""Show the truth we have: the newer statement of an open update, and both of an open contradiction.

The older statement of an update comes under the newer one, and those of a contradiction are marked. Only what upkeep
recorded counts, as it was recorded at the time asked about, so a later finding or decision never changes an earlier
answer. A statement is folded only under one that is trusted at least as much, and never without a trace: its text,
its date and the conflict's id come with the result that stands for it. A part of a long text says more than what is
outdated, so it is marked and not folded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from memanto.hygiene.compare import Kind, whole_id
from memanto.hygiene.conflict import OPEN, Conflict, conflict_of, of
from memanto.hygiene.journal import Journal
from memanto.memory.folding import MORE
from memanto.memory.namespace import Namespace
from memanto.memory.trust import TRUST
from memanto.models import Folded, Memory, Recollection

Key = tuple[str, str]
"""A memory among several namespaces: the namespace and the id."""


class OpenConflictFolder:
    """Folds by the open conflicts of the namespaces that are read.

    Args:
        namespaces: Those that are read.
    """

    def __init__(self, namespaces: Sequence[Namespace]) -> None:
        self._journals = {namespace.name: Journal(namespace) for namespace in namespaces}

    def __call__(
        self,
        results: Sequence[Recollection],
        more: Callable[[int], list[Recollection]],
        *,
        limit: int,
        as_of: datetime | None,
    ) -> list[Recollection]:
        """See `memanto.memory.folding.Folder`."""
        conflicts = self._conflicts(results, as_of)
        if not conflicts:
            return list(results)
        found = list(results)
        if any(one.kind is Kind.UPDATE for _, one in conflicts):
            found = more(limit + MORE)
            conflicts = self._conflicts(found, as_of)
        return _marked(_folded(found, conflicts), conflicts)[:limit]

    def _conflicts(self, results: Iterable[Recollection], as_of: datetime | None) -> list[tuple[str, Conflict]]:
        """Return the open conflicts of these results with their namespaces."""
        by_namespace: dict[str, list[str]] = {}
        for result in results:
            by_namespace.setdefault(result.memory.namespace, []).append(of(whole_id(result.memory)))
        return [
            (name, conflict_of(record))
            for name, tags in by_namespace.items()
            if name in self._journals
            for record in self._journals[name].find([OPEN], tags, as_of=as_of)
        ]


def _folded(results: Sequence[Recollection], conflicts: Iterable[tuple[str, Conflict]]) -> list[Recollection]:
    """Put each older statement of an update under the newest one that it leads to; the best place of all is kept."""
    shown = {_key(result): result for result in results}
    newer: dict[Key, dict[Key, str]] = {}
    for name, conflict in conflicts:
        old, new = (name, conflict.older), (name, conflict.newer)
        if conflict.kind is Kind.UPDATE and old in shown and new in shown and _may_hide(shown[new].memory, shown[old]):
            newer.setdefault(old, {})[new] = conflict.id
    under: dict[Key, tuple[Key, str]] = {}
    for key in shown:
        root = _newest(key, newer, shown)
        if root != key:
            conflict_id = newer[key].get(root) or next(iter(newer[key].values()))
            under[key] = (root, conflict_id)
    families: dict[Key, list[Folded]] = {}
    for key, (root, conflict_id) in under.items():
        families.setdefault(root, []).append(Folded(memory=shown[key].memory, conflict=conflict_id))
    ordered: dict[Key, Recollection] = {}
    for result in results:
        root = under[_key(result)][0] if _key(result) in under else _key(result)
        ordered.setdefault(root, result)
    return [
        replace(shown[root], score=best.score, folded=tuple(sorted(families.get(root, ()), key=_age, reverse=True)))
        for root, best in ordered.items()
    ]


def _newest(key: Key, newer: Mapping[Key, Mapping[Key, str]], shown: Mapping[Key, Recollection]) -> Key:
    """Return the statement that no other replaces, following updates; cycles end where they began."""
    seen = {key}
    while following := [one for one in newer.get(key, ()) if one not in seen]:
        key = max(following, key=lambda one: (_said(shown[one].memory), one))
        seen.add(key)
    return key


def _may_hide(newer: Memory, older: Recollection) -> bool:
    return TRUST[newer.provenance] >= TRUST[older.memory.provenance]


def _marked(results: Sequence[Recollection], conflicts: Iterable[tuple[str, Conflict]]) -> list[Recollection]:
    """Name on each result the open contradictions it is part of, and on a part of a long text the updates too."""
    told: dict[tuple[Key, bool], list[str]] = {}
    for name, conflict in conflicts:
        for memory_id in (conflict.older, conflict.newer):
            for is_part in (False, True) if conflict.kind is Kind.CONTRADICTION else (True,):
                told.setdefault(((name, memory_id), is_part), []).append(conflict.id)

    def of_result(result: Recollection) -> tuple[str, ...]:
        memory = result.memory
        return tuple(sorted(told.get(((memory.namespace, whole_id(memory)), memory.part > 0), ())))

    return [replace(result, conflicts=ids) if (ids := of_result(result)) else result for result in results]


def _key(result: Recollection) -> Key:
    return result.memory.namespace, result.memory.id


def _said(memory: Memory) -> datetime:
    return memory.valid_from or memory.recorded_at


def _age(folded: Folded) -> tuple[datetime, str]:
    return _said(folded.memory), folded.memory.id
