"""A small store about a ledger, for tests of answers and checks: words decide, no model is loaded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from memanto import InMemory, Memanto
from memanto.testing import FixedClock, HashEmbedder

START = datetime(2026, 5, 4, 9, tzinfo=UTC)

GOAL = "Goal: reconcile the ledger every night and flag every difference over $0.01"
PLAN = "Plan: pull the ledger, diff it, open tickets for what differs"
RUN = "Nightly reconciliation run: 12 deltas, all from one late batch; concluded that the pull was stale"
FAILURE = "When the nightly diff shows missing captures, wait and pull again — root cause: the acquirer is late"
LAG = "Ledger pulls lag the source by about 5 minutes"
DATABASE = "The ledger database is PostgreSQL 17 behind PgBouncer"


def make_memory(clock: FixedClock | None = None, **options: Any) -> Memanto:
    """Return an open memory in this process."""
    settings: dict[str, Any] = {
        "store": InMemory(),
        "embedder": HashEmbedder(),
        "reranker": None,
        "llm": None,
        **options,
    }
    return Memanto("ledger-bot", clock=clock or FixedClock(START), **settings).open()


def seeded(clock: FixedClock | None = None, **options: Any) -> tuple[Memanto, dict[str, str]]:
    """Return a memory that holds one of each, an hour apart, with their ids by type."""
    clock = clock or FixedClock(START)
    memory = make_memory(clock, **options)
    ids = {}
    for name, kind, text in (
        ("goal", "goal", GOAL),
        ("plan", "context", PLAN),
        ("event", "event", RUN),
        ("error", "error", FAILURE),
        ("lag", "fact", LAG),
        ("database", "fact", DATABASE),
    ):
        clock.advance(timedelta(hours=1))
        ids[name] = memory.remember(text, type=kind).id
    return memory, ids
