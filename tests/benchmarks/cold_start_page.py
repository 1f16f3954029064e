"""The page `docs/benchmarks/cold-start.md`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.benchmarks.harness import Result, provenance, table

_SHOWN: Final = 6
"""Packages named per command."""

_INTRO: Final = """\
# Cold start

What a whole command takes from the shell on a store of {memories:,} memories, from the start of its process to its
end, beside an interpreter that does nothing. All run in turns within one run, each a first time that does not count;
modules are compiled, as in an installation. Wall time is the median; CPU time is what the system charged the process,
the median and the least, which a busy machine disturbs least. `recall QUERY` loads the offline model and embeds the
question; `remember TEXT` embeds what it stores.
"""

_IMPORTS: Final = """\
## What is imported

Milliseconds of each package's own modules, from one run of `python -X importtime`, which itself costs about half as
much again. *typer* brings its own copy of click; *memanto.engine* opens the store with *qdrant_edge*; *numpy* and
*onnxruntime* come only with the model.
"""

_MENDED: Final = """\
## What was mended

- Typer reads the signature of every command to run one. Only the command that is named is built now: between 30 and
  70 ms of CPU less for each command.
- Reading loaded the patterns that guess a type, for one function that recognises handoffs; it has a module of its own:
  11 ms less for `recall`, `show`, `history` and `status`.
- What remains of `recall QUERY` is numpy, onnxruntime, the model's session (67 ms) and its checksum (25 ms), then the
  engine's load of the store. An agent that asks often keeps a process: the MCP server, or the Python API.
"""


def page(result: Result) -> str:
    """Render the page."""
    commands = result.figures["commands"]
    parts = [
        _INTRO.format(memories=result.figures["memories"]),
        _times(commands),
        _MENDED,
        _IMPORTS,
        _packages(commands),
    ]
    return "\n".join([*parts, provenance(result)])


def _times(commands: Mapping[str, Any]) -> str:
    rows = []
    for name, found in sorted(commands.items(), key=lambda item: item[1]["cpu_ms"]):
        ratios = [f"{found[key]:.1f}" if key in found else "1" for key in ("ratio", "cpu_ratio")]
        times = [f"{found[key]:.0f}" for key in ("wall_ms", "cpu_ms", "cpu_least_ms")]
        shown = f"`{name}`" if "imports" not in found else f"`memanto {name}`"
        rows.append((shown, ratios[0], times[0], ratios[1], times[1], times[2]))
    header = ("command", "wall, ratio", "ms", "CPU, ratio", "ms", "least ms")
    return table(header, rows) + "\n"


def _packages(commands: Mapping[str, Any]) -> str:
    rows = []
    for name, found in commands.items():
        if "imports" not in found:
            continue
        packages = found["imports"]["packages"]
        largest = [f"{package} {one['ms']:.0f}" for package, one in list(packages.items())[:_SHOWN]]
        rows.append((f"`memanto {name}`", found["imports"]["modules"], ", ".join(largest)))
    return table(("command", "modules", "most of the milliseconds"), rows) + "\n"
