"""What a whole command takes from the shell, beside an interpreter that does nothing, and what each imports.

Every command is a process of its own on a store of 10,000 memories, in turns, so that whatever else the machine does
hits all alike. Time is taken of the process and its children by the system (`wait4`), so that nothing is left out:
interpreter, imports, opening the store, the model, the answer, and closing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.cold_start_page import page
from tests.benchmarks.harness import Bench, Figures, Suite, register
from tests.benchmarks.remembering import RandomVectors
from tests.benchmarks.rivals import protocol

from memanto import Draft, Embedded, EmbedderIdentity, Memanto, MemoryType
from memanto.composition import configured_embedder
from memanto.models import MAX_BATCH

NOTHING: Final = "python -c pass"
AGENT: Final = "cold"

COMMANDS: Final[Mapping[str, Sequence[str]]] = {
    "--version": ("--version",),
    "--help": ("--help",),
    "recall --help": ("recall", "--help"),
    "config show": ("config", "show"),
    "agent list": ("agent", "list"),
    "status": ("status",),
    "show ID": ("show", "{id}"),
    "history ID": ("history", "{id}"),
    "recall --recent": ("recall", "--recent"),
    "recall --type fact": ("recall", "--type", "fact"),
    "recall QUERY": ("recall", "which service rejects webhooks"),
    "remember TEXT": ("remember", "the ledger lags by {number} minutes", "--type", "fact"),
    "handoff show": ("handoff", "show"),
    "guard TEXT": ("guard", "restart the worker of the billing service"),
    "hook pre-tool-use": ("hook", "pre-tool-use", "--client", "claude-code", "--agent", "cold"),
    "brief TASK": ("brief", "reconcile the ledger with the orders"),
    "doctor": ("doctor",),
}

INPUTS: Final[Mapping[str, str]] = {
    "hook pre-tool-use": json.dumps(
        {"tool_name": "Bash", "tool_input": {"command": "restart the worker of the billing service"}}
    ),
}
"""What a command reads from standard input, as a coding tool gives it to its hook; the others get nothing."""

_MEMANTO: Final = (sys.executable, "-c", "import sys; from memanto.cli.main import run; sys.exit(run())")
"""What the installed command runs."""

_IMPORT: Final = re.compile(r"import time:\s*(\d+) \|\s*\d+ \|\s*([\w.]+)")
_OURS: Final = "memanto"


def measure(bench: Bench) -> Figures:
    """Measure every command, and the imports of each."""
    size, passes = (1_000, 3) if bench.quick else (10_000, 9)
    model = configured_embedder().model
    if model is None:
        bench.skip("recall and remember with the model", "the offline model is not installed")
    home = Path(tempfile.mkdtemp(prefix="memanto-bench-"))
    try:
        bench.say(f"filling a store with {size}")
        known = _fill(home, size, model.identity if model else None)
        return {"memories": size, **time_commands(COMMANDS, home, known, passes, bench)}
    finally:
        shutil.rmtree(home, ignore_errors=True)


def time_commands(
    commands: Mapping[str, Sequence[str]], home: Path, known: str, passes: int, bench: Bench
) -> dict[str, Any]:
    """Return figures and imports per command.

    Args:
        commands: Arguments by name; `{id}` stands for `known`, `{number}` for one that is new each time.
        home: Folder of the store, with an active agent.
        known: Id of a memory.
        passes: How often each runs, after a first time that does not count.
        bench: Notes the commands that fail.
    """
    environment = _environment(home)
    taken: dict[str, list[tuple[float, float]]] = defaultdict(list)
    names = [NOTHING, *commands]
    for turn in range(-1, passes):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            if name not in names:
                continue
            command = [sys.executable, "-c", "pass"]
            if name != NOTHING:
                values = [part.format(id=known, number=turn + 2) for part in commands[name]]
                command = [*_MEMANTO, *values]
            measured, status = _run(command, environment, INPUTS.get(name, ""))
            if status:
                bench.skip(f"memanto {name}", f"it ended with status {status}")
                names.remove(name)
                taken.pop(name, None)
            elif turn >= 0:
                taken[name].append(measured)
    figures = {name: _summary(runs) for name, runs in taken.items() if name in names}
    nothing = figures[NOTHING]
    for name, found in figures.items():
        if name != NOTHING:
            found["ratio"] = round(found["wall_ms"] / nothing["wall_ms"], 1)
            found["cpu_ratio"] = round(found["cpu_ms"] / nothing["cpu_ms"], 1)
            values = [part.format(id=known, number=0) for part in commands[name]]
            found["imports"] = _imports(values, environment)
    return {"commands": figures}


def _environment(home: Path) -> dict[str, str]:
    """Return an environment with compiled modules in a place of their own, as an installation has them."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMANTO_", "PYTHON"))}
    return {**kept, "MEMANTO_HOME": str(home), "MEMANTO_OFFLINE": "1", "PYTHONPYCACHEPREFIX": str(home / "compiled")}


def _run(command: Sequence[str], environment: Mapping[str, str], given: str) -> tuple[tuple[float, float], int]:
    """Return wall seconds and processor seconds of a process, and its exit status."""
    with tempfile.TemporaryFile() as read:
        read.write(given.encode())
        read.seek(0)
        begun = time.perf_counter()
        process = subprocess.Popen(
            command, env=environment, stdin=read, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    return (wall, used.ru_utime + used.ru_stime), process.returncode


def _summary(runs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    wall, cpu = zip(*runs, strict=True)
    return {
        "wall_ms": round(statistics.median(wall) * 1e3, 1),
        "cpu_ms": round(statistics.median(cpu) * 1e3, 1),
        "cpu_least_ms": round(min(cpu) * 1e3, 1),
    }


def _imports(arguments: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
    """Return how many modules a command imports and the milliseconds of each package, itself only, largest first."""
    command = [sys.executable, "-X", "importtime", *_MEMANTO[1:], *arguments]
    done = subprocess.run(
        command, env=dict(environment), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    spent: dict[str, float] = defaultdict(float)
    count: dict[str, int] = defaultdict(int)
    for microseconds, module in _IMPORT.findall(done.stderr):
        top = module.partition(".")[0]
        package = ".".join(module.split(".")[:2]) if top == _OURS else top
        if top in sys.stdlib_module_names or top.startswith("_"):
            package = "standard library"
        spent[package] += int(microseconds) / 1e3
        count[package] += 1
    ordered = sorted(spent, key=lambda package: -spent[package])
    return {
        "modules": sum(count.values()),
        "packages": {package: {"modules": count[package], "ms": round(spent[package], 1)} for package in ordered},
    }


def _fill(home: Path, size: int, identity: EmbedderIdentity | None) -> str:
    """Fill the store of the active agent with vectors that pass for the model's; return the id of a memory."""
    subprocess.run([*_MEMANTO, "agent", "create", AGENT], env=_environment(home), check=True, capture_output=True)
    embedder = RandomVectors(identity) if identity is not None else None
    with Memanto(AGENT, store=Embedded(home), embedder=embedder) as memory:
        for start in range(0, size, MAX_BATCH):
            items = [protocol.item(number) for number in range(start, min(start + MAX_BATCH, size))]
            receipts = memory.remember_many([Draft(content=text, type=MemoryType(kind)) for _, text, kind in items])
    return receipts[0].id


register(Suite(name="cold-start", about="Whole commands from the shell, and what they import", run=measure, page=page))
