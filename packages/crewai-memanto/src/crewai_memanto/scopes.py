"""CrewAI's scopes and categories, and the tags by which the engine finds them.

A scope is a path such as `/crew/research`; a search in it covers everything below. So a record has a tag for each of
the first `DEPTH` steps of its scope, and the engine filters by one of them before it ranks. What lies deeper, and what
another tag could be mistaken for, is told apart after reading.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from crewai.memory.utils import normalize_scope_path

from memanto.adapter import is_kept
from memanto.errors import InvalidInputError, shown
from memanto.models import MAX_TAGS

MARK: Final = "crewai"
"""Tag of every record, and the name under which metadata keeps it."""
ROOT: Final = "/"
DEPTH: Final = 8
"""Steps of a scope that have a tag each."""
MAX_CATEGORIES: Final = MAX_TAGS - DEPTH - 1


def scope_of(path: str | None) -> str:
    """Return a scope in its normal form: a leading slash, no other that says nothing."""
    return normalize_scope_path(path or "")


def listed(name: str, values: Iterable[str] | None) -> tuple[str, ...]:
    """Return the texts of an argument that takes several.

    Raises:
        InvalidInputError: It is one text, whose letters would be taken for them.
    """
    if isinstance(values, str | bytes):
        raise InvalidInputError(f"{name} {shown(values)} is one text", hint=f"pass a list: {name}=[…]")
    return tuple(values or ())


def is_below(scope: str, prefix: str) -> bool:
    """Return whether a scope is `prefix` or lies below it: `/a/x` is below `/a`, `/ab` is not."""
    return prefix in {ROOT, scope} or scope.startswith(f"{prefix}/")


def children(scopes: Iterable[str], parent: str) -> list[str]:
    """Return the scopes one step below `parent` that these lie in, sorted."""
    base = "" if parent == ROOT else parent
    steps = (scope[len(base) + 1 :].split("/", 1)[0] for scope in scopes if scope != parent and is_below(scope, parent))
    return sorted({f"{base}/{step}" for step in steps if step})


def scope_tag(scope: str) -> str:
    """Return the tag of everything in a scope (in normal form) and below; the path itself where that may be one."""
    if scope == ROOT:
        return MARK
    cut = "/".join(scope.split("/")[: DEPTH + 1])
    return cut if is_kept(cut) else f"scope:{digest(cut)}"


def category_tag(category: str) -> str:
    """Return the tag of a category; the category itself where that may be one."""
    plain = category != MARK and not category.startswith(ROOT) and is_kept(category)
    return category if plain else f"category:{digest(category)}"


def tags_of(scope: str, categories: Iterable[str]) -> tuple[str, ...]:
    """Return the tags of a record.

    Raises:
        InvalidInputError: There are too many categories.
    """
    named = dict.fromkeys(map(category_tag, categories))
    if len(named) > MAX_CATEGORIES:
        raise InvalidInputError(
            f"{len(named)} categories are too many; at most {MAX_CATEGORIES} are allowed",
            hint="keep those you will look for",
        )
    steps = scope.split("/")[1:] if scope != ROOT else []
    places = (scope_tag("/" + "/".join(steps[:depth])) for depth in range(1, min(len(steps), DEPTH) + 1))
    return tuple(dict.fromkeys([MARK, *places, *named]))


def digest(*parts: object) -> str:
    """Return a short digest of these values, the same in every process."""
    text = "\0".join(map(str, parts))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def slot_of(*parts: object) -> str:
    """Return the slot (a memory's key) that these values name."""
    whole = hashlib.blake2b("\0".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{MARK}:{whole[:16]}:{whole[16:]}"
