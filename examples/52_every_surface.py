"""One memory, every surface: a crew, a LangGraph loop that dies and resumes, a LangChain chain, an MCP client, the CLI.

Four processes use one embedded store at once (`surfaces/` has a file for each). The crew stores what it finds; the
loop, which died in the middle, goes on from its checkpoint and decides by it; the chain and the coding tool find it;
the command line shows who wrote what, and when.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent / "surfaces"
QUIET = {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "ORT_DISABLE_TELEMETRY": "1"}


def main(home: str) -> None:
    environ = os.environ | QUIET | {"MEMANTO_HOME": home, "CREWAI_STORAGE_DIR": home, "TMPDIR": home}

    def begin(surface: str, **more: str) -> subprocess.Popen:
        return subprocess.Popen([sys.executable, HERE / f"{surface}.py", home], env=environ | more)  # noqa: S603

    def memanto(*arguments: str) -> str:
        command = [sys.executable, "-c", "import sys; from memanto.cli.main import run; sys.exit(run())"]
        return subprocess.run([*command, *arguments], env=environ, check=True, capture_output=True, text=True).stdout  # noqa: S603

    memanto("agent", "create", "shop")  # the active agent from now on
    memanto("remember", "Orders go through the queue", "--type", "fact")
    assert begin("loop", FRAGILE="1").wait() == 1, "it died in the middle"
    running = [begin(surface) for surface in ("crew", "loop", "chain", "coding_tool")]
    try:
        assert [process.wait(timeout=100) for process in running] == [0, 0, 0, 0]
    finally:
        for process in running:
            process.kill()
    wrote = [hit["memory"] for hit in json.loads(memanto("recall", "--recent", "--json"))["results"]]
    for one in sorted(wrote, key=lambda one: one["recorded_at"]):
        print(f"{one['recorded_at'][11:19]} {one['source']:16} {one['type']:9} {one['content'][:80]}")
    assert {(one["type"], one["source"].partition("-")[0]) for one in wrote} >= {
        ("fact", "user"), ("learning", "crewai"),
        ("decision", "langgraph"), ("event", "langchain"), ("decision", "mcp"),
    }  # fmt: skip


with tempfile.TemporaryDirectory() as folder:
    main(folder)
