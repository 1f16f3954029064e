"""Check a memory before trusting it: a verdict per question, and the stage at which a miss arose."""

from memanto import InMemory, Memanto

QUESTIONS = {
    "Which database holds the ledger?": "PostgreSQL 17",
    "How many retries does the importer make?": "3 retries",
    "Which port does the gateway use?": "8443",
    "Who signs the invoices?": "treasury",
}

with Memanto("ledger-bot", store=InMemory()) as memory:
    memory.remember("The ledger database is PostgreSQL 17", type="fact")
    memory.remember("The importer makes 3 retries before it gives up", type="fact", key="importer.retries")
    memory.remember("The importer makes 5 retries before it gives up", type="fact", key="importer.retries")
    memory.remember("The gateway uses port 8443", type="fact")
    memory.remember("The gateway uses port 9443", type="fact")

    report = memory.check(QUESTIONS)
    for result in report.results:
        print(f"{result.verdict:<12} {result.stage or '':<14} {result.question.question}  {result.detail}")
    assert [str(result.verdict) for result in report.results] == ["supported", "stale", "conflicting", "absent"]
    assert not report.passed
