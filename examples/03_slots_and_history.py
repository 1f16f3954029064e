"""A value that changes: a slot keeps its versions, and history says who changed it and why."""

from memanto import InMemory, Memanto
from memanto.errors import VersionConflictError

with Memanto("orders-bot", store=InMemory()) as memory:
    for text in ("Deploys go out on Monday", "Deploys go out on Tuesday", "Deploys go out on Monday"):
        receipt = memory.remember(text, type="decision", key="deploy-day", source="release-manager")
    assert receipt.version == 3  # A, B and A again are three versions

    memory.edit(receipt.id, content="Deploys go out on Monday before noon", reason="support asked for it")
    memory.expire(receipt.id, reason="deploys are continuous now")
    assert memory.recall("when do we deploy") == []  # what is retired is not recalled unless asked for

    for version in memory.history(receipt.id):
        decision = version.decision
        how = f"{decision.action} by {decision.actor}" if decision else f"remember by {version.source}"
        why = f" ({decision.reason})" if decision and decision.reason else ""
        print(f"v{version.version}  {version.status:<8} {how}{why}: {version.content}")

    memory.restore(receipt.id, reason="continuous deploys were stopped")
    [hit] = memory.recall("when do we deploy")
    assert hit.memory.version == 6

    # Two writers cannot both win: the second one names the version its change was made on.
    try:
        memory.edit(receipt.id, content="Deploys go out daily", expected_version=5)
    except VersionConflictError as error:
        print(f"refused: {error}")
    else:
        raise AssertionError("an edit of an old version must be refused")
