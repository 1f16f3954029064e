"""Reading records completely, the same way for every engine: ties at a page's end, and what belongs to a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memanto.engine.records import AT, OF, REFS, Found, Record, in_order
from memanto.filters import AnyOf, Where


def newest(page: Callable[[int], list[Record]], limit: int) -> list[Record]:
    """Return the newest records by (`at`, `id`) descending, and all that have the time of the last of them.

    Args:
        page: Returns a number of records, the latest times first; an engine orders those of one time as it likes.
        limit: At least 1.
    """
    size = limit + 1
    while True:
        found = page(size)
        if len(found) == size:
            last = found[-1].keys[AT]  # there may be more of this time
            found = [record for record in found if record.keys[AT] != last]
            if len(found) < limit:
                size *= 4
                continue
        ordered = in_order(found)
        return ordered[: limit + sum(one.keys[AT] == ordered[limit - 1].keys[AT] for one in ordered[limit:])]


def with_belongings(
    found: Sequence[Record],
    find: Callable[[Where], list[Record]],
    get: Callable[[Sequence[str]], list[Record]],
) -> Found:
    """Return records with their parts and what they need."""
    if not found:
        return Found((), (), ())
    parts = find(Where((AnyOf(OF, tuple(record.id for record in found)),)))
    refs = dict.fromkeys(ref for record in (*found, *parts) for ref in record.head.get(REFS, ()))
    return Found(found, parts, get(list(refs)) if refs else ())
