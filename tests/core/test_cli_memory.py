"""Commands on memories: what is stored, found, changed and carried, as the user asked."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.acceptance.cli_kit import Cli

from memanto import Embedded, Memanto
from memanto.models import MemoryType, Recollection
from memanto.testing import FixedClock, HashEmbedder


@pytest.fixture
def loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line with an agent to work with."""
    monkeypatch.chdir(tmp_path)
    cli = Cli(tmp_path / "home", monkeypatch)
    cli.done("agent", "create", "loop")
    return cli


@pytest.fixture(scope="module")
def read_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home for tests that change nothing in it."""
    home = tmp_path_factory.mktemp("read")
    with pytest.MonkeyPatch.context() as patch:
        stock(Cli(home, patch))
    return home


@pytest.fixture
def reader(read_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line on memories from three months, for reading only."""
    monkeypatch.chdir(tmp_path)
    return Cli(read_home, monkeypatch)


@pytest.fixture
def stocked(loop: Cli) -> Cli:
    """The command line on memories from three months."""
    stock(loop)
    return loop


FAILED, TAKES, RAN = "deploy failed on Friday", "deploy takes ten minutes", "deploy ran on Monday"


def stock(cli: Cli) -> None:
    """Remember something in April, May and June."""
    cli.done("agent", "create", "loop")
    clock = FixedClock(datetime(2026, 4, 10, tzinfo=UTC))
    with Memanto("loop", store=Embedded(cli.home), embedder=HashEmbedder(), clock=clock) as memory:
        memory.remember(FAILED, type="error", tags=["deploy", "ci"], confidence=0.95, source="ops")
        clock.set(datetime(2026, 5, 10, tzinfo=UTC))
        memory.remember(TAKES, type="fact", tags=["deploy"], confidence=0.6)
        clock.set(datetime(2026, 6, 10, tzinfo=UTC))
        memory.remember(RAN, type="event", tags=["ci"], valid_from=datetime(2026, 3, 2, tzinfo=UTC))


# -- remember ---------------------------------------------------------------------------------------
def test_every_option_of_remember_is_stored(loop: Cli) -> None:
    memory_id = loop.remember(
        "Ledger pulls lag", "--type", "fact", "--title", "Lag", "--confidence", "0.9", "--tags", "ledger, lag",
        "--source", "ops", "--provenance", "observed", "--source-ref", "runbook.md", "--valid-from", "2026-05-01",
        "--valid-to", "2026-06-01", "--key", "lag",
    )  # fmt: skip
    stored = loop.done("show", memory_id, "--json").json
    expected = {
        "content": "Ledger pulls lag", "type": "fact", "title": "Lag", "confidence": 0.9, "tags": ["ledger", "lag"],
        "source": "ops", "provenance": "observed", "source_ref": "runbook.md", "key": "lag", "status": "active",
        "valid_from": "2026-05-01T00:00:00.000000Z", "valid_to": "2026-06-01T00:00:00.000000Z",
    }  # fmt: skip
    assert {name: stored[name] for name in expected} == expected


def test_a_receipt_as_json_holds_the_fields_of_the_receipt(loop: Cli) -> None:
    receipt = loop.done("remember", "Fixed in 1.2", "--type", "fact", "--json").json
    assert (receipt["version"], receipt["status"], receipt["duplicate"], receipt["dry_run"]) == (
        1,
        "active",
        False,
        False,
    )
    assert loop.done("remember", "Fixed in 1.2", "--type", "fact", "--json").json["duplicate"] is True


def test_standard_input_is_stored_as_it_is_without_its_last_line_end(loop: Cli) -> None:
    text = "  tabs\tand\r\nlines \N{SNOWMAN}\x07\n\n"
    memory_id = loop.done("remember", "-", "-q", stdin=f"{text}\n".encode()).out.strip()
    assert loop.done("show", memory_id, "--json").json["content"] == text


def test_standard_input_that_is_not_utf_8_is_refused(reader: Cli) -> None:
    outcome = reader("remember", "-", stdin=b"\xff\xfe")
    assert outcome.status == 2
    assert "UTF-8" in outcome.err


def test_a_dry_run_checks_and_stores_nothing(loop: Cli) -> None:
    outcome = loop.done("remember", "token ghp_" + "a1B2" * 9, "--dry-run")
    assert outcome.out.startswith("would be remembered  ")
    assert "redacted" in outcome.out
    assert loop.recalled() == []
    assert loop("remember", "x", "--dry-run", "--confidence", "7").status == 2


def test_a_guessed_type_is_marked_wherever_it_is_shown(loop: Cli) -> None:
    assert "(guessed)" in loop.done("remember", "We decided to use Postgres").out
    assert "decision (guessed)" in loop.done("recall").out


def test_an_inferred_fact_is_held_back_until_it_is_verified(loop: Cli) -> None:
    receipt = loop.done("remember", "The cache is cold", "--type", "fact", "--provenance", "inferred", "--json").json
    assert receipt["status"] == "quarantined"
    assert loop.recalled("cache") == []
    assert loop.recalled("cache", "--status", "quarantined") == ["The cache is cold"]
    assert loop.done("verify", receipt["id"], "--json").json["status"] == "active"
    assert loop.recalled("cache") == ["The cache is cold"]


def test_joined_words_are_echoed_on_standard_error(loop: Cli) -> None:
    outcome = loop.done(
        "remember", "x", "--source", "claude", "code", "--provenance", "explicit", "statement", "--json"
    )
    assert "read --source claude code as 'claude_code'" in outcome.err
    assert "read --provenance explicit statement as 'explicit_statement'" in outcome.err
    assert loop.done("show", outcome.json["id"], "--json").json["source"] == "claude_code"


@pytest.mark.parametrize("written", ["claude_code", "claude-code", "claude", "claude code"])
def test_the_ways_to_write_claude_code_are_one_author(written: str, loop: Cli) -> None:
    memory_id = loop.remember("x", "--source", written)
    assert loop.done("show", memory_id, "--json").json["source"] == "claude_code"


# -- batches ----------------------------------------------------------------------------------------
BATCH = [
    {"content": "one", "type": "fact", "tags": "a,b", "source-ref": "x"},
    {
        "content": "two",
        "type": "event",
        "tags": ["c"],
        "valid_from": "2026-06-01",
        "confidence": 0.5,
        "metadata": {"n": 1},
    },
]


@pytest.mark.parametrize(
    "write", [json.dumps, lambda items: "\n".join(map(json.dumps, items)), lambda items: "\ufeff" + json.dumps(items)]
)
def test_a_batch_is_an_array_or_lines(write: Callable[[object], str], loop: Cli) -> None:
    receipts = loop.done("remember", "--batch", "-", "--source", "codex", "--json", stdin=write(BATCH).encode()).json[
        "receipts"
    ]
    first, second = (loop.done("show", one["id"], "--json").json for one in receipts)
    assert (first["content"], first["tags"], first["source_ref"], first["source"]) == ("one", ["a", "b"], "x", "codex")
    assert (second["type"], second["confidence"], second["metadata"]) == ("event", 0.5, {"n": 1})
    assert second["valid_from"] == "2026-06-01T00:00:00.000000Z"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "standard input is empty"),
        ("[]", "no memory"),
        ("[1]", "memory 1"),
        ('{"content": "a"}\n{"content": }', "line 2"),
        ('{"content": "a"}\n{"text": "b"}', "'text'"),
        ('{"content": "a"}\n{"type": "fact"}', "'content'"),
        ('{"content": "a"}\n{"content": "b", "type": "fakt"}', "memory 2"),
        ('{"content": "a"}\n{"content": 5}', "memory 2"),
        ('{"content": "a"}\n{"content": "b", "tags": 5}', "memory 2"),
        ('{"content": "a"}\n{"content": "b", "confidence": "high"}', "memory 2"),
        ('{"content": "a"}\n{"content": "b", "valid_from": "soon"}', "line 2"),
    ],
)
def test_a_batch_with_one_bad_memory_is_refused_whole(text: str, named: str, reader: Cli) -> None:
    outcome = reader("remember", "--batch", "-", stdin=text.encode())
    assert outcome.status == 2
    assert named in outcome.err
    assert len(reader.recalled()) == 3


# -- recall -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([], {FAILED, TAKES, RAN}),
        (["--type", "error", "--type", "fact"], {FAILED, TAKES}),
        (["--type", "error,fact"], {FAILED, TAKES}),
        (["--memory", "episodic"], {RAN}),
        (["--memory", "failures"], {FAILED}),
        (["--tags", "deploy,ci"], {FAILED}),
        (["--any-tag", "deploy", "--any-tag", "ci"], {FAILED, TAKES, RAN}),
        (["--min-confidence", "0.9"], {FAILED}),
        (["--min-similarity", "1"], set()),
        (["--since", "2026-05-01"], {TAKES}),
        (["--until", "2026-04-10"], {FAILED, RAN}),
        (["--changed-since", "2026-06-10"], {RAN}),
        (["--as-of", "2026-05"], {FAILED, TAKES}),
        (["--as-of", "2026-05-10T00:00:00Z"], {FAILED, TAKES}),
        (["--valid-at", "2026-03-01"], {FAILED, TAKES}),
        (["--status", "expired"], set()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_every_filter_combines_with_a_query_and_stands_alone(options: list[str], found: set[str], reader: Cli) -> None:
    assert set(reader.recalled("deploy", *options)) == found
    if "--min-similarity" not in options:
        assert set(reader.recalled(*options)) == found


def test_a_budget_leaves_out_what_does_not_fit(reader: Cli) -> None:
    assert reader.recalled("--budget", "11") == [RAN, TAKES]
    assert reader("recall", "--budget", "0").status == 2


def test_without_a_query_the_newest_come_first(reader: Cli) -> None:
    assert reader.recalled() == reader.recalled("--recent") == [RAN, TAKES, FAILED]
    assert reader.recalled("--recent", "--limit", "1") == [RAN]


def test_a_query_with_recent_orders_what_it_finds_by_time(reader: Cli) -> None:
    assert reader.recalled("deploy failed", "--recent") == [RAN, TAKES, FAILED]


def test_several_agents_are_searched_as_one_and_named(stocked: Cli) -> None:
    stocked.done("agent", "create", "other")
    stocked.remember("deploy of the other agent")
    outcome = stocked.done("recall", "deploy", "--agents", "loop,other")
    assert "agent loop" in outcome.out
    assert "agent other" in outcome.out
    assert stocked("recall", "deploy", "--agents", "loop,nope").status == 3


def test_retired_memories_are_shown_on_request_and_labelled(stocked: Cli) -> None:
    [expired] = stocked.done("recall", "--type", "error", "--json").json["results"]
    stocked.done("expire", expired["memory"]["id"], "--reason", "fixed")
    assert FAILED not in stocked.recalled("deploy")
    assert FAILED in stocked.recalled("deploy", "--all")
    assert "expired" in stocked.done("recall", "--status", "expired").out


def test_relative_times_are_resolved_once_and_told(reader: Cli) -> None:
    outcome = reader.done("recall", "deploy", "--since", "last", "year", "--until", "today", "--json")
    assert "--since 'last year' is " in outcome.err
    assert outcome.json["times"]["since"].endswith("-01-01T00:00:00.000000Z")
    assert outcome.json["times"]["until"].endswith("T23:59:59.999999Z")
    assert reader.done("recall", "--since", "2026-01-01").err == ""


def test_a_date_means_the_day_where_the_user_is(reader: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    times = reader.done("recall", "--as-of", "2026-06-10", "--since", "2026-06-10", "--json").json["times"]
    assert times == {"as_of": "2026-06-11T03:59:59.999999Z", "since": "2026-06-10T04:00:00.000000Z"}


def test_a_time_before_the_oldest_memory_says_when_memory_begins(reader: Cli) -> None:
    outcome = reader.done("recall", "deploy", "--as-of", "2026-01-01", "--json")
    assert outcome.json["results"] == []
    assert outcome.json["note"] == "nothing was known then; oldest memory is from 2026-04-10 00:00; try --valid-at"


def test_a_time_at_which_nothing_matched_does_not_blame_the_store(reader: Cli) -> None:
    assert "that matches" in reader.done("recall", "--type", "goal", "--as-of", "2026-05-01").err


def test_the_result_as_json_has_each_memory_with_its_score_and_reasons(reader: Cli) -> None:
    outcome = reader.done("recall", "deploy", "--json").json
    assert set(outcome) == {"results", "times", "note"}
    for result in outcome["results"]:
        assert set(result) == set(Recollection.__dataclass_fields__)
        assert result["score"] > 0
        assert result["why"]["lexical_rank"] or result["why"]["dense_rank"]


def test_explain_shows_the_numbers_behind_each_rank(reader: Cli) -> None:
    table = reader.done("recall", "deploy failed", "--explain").out.split("\n\n")[-1].splitlines()
    assert table[0].split()[:4] == ["#", "score", "by", "meaning"]
    assert len(table) == 4
    assert table[1].startswith("1  ")


# -- one memory -------------------------------------------------------------------------------------
def test_a_memory_is_named_by_any_unique_beginning_of_its_id(loop: Cli) -> None:
    memory_id = loop.remember("x")
    for prefix in (memory_id[:4], memory_id[:18], memory_id.replace("-", "").upper()):
        assert loop.done("show", prefix, "--json").json["id"] == memory_id
    assert loop("show", memory_id[:3]).status == 2


def test_ids_shown_in_a_list_can_be_given_back(loop: Cli) -> None:
    items = [{"content": f"memory {number}"} for number in range(20)]
    loop.done("remember", "--batch", "-", stdin=json.dumps(items).encode())
    lines = [line for line in loop.done("recall", "--limit", "20").out.splitlines() if "confidence" in line]
    shown = [line.split()[1] for line in lines]
    assert len(set(shown)) == 20
    assert {loop.done("show", one, "--json").json["content"] for one in shown[:3]} == {
        "memory 19",
        "memory 18",
        "memory 17",
    }


def test_an_edit_appends_a_version_and_can_be_guarded(loop: Cli) -> None:
    memory_id = loop.remember("Postgres 15", "--title", "db", "--tags", "a")
    receipt = loop.done(
        "edit", memory_id, "--content", "Postgres 16", "--tags", "b,c", "--title", "", "--reason", "upgrade",
        "--expected-version", "1", "--json",
    ).json  # fmt: skip
    assert receipt["version"] == 2
    assert loop("edit", memory_id, "--content", "Postgres 17", "--expected-version", "1").status == 4
    versions = loop.done("history", memory_id, "--json").json["versions"]
    assert [one["content"] for one in versions] == ["Postgres 15", "Postgres 16"]
    assert versions[1]["tags"] == ["b", "c"]
    assert not versions[1]["title_given"]
    assert versions[1]["decision"]["reason"] == "upgrade"


def test_each_verb_about_standing_does_what_its_name_says(loop: Cli) -> None:
    memory_id = loop.remember("The queue is empty", "--type", "observation")
    for verb, field, value in (
        ("quarantine", "status", "quarantined"),
        ("verify", "provenance", "validated"),
        ("expire", "status", "expired"),
        ("restore", "status", "active"),
        ("pin", "pinned", True),
        ("unpin", "pinned", False),
    ):
        loop.done(verb, memory_id)
        assert loop.done("show", memory_id, "--json").json[field] == value
    assert loop("restore", memory_id).status == 2


def test_superseding_keeps_the_old_memory_with_its_successor(loop: Cli) -> None:
    old, new = loop.remember("old way", "--type", "decision"), loop.remember("new way", "--type", "decision")
    loop.done("supersede", old, new, "--reason", "faster")
    assert loop.done("show", old, "--json").json["superseded_by"] == new
    assert loop.recalled() == ["new way"]


def test_several_memories_are_forgotten_at_once(loop: Cli) -> None:
    ids = [loop.remember(text) for text in ("one", "two", "three")]
    loop.done("forget", *ids[:2], "--yes", "--reason", "asked")
    assert loop.recalled("--all") == ["three"]
    assert loop.done("show", ids[0], "--json").json["content"] == ""


# -- carrying and upkeep ----------------------------------------------------------------------------
def test_an_export_comes_back_whole_and_importing_twice_changes_nothing(stocked: Cli, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    assert stocked.done("export", "--output", str(file), "--json").json == {"path": str(file), "versions": 3}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    lines = stocked.done("export").out
    assert lines.splitlines()[1:] == file.read_text("utf-8").splitlines()[1:]
    stocked.done("agent", "create", "copy")
    assert stocked.done("import", str(file), "--dry-run", "--json").json["stored"] == 3
    assert stocked.recalled() == []
    assert stocked.done("import", "-", "--json", stdin=lines.encode()).json["stored"] == 3
    assert stocked.done("import", str(file), "--json").json["stored"] == 0
    assert stocked.recalled() == [RAN, TAKES, FAILED]


def test_an_export_with_json_is_one_value_which_import_explains(stocked: Cli, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in stocked.done("export").out.splitlines()]
    outcome = stocked.done("export", "--json")
    assert outcome.json["lines"][1:] == lines[1:]
    refused = stocked("import", "-", "--json", stdin=outcome.out.encode())
    assert refused.status == 2
    assert "line 1: " in refused.error["message"]
    assert "jq" in refused.error["hint"]


def test_an_export_over_a_file_keeps_the_permissions_its_owner_chose(stocked: Cli, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    file.touch()
    file.chmod(0o640)
    stocked.done("export", "--output", str(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_settings_file_that_cannot_be_written_is_an_error_with_its_path(
    loop: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    outcome = loop("config", "set", "offline", "true", "--json")
    assert (outcome.status, outcome.error["code"]) == (2, "configuration")
    assert str(loop.home) in outcome.error["message"]


def test_a_failed_export_leaves_no_file(loop: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memanto.client.Memanto.export", lambda _: (1 / 0 for _ in range(1)))
    assert loop("export", "--output", str(tmp_path / "out.jsonl")).status == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home"]
    assert loop("export", "--output", str(tmp_path / "none" / "out.jsonl")).status == 2


def test_an_import_that_disagrees_with_what_is_there_exits_with_4(loop: Cli) -> None:
    memory_id = loop.remember("as it is here")
    changed = loop.done("export").out.replace("as it is here", "as it is there")
    outcome = loop("import", "-", stdin=changed.encode())
    assert outcome.status == 4
    assert memory_id in outcome.out
    assert loop.recalled() == ["as it is here"]


def test_status_counts_and_names_where_memories_are(reader: Cli) -> None:
    found = reader.done("status", "--json").json["status"]
    assert found["by_type"] == {"fact": 1, "event": 1, "error": 1}
    assert str(reader.home) in reader.done("status").out
    assert "loop (from active agent)" in reader.done("status").out


def test_bare_memanto_shows_the_status_and_three_next_commands(stocked: Cli) -> None:
    shown = stocked.done().out
    assert "agent     loop" in shown
    assert sum(line.startswith("  memanto ") for line in shown.splitlines()) == 3
    assert len(stocked.done("--json").json["next"]) == 3
    stocked.done("agent", "deactivate")
    assert "memanto agent create" in stocked.done().out


def test_doctor_exits_with_3_when_a_check_fails_and_names_the_fix(loop: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from memanto.embedding.choice import Choice

    assert loop.done("doctor", "--json").json["ok"] is True
    monkeypatch.setattr("memanto.composition.configured_embedder", lambda: Choice(None, "none here"))
    outcome = loop("doctor")
    assert outcome.status == 3
    assert "FAILED" in outcome.out
    assert "make install" in outcome.out


def test_a_store_begun_with_words_only_gets_vectors_by_reindexing(loop: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from memanto.embedding.choice import Choice

    with monkeypatch.context() as patch:
        patch.setattr("memanto.composition.configured_embedder", lambda: Choice(None, "none here"))
        loop.remember("the ledger lags")
    assert loop("doctor").status == 3
    done = loop.done("reindex", "--json").json
    assert (done["embedded"], done["switched"]) == (1, True)
    assert loop.done("doctor").status == 0
    assert loop.done("recall", "ledger", "--min-similarity", "0.1", "--json").json["results"]


def test_optimising_a_small_store_is_done_without_complaint(reader: Cli) -> None:
    assert set(reader.done("optimize", "--json").json) == {"changed"}


@pytest.mark.parametrize("kind", MemoryType)
def test_every_type_is_stored_under_its_name(kind: MemoryType, reader: Cli) -> None:
    assert reader.done("remember", "x", "--type", kind, "--dry-run", "--json").json["type"] == kind
