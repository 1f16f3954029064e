"""The one schema of stored points, for every engine.

A namespace holds points of three kinds: `version` (one version of a memory), `slot` (which memory a key or
a text's hash belongs to) and `meta` (the namespace itself). Only versions carry vectors.
"""

from __future__ import annotations

from typing import Final

SCHEMA_VERSION: Final = 1

LEXICAL_VECTOR: Final = "bm25"
"""Name of the sparse vector; weights from `engine.bm25`, document frequencies from the engine (IDF)."""

KEYWORD_FIELDS: Final = ("memory_id", "type", "status", "tags", "marks")
TIME_FIELDS: Final = ("recorded_at", "retired_at", "event_at")
INDEXED_FIELDS: Final = KEYWORD_FIELDS + TIME_FIELDS
"""What prunes: eight indexes. Each costs load time, so source, provenance, confidence, key, run, `valid_to`
and `world_from` are filtered without one. A server adds `namespace` as its tenant index.

`marks` joins what most reads ask for into one condition, since each costs a pass over the candidates:

- `live` and `live <type>`: current, active, true until further notice; `ending` and `ending <type>`: the
  same with a `valid_to`. They go when a version is closed, so they answer for the present only.
- `ends` (has a `valid_to`), `keyed` (fills a slot), `pinned`: never change.
"""

OPEN_END: Final = "9999-12-31T23:59:59.999999Z"
"""`retired_at` of a version that no later one has retired; refused as input."""

RECORD_KEYWORDS: Final = ("thread", "line", "of", "run")
RECORD_TIME: Final = "at"
"""Indexed fields of records (`engine.records`): few, for each costs with every write."""
