"""Drafts from a file of JSON or JSON lines, for `remember --batch`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from memanto.cli.options import listed
from memanto.errors import InvalidInputError, shown
from memanto.models import Draft
from memanto.portability.jsonl import parse_json

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
        return [(f"memory {number}", value) for number, value in enumerate(_parsed("the batch", text), start=1)]
    found: list[tuple[str, Any]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            place = f"line {number}"
            found.append((place, _parsed(place, line)))
    return found


def _parsed(place: str, text: str) -> Any:
    try:
        return parse_json(text)
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error.message}", hint="nothing was stored") from error


def _draft(value: Any, defaults: Mapping[str, Any], moment: Callable[[str], datetime]) -> Draft:
    """Return the draft of one object; its values are checked when it is remembered."""
    if not isinstance(value, dict):
        raise InvalidInputError(f"a memory is a JSON object, not {type(value).__name__}")
    fields = {**defaults, **{name.replace("-", "_"): item for name, item in value.items() if item is not None}}
    unknown = sorted(set(fields) - _FIELDS)
    if unknown:
        raise InvalidInputError(f"unknown field {shown(unknown[0])}", hint=f"fields: {', '.join(sorted(_FIELDS))}")
    if "content" not in fields:
        raise InvalidInputError("the field 'content' is missing")
    for name in _TIMES:
        if isinstance(fields.get(name), str):
            fields[name] = moment(fields[name])
    if isinstance(fields.get("tags"), str):
        fields["tags"] = listed(fields["tags"])
    return Draft(**fields)
