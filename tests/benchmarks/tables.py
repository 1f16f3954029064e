"""Pages and plots from result files, so that no figure in the docs is typed by hand."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks import harness


def write_pages(results: Path, pages: Path) -> list[Path]:
    """Write the page and the plots of each result in a folder."""
    known = harness.suites()
    written: list[Path] = []
    for path in sorted(results.glob("*.json")):
        suite = known.get(path.stem)
        if suite is None:
            continue
        result = harness.Result.read(path)
        pages.mkdir(parents=True, exist_ok=True)
        page = pages / f"{suite.name}.md"
        page.write_text(suite.page(result), encoding="utf-8")
        written.append(page)
        if suite.plots is not None:
            for name, picture in suite.plots(result).items():
                (pages / name).write_text(picture, encoding="utf-8")
                written.append(pages / name)
    return written
