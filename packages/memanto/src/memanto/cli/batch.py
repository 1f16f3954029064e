"""Drafts from a file of JSON or JSON lines, for `remember --batch`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from memanto.cli.options import listed
from memanto.errors import InvalidInputError
from memanto.memory.validation import coerce_provenance, coerce_type
from memanto.models import Draft

_FIELDS: Final = frozenset(field.name for field in dataclasses.fields(Draft))
_TIMES: Final = ("valid_from", "valid_to")


def read_batch(text: str, defaults: Mapping[str, Any], moment: Callable[[str], datetime]) -> list[Draft]:
    """Return the drafts that a JSON array of objects, or one JSON object per line, describes.

    Args:
        text: The file. Field names are those of `remember`'s options (`source_ref` or `source-ref`), and
            `content`.
        defaults: What an object leaves out.
        moment: Reads a time.

    Raises:
        InvalidInputError: It is not JSON, or an object is not a draft; the message says which.
    """
    drafts = []
    for place, value in _objects(text):
        try:
            drafts.append(_draft(value, defaults, moment))
        except InvalidInputError as error:
            raise InvalidInputError(f"{place}: {error.message}", hint=error.hint or "nothing was stored") from error
    if not drafts:
        raise InvalidInputError("the batch holds no memory", hint='give a JSON array or lines like {"content": "…"}')
    return drafts


def _objects(text: str) -> list[tuple[str, Any]]:
    """Return each JSON value with its place in the file."""
    text = text.removeprefix("\ufeff")  # editors on Windows begin files with this mark
    if text.lstrip().startswith("["):
        try:
            return [(f"memory {number}", value) for number, value in enumerate(json.loads(text), start=1)]
        except ValueError as error:
            raise InvalidInputError(f"the batch is not a JSON array: {error}", hint="nothing was stored") from error
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                found.append((f"line {number}", json.loads(line)))
            except ValueError as error:
                raise InvalidInputError(f"line {number} is not JSON: {error}", hint="nothing was stored") from error
    return found


def _draft(value: Any, defaults: Mapping[str, Any], moment: Callable[[str], datetime]) -> Draft:
    if not isinstance(value, dict):
        raise InvalidInputError(f"a memory is a JSON object, not {type(value).__name__}")
    fields = {**defaults, **{name.replace("-", "_"): item for name, item in value.items() if item is not None}}
    unknown = sorted(set(fields) - _FIELDS)
    if unknown:
        raise InvalidInputError(f"unknown field {unknown[0]!r}", hint=f"fields: {', '.join(sorted(_FIELDS))}")
    if "content" not in fields:
        raise InvalidInputError("the field 'content' is missing")
    for name in _TIMES:
        if name in fields and not isinstance(fields[name], datetime):
            fields[name] = moment(_text(fields[name], name))
    if "type" in fields:
        fields["type"] = coerce_type(_text(fields["type"], "type"))
    if "provenance" in fields:
        fields["provenance"] = coerce_provenance(_text(fields["provenance"], "provenance"))
    if "tags" in fields:
        tags = fields["tags"]
        fields["tags"] = listed(tags) if isinstance(tags, str) else tuple(_text(tag, "tags") for tag in _list(tags))
    for name in _FIELDS - {*_TIMES, "tags", "confidence", "pinned", "metadata"}:
        if name in fields:
            _text(fields[name], name)
    return Draft(**fields)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} is a text, not {value!r:.80}")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInputError(f"tags is a list or a comma list, not {value!r:.80}")
    return value
