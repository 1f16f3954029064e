"""Remember a few things, and find them in other words."""

from memanto import InMemory, Memanto

with Memanto("orders-bot", store=InMemory()) as memory:
    receipt = memory.remember("Ledger pulls lag the source by about 5 minutes", type="fact", confidence=0.9)
    print(f"stored {receipt.id}, version {receipt.version}, {receipt.status}, found by {receipt.searchable} search")
    memory.remember("Restart the queue before the importer, or orders are read twice", type="instruction")
    memory.remember("Billing moved to cluster B because the disks of cluster A were full", type="decision")

    # The same text while it is current is the same memory.
    again = memory.remember("Ledger pulls lag the source by about 5 minutes", type="fact")
    assert again.duplicate
    assert again.id == receipt.id

    for hit in memory.recall("how old is the data we get"):
        print(f"{hit.score:.3f}  {hit.memory.type:<12} {hit.memory.content}")
        print(f"       by meaning: {hit.why.dense_rank}, by words: {hit.why.lexical_rank}")

    [best] = memory.recall("how old is the data we get", limit=1)
    assert best.memory.id == receipt.id

    # Filters combine with a query and are applied before ranking.
    [rule] = memory.recall("orders", types=["instruction"])
    print("rule:", rule.memory.content)
