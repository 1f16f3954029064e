"""Exports and imports: what comes back, what is refused, and where an export may be written."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.cli_kit import Cli
from tests.stress.stress_kit import refused

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX streams and modes")


# -- carrying -------------------------------------------------------------------------------------------------
def line(**values: Any) -> str:
    one = {
        "id": "01900000-0000-7000-8000-0000000000aa",
        "version": 1,
        "type": "fact",
        "content": "carried",
        "title": "t",
        "recorded_at": "2026-01-01T00:00:00.000000Z",
    } | values
    return json.dumps(one)


FORGED: dict[str, list[str]] = {
    "an id that is a path": [line(id="../../x")],
    "an id that is a number": [line(id=5)],
    "an empty id": [line(id="")],
    "no id": ['{"version": 1, "type": "fact", "content": "carried"}'],
    "version 0": [line(version=0)],
    "version true": [line(version=True)],
    "a missing version": [line(version=2)],
    "a version twice": [line(), line(content="carried otherwise")],
    "pinned as text": [line(pinned="yes")],
    "parts as text": [line(parts="many")],
    "a part of nothing known": [line(part=1, parent_id=7)],
    "a retirement before its beginning": [line(retired_at="2025-01-01T00:00:00.000000Z")],
    "a retirement in the future": [line(retired_at="3026-01-01T00:00:00.000000Z")],
    "no current version": [line(retired_at="2026-02-01T00:00:00.000000Z")],
    "two current versions": [line(), line(version=2, content="second", recorded_at="2026-01-02T00:00:00.000000Z")],
    "versions in the wrong order of time": [
        line(retired_at="2026-01-01T00:00:00.000000Z", recorded_at="2026-03-01T00:00:00.000000Z"),
        line(version=2, content="second"),
    ],
    "recorded in the future": [line(recorded_at="3026-01-01T00:00:00.000000Z")],
    "a time without zone": [line(recorded_at="2026-01-01T00:00:00")],
    "an unknown field": [line(colour="red")],
    "an unknown status": [line(status="gone")],
    "text over the limit": [line(content="y " * 10_000)],
    "confidence NaN": [line(confidence=float("nan"))],
    "a decision that is none": [line(decision={"actor": 5, "action": []})],
    "a decision as text": [line(decision="x")],
    "supersedes a number": [line(supersedes=[1])],
    "superseded by a list": [line(superseded_by=["x"])],
    "an actor that is a number": [line(actor=5)],
    "content that is null": [line(content=None)],
    "half a line": [line()[:40]],
    "great depth": ["[" * 100_000],
    "another format": ['{"format": "mem0", "format_version": 1}'],
    "a surrogate": [line(content="x").replace('"x"', '"\\ud800"')],
}


@pytest.mark.parametrize("what", FORGED)
def test_an_import_of_what_no_export_wrote_changes_nothing(cli: Cli, what: str) -> None:
    """Whatever gets in must be a memory like any other: addressable, with one current version, erasable."""
    good = line(id="01900000-0000-7000-8000-0000000000bb", content="good one")
    refused(cli("import", "-", "--json", stdin="\n".join([good, *FORGED[what]]).encode("utf-8", "surrogatepass")))
    assert len(cli.done("export").out.splitlines()) == 1


def test_export_and_import_are_lossless_whatever_the_text_holds(cli: Cli, tmp_path: Path) -> None:
    odd = [
        "a\x00b\x1b[0m",
        "x\u2028y\u2029z\x85",
        "\r\n crlf \r",
        "e\u0301é",
        "🙂 \U0010ffff \ufffe",
        '"}\n{"format": "x"}',
        "\ufeffbom",
    ]
    ids = [cli.done("remember", "-", "--json", "--type", "fact", stdin=one.encode()).json["id"] for one in odd]
    for one in ids[:3]:
        cli.done("edit", one, "--title", "edited \x07 title", "--tags", "é,b", "--reason", "r\u2028s", "--json")
    cli.done("forget", ids[6], "--yes", "--json")
    cli.done("remember", "-", "--json", "--type", "context", stdin=("long \u2028 text é\r\n" * 2000).encode())
    cli.done("remember", "v1", "--key", "k", "--type", "fact", "--json")
    cli.done("remember", "v2", "--key", "k", "--type", "fact", "--json")
    exported = cli.done("export").out
    assert cli.done("import", "-", "--json", stdin=exported.encode()).json["stored"] == 0
    cli.done("agent", "create", "copy")
    cli.done("import", "-", "--json", stdin=exported.encode())
    again = cli.done("export").out

    def plain(text: str) -> list[dict[str, Any]]:
        rows = [json.loads(row) for row in text.split("\n")[1:] if row]
        return sorted(({**row, "imported": True} for row in rows), key=lambda row: (row["id"], row["version"]))

    assert plain(exported) == plain(again)
    cli.done("import", "-", "--json", "--agent", "loop", stdin=again.encode())
    assert cli.done("export", "--agent", "loop").out.split("\n")[1:] == exported.split("\n")[1:]
    assert cli.done("doctor", "--json").json


def test_export_to_a_folder_a_link_or_a_pipe_does_what_the_user_means(cli: Cli, tmp_path: Path) -> None:
    """A folder is refused; a link is followed; what is no regular file is written to and never replaced."""
    cli.remember("kept")
    (tmp_path / "folder").mkdir()
    refused(cli("export", "-o", str(tmp_path / "folder"), "--json"))
    refused(cli("export", "-o", str(tmp_path / "no" / "file"), "--json"))
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old", "utf-8")
    link.symlink_to(target)
    cli.done("export", "-o", str(link), "--json")
    assert link.is_symlink()
    assert "kept" in target.read_text("utf-8")
    assert list(tmp_path.glob(".*.*")) == []


@posix
def test_export_to_a_fifo_never_replaces_it(cli: Cli, tmp_path: Path) -> None:
    cli.remember("kept")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        outcome = cli("export", "-o", str(fifo), "--json")
        assert stat.S_ISFIFO(fifo.stat().st_mode), "the pipe was replaced by a file"
        assert outcome.status == 2 or b"kept" in os.read(reader, 1 << 16)
    finally:
        os.close(reader)
