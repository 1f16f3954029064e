"""Before planning: prior runs, durable facts, matching failures and the runbook, in a few cited lines."""

from memanto import InMemory, Memanto

with Memanto("nightly-reconciler", store=InMemory()) as memory:
    memory.set_goal("Goal: reconcile the ledger every night")
    memory.remember("Never write to the ledger", type="instruction", pinned=True)
    memory.remember("Ledger pulls lag the source by about 5 minutes", type="fact")
    memory.remember("To reconcile the ledger: pull, wait, compare, report", type="instruction")
    memory.record_failure("When reconciling the ledger right after midnight, wait five minutes first")
    with memory.run("reconciliation") as run:
        run.step("pulled and compared the ledger", tool_calls=3)
        run.end("the ledger was reconciled in 12 minutes")

    brief = memory.brief("reconcile the ledger tonight", task_type="reconciliation", budget_tokens=300)
    print("\n".join(brief.lines()))
    assert brief.lines()[0] == "Goal: reconcile the ledger every night"
    assert {bullet.section for bullet in brief.bullets} == {"failure", "runbook", "run", "fact"}

    small = memory.brief("reconcile the ledger tonight", budget_tokens=60)
    print("\nleft out of 60 tokens:", {section: len(ids) for section, ids in small.left_out.items()})
    assert small.tokens <= 60
