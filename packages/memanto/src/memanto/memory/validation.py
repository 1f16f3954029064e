"""What the store accepts: every field of a draft and every argument of a read, checked and normalised.

A value is kept exactly or refused with a reason; nothing is cut or rounded silently. The one number that is
rounded is confidence, to six decimals. All checks are idempotent: what they return passes unchanged.
"""

from __future__ import annotations

import enum
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, TypeVar

from memanto.errors import InvalidInputError, shown
from memanto.models import (
    MAX_KEY,
    MAX_LIMIT,
    MAX_METADATA,
    MAX_QUERY,
    MAX_REASON,
    MAX_SOURCE,
    MAX_SOURCE_REF,
    MAX_TAG,
    MAX_TAGS,
    MAX_TEXT,
    MAX_TITLE,
    Draft,
    MemoryType,
    Provenance,
    Status,
)
from memanto.times import to_rfc3339, utc

MAX_METADATA_DEPTH: Final = 16
_INT64: Final = range(-(2**63), 2**63)
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LONGEST_LABEL: Final = 8_192
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
_SOURCE: Final = re.compile(rf"[A-Za-z0-9._-]{{1,{MAX_SOURCE}}}")
_ID_PREFIX: Final = re.compile(r"[0-9a-f]{4,32}")
_WORDS: Final = r"(?: [\w'\u2019/,()-]+){1,12} ?"
_TEMPLATE: Final = re.compile(
    rf"(?<![\w<])<(?:[A-Za-z][\w'\u2019/,-]*{_WORDS}>|[A-Za-z][\w'\u2019/-]{{2,}}{_WORDS}(?=\||$))", re.MULTILINE
)
_TEMPLATE_SIZE: Final = 200
_WHOLE_TEMPLATE: Final = re.compile(r"\s*<[A-Za-z][^<>/=]+>?\s*")
_OPENED: Final = re.compile(r"(?<!\S)<[A-Za-z]{3,}\b(?![=(/])")
_ONE_AUTHOR: Final = {"claude": "claude_code", "claude-code": "claude_code", "claude_code": "claude_code"}

_Member = TypeVar("_Member", bound=enum.StrEnum)


def check_draft(draft: Draft) -> Draft:
    """Return the draft with every field checked and normalised.

    Content, source_ref and metadata are kept exactly, control characters included. A title loses its line
    breaks and outer space; a blank one counts as none. Tags and the key are stripped and put into NFC; equal
    tags count once. A source's spaces become `_`. Times become UTC.

    Raises:
        InvalidInputError: A field breaks a limit of `memanto.models` or cannot be kept exactly.
    """
    valid_from = None if draft.valid_from is None else check_time("valid_from", draft.valid_from)
    valid_to = None if draft.valid_to is None else check_time("valid_to", draft.valid_to)
    if valid_from is not None and valid_to is not None and valid_from >= valid_to:
        raise InvalidInputError(
            f"valid_from {to_rfc3339(valid_from)!r} is not before valid_to {to_rfc3339(valid_to)!r}",
            hint="valid_to is the first moment at which it is no longer true",
        )
    if not isinstance(draft.pinned, bool):
        raise InvalidInputError(f"pinned {_shown(draft.pinned)} is neither true nor false", hint="give true or false")
    return replace(
        draft,
        content=_check_text("content", draft.content, MAX_TEXT),
        type=None if draft.type is None else coerce_type(draft.type),
        title=_check_title(draft.title),
        tags=check_tags(draft.tags),
        confidence=None if draft.confidence is None else check_confidence(draft.confidence),
        provenance=None if draft.provenance is None else coerce_provenance(draft.provenance),
        source=None if draft.source is None else check_source(draft.source),
        source_ref=None if draft.source_ref is None else _check_text("source_ref", draft.source_ref, MAX_SOURCE_REF),
        valid_from=valid_from,
        valid_to=valid_to,
        key=check_name("key", draft.key),
        run_id=check_name("run_id", draft.run_id),
        actor=check_name("actor", draft.actor),
        metadata=_check_metadata(draft.metadata),
    )


def check_query(text: str) -> str:
    """Return the query as it is.

    Raises:
        InvalidInputError: It is blank, longer than 10,000 characters or holds a lone surrogate.
    """
    return _check_text("query", text, MAX_QUERY)


def check_limit(value: int) -> int:
    """Return the number of results asked for, a whole number from 1 to 100."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_LIMIT:
        raise InvalidInputError(
            f"limit {_shown(value)} is not a whole number from 1 to {MAX_LIMIT}",
            hint="ask for fewer at a time, and narrow the question with filters",
        )
    return value


def check_confidence(value: float) -> float:
    """Return a confidence from 0 to 1, rounded to six decimals.

    Raises:
        InvalidInputError: It is no number, not finite, or outside the range.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInputError(
            f"confidence {_shown(value)} is not a number from 0 to 1", hint="0.5 is a guess, 0.9 is well founded"
        )
    return abs(round(float(value), 6))  # abs: -0.0 is 0.0


def check_source(value: str) -> str:
    """Return the name of who wrote, with `_` for spaces; the ways to write Claude Code are one author.

    Raises:
        InvalidInputError: It is not 1..64 characters of `[A-Za-z0-9._-]` then.
    """
    name = "_".join(value.split()) if isinstance(value, str) else ""
    if not _SOURCE.fullmatch(name):
        raise InvalidInputError(
            f"source {_shown(value)} is not valid", hint=f"use 1 to {MAX_SOURCE} letters, digits, '.', '_' or '-'"
        )
    return _ONE_AUTHOR.get(name.lower(), name)


def check_reason(value: str) -> str:
    """Return the reason of a change.

    Raises:
        InvalidInputError: It is no text, or longer than `MAX_REASON` characters.
    """
    _check_string("reason", value)
    _check_length("reason", value, MAX_REASON)
    return value


def check_description(value: str) -> str:
    """Return an agent's description: text of at most `MAX_REASON` characters."""
    _check_string("description", value)
    _check_length("description", value, MAX_REASON)
    return value


def check_id_prefix(value: str) -> str:
    """Return the beginning of a memory's id in lower case, with hyphens where a UUID has them.

    Raises:
        InvalidInputError: It is not 4 to 32 hexadecimal digits (hyphens do not count).
    """
    digits = value.strip().replace("-", "").lower() if isinstance(value, str) else ""
    if not _ID_PREFIX.fullmatch(digits):
        raise InvalidInputError(
            f"memory id {_shown(value)} is not valid",
            hint="give an id or at least the first four of its hexadecimal digits; `memanto recall --recent` shows ids",
        )
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(part for part in parts if part)


def coerce_type(value: str) -> MemoryType:
    """Return the memory type of this name; case, spaces and hyphens do not matter.

    Raises:
        InvalidInputError: There is no such type; the message names the nearest.
    """
    return _coerce("type", MemoryType, value)


def coerce_provenance(value: str) -> Provenance:
    """Return the provenance of this name; case, spaces and hyphens do not matter.

    Raises:
        InvalidInputError: There is no such provenance; the message names the nearest.
    """
    return _coerce("provenance", Provenance, value)


def coerce_status(value: str) -> Status:
    """Return the status of this name; case, spaces and hyphens do not matter.

    Raises:
        InvalidInputError: There is no such status; the message names the nearest.
    """
    return _coerce("status", Status, value)


def unfilled_template(text: str) -> bool:
    """Return whether the text still holds a placeholder such as `<distilled finding>`.

    A placeholder has at least two words, so markup and `deploy <env>` are none. Its closing bracket may be
    missing before the end of a line or a `|`. A text that is one placeholder, and one with several that are
    opened and never closed, count too.
    """
    if "<" not in text:
        return False
    if _TEMPLATE.search(text) is not None or _WHOLE_TEMPLATE.fullmatch(text[:_TEMPLATE_SIZE]) is not None:
        return True
    return ">" not in text and len(_OPENED.findall(text)) > 1


def _coerce(name: str, members: type[_Member], value: str) -> _Member:
    wanted = re.sub(r"[\s_-]+", "_", value.strip().lower()) if isinstance(value, str) else ""
    try:
        return members(wanted)
    except ValueError:
        import difflib

        names = [member.value for member in members]
        near = difflib.get_close_matches(wanted, names, n=1)
        message = f"unknown {name} {_shown(value)}" + (f"; did you mean {near[0]!r}?" if near else "")
        raise InvalidInputError(message, hint=f"known: {', '.join(names)}") from None


def _check_text(field: str, value: str, limit: int) -> str:
    """Return a text that is not blank, within its limit and encodable, exactly as it was given."""
    _check_string(field, value)
    _check_length(field, value, limit)
    if _is_blank(value):
        raise InvalidInputError(f"{field} {_shown(value)} is blank", hint="give at least one visible character")
    return value


def _check_length(field: str, value: str, limit: int) -> None:
    if len(value) > limit:
        raise InvalidInputError(
            f"{field} has {len(value):,} characters; at most {limit:,} are allowed",
            hint="shorten it, or keep the whole elsewhere and point to it",
        )


def _is_blank(value: str) -> bool:
    return all(unicodedata.category(character) in _INVISIBLE for character in value)


def _check_string(field: str, value: object) -> None:
    if not isinstance(value, str):
        raise InvalidInputError(f"{field} {_shown(value)} is not text", hint=f"give {field} as text")
    found = _SURROGATE.search(value)
    if found is not None:
        raise InvalidInputError(
            f"{field} holds the lone surrogate {found.group()!r} at position {found.start()}, which is no character",
            hint="decode the text again, with errors='replace' if need be",
        )


def _check_title(value: str | None) -> str | None:
    if value is None:
        return None
    _check_string("title", value)
    title = " ".join(line for line in map(str.strip, value.splitlines()) if line)
    if len(title) > MAX_TITLE:
        raise InvalidInputError(
            f"title {_shown(title)} has {len(title)} characters; at most {MAX_TITLE} are allowed",
            hint="leave it out for the first words of the text",
        )
    return None if _is_blank(title) else title


def check_list(field: str, values: Iterable[Any]) -> list[Any]:
    """Return the items of a list; a text alone, which would be taken letter by letter, is none."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{field} {_shown(values)} is not a list", hint="put a single value in brackets")
    return list(values)


def check_tags(values: Iterable[str]) -> tuple[str, ...]:
    """Return tags as they are stored: stripped, in NFC, each once."""
    tags = dict.fromkeys(_check_tag(value) for value in check_list("tags", values))
    if len(tags) > MAX_TAGS:
        raise InvalidInputError(
            f"{len(tags):,} tags are too many; at most {MAX_TAGS} are allowed", hint="keep those you will look for"
        )
    return tuple(tags)


def _check_tag(value: str) -> str:
    return _check_label("tag", value, MAX_TAG)


def check_name(field: str, value: str | None) -> str | None:
    """Return a key, run id or actor as it is stored."""
    return None if value is None else _check_label(field, value, MAX_KEY)


def _check_label(field: str, value: str, limit: int) -> str:
    """Return a short text by which things are found: stripped, in NFC, without control characters."""
    _check_string(field, value)
    # Normalising takes quadratic time where marks pile up, so what is far too long is not normalised.
    label = unicodedata.normalize("NFC", value.strip()) if len(value) <= _LONGEST_LABEL else value
    if not 1 <= len(label) <= limit or _is_blank(label):
        raise InvalidInputError(
            f"{field} {_shown(value)} is not 1 to {limit} characters long",
            hint=f"use at most {limit} visible characters",
        )
    found = _CONTROL.search(label)
    if found is not None:
        raise InvalidInputError(
            f"{field} {_shown(value)} holds the control character {found.group()!r}", hint="leave that character out"
        )
    return label


def check_time(field: str, value: datetime) -> datetime:
    """Return a time in UTC, or an error that names the field."""
    if not isinstance(value, datetime):
        raise InvalidInputError(f"{field} {_shown(value)} is not a time", hint="pass an aware datetime")
    try:
        return utc(value)
    except InvalidInputError as error:
        raise InvalidInputError(f"{field}: {error.message}", hint=error.hint) from error


def _check_metadata(value: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInputError(
            f"metadata {_shown(value)} is not an object of names and values", hint='such as {"ticket": 482}'
        )
    checked: dict[str, Any] = _plain(value, "metadata", 1)
    size = len(json.dumps(checked, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))
    if size > MAX_METADATA:
        raise InvalidInputError(
            f"metadata takes {size:,} bytes as JSON; at most {MAX_METADATA:,} are allowed",
            hint="store the data elsewhere and keep a pointer to it",
        )
    return checked


def _plain(value: Any, where: str, depth: int) -> Any:
    """Return a copy made of JSON's own types, or refuse what JSON cannot hold exactly."""
    if depth > MAX_METADATA_DEPTH:
        raise InvalidInputError(
            f"metadata is nested deeper than {MAX_METADATA_DEPTH} levels",
            hint="flatten it, or keep it elsewhere and point to it",
        )
    match value:
        case None | bool():
            return value
        case str():
            _check_string(where[:200], value)
            return str(value)
        case int() if value in _INT64:
            return int(value)
        case float() if math.isfinite(value):
            return float(value)
        case Mapping():
            for key in value:
                _check_string(f"a name in {where:.200}", key)
            return {str(key): _plain(item, f"{where}[{_shown(key)}]", depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(value)]
        case _:
            raise InvalidInputError(
                f"{where:.200} {_shown(value)} cannot be kept as JSON",
                hint="use texts, finite numbers, 64-bit integers, true, false, null, lists and objects",
            )


def _shown(value: object) -> str:
    """Return a value for a message, without the secrets in it: messages end up in logs."""
    from memanto.memory.redaction import redact

    text = redact(shown(value, 2_000))[0]
    return text if len(text) <= 80 else f"{text[:79]}…"
