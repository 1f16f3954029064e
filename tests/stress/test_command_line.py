"""The command line as a hostile shell drives it: batches, options, ids, secrets, bytes that are no text."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.acceptance.cli_kit import Cli
from tests.stress.stress_kit import places_of, refused

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX streams and modes")


UNKNOWN = "01900000-0000-7000-8000-00000000dead"
SECRET = "ghp_" + "a8Kq2Lw9Zx4Vb7Nm1Qs5Td3Yf6Gh0JpRcE2u"


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
}


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
    ["show"],
    ["history"],
    ["edit", "--content", "new"],
    ["verify"],
    ["quarantine", "--reason", "x"],
    ["pin"],
    ["unpin"],
    ["expire"],
    ["restore"],
    ["forget", "--yes"],
    ["supersede", UNKNOWN],
]


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
    ["remember", "a text"],
    ["remember", "a text", "--dry-run"],
    ["recall"],
    ["recall", "words"],
    ["recall", "nothing", "--type", "goal"],
    ["recall", "kept", "--explain"],
    ["recall", "kept", "--as-of", "1999-01-01"],
    ["show", "ID"],
    ["history", "ID"],
    ["edit", "ID", "--title", "t"],
    ["verify", "ID"],
    ["pin", "ID"],
    ["unpin", "ID"],
    ["expire", "ID"],
    ["restore", "ID"],
    ["quarantine", "ID", "--reason", "r"],
    ["status"],
    ["optimize"],
    ["reindex"],
    ["doctor"],
    ["forget", "ID", "--yes"],
    ["agent", "create", "another"],
    ["agent", "list"],
    ["agent", "activate", "loop"],
    ["agent", "show", "loop"],
    ["config", "show"],
    ["config", "get", "durability"],
    ["config", "set", "durability", "full"],
    ["config", "backend", "on-prem"],
    [],
    ["agent", "deactivate"],
    [],
]


def test_with_json_every_command_writes_one_value_on_standard_output(cli: Cli) -> None:
    kept = cli.remember("kept text \x1b[31m\u202e <b>")
    for command in COMMANDS:
        outcome = cli(*[kept if word == "ID" else word for word in command], "--json", "--quiet")
        assert (outcome.status, outcome.err) == (0, ""), (command, outcome)
        assert outcome.out.count("\n") == 1, command
        assert isinstance(outcome.json, dict), command


def test_quiet_leaves_standard_error_empty_and_keeps_results(cli: Cli) -> None:
    outcome = cli(
        "remember", "I promise <what> to <whom>", "--valid-from", "yesterday", "--source", "claude", "code", "-q"
    )
    assert (outcome.status, outcome.err) == (0, "")
    assert cli("recall", "nothing like that", "--type", "goal", "--quiet").err == ""
    assert "promise" in cli("recall", "promise", "--quiet").out


# -- secrets through the command line ---------------------------------------------------------------------------
def test_secrets_given_on_the_command_line_or_in_files_are_in_no_file_and_in_no_output(
    cli: Cli, tmp_path: Path
) -> None:
    outputs = [
        cli(
            "remember",
            f"token {SECRET}",
            "--title",
            SECRET,
            "--tags",
            SECRET,
            "--source-ref",
            f"x?k={SECRET}",
            "--key",
            SECRET,
        ),
        cli("remember", "-", "--json", stdin=f"piped {SECRET}".encode()),
        cli(
            "remember",
            "--batch",
            "-",
            "--json",
            stdin=json.dumps({"content": SECRET, "metadata": {"k": SECRET}}).encode(),
        ),
        cli("remember", f"dry {SECRET}", "--dry-run", "--json"),
        cli("recall", SECRET, "--json"),
        cli("recall", "token"),
    ]
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
    for arguments in (
        ["remember", "x", "--tags", f"{SECRET},{'x' * 65}"],
        ["remember", "x", "--source", f"/{SECRET}"],
        ["show", SECRET],
        ["remember", "x", "--type", SECRET],
        ["config", "set", "api_key_env", SECRET],
    ):
        assert SECRET not in refused(cli(*arguments, "--json"))["message"]


def test_bytes_that_are_not_utf_8_are_refused_in_every_argument(calm: Cli) -> None:
    bad = os.fsdecode(b"\xff\xfe")  # as an argument with such bytes reaches a program
    for arguments in (
        ["remember", bad],
        ["remember", "x", "--title", bad],
        ["remember", "x", "--tags", bad],
        ["remember", "x", "--key", bad],
        ["remember", "x", "--source-ref", bad],
        ["remember", "x", "--agent", bad],
        ["remember", "x", "--batch", bad],
        ["recall", bad],
        ["recall", "--tags", bad],
        ["recall", "--any-tag", bad],
        ["recall", "--since", bad],
        ["show", bad],
        ["import", bad],
        ["forget", bad, "--yes"],
        ["agent", "create", "other", "--description", bad],
    ):
        refused(calm(*arguments, "--json"))
    assert "UTF-8" in refused(calm("remember", "-", "--json", stdin=b"caf\xe9"))["message"]
    assert calm.recalled() == ["kept"]
