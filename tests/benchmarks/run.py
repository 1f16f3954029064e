"""Run the benchmarks: `python -m tests.benchmarks.run [--data DIR] [--quick] [--only SUITE]`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks import figures, harness
from tests.benchmarks.tables import write_pages


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen suites, write their results, and write the pages of a full run."""
    known = harness.suites()
    options = _parser(known).parse_args(arguments)
    if options.data is not None and not options.data.is_dir():
        print(f"error: --data {str(options.data)!r} is not a folder", file=sys.stderr)
        return 2
    os.environ.setdefault("MEMANTO_OFFLINE", "1")  # a benchmark never downloads a model
    out = options.out or (harness.RESULTS / "quick" if options.quick else harness.RESULTS)
    chosen = options.only or [name for name, suite in known.items() if suite.in_quick or not options.quick]
    for name in [] if options.pages else chosen:
        bench = harness.Bench(data=options.data, quick=options.quick, cache=options.cache, seed=options.seed)
        path = harness.run_suite(known[name], bench).write(out)
        bench.say(f"wrote {_shown(path)}")
    pages = write_pages(out, out if out != harness.RESULTS else harness.PAGES)
    if out == harness.RESULTS:
        pages.append(figures.write(out))
    print("\n".join(_shown(page) for page in pages))
    return 0


def _parser(known: dict[str, harness.Suite]) -> argparse.ArgumentParser:
    listing = "\n".join(f"  {suite.name:12} {suite.about}" for suite in known.values())
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.run",
        description="Run benchmarks and write their results and pages.",
        epilog=f"suites:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder with the public data sets; without it only our own corpus")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors between runs, to save the model's time")
    parser.add_argument("--quick", action="store_true", help="a sample that takes less than two minutes")
    parser.add_argument("--only", action="append", choices=list(known), metavar="SUITE", help="may be repeated")
    parser.add_argument("--pages", action="store_true", help="measure nothing, write the pages from the results")
    parser.add_argument("--out", type=Path, help="folder for the results (and then the pages too)")
    parser.add_argument("--seed", type=int, default=7)
    return parser


def _shown(path: Path) -> str:
    return str(path.relative_to(harness.ROOT)) if path.is_relative_to(harness.ROOT) else str(path)


if __name__ == "__main__":
    sys.exit(main())
