"""Runs: steps that survive a crash, the event a run leaves, what is credited, and whether runs compound."""

from memanto import InMemory, Memanto
from memanto.loop.runs import RunFailure

HABIT = ("pull at once", "pull at noon", "pull after the lock")  # the order in which this agent tries things

with Memanto("nightly-reconciler", store=InMemory()) as memory:
    # A run that crashes stays visible, with the steps it had made, and goes on later.
    try:
        with memory.run("reconcile", run_id="first") as run:
            run.step("opened the ledger", tool_calls=1)
            raise TimeoutError("the ledger did not answer")
    except TimeoutError:
        pass
    [left] = memory.runs(state="unfinished")
    print(f"unfinished: {left.id}, {left.steps} step, {left.interrupted}")
    run = memory.resume_run("first")
    run.step("opened the ledger again", failure=RunFailure(text="the ledger did not answer", key="ledger/open"))
    run.end("ledger opened", conclusion="it answers at the second try")

    # Ten runs that look before they act, and learn when they were wrong.
    for _ in range(10):
        with memory.run("pull") as run:
            rules = run.guard("about to pull the ledger rows of the night")
            order = [*(trigger.do for trigger in rules), *HABIT]
            for action in dict.fromkeys(order):
                wrong = action != "pull after the lock"
                used = [trigger.memory.id for trigger in rules if trigger.do == action]
                run.step(action, tool_calls=1, failure=f"{action} failed" if wrong else None, used=used)
                if not wrong:
                    break
            if order[0] != "pull after the lock":
                memory.record_failure("When about to pull the ledger rows of the night, pull after the lock")

    print()
    for record in memory.runs("pull", limit=3):
        print(f"{record.id}  {record.steps} steps, {record.repeats} failures again, {len(record.credited)} credited")
    for hit in memory.recall("what did the last run of reconcile conclude", types=["event"], limit=1):
        print(f"\n{hit.memory.content}")

    [task] = memory.compounding("pull").tasks
    steps = task.arms[0].metric("steps")
    print(f"\nsteps per run: {steps.values}, trend {steps.trend}")
    assert steps.values[0] == 3.0
    assert set(steps.values[1:]) == {1.0}
