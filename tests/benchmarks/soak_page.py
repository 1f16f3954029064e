"""The page `docs/benchmarks/soak.md` and its plots."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any, Final

from tests.benchmarks.harness import Result, provenance, table
from tests.benchmarks.plot import Axis, lines

_INTRO: Final = """\
{processes} processes share one agent on one embedded store for {minutes:.3g} minutes, through the public API, with an
embedder that costs next to nothing: they remember, fill slots, recall, ask for the past, edit, record failures, ask
`guard` and `brief`, hand batons over, export, and forget. Every 45 seconds or so each closes its handle and opens
another. The texts are a fixed set, all stored at the beginning, and what a process has stored it forgets in turn. So
the store holds much the same all the time, and what still grows at the end is a leak.
"""
_CRITERION: Final = """\
The goal is *flat at the end*. For each measure the slope over the last third of the samples is Theil and Sen's, with
its 95 % interval. A measure is flat when that interval reaches zero or below, or when the rise over the whole third is
less than 1 % of the level (less than one descriptor or thread). Bytes are those of the processes together: *private*
is shared with no other process, *anonymous* belongs to no file; *disk* is what is allocated, and *log* the part of it
that is write-ahead log.
"""
_FOUND: Final = """\
Earlier runs found three races with a process that forgets, made exact in `tests/stress/test_forgotten_meanwhile.py`: an
edit or a recall of what has just been forgotten ended in an error that was none of ours, and forgetting what another
process was editing left that edit without the versions before it. They also showed that a store with a fixed set of
texts grows all the same while texts contradict each other, since each contradiction is recorded; so the texts of this
workload do not. `MEMANTO_SOAK_SECONDS` sets the length of a run.
"""
_SHOWN: Final = 16
"""Rows of the table of samples, at most."""
_UPKEEP: Final = frozenset({"conflicts", "detection", "disk-space", "duplicates", "growth", "quarantine"})
"""Checks of `doctor` that speak of what was stored or of the machine, not of damage."""
_BYTES: Final = ("rss", "private", "anonymous", "disk", "log")
_COUNTS: Final = ("descriptors", "threads")


def page(result: Result) -> str:
    """Render the page."""
    figures = result.figures
    parts = ["# Soak", ""]
    if figures["trends"]:
        parts += [
            _filled(_INTRO.format(processes=figures["processes"], minutes=figures["seconds"] / 60)),
            "## Flat at the end",
            "",
            _filled(_CRITERION),
            _trends(figures["trends"]),
            "",
            _told(figures),
            _filled(_FOUND),
            "## The curves",
            "",
            "![Memory and disk over time](soak-bytes.svg)",
            "",
            "![Descriptors and threads over time](soak-counts.svg)",
            "",
            _samples(figures["samples"]),
            "",
        ]
    return "\n".join([*parts, provenance(result)])


def plots(result: Result) -> Mapping[str, str]:
    """Render the pictures."""
    samples = result.figures["samples"]
    if not result.figures["trends"]:
        return {}
    minutes = Axis("minutes", low=0.0)
    sizes = {name: [(one["t"] / 60, one[name] / 1e6) for one in samples] for name in _BYTES}
    counts = {name: [(one["t"] / 60, one[name]) for one in samples] for name in _COUNTS}
    return {
        "soak-bytes.svg": lines("Memory of the processes together, and disk", minutes, Axis("MB", low=0.0), sizes),
        "soak-counts.svg": lines("Of the processes together", minutes, Axis("number", low=0.0), counts),
    }


def _trends(trends: Mapping[str, Any]) -> str:
    rows = []
    for name, found in trends.items():
        show = _count if name in _COUNTS else _megabytes
        verdict = "yes" if found["flat"] else "**no**"
        interval = f"{show(found['rise_low'])} to {show(found['rise_high'])}"
        unit = "" if name in _COUNTS else " MB"
        level, rise, hour = (show(found[key]) for key in ("level", "rise", "per_hour"))
        rows.append((f"{name}{unit}", level, rise, interval, hour, verdict))
    return table(("measure", "level", "rise in the last third", "95 % interval", "per hour", "flat"), rows)


def _told(figures: Mapping[str, Any]) -> str:
    """Say what was done, what was refused, and how it ended."""
    done, refused = figures["done"], figures["refused"]
    calls = ", ".join(f"{count:,} {name}" for name, count in done.items())
    lost = ", ".join(f"{count:,} {name}" for name, count in refused.items()) or "none"
    rising = [name for name, found in figures["trends"].items() if not found["flat"]]
    wrong = "; ".join(faults(figures))
    ending = f"**the store was not sound ({wrong})**" if wrong else "`doctor` found no damage"
    verdict = f"Not flat: {', '.join(rising)}." if rising else "Everything is flat."
    return _filled(
        f"{verdict} Calls: {sum(done.values()):,} ({calls}). Refused because another process was faster: {lost}. "
        f"Afterwards {ending}; no memory that a process had stored and not forgotten was lost; exit statuses "
        f"{', '.join(map(str, figures['exit_statuses']))}."
    )


def faults(figures: Mapping[str, Any]) -> list[str]:
    """Return what was wrong with the store in the end; advice on upkeep, which nobody had done, is left out."""
    return [one for one in figures["faults"] if one.partition(":")[0] not in _UPKEEP]


def _samples(samples: list[Mapping[str, float]]) -> str:
    step = -(-len(samples) // _SHOWN)
    shown = samples[step - 1 :: step]
    header = ("minute", *(f"{name} MB" for name in _BYTES), *_COUNTS, "versions", "calls")
    rows = [
        (
            f"{one['t'] / 60:.1f}",
            *(_megabytes(one[name]) for name in _BYTES),
            *(_count(one[name]) for name in (*_COUNTS, "versions", "calls")),
        )
        for one in shown
    ]
    return table(header, rows)


def _megabytes(value: float) -> str:
    return f"{value / 1e6:,.1f}"


def _count(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _filled(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 120, break_on_hyphens=False) + "\n"
