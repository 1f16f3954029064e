"""What the pages show is what happens: their blocks run, and print what they say (our decision)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.pages import Reader, blocks, name_of, pages

from memanto.config_keys import KEYS

_LINK = re.compile(r"\[[^\]]*\]\((?!https?://|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)")
_RUNNABLE = [page for page in pages() if any(b.language in {"python", "console"} for b in blocks(page))]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory of a user without settings, in UTC, who works offline."""
    for key in KEYS.values():
        monkeypatch.delenv(key.variable, raising=False)
    monkeypatch.setenv("MEMANTO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMANTO_OFFLINE", "1")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("MEMANTO_DEBUG", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", _RUNNABLE, ids=name_of)
def test_the_blocks_of_a_page_run_in_order(page: Path, folder: Path) -> None:
    reader = Reader(page, folder)
    reader.follow()
    assert reader.ran > 0


def test_the_readme_and_the_tutorial_are_among_the_pages_that_run() -> None:
    tutorials = {"docs/tutorial/first-memory.md", "docs/tutorial/first-loop.md"}
    assert {"README.md", *tutorials} <= {name_of(page) for page in _RUNNABLE}


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ("```console\n$ memanto config get backend\nqdrant\n```", "not printed"),
        ("```console\n$ memanto config get backen\n```", "unknown setting"),
        ("```console\n$ memanto config get backend  # exit 2\n```", "embedded"),
        ("```console\n$ memanto show 01a22ca1-0000\n```", "no output above"),
        ("```python\nassert 1 == 2, 'no sums'\n```", "no sums"),
    ],
)
def test_a_block_that_is_wrong_is_noticed(block: str, complaint: str, folder: Path) -> None:
    page = folder / "page.md"
    page.write_text(block, "utf-8")
    with pytest.raises(AssertionError, match=complaint):
        Reader(page, folder).follow()


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    dead = [target for target in _LINK.findall(text) if not (page.parent / target).exists()]
    assert dead == []


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_no_page_installs_the_other_product_of_the_same_name(page: Path) -> None:
    commands = re.findall(r"pip install[^\n`]*", page.read_text("utf-8"))
    assert [one for one in commands if re.search(r"(?<![/\w-])memanto", one) and "packages/" not in one] == []
