"""Items of a LangGraph store as memories, and back."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from langgraph.store.base import Item, SearchItem, get_text_at_path

from langgraph_memanto.store_names import STORE, TTL, Namespace, path_of, slot_of, source_ref_of, tags_of
from memanto import Draft, Memory, MemoryType, Provenance
from memanto.errors import InvalidInputError, SerializationError

_MAIN: Final = ("content", "text", "memory", "data")
"""Fields that hold what an item says, by the habits of LangGraph's users; the first that is a text counts."""
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
_TYPES: Final = {kind.value: kind for kind in MemoryType}


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a store writes its items.

    Attributes:
        type: Of items that name none in their field `type`.
        provenance: Of all items; their values have no say in it.
        source: Who writes.
        fields: Paths whose texts are searched; `$` is the whole value.
    """

    type: MemoryType
    provenance: Provenance
    source: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An item as it is stored.

    Attributes:
        memory: The memory that holds it.
        namespace: Its namespace.
        key: Its key.
        value: Its value.
        created_at: When it was first put.
        updated_at: When its value was put last, or edited elsewhere.
        ttl: Minutes it lives after its last use, or `None`.
        indexed: Whether a query finds it.
        whole: Id of the memory that holds a value too long for one memory, or `None`.
    """

    memory: Memory
    namespace: Namespace
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    ttl: float | None = None
    indexed: bool = True
    whole: str | None = None

    def item(self) -> Item:
        """Return it as LangGraph's `Item`."""
        return Item(
            value=self.value,
            key=self.key,
            namespace=self.namespace,
            created_at=self.created_at,
            updated_at=self.updated_at,
        )

    def found(self, score: float | None) -> SearchItem:
        """Return it as a search's result."""
        return SearchItem(
            namespace=self.namespace,
            key=self.key,
            value=self.value,
            created_at=self.created_at,
            updated_at=self.updated_at,
            score=score,
        )


def draft_of(
    namespace: Namespace,
    key: str,
    value: Mapping[str, Any],
    style: Style,
    *,
    index: Literal[False] | Sequence[str] | None,
    ttl: float | None,
    now: datetime,
    created_at: datetime | None,
) -> Draft:
    """Return what is remembered for an item."""
    kept: dict[str, Any] = {
        "namespace": list(namespace),
        "name": key,
        "value": dict(value),
        "created_at": (created_at or now).isoformat(),
        "updated_at": now.isoformat(),
    }
    if index is False:
        kept["indexed"] = False
    if ttl is not None:
        kept["ttl"] = _minutes(ttl)
    content = "" if index is False else content_of(value, style.fields if index is None else index)
    main = _main_of(value)
    if main is not None and value[main] == content:
        kept["says"] = main
    return Draft(
        content=next(text for text in (content, path_of(namespace, key), STORE) if _is_visible(text)),
        type=_type_of(value, style),
        tags=(*tags_of(namespace, key), *((TTL,) if ttl is not None else ())),
        provenance=style.provenance,
        source=style.source,
        source_ref=source_ref_of(namespace, key),
        key=slot_of(namespace, key),
        valid_to=None if ttl is None else now + timedelta(minutes=ttl),
        metadata={STORE: kept},
    )


def kept_of(memory: Memory) -> Kept | None:
    """Return the item that a memory holds, or `None` when it holds none.

    A text that was edited elsewhere (`memanto edit`) shows in the value, where the item's text is one of its fields.

    Raises:
        SerializationError: Its metadata names a store and cannot be read.
    """
    kept = memory.metadata.get(STORE)
    if not isinstance(kept, Mapping) or memory.key is None or memory.part:
        return None
    try:
        value = dict(kept["value"])
        says = kept.get("says")
        edited = says in value and value[says] != memory.content
        if edited:
            value[says] = memory.content
        return Kept(
            memory=memory,
            namespace=tuple(kept["namespace"]),
            key=kept["name"],
            value=value,
            created_at=datetime.fromisoformat(kept["created_at"]),
            updated_at=memory.recorded_at if edited else datetime.fromisoformat(kept["updated_at"]),
            ttl=kept.get("ttl"),
            indexed=kept.get("indexed", True),
            whole=kept.get("whole"),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SerializationError(
            f"the store item in memory {memory.id} cannot be read ({type(error).__name__}: {error})",
            hint=f"`memanto history {memory.id}` shows who changed it",
        ) from error


def content_of(value: Mapping[str, Any], fields: Sequence[str]) -> str:
    """Return the text that memory searches an item by: the texts at its paths, a line each."""
    return "\n".join(line for path in fields for line in _texts(value, path) if _is_visible(line))


def _texts(value: Mapping[str, Any], path: str) -> list[str]:
    return _told(value) if path == "$" else get_text_at_path(dict(value), path)


def _told(value: Mapping[str, Any]) -> list[str]:
    """Return a whole value in words: its main text, then "name: text" for every other field; its type is no text."""
    main = _main_of(value)
    lines = [] if main is None else [value[main]]
    for name, inner in value.items():
        if name != main and not (name == "type" and inner in _TYPES):
            lines.extend(_leaves(name, inner))
    return lines


def _leaves(name: str, value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [line for inner, item in value.items() for line in _leaves(f"{name}.{inner}", item)]
    if isinstance(value, list | tuple) and any(isinstance(item, Mapping | list | tuple) for item in value):
        return [line for item in value for line in _leaves(name, item)]
    if isinstance(value, list | tuple):
        return [f"{name}: {', '.join(map(_word, value))}"] if value else []
    return [] if value is None else [f"{name}: {_word(value)}"]


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _is_visible(text: str) -> bool:
    """Return whether a text has a character that shows; memory keeps no other."""
    return any(unicodedata.category(character) not in _INVISIBLE for character in text)


def _main_of(value: Mapping[str, Any]) -> str | None:
    return next((name for name in _MAIN if isinstance(value.get(name), str) and _is_visible(value[name])), None)


def _type_of(value: Mapping[str, Any], style: Style) -> MemoryType:
    named = value.get("type")
    return _TYPES.get(named, style.type) if isinstance(named, str) else style.type


def _minutes(ttl: float) -> float:
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not 0 < ttl < 5e8:
        raise InvalidInputError(f"ttl {ttl!r} is not valid", hint="a number of minutes above 0")
    return float(ttl)
