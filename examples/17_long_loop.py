"""A loop that outlives its window: the process dies twice, and no step is done twice or left out."""

import subprocess
import sys
import tempfile
from pathlib import Path

from memanto import Embedded, Memanto

SHIFT = """
import os, sys
from pathlib import Path
from memanto import Embedded, Memanto

folder, dies_after = Path(sys.argv[1]), int(sys.argv[2])
with Memanto("crawler", store=Embedded(folder / "store"), embedder=None) as memory:
    known = not memory.create_agent() and memory.runs("crawl", state="unfinished")
    run = memory.resume_run() if known else memory.start_run("crawl", goal="every page is read once")
    if not known:
        memory.set_goal("Read every one of 12 pages once")
    baton = memory.take_handoff(by=f"shift {os.getpid()}")
    if baton is not None:
        print("  took over:", baton.baton.state)
        memory.ack_handoff(by=f"shift {os.getpid()}")
    for number, page in enumerate(range(len(run.steps) + 1, 13), start=1):  # what is done is known from the ledger
        with (folder / "pages").open("a") as file:
            file.write(f"{page}\\n")
        run.step(f"read page {page}", tool_calls=1)
        memory.write_handoff(state=f"pages 1 to {page} are read", next=f"page {page + 1}", run_id=run.id)
        if number == dies_after:
            os._exit(9)
    run.end("12 pages read")
"""

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for shift, dies_after in enumerate((5, 4, 99), start=1):
        print(f"shift {shift}", flush=True)
        done = subprocess.run([sys.executable, "-c", SHIFT, str(folder), str(dies_after)], check=False)  # noqa: S603 - itself
        assert done.returncode == (9 if dies_after < 99 else 0)

    pages = [int(line) for line in (folder / "pages").read_text().split()]
    assert pages == list(range(1, 13))
    with Memanto("crawler", store=Embedded(folder / "store"), embedder=None) as memory:
        [run] = memory.runs("crawl")
        assert (run.state, run.steps) == ("success", 12)
        [event] = memory.recall("prior runs of crawl", types=["event"], limit=1)
        print(event.memory.content)
