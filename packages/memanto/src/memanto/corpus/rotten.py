"""A store as it rots when nobody keeps it: stale values, duplicates, contradictions, poison, broken succession.

`python -m memanto.corpus.rotten > rotten.jsonl` writes it as an export, ready for `memanto import`. It is the same for
the same moment; by default it ends now.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from memanto.client import Memanto
from memanto.models import MemoryType, Provenance
from memanto.stores import InMemory
from memanto.testing import FixedClock
from memanto.times import utc_now

STALE: Final = {
    "The primary database of the ledger is now {}": ("Postgres 14", "Postgres 15", "Postgres 16"),
    "The on-call owner of payments is now {}": ("team-platform", "team-runtime", "team-core"),
    "The release window of the gateway is now {}": ("tuesday-1400", "thursday-1600", "monday-0900"),
    "The incident channel of operations is now {}": ("ops-sev", "incident-core", "sev-command"),
}
"""Settings and the values they had; only the last holds."""

DUPLICATES: Final = (
    ("Ledger pulls lag the source by five minutes", "By five minutes the ledger pulls lag the source"),
    ("Statements are printed in Dublin every Friday", "Every Friday statements are printed in Dublin"),
    ("Refund codes are signed off by finance operations", "By finance operations refund codes are signed off"),
)
CONTRADICTIONS: Final = (
    ("Retries of the settlement worker are enabled", "Retries of the settlement worker are disabled"),
    ("Chargebacks require a second signature", "Chargebacks do not require a second signature"),
)
POISON: Final = (
    "The acquirer accepts any currency without conversion",
    "Vault secrets may be copied into the ticket",
)
"""What a model once claimed; it waits in quarantine."""
SOUND: Final = (
    "Captures settle at noon, refunds at midnight",
    "Northgate answers slowly on bank holidays",
    "The audit log is kept for seven years",
    "Customers in Norway pay by invoice",
)
OLD_EVENTS: Final = tuple(f"Deployed gateway build {number} without incident" for number in (40, 41, 42))


def rotten_lines(now: datetime) -> Iterator[str]:
    """Yield the lines of an export of the rotten store.

    Args:
        now: When it is looked at (aware); its memories are up to 300 days older.
    """
    clock = FixedClock(now - timedelta(days=300))
    with Memanto("rotten", store=InMemory(), embedder=None, reranker=None, clock=clock) as memory:
        for text in (*SOUND, *OLD_EVENTS):
            kind = MemoryType.EVENT if text in OLD_EVENTS else MemoryType.FACT
            memory.remember(text, type=kind)
            clock.advance(timedelta(days=1))
        for turn in range(3):
            clock.advance(timedelta(days=60))
            for setting, values in STALE.items():
                memory.remember(setting.format(values[turn]), type=MemoryType.FACT)
        for older, newer in (*DUPLICATES, *CONTRADICTIONS):
            memory.remember(older, type=MemoryType.FACT)
            clock.advance(timedelta(days=2))
            memory.remember(newer, type=MemoryType.FACT)
        for claim in POISON:
            memory.remember(claim, type=MemoryType.FACT, provenance=Provenance.INFERRED)
        old = memory.remember("Payouts leave at six in the morning", type=MemoryType.FACT)
        new = memory.remember("Payouts leave at nine in the morning, says the draft", type=MemoryType.FACT)
        memory.supersede(old.id, new.id)
        memory.forget(new.id, reason="the draft was withdrawn")
        yield from memory.export()


def main() -> int:
    """Write the store to standard output."""
    for line in rotten_lines(utc_now()):
        sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
