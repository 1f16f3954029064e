"""Values of the project as JSON: the stable schema behind `--json`.

Every field is always present, so that a reader can rely on its keys; times are RFC 3339 in UTC, days
ISO 8601, spans of time seconds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from memanto.times import to_rfc3339


def jsonable(value: Any) -> Any:
    """Return a value of the project in types that `json` writes.

    Dataclasses become objects with the names of their fields, enumerations their values, mappings objects
    with text keys, other collections arrays.
    """
    match value:
        case None | bool() | int() | float():
            return value
        case str() | Path():
            return str(value)  # of an enumeration, its value
        case date() | timedelta():
            return _time(value)
        case Mapping():
            return {str(key): jsonable(item) for key, item in value.items()}
        case _ if dataclasses.is_dataclass(value):
            return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
        case _:
            return [jsonable(item) for item in value]


def _time(value: date | timedelta) -> str | float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    return to_rfc3339(value) if isinstance(value, datetime) else value.isoformat()
