"""A shift ends, the next one takes its baton: exactly one taker, and a taker that dies loses nothing."""

from datetime import timedelta

from memanto import InMemory, Memanto
from memanto.testing import FixedClock

clock = FixedClock()
with Memanto("migration", store=InMemory(), clock=clock) as memory:
    memory.set_goal("Goal: migrate REST to GraphQL")
    memory.set_plan("users, auth, orders; then switch the gateway")
    memory.write_handoff(
        done=["/v1/users converted", "/v1/auth converted"],
        next="convert /v1/orders",
        artifacts="services/api/schema.graphql",
        do_not_redo=["/v1/users", "/v1/auth"],
    )

    first = memory.take_handoff(by="agent-1")
    assert first is not None
    print(first.text(memory.pins()))
    assert memory.take_handoff(by="agent-2") is None  # claimed

    clock.advance(timedelta(hours=1))  # agent-1 died without acknowledging
    second = memory.take_handoff(by="agent-2")
    assert second is not None
    memory.ack_handoff(by="agent-2")
    assert memory.take_handoff(by="agent-3") is None  # done for good

    # What was finished is held against an action, also after the baton was acknowledged.
    [warning] = memory.guard("rewrite the endpoint", tool="edit", args={"path": "/v1/users"})
    print("\nguard:", warning.do, "-", warning.when)
    assert memory.guard("convert /v1/orders") == []
