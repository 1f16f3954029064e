"""Forget erases: when it returns, a byte search of the store finds nothing of the text."""

import tempfile
from pathlib import Path

from memanto import Embedded, Memanto

PRIVATE = "the tenant in room twelve pays late"


def files_that_hold(text: str, folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    with Memanto("landlord", store=Embedded(folder)) as memory:
        kept = memory.remember("Rent is due on the first of the month", type="fact")
        gone = memory.remember(f"Note: {PRIVATE}", type="observation")
        memory.edit(gone.id, content=f"Note: {PRIVATE}, again", reason="it happened twice")
        print("before:", len(files_that_hold(PRIVATE, folder)), "files hold the text")
        assert files_that_hold(PRIVATE, folder)

        memory.forget(gone.id, reason="asked by the tenant")
        print("after: ", len(files_that_hold(PRIVATE, folder)), "files hold the text")
        assert files_that_hold(PRIVATE, folder) == []

        tombstone = memory.show(gone.id)
        print("left:  ", tombstone.status, tombstone.type, repr(tombstone.content), tombstone.decision)
        assert [hit.memory.id for hit in memory.recall("what do we know of the tenant")] == [kept.id]
