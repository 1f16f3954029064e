"""An inferred fact waits in quarantine; secrets never reach the store."""

from memanto import InMemory, Memanto

with Memanto("orders-bot", store=InMemory()) as memory:
    claim = memory.remember(
        "The customer is on the enterprise plan",
        type="fact",
        provenance="inferred",
        source="assistant",
        confidence=0.99,
    )
    print("a claim of a model:", claim.status)
    assert claim.status == "quarantined"  # trust follows from how it is known, not from the confidence given

    assert memory.recall("which plan is the customer on") == []
    [held] = memory.recall("which plan is the customer on", status=["quarantined"])
    print("on request only:", held.memory.content, f"[{held.memory.status}]")

    memory.verify(claim.id, reason="checked in the billing system")
    [hit] = memory.recall("which plan is the customer on")
    print("after verify:", hit.memory.status, hit.memory.provenance, hit.memory.confidence)
    assert hit.memory.provenance == "validated"

    # An inference cannot take the place of what was verified; it is kept beside it.
    memory.remember("Refunds take 5 days", type="fact", key="refund-time")
    guess = memory.remember("Refunds take 2 days", type="fact", key="refund-time", provenance="inferred")
    [refund] = memory.recall("how long do refunds take", types=["fact"], limit=1)
    print("still trusted:", refund.memory.content, "|", *guess.warnings)
    assert refund.memory.content == "Refunds take 5 days"

    secret = memory.remember("Log in with https://ci:hunter2secret@git.example.com/", type="artifact")
    print("redacted:", [f"{one.kind} in {one.field}" for one in secret.redactions])
    assert "hunter2secret" not in memory.show(secret.id).content
