"""Record a failure as a trigger, be warned at the moment of acting, and say what became of the warning."""

from memanto import InMemory, Memanto

with Memanto("ci", store=InMemory(), embedder=None) as memory:
    memory.record_failure(
        "When Postgres integration tests fail with 'relation does not exist', run pnpm db:seed before the suite",
        task_type="ci",
        cause="the tests assume a migrated schema and CI starts from an empty database",
        confidence=0.45,  # not sure yet
    )

    [warning] = memory.guard("run the integration tests against Postgres", tool="bash", args={"cmd": "pnpm test"})
    print("avoid:", warning.when)
    print("do:   ", warning.do)
    print("why:  ", warning.why_matched)
    assert not warning.confirmed  # below 0.5: it may not stop an action
    assert memory.guard("update the changelog") == []

    memory.feedback(warning.memory.id, "helped", reason="the suite passed after seeding")
    [warning] = memory.guard("run the integration tests against Postgres")
    print(f"confidence is {warning.memory.confidence:g} now, confirmed: {warning.confirmed}")
    assert warning.confirmed
