"""Take memories out, with all versions, and bring them into another store."""

import json
import tempfile
from pathlib import Path

from memanto import Embedded, InMemory, Memanto

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "orders-bot.jsonl")
    with Memanto("orders-bot", store=Embedded(Path(folder, "store"))) as here:
        receipt = here.remember("The importer runs at 02:00 UTC", type="fact", tags=["importer"])
        here.edit(receipt.id, content="The importer runs at 03:00 UTC", reason="moved after the backup")
        file.write_text("\n".join(here.export()), "utf-8")
        original = here.history(receipt.id)

    header, *versions = map(json.loads, file.read_text("utf-8").splitlines())
    print("header:", header["format"], header["format_version"], "agent", header["agent"])
    for version in versions:
        print("version:", version["version"], version["content"])

    with Memanto("copy", store=InMemory()) as there:
        with file.open(encoding="utf-8") as lines:
            report = there.import_(lines)
        print(f"added {report.stored} versions of {report.memories} memory")
        with file.open(encoding="utf-8") as lines:
            assert there.import_(lines).stored == 0  # running it again changes nothing

        copied = there.history(receipt.id)
        assert [(m.content, m.recorded_at, m.retired_at) for m in copied] == [
            (m.content, m.recorded_at, m.retired_at) for m in original
        ]
        assert all(version.imported for version in copied)
        # The copy has the same past: before the edit it was 02:00.
        [hit] = there.recall("when does the importer run", as_of=original[0].recorded_at)
        print("as of the first version:", hit.memory.content)
