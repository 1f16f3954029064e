"""What `memanto schedule` runs every day, done once: summary, detection, learning, policy and doctor."""

from datetime import UTC, datetime, timedelta

from memanto import InMemory, Memanto
from memanto.testing import FixedClock, HashEmbedder

clock = FixedClock(datetime(2026, 5, 4, 9, tzinfo=UTC))
with Memanto("ledger-bot", store=InMemory(), embedder=HashEmbedder(), reranker=None, clock=clock) as memory:
    learning = memory.remember("Wait five minutes before pulling the ledger", type="learning")
    clock.advance(timedelta(hours=1))
    run = memory.start_run("reconcile")
    run.delivered(learning.id)
    run.used(learning.id)
    run.end(outcome="pulled too early all the same", success=False)

    report = memory.upkeep(since=(clock() - timedelta(days=2)).date())
    for day in report.summaries:
        print(day.day, day.counts)
    print(f"examined {report.examined}, open conflicts {report.backlog}, expired {report.expired}")
    print(f"doctor: {report.checks} checks, failed: {report.failed_checks}; problems: {report.problems}")
    assert [day.day.day for day in report.summaries] == [2, 3, 4]  # missed days are made up for
    assert not report.problems

    # A run that used a memory and failed moves its confidence; history says by how much and why.
    last = memory.history(learning.id)[-1]
    assert last.decision is not None
    print(f"confidence {last.confidence:g}: {last.decision.reason}")
    print(f"calibration over {memory.calibration().uses} uses")
