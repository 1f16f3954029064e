"""The one schema of stored points, for every engine.

A namespace holds points of three kinds: `version` (one version of a memory), `slot` (which memory a key or
a text's hash belongs to) and `meta` (the namespace itself). Only versions carry vectors.
"""

from __future__ import annotations

from typing import Final

SCHEMA_VERSION: Final = 1

LEXICAL_VECTOR: Final = "bm25"
"""Name of the sparse vector; weights from `engine.bm25`, document frequencies from the engine (IDF)."""

KEYWORD_FIELDS: Final = ("memory_id", "type", "status", "tags")
TIME_FIELDS: Final = ("recorded_at", "retired_at", "event_at", "valid_to")
INDEXED_FIELDS: Final = KEYWORD_FIELDS + TIME_FIELDS
"""What prunes: eight indexes. Each costs load time, so source, provenance, confidence, key, run and
`world_from` are filtered without one. A server adds `namespace` as its tenant index."""

OPEN_END: Final = "9999-12-31T23:59:59.999999Z"
"""`retired_at` of a version that no later one has retired; refused as input."""
