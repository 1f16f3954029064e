"""A day in one line per memory, what in it contradicts what was known, and the policy that lets detail go."""

from datetime import UTC, date, datetime, timedelta

from memanto import InMemory, Memanto
from memanto.hygiene.summary_text import markdown
from memanto.testing import FixedClock, HashEmbedder

clock = FixedClock(datetime(2026, 5, 4, 9, tzinfo=UTC))
with Memanto("ledger-bot", store=InMemory(), embedder=HashEmbedder(), reranker=None, clock=clock) as memory:
    memory.remember("Retries of the ledger pull are enabled", type="fact")
    clock.advance(timedelta(days=1))
    memory.remember("Chose to re-pull the ledger instead of patching deltas", type="decision")
    memory.remember("Retries of the ledger pull are disabled", type="fact")
    memory.remember("Deployed the ledger at noon", type="event")

    today = memory.daily_summary(date(2026, 5, 5))
    print(markdown(today, UTC))
    assert today.counts == {"Decided": 1, "Facts": 1, "Happened": 1}
    assert len(today.contradictions) == 1

    # The same for that day whatever happens later.
    clock.advance(timedelta(days=200))
    memory.expire(today.items[0].id, reason="no longer needed")
    assert memory.daily_summary(date(2026, 5, 5)) == today

    memory.set_policy("balanced")
    would = memory.apply_policy(dry_run=True)
    print("would expire:", [(one.memory.content, one.reason) for one in would.expiring])
    [gone] = memory.apply_policy().expired
    memory.restore(gone)
    assert memory.show(gone).status == "active"
