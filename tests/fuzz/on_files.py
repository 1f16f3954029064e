"""Targets that read files: exports, batches, settings, and the questions of a check."""

from __future__ import annotations

import json
import tomllib
from datetime import UTC, datetime
from typing import Any, Final

from tests.fuzz.kit import refused, refusing, scratch, target, to_bytes

from memanto.agents import active
from memanto.cli.batch import read_batch
from memanto.config import load_settings, project_agent, set_values
from memanto.loop.check_questions import MAX_QUESTIONS, read_questions
from memanto.memory.classify import classify
from memanto.memory.prepare import default_title
from memanto.memory.redaction import redact_draft
from memanto.memory.splitting import split
from memanto.memory.validation import check_draft, unfilled_template
from memanto.portability.checking import read_versions
from memanto.portability.jsonl import memory_to_json
from memanto.times import parse_time

NOW: Final = datetime(2026, 11, 30, tzinfo=UTC)
_HEADER: Final = '{"format": "memanto-memories", "format_version": 1, "agent": "a"}'
_ID: Final = "01900000-0000-7000-8000-000000000001"
_VERSION: Final[dict[str, Any]] = {
    "id": _ID, "version": 1, "type": "fact", "content": "the ledger lags", "title": "the ledger lags",
    "recorded_at": "2026-01-02T03:04:05.000006Z",
}  # fmt: skip
_FULL: Final[dict[str, Any]] = _VERSION | {
    "version": 2, "recorded_at": "2026-02-02T03:04:05.000006Z", "tags": ["a"], "confidence": 0.5, "source": "user",
    "provenance": "inferred", "status": "quarantined", "valid_from": "2026-01-01T00:00:00.000000Z", "key": "db",
    "decision": {"actor": "user", "action": "edit", "reason": "because"}, "metadata": {"a": [1, None, {"b": 2.5}]},
    "pinned": True, "source_ref": "x", "run_id": "r", "actor": "me", "begins": "2026-01-01T00:00:00.000000Z",
    "type_guessed": True, "title_given": True, "imported": True, "supersedes": [_ID],
}  # fmt: skip
_TOMBSTONE: Final = _VERSION | {"version": 3, "content": "", "title": "", "status": "forgotten"}
_PART: Final = _VERSION | {"parent_id": "01900000-0000-7000-8000-000000000002", "part": 1}


def _lines(*values: dict[str, Any]) -> str:
    return "\n".join(map(json.dumps, values))


@target(
    "import",
    seeds=(
        f"{_HEADER}\n{_lines(_VERSION | {'retired_at': _FULL['recorded_at']}, _FULL)}",
        _lines(_TOMBSTONE),
        _lines(_PART),
        _lines(_VERSION | {"parts": 2}),
        '{"lines": []}',
        f"{_HEADER}\n\n\n",
        _lines(_VERSION | {"confidence": 10**400}),
    ),
    words=(
        *(f'"{name}": ' for name in _FULL), f'"{_ID}"', "null", "true", "[]", "{}", "-1", "1e999", "NaN", "9" * 400,
        '"\\ud800"', '"9999-12-31T23:59:59.999999Z"', '"0001-01-01T00:00:00.000000Z"', '"forgotten"', "\ufeff",
        "\u2028",
        '"ghp_' + "a1B2" * 9 + '"',
    ),
    lead="[",
)  # fmt: skip
def import_(text: str) -> None:
    """What an import takes is what an export can hold: written out and read again it is the same."""
    with refusing():
        versions, _ = read_versions(text.split("\n"), "agent", now=NOW)
        written = [
            json.dumps(memory_to_json(memory), ensure_ascii=False) for these in versions.values() for memory in these
        ]
        assert read_versions(written, "agent", now=NOW) == (versions, 0)


@target(
    "batch",
    seeds=(
        '{"content": "x"}\n{"content": "y", "type": "fact", "tags": "a, b", "valid-from": "2026-01-01"}',
        '[{"content": "x", "metadata": {"a": 1}}]',
        '{"content": "x", "confidence": null, "pinned": true, "key": "k", "source-ref": "r", "title": "t"}',
        "[]",
        "\ufeff[1]",
    ),
    words=(
        '"content": ', '"type": ', '"tags": ', '"title": ', '"metadata": ', '"valid_from": ', '"valid-to": ',
        '"last week"', "null", "true", "NaN", "-0.0", "1e999", "9" * 400, '"\\ud800"', '"\\u0000"', "[[[[", "{}",
        ",", "\n",
    ),
    lead="[",
)  # fmt: skip
def batch(text: str) -> None:
    """Each draft of a batch is checked, cleaned, split and titled, or refused; doing so twice changes nothing."""
    with refusing():
        for draft in read_batch(text, {"source": "user"}, _moment):
            checked = check_draft(draft)
            cleaned, _ = redact_draft(checked)
            assert redact_draft(cleaned) == (cleaned, ())
            again = check_draft(cleaned)
            assert check_draft(again) == again
            assert "".join(split(again.content)) == again.content
            assert len(default_title(again.content)) <= 60
            assert isinstance(unfilled_template(again.content), bool)
            classify(again.content)


def _moment(text: str) -> datetime:
    return parse_time(text, now=NOW, zone=UTC, edge="start")


@target(
    "config-file",
    seeds=(
        'backend = "qdrant"\nqdrant_url = "http://localhost:6333"  # mine\n\n[other]\nx = 1\n',
        'agent = "mine"\n',
        "offline = true\nllm_timeout = 30\nllm_max_tokens = 600\n",
        'embed_model_path = "~/m"\nllm_model = """a\nb"""\n',
        "llm_timeout = 1e400",
        "backend = { a = 1 }\n",
        "nightly-reconciler\n",
    ),
    words=(
        "backend = ", "agent = ", "qdrant_url = ", "offline = ", "llm_timeout = ", "llm_model = ",
        "embed_model_path = ",
        "'''", '"""', '"', "[a]\n", "[[a]]\n", "a.b = 1\n", "1979-05-27T07:32:00Z", "0xff", "inf", "nan", "1_0",
        "# \x7f\n",
        "\r", "\r\n", "\ufeff", "\\u0000", "9" * 400, "{", "}", "[", "]", ",",
    ),
    lead="a = ",
)  # fmt: skip
def config_file(text: str) -> None:
    """A settings file is read or refused, as the user's, a project's and as the name of the active agent.

    What can be read can be changed: every other value stays what it was.
    """
    home = scratch() / "file"
    home.mkdir(exist_ok=True)
    for name in ("config.toml", ".memanto.toml", "active"):
        (home / name).write_bytes(to_bytes(text))
    with refusing():
        project_agent(home)
    with refusing():
        active(home)
    (home / ".memanto.toml").unlink()
    user = home / "config.toml"
    with refusing():
        before = load_settings({}, home, {"home": home})
        kept = tomllib.loads(user.read_text("utf-8"))
        if refused(lambda: set_values(home, {"llm_max_tokens": "700"})):
            raise AssertionError("a file that can be read cannot be changed")
        assert tomllib.loads(user.read_text("utf-8")) == kept | {"llm_max_tokens": 700}
        set_values(home, {"llm_max_tokens": None})
        assert load_settings({}, home, {"home": home}).backend == before.backend


@target(
    "questions",
    seeds=(
        "- question: What lags?\n  expect: [the ledger, 5]\n  type: fact\n  as_of: 2026-01-01\n  max_age: 30 days\n",
        "What lags?: the ledger\nWho owns it?: [ops]\n",
        "questions:\n  - {question: x, ids: 0190, key: db}\n",
        '[{"question": "x", "expect": null}]',
        "- &a {question: x}\n- *a\n",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n",
        "- {question: x, max_age: 999999999999999999 years}\n",
        "- !!int ''\n- !!float ''\n- !!bool x\n- !!timestamp x\n",
        "- {question: x, as_of: 2026-01-01 00:00:00 +99:99}\n",
        "? [a]\n: b\n",
    ),
    words=(
        "- ", "question: ", "expect: ", "ids: ", "type: ", "as_of: ", "max_age: ", "key: ", "questions:\n", "&a ",
        "*a", "<<: ",
        "!!int ", "!!float ", "!!bool ", "!!timestamp ", "!!binary ", "!!set ", "!!omap ",
        "!!python/object:os.system ",
        "''", "0o17", "1:60", ".inf", ".nan", "~", "2026-13-01", "0001-01-01", "9" * 400, "? ", "|\n", ">\n",
        "---\n", "...\n",
        "%YAML 9.9\n", "\x00", "\x85", "\ufeff", "[", "{", "\t",
    ),
    lead="- ",
    longest=20_000,
)  # fmt: skip
def questions(text: str) -> None:
    """A question file is read into questions or refused, in both its languages, and as values that were parsed."""
    for name in ("q.yaml", "q.json"):
        path = scratch() / name
        path.write_bytes(to_bytes(text))
        with refusing():
            found = read_questions(path)
            assert 0 < len(found) <= MAX_QUESTIONS
            assert read_questions(found) == found
    with refusing():
        read_questions([text])
    with refusing():
        read_questions(f"{scratch()}/{text}")
    with refusing():
        read_questions(text if text.startswith("~") else f"~{text}")
