"""Pages and plots from result files, so that no figure in the docs is typed by hand."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks import harness

_INDEX = """\
# Benchmarks

What was measured, on which data and machine, and how to measure it again. Each page is made from a result file in
`tests/benchmarks/results/`; `make bench DATA=DIR` writes both anew, `make bench-quick` measures a sample.

{listing}

```{{toctree}}
:hidden:

{names}
```
"""


def write_pages(results: Path, pages: Path) -> list[Path]:
    """Write the page and the plots of each result in a folder, and an index of them."""
    known = harness.suites()
    written: list[Path] = []
    listed: list[harness.Suite] = []
    for path in sorted(results.glob("*.json")):
        suite = known.get(path.stem)
        if suite is None:
            continue
        result = harness.Result.read(path)
        listed.append(suite)
        written.append(_write(pages / f"{suite.name}.md", suite.page(result)))
        if suite.plots is not None:
            written += [_write(pages / name, picture) for name, picture in suite.plots(result).items()]
    if listed:
        listing = "\n".join(f"- [{suite.name}]({suite.name}.md): {suite.about}" for suite in listed)
        names = "\n".join(suite.name for suite in listed)
        written.append(_write(pages / "index.md", _INDEX.format(listing=listing, names=names)))
    return written


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
