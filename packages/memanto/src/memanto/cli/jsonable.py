"""Values of the project as JSON: the stable schema behind `--json`.

Every field is always present, so that a reader can rely on its keys; times are RFC 3339 in UTC.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memanto.times import to_rfc3339


def jsonable(value: Any) -> Any:
    """Return a value of the project in types that `json` writes.

    Dataclasses become objects with the names of their fields, enumerations their values, mappings objects
    with text keys, other collections arrays.
    """
    if isinstance(value, str):
        return str(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, datetime):
        return to_rfc3339(value)
    if isinstance(value, Path):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    return [jsonable(item) for item in value]
