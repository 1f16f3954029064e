"""Values that are too long for one memory: kept whole in a memory of their own, which the item points to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from langgraph_memanto.store_items import Kept
from langgraph_memanto.store_names import STORE, path_of
from memanto import Draft, Memanto, Memory, MemoryType
from memanto.errors import InvalidInputError, SerializationError
from memanto.models import MAX_CONTENT, MAX_METADATA, MAX_TITLE

WHOLE: Final = "store_whole"
"""Name under which the metadata of such a memory says which item it belongs to."""
_ROOM: Final = 256
"""Bytes of metadata, and characters of text, that are left free."""


def is_long(draft: Draft) -> bool:
    """Return whether an item does not fit one memory."""
    if len(draft.content) > MAX_CONTENT:
        return True
    return len(_json(draft.metadata).encode("utf-8", "surrogatepass")) > MAX_METADATA - _ROOM


def whole_of(draft: Draft) -> Draft:
    """Return the memory that holds a long item's value; its text is searched page by page."""
    kept = draft.metadata[STORE]
    place = {"namespace": kept["namespace"], "name": kept["name"]}
    return Draft(
        content=_json({**place, "value": kept["value"]}),
        type=MemoryType.ARTIFACT,
        title=" ".join(path_of(tuple(kept["namespace"]), kept["name"]).split())[:MAX_TITLE] or None,
        tags=draft.tags,
        provenance=draft.provenance,
        source=draft.source,
        source_ref=draft.source_ref,
        valid_to=draft.valid_to,
        metadata={WHOLE: place},
    )


def pointing(draft: Draft, whole_id: str) -> Draft:
    """Return a long item's own memory: the beginning of its text, and where the whole is."""
    kept = {name: value for name, value in draft.metadata[STORE].items() if name != "says"}
    beginning = draft.content[: MAX_CONTENT - _ROOM]
    cut = "" if beginning == draft.content else f" … (whole in memory {whole_id})"
    return replace(draft, content=f"{beginning}{cut}", metadata={STORE: {**kept, "value": {}, "whole": whole_id}})


def loaded(memory: Memanto, kept: Kept) -> Kept:
    """Return an item with its value, also where that is kept apart.

    Raises:
        NotFoundError: The memory that holds it is gone.
        SerializationError: It cannot be read.
    """
    return kept if kept.whole is None else replace(kept, value=read_whole(memory, kept.whole))


def read_whole(memory: Memanto, whole_id: str) -> dict[str, Any]:
    """Return the value in a memory made by `whole_of`.

    Raises:
        NotFoundError: There is no such memory.
        SerializationError: Its text is no longer what was written, for example because a secret was cut out of it.
    """
    text = memory.show(whole_id).content
    try:
        value = json.loads(text)["value"]
    except (ValueError, KeyError, TypeError) as error:
        raise SerializationError(
            f"memory {whole_id} no longer holds a store item's value ({error})",
            hint=f"`memanto history {whole_id}` shows who changed it",
        ) from error
    if not isinstance(value, dict):
        raise SerializationError(f"memory {whole_id} holds no store item's value", hint="put the item again")
    return value


def place_of_whole(memory: Memory) -> tuple[tuple[str, ...], str] | None:
    """Return which item a memory (or a part of it) holds the value of, or `None`."""
    place = memory.metadata.get(WHOLE)
    if not isinstance(place, Mapping):
        return None
    namespace, name = place.get("namespace"), place.get("name")
    if not isinstance(namespace, list) or not isinstance(name, str):
        return None
    return tuple(map(str, namespace)), name


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"the value cannot be kept as JSON: {error}",
            hint="use texts, finite numbers, 64-bit integers, true, false, None, lists and objects",
        ) from error
