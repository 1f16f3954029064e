"""The command line as a hostile shell drives it: bytes, pipes, terminals, batches, folders that are not what they seem."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.cli_kit import Cli, Outcome
from tests.stress.stress_kit import places_of

posix = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell's streams")
UNKNOWN = "01900000-0000-7000-8000-00000000dead"
SECRET = "ghp_" + "a8Kq2Lw9Zx4Vb7Nm1Qs5Td3Yf6Gh0JpRcE2u"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    made = Cli(tmp_path / "home", monkeypatch)
    made.done("agent", "create", "loop")
    return made


@pytest.fixture(scope="module")
def calm(quick_root: Path) -> Iterator[Cli]:
    """A command line that tests of refused input share: none of them changes what its store holds."""
    with pytest.MonkeyPatch.context() as patch:
        folder = Path(tempfile.mkdtemp(dir=quick_root))
        patch.chdir(folder)
        made = Cli(folder / "home", patch)
        made.done("agent", "create", "loop")
        made.remember("kept", "--type", "fact")
        yield made


def refused(outcome: Outcome, status: int = 2) -> dict[str, str]:
    """Assert that a command with `--json` failed as it should; return its error."""
    assert (outcome.status, outcome.out) == (status, ""), outcome
    assert len(outcome.err.splitlines()) == 1, outcome.err
    error = outcome.error
    assert set(error) == {"code", "message", "hint"}
    assert error["code"] != "internal"
    assert len(error["message"]) < 600
    return error


def real(*arguments: str | bytes, home: Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own, words only so that no model is loaded."""
    environment = {**os.environ, "MEMANTO_HOME": str(home), "MEMANTO_AGENT": "loop", **options.pop("env", {})}
    options.setdefault("capture_output", True)
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments], env=environment, timeout=120, check=False, **options
    )


_PROGRAM = """
import sys
import tempfile
from memanto import composition
from memanto.embedding.choice import Choice
from memanto.testing import HashEmbedder
composition.configured_embedder = lambda settings=None: Choice(HashEmbedder())
from memanto.cli.main import run
sys.exit(run())
"""


# -- batches ----------------------------------------------------------------------------------------------
BAD_BATCHES: dict[str, bytes] = {
    "empty": b"",
    "blank": b"\n\n  \n",
    "half": b'{"content": "good"}\n{"content":',
    "half an array": b'[{"content": "good"}, {"content"',
    "an array of numbers": b"[1, 2, 3]",
    "an array of texts": b'["a", "b"]',
    "an array of arrays": b'[[{"content": "x"}]]',
    "numbers": b"1\n2\n",
    "null": b"null",
    "an empty array": b"[]",
    "an empty object": b"{}",
    "1,001": json.dumps([{"content": f"n {n}"} for n in range(1001)]).encode(),
    "confidence NaN": b'[{"content": "x", "confidence": NaN}]',
    "metadata NaN": b'[{"content": "x", "metadata": {"a": Infinity}}]',
    "a surrogate": b'[{"content": "x\\ud800"}]',
    "not UTF-8": b'[{"content": "caf\xe9"}]',
    "UTF-16": '[{"content": "x"}]'.encode("utf-16"),
    "an unknown field": b'[{"content": "x", "contents": "y"}]',
    "content as a number": b'[{"content": 5}]',
    "content null": b'[{"content": null}]',
    "tags as a number": b'[{"content": "x", "tags": 5}]',
    "tags as an object": b'[{"content": "x", "tags": {"a": 1}}]',
    "a time as a number": b'[{"content": "x", "valid_from": 5}]',
    "a day that is none": b'[{"content": "x", "valid_from": "2026-02-30"}]',
    "pinned as text": b'[{"content": "x", "pinned": "no"}]',
    "an unknown type": b'[{"content": "x", "type": "desicion"}]',
    "a type as a list": b'[{"content": "x", "type": ["fact"]}]',
    "metadata as a list": b'[{"content": "x", "metadata": [1]}]',
    "a raw NUL": b'{"content": "a\x00b"}',
    "a number of 5,000 digits": b'[{"content": "x", "confidence": ' + b"9" * 5000 + b"}]",
    "arrays of great depth": b"[" * 100_000,
    "objects of great depth": b'[{"content": "x", "metadata": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001 + b"]",
    "a good one and a bad one": b'{"content": "good"}\n{"content": " "}',
}


@pytest.mark.parametrize("what", BAD_BATCHES)
def test_a_batch_that_is_bad_stores_nothing(calm: Cli, tmp_path: Path, what: str) -> None:
    file = tmp_path / "batch"
    file.write_bytes(BAD_BATCHES[what])
    refused(calm("remember", "--batch", str(file), "--json"))
    assert calm.recalled() == ["kept"]


def test_a_batch_is_read_in_every_form_that_editors_write(cli: Cli) -> None:
    for number, text in enumerate(
        [
            b'\xef\xbb\xbf{"content": "form 0"}\n',
            b'\xef\xbb\xbf[{"content": "form 1"}]',
            b'{"content": "form 2"}\r\n\r\n{"content": "form 2b"}\r\n',
            b'[\n  {"content": "form 3",\n   "tags": "a,,b, ", "source-ref": "r"}\n]\n',
            '{"content": "form 4 \u2028 \u0085"}'.encode(),
        ]
    ):
        receipts = cli.done("remember", "--batch", "-", "--json", stdin=text).json["receipts"]
        assert f"form {number}" in cli.done("show", receipts[0]["id"], "--json").json["content"]
    assert "form 2b" in cli.recalled("form 2b")


# -- options and arguments ----------------------------------------------------------------------------------
BAD_OPTIONS: dict[str, list[str]] = {
    f"{verb} {option} {value!r}": [verb, "words", option, value]
    for verb, options in {
        "remember": {
            "--confidence": ["nan", "inf", "-1", "1.0001", "abc", "", "1e400"],
            "--valid-from": ["2026-02-30", "2026-13-01", "soon", "", "2026-01-01T10:00+25:00", "99999999999 days ago"],
            "--valid-to": ["10000-01-01", "0000-01-01", "-1"],
            "--type": ["memo", "", "🙂"],
            "--source": ["", "a/b", "é"],
            "--provenance": ["guessed", ""],
            "--tags": [",".join(map(str, range(10_000))), "x" * 65, "a\x1bb"],
            "--title": ["t" * 101],
            "--key": ["", " ", "k" * 257],
            "--source-ref": ["", "r" * 513],
            "--agent": ["", "a/b", "../x", "x" * 500, "é"],
        },
        "recall": {
            "--limit": ["0", "-1", "101", "9" * 30, "1.5", "abc", ""],
            "--budget": ["0", "-1", "1.5"],
            "--min-confidence": ["nan", "2", "-0.1"],
            "--min-similarity": ["nan", "inf", "2", "-2"],
            "--type": ["memo"],
            "--memory": ["working"],
            "--status": ["gone"],
            "--as-of": ["2026-02-30", "", "then"],
            "--since": ["31/12/2026"],
            "--until": ["2026-00-01"],
            "--changed-since": ["99999999999 days ago"],
            "--valid-at": ["x"],
            "--agents": ["../x", "a/b,loop"],
        },
    }.items()
    for option, values in options.items()
    for value in values
}  # fmt: skip


@pytest.mark.parametrize("what", BAD_OPTIONS)
def test_a_bad_value_exits_2_and_stores_nothing(calm: Cli, what: str) -> None:
    refused(calm(*BAD_OPTIONS[what], "--json"))
    assert calm.recalled() == ["kept"]


def test_times_at_the_ends_of_the_calendar_are_accepted(cli: Cli) -> None:
    for text in ("0001-01-01", "9999-12-31", "1969-12-31T23:59:59.999999Z"):
        shown = cli.done("show", cli.remember(f"from {text}", "--valid-from", text), "--json").json
        assert shown["valid_from"].startswith(text[:10])
        for option in ("--as-of", "--since", "--until", "--changed-since", "--valid-at"):
            cli.done("recall", "from", option, text, "--json")


def test_tags_with_empties_between_commas_are_the_tags_that_are_there(cli: Cli) -> None:
    for text, tags in {"a,,b": ["a", "b"], " a , b ": ["a", "b"], ",": [], "a,a": ["a"]}.items():
        assert cli.done("show", cli.remember(f"tagged {text}", "--tags", text), "--json").json["tags"] == tags


def test_text_that_looks_like_options_is_stored_after_two_dashes(cli: Cli) -> None:
    for text in ("-x", "--help", "- item", "--", "--json", "--yes", "-"):
        outcome = cli.done("remember", "--json", "--type", "fact", "--", text, stdin=b"from standard input")
        wanted = "from standard input" if text == "-" else text
        assert cli.done("show", outcome.json["id"], "--json").json["content"] == wanted


@pytest.mark.parametrize("text", ["-x", "- item", "--risky flag was set"])
def test_text_that_begins_with_a_dash_is_refused_with_the_way_out(calm: Cli, text: str) -> None:
    """Lists in Markdown begin so; the hint has to name the `--` that ends options."""
    assert re.search(r"(^|[\s`])--([\s`]|$)", refused(calm("remember", text, "--json"))["hint"])


VERBS_WITH_ID: list[list[str]] = [
    ["show"], ["history"], ["edit", "--content", "new"], ["verify"], ["quarantine", "--reason", "x"], ["pin"], ["unpin"],
    ["expire"], ["restore"], ["forget", "--yes"], ["supersede", UNKNOWN],
]  # fmt: skip


@pytest.mark.parametrize("verb", VERBS_WITH_ID, ids=lambda verb: verb[0])
def test_every_verb_with_an_id_answers_a_bad_one_and_an_unknown_one(calm: Cli, verb: Sequence[str]) -> None:
    for given in ("", "x", "../..", "é", "0"):
        refused(calm(verb[0], given, *verb[1:], "--json"), 2)
    for given in (UNKNOWN, "ffff"):
        assert refused(calm(verb[0], given, *verb[1:], "--json"), 3)["hint"]
    assert calm.recalled() == ["kept"]


def test_an_ambiguous_prefix_exits_2_and_does_nothing(cli: Cli) -> None:
    first = cli.remember("one")
    cli.remember("two")
    refused(cli("forget", first[:4], "--yes", "--json"))
    assert sorted(cli.recalled()) == ["one", "two"]


def test_destroying_off_a_terminal_needs_yes_whatever_is_piped_in(cli: Cli) -> None:
    kept = cli.remember("kept")
    for command in (["forget", kept], ["agent", "delete", "loop"]):
        for answer in (b"", b"y\n", b"yes\n"):
            assert "--yes" in refused(cli(*command, "--json", stdin=answer))["hint"]
        assert cli.recalled() == ["kept"]
    for command in (["forget", kept], ["agent", "delete", "loop"]):
        cli.done(*command, "--yes", "--json")


def test_forget_of_several_with_an_unknown_one_forgets_none(cli: Cli) -> None:
    kept = cli.remember("kept")
    refused(cli("forget", kept, UNKNOWN, "--yes", "--json"), 3)
    assert cli.recalled() == ["kept"]


COMMANDS = [
    ["remember", "a text"], ["remember", "a text", "--dry-run"], ["recall"], ["recall", "words"],
    ["recall", "nothing", "--type", "goal"], ["recall", "kept", "--explain"], ["recall", "kept", "--as-of", "1999-01-01"],
    ["show", "ID"], ["history", "ID"], ["edit", "ID", "--title", "t"], ["verify", "ID"], ["pin", "ID"], ["unpin", "ID"],
    ["expire", "ID"], ["restore", "ID"], ["quarantine", "ID", "--reason", "r"], ["status"], ["optimize"], ["reindex"],
    ["doctor"], ["forget", "ID", "--yes"], ["agent", "create", "another"], ["agent", "list"], ["agent", "activate", "loop"],
    ["agent", "show", "loop"], ["config", "show"], ["config", "get", "durability"],
    ["config", "set", "durability", "full"], ["config", "backend", "on-prem"], [], ["agent", "deactivate"], [],
]  # fmt: skip


def test_with_json_every_command_writes_one_value_on_standard_output(cli: Cli) -> None:
    kept = cli.remember("kept text \x1b[31m\u202e <b>")
    for command in COMMANDS:
        outcome = cli(*[kept if word == "ID" else word for word in command], "--json", "--quiet")
        assert (outcome.status, outcome.err) == (0, ""), (command, outcome)
        assert outcome.out.count("\n") == 1, command
        assert isinstance(outcome.json, dict), command


def test_quiet_leaves_standard_error_empty_and_keeps_results(cli: Cli) -> None:
    outcome = cli("remember", "I promise <what> to <whom>", "--valid-from", "yesterday", "--source", "claude", "code", "-q")
    assert (outcome.status, outcome.err) == (0, "")
    assert cli("recall", "nothing like that", "--type", "goal", "--quiet").err == ""
    assert "promise" in cli("recall", "promise", "--quiet").out


# -- carrying -------------------------------------------------------------------------------------------------
def line(**values: Any) -> str:
    one = {
        "id": "01900000-0000-7000-8000-0000000000aa", "version": 1, "type": "fact", "content": "carried", "title": "t",
        "recorded_at": "2026-01-01T00:00:00.000000Z",
    } | values  # fmt: skip
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
    odd = ["a\x00b\x1b[0m", "x\u2028y\u2029z\x85", "\r\n crlf \r", "e\u0301é", "🙂 \U0010ffff \ufffe", '"}\n{"format": "x"}', "\ufeffbom"]
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


# -- secrets through the command line ---------------------------------------------------------------------------
def test_secrets_given_on_the_command_line_or_in_files_are_in_no_file_and_in_no_output(
    cli: Cli, tmp_path: Path
) -> None:
    outputs = [
        cli("remember", f"token {SECRET}", "--title", SECRET, "--tags", SECRET, "--source-ref", f"x?k={SECRET}", "--key", SECRET),
        cli("remember", "-", "--json", stdin=f"piped {SECRET}".encode()),
        cli("remember", "--batch", "-", "--json", stdin=json.dumps({"content": SECRET, "metadata": {"k": SECRET}}).encode()),
        cli("remember", f"dry {SECRET}", "--dry-run", "--json"),
        cli("recall", SECRET, "--json"),
        cli("recall", "token"),
    ]  # fmt: skip
    assert [one.status for one in outputs] == [0] * len(outputs)
    kept = cli.remember("ordinary")
    outputs += [
        cli("edit", kept, "--content", f"now {SECRET}", "--reason", f"for {SECRET}", "--json"),
        cli("quarantine", kept, "--reason", SECRET, "--json"),
        cli("history", kept),
        cli("agent", "create", "other", "--description", f"with {SECRET}", "--json"),
        cli("agent", "list"),
        cli("export", "--agent", "loop"),
    ]
    assert places_of([SECRET], cli.home) == []
    assert not [one for one in outputs if SECRET in one.out + one.err]


def test_a_secret_in_refused_input_is_not_repeated(cli: Cli) -> None:
    """Messages name the value that is wrong; a secret in it must not reach a log that way."""
    for arguments in (["remember", "x", "--tags", f"{SECRET},{'x' * 65}"], ["remember", "x", "--source", f"/{SECRET}"],
                      ["show", SECRET], ["remember", "x", "--type", SECRET], ["config", "set", "api_key_env", SECRET]):  # fmt: skip
        assert SECRET not in refused(cli(*arguments, "--json"))["message"]


# -- real processes: bytes, pipes, terminals -----------------------------------------------------------------------
@pytest.fixture
def home(tmp_path: Path, cli: Cli) -> Path:
    cli.remember("kept \x1b[31mred\x1b[0m \u202egnp.exe \x07 end")
    return cli.home


@posix
def test_bytes_that_are_not_utf_8_are_refused_in_every_argument(home: Path, tmp_path: Path) -> None:
    bad = b"\xff\xfe"
    for arguments in (
        [b"remember", bad], [b"remember", b"x", b"--title", bad], [b"remember", b"x", b"--tags", bad],
        [b"remember", b"x", b"--key", bad], [b"remember", b"x", b"--source-ref", bad], [b"remember", b"x", b"--agent", bad],
        [b"remember", b"x", b"--batch", bad], [b"recall", bad], [b"recall", b"--tags", bad], [b"recall", b"--any-tag", bad],
        [b"recall", b"--since", bad], [b"show", bad], [b"import", bad], [b"forget", bad, b"--yes"], [b"quarantine", b"ffff", b"--reason", bad],
        [b"agent", b"create", b"other", b"--description", bad],
    ):  # fmt: skip
        done = real(*arguments, b"--json", home=home, cwd=tmp_path)
        assert (done.returncode, done.stdout) in [(2, b""), (3, b"")], (arguments, done)
        assert json.loads(done.stderr)["error"]["code"] in {"invalid_input", "usage", "not_found"}
    done = real("remember", "-", "--json", home=home, input=b"caf\xe9")
    assert done.returncode == 2
    assert "UTF-8" in json.loads(done.stderr)["error"]["message"]


@posix
def test_a_reader_that_leaves_early_gets_no_traceback(home: Path) -> None:
    for arguments in (["recall"], ["export"], ["agent", "list"], ["--help"], ["recall", "--json"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = real(*arguments, home=home, stdout=writer, stderr=subprocess.PIPE, capture_output=False)
        os.close(writer)
        assert done.stderr == b"", (arguments, done)
        assert done.returncode in {0, 141}
    read, write = os.pipe()
    os.close(read)
    done = real("show", "ffff", home=home, stdout=subprocess.PIPE, stderr=write, capture_output=False)
    os.close(write)
    assert done.stdout == b""


@posix
def test_closed_standard_streams_do_not_lose_what_was_remembered(home: Path, cli: Cli) -> None:
    shell = 'exec "$0" "$@" <&- >&- 2>&-'
    environment = {**os.environ, "MEMANTO_HOME": str(home), "MEMANTO_AGENT": "loop"}
    subprocess.run(
        ["/bin/sh", "-c", shell, sys.executable, "-c", _PROGRAM, "remember", "into the void", "--type", "fact"],
        env=environment, timeout=120, check=False,
    )  # fmt: skip
    assert "into the void" in cli.recalled("into the void")


@posix
@pytest.mark.parametrize("arguments", [["recall"], ["recall", "kept", "--explain"], ["show", "ID"], ["history", "ID"]], ids=" ".join)
def test_stored_text_cannot_steer_a_terminal(home: Path, cli: Cli, arguments: list[str]) -> None:
    kept = cli.done("recall", "--json").json["results"][0]["memory"]["id"]
    shown = on_terminal([kept if word == "ID" else word for word in arguments], home)
    assert "kept" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", lambda code: "" if code[0] != "\x1b[31mred" else code[0], shown)
    assert "\x1b[31mred" not in shown
    assert not [c for c in plain if ord(c) < 32 and c not in "\r\n\t"]
    assert "\u202e" not in plain


@posix
def test_an_error_about_stored_or_given_text_cannot_steer_a_terminal(home: Path) -> None:
    shown = on_terminal(["remember", "x", "--type", "\x1b[2Jmemo\u202e\x9b"], home)
    assert "memo" in shown
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
    assert "\x9b" not in shown


def on_terminal(arguments: list[str], home: Path) -> str:
    """Return what a command writes to a terminal."""
    import pty

    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *arguments],
        env={**os.environ, "MEMANTO_HOME": str(home), "MEMANTO_AGENT": "loop", "TERM": "xterm-256color"},
        stdin=follower, stdout=follower, stderr=follower, close_fds=True,
    )  # fmt: skip
    os.close(follower)
    chunks = []
    while True:
        try:
            chunk = os.read(leader, 1 << 16)
        except OSError:  # the other end of a terminal that nobody has open any more
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(leader)
    process.wait(timeout=60)
    return b"".join(chunks).decode("utf-8")


@posix
@pytest.mark.parametrize("answer", [b"n\n", b"\n", b"maybe\n"])
def test_on_a_terminal_only_yes_destroys(home: Path, cli: Cli, answer: bytes) -> None:
    import pty

    kept = cli.done("recall", "--json").json["results"][0]["memory"]["id"]
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, "forget", kept], stdin=follower, stdout=follower, stderr=follower,
        env={**os.environ, "MEMANTO_HOME": str(home), "MEMANTO_AGENT": "loop"},
    )  # fmt: skip
    os.write(leader, answer)
    status = process.wait(timeout=60)
    os.close(follower)
    os.close(leader)
    assert status == 2
    assert cli.done("show", kept, "--json").json["status"] == "active"


# -- homes ----------------------------------------------------------------------------------------------------------
def test_a_home_that_is_a_file_is_refused(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("mine", "utf-8")
    monkeypatch.setenv("MEMANTO_HOME", str(file))
    monkeypatch.setenv("MEMANTO_AGENT", "loop")
    for arguments in (["remember", "x"], ["recall", "x"], ["agent", "create", "a"], ["agent", "list"], ["status"],
                      ["config", "set", "offline", "true"], ["doctor"], ["export"]):  # fmt: skip
        outcome = cli(*arguments, "--json")
        assert outcome.status in {2, 3, 5}, (arguments, outcome)
        assert outcome.error["code"] != "internal"
    assert file.read_text("utf-8") == "mine"


def test_a_home_that_does_not_exist_yet_is_made_only_by_what_writes(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "deep" / "new home é"
    monkeypatch.setenv("MEMANTO_HOME", str(place))
    assert cli("recall", "x", "--agent", "nobody", "--json").status == 3
    cli("agent", "list", "--json")
    cli("config", "show", "--json")
    assert not [path for path in place.rglob("*") if path.is_file()] if place.exists() else True
    cli.done("agent", "create", "loop")
    assert cli.remember("here")


def test_a_home_behind_a_link_is_the_same_store(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = cli.remember("kept")
    (tmp_path / "link").symlink_to(cli.home)
    monkeypatch.setenv("MEMANTO_HOME", str(tmp_path / "link"))
    assert cli.recalled() == ["kept"]
    cli.done("forget", kept, "--yes")
    assert cli.recalled() == []
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nowhere")
    monkeypatch.setenv("MEMANTO_HOME", str(dangling))
    outcome = cli("agent", "create", "loop", "--json")
    assert outcome.status == 0 or outcome.error["code"] != "internal"


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_may_not_be_written_is_refused_with_its_path(cli: Cli) -> None:
    cli.remember("kept")
    for path in [cli.home, *cli.home.rglob("*")]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        for arguments in (["remember", "x"], ["agent", "create", "other"], ["config", "set", "offline", "true"]):
            outcome = cli(*arguments, "--json")
            assert outcome.status in {2, 5}
            assert str(cli.home) in outcome.error["message"]
    finally:
        for path in [cli.home, *cli.home.rglob("*")]:
            path.chmod(0o700 if path.is_dir() else 0o600)


def test_no_agent_anywhere_exits_2_and_says_how_to_make_one(cli: Cli) -> None:
    cli.done("agent", "deactivate")
    assert "agent create" in refused(cli("remember", "x", "--json"))["hint"]
    assert refused(cli("remember", "x", "--agent", "nobody", "--json"), 3)["hint"]
    cli.done("agent", "create", "Loop")
    cli.done("agent", "create", "LOOP")
    assert {one["agent"]["id"] for one in cli.done("agent", "list", "--json").json["agents"]} == {"loop", "Loop", "LOOP"}
