"""Where an item of the store is kept: its slot, and the tags by which a namespace is found.

A slot or tag is a digest, so that labels of any length and alphabet have one and no text in it is taken for a secret.
Runs of letters and digits stay short for the same reason.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Final

from memanto.models import MAX_SOURCE_REF, MAX_TAG

Namespace = tuple[str, ...]

STORE: Final = "store"
"""Tag of every item, and the name under which metadata keeps it."""
TTL: Final = "store-ttl"
"""Tag of items that expire."""
DEPTH: Final = 16
"""Labels of a namespace that have a tag each; what lies deeper is told apart after reading."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,15}(?:/[A-Za-z0-9_-]{1,15})*")


def slot_of(namespace: Namespace, key: str) -> str:
    """Return the slot (the memory's key) of an item."""
    digest = _digest(["item", list(namespace), key], 16)
    return f"{STORE}:{digest[:16]}:{digest[16:]}"


def item_tag(namespace: Namespace, key: str) -> str:
    """Return the tag that one item has."""
    return f"item:{_digest(['item', list(namespace), key], 8)}"


def prefix_tag(prefix: Namespace) -> str:
    """Return the tag that every item below a namespace has."""
    return f"ns:{_digest(['ns', list(prefix[:DEPTH])], 8)}" if prefix else STORE


def tags_of(namespace: Namespace, key: str) -> tuple[str, ...]:
    """Return the tags of an item: at most 19, the namespace in words among them where it is plain."""
    prefixes = [prefix_tag(namespace[:depth]) for depth in range(min(len(namespace), DEPTH) + 1)]
    words = "/".join(namespace)
    told = [words] if len(words) <= MAX_TAG and _PLAIN.fullmatch(words) and words not in {STORE, TTL} else []
    return (*prefixes, item_tag(namespace, key), *told)


def path_of(namespace: Namespace, key: str) -> str:
    """Return an item's place in words."""
    return "/".join([*namespace, key])


def source_ref_of(namespace: Namespace, key: str) -> str | None:
    """Return an item's place as a reference, or `None` where it is too long or not printable."""
    path = f"{STORE}:{path_of(namespace, key)}"
    return path if len(path) <= MAX_SOURCE_REF and path.isprintable() else None


def _digest(parts: Sequence[object], size: int) -> str:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=size).hexdigest()
