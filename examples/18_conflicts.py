"""What cannot both hold: named in the receipt, folded in recall, decided, and taken back without loss."""

from memanto import InMemory, Memanto
from memanto.testing import HashEmbedder

with Memanto("ledger-bot", store=InMemory(), embedder=HashEmbedder(), reranker=None) as memory:
    memory.remember("The primary database is Postgres 15", type="fact")
    receipt = memory.remember("The primary database is now MySQL 8", type="fact")
    [note] = receipt.conflicts
    print(f"{note.kind} found by {note.rule}, because of {note.cue!r}")

    # Until somebody decides, recall shows the newer one with the older one under it.
    [hit] = memory.recall("which primary database")
    print("shown: ", hit.memory.content)
    print("before:", hit.folded[0].memory.content)
    assert len(memory.recall("which primary database", everything=True)) == 2

    memory.resolve_conflict(note.id, "keep-new", reason="migrated in June")
    assert memory.conflicts() == []
    loser = memory.show(note.other)
    print(f"the loser is {loser.status}, not gone: {loser.content}")

    memory.undo_conflict(note.id, reason="the migration was rolled back")
    assert memory.show(note.other).status == "active"
    print("history:", [version.decision.action for version in memory.history(note.id) if version.decision])

    # Detection finds what rules did not see while writing: the pairs of a long batch, or of an import.
    found = memory.detect_conflicts(everything=True)
    print(f"{found.examined} examined, {len(found.conflicts)} open")
