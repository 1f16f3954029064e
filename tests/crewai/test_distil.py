"""What is kept of a task's output (our decision; no model is asked)."""

from __future__ import annotations

import pytest

from crewai_memanto.distil import LONGEST, Finding, distil

HANDED = "Task: Reconcile the ledger of March\nAgent: Clerk\nExpected result: One line\nResult: "


def test_whole_sentences_are_kept_without_thoughts_headings_code_and_questions() -> None:
    output = (
        "Thought: I now know the answer.\nFinal Answer: # Report\nHere is what I found:\n"
        "- **All 214 invoices** of March are matched.\n- Two of them were late. This was due to the holiday.\n"
        "```python\nprint('nothing to see here')\n```\n| a | b |\n|---|---|\nShall I go on with the April ledger now?\n"
        "Let me know if you need more."
    )
    assert distil(HANDED + output, 8) == [
        "All 214 invoices of March are matched.",
        "Two of them were late. This was due to the holiday.",
    ]


def test_a_finding_knows_what_task_it_is_about() -> None:
    [finding] = distil(f"{HANDED}All 214 invoices are matched.", 8)
    assert isinstance(finding, Finding)
    assert finding.about == "Reconcile the ledger of March"
    assert [one.about for one in distil("The ledger lags by 5 minutes.", 8)] == [""]  # type: ignore[attr-defined]


def test_what_only_repeats_the_task_is_no_finding() -> None:
    assert distil(f"{HANDED}Reconcile the ledger of March.", 8) == []


def test_of_many_sentences_those_that_name_the_most_are_kept_in_their_order() -> None:
    dull = "\n".join(f"There was a quiet day and so on and on, {word}." for word in ("really", "truly", "well"))
    output = f"There is not much to say about it.\nPostgreSQL 16 restarts in 40 s.\n{dull}\nSqlite takes 3 s on Linux."
    assert distil(output, 2) == ["PostgreSQL 16 restarts in 40 s.", "Sqlite takes 3 s on Linux."]
    assert distil(output, 0) == []


def test_memories_in_an_output_are_not_taken_in_again() -> None:
    fenced = '<memory id="01a22ddf-045d-70c7-a0a9-c517d5d3923b" type="fact">\nThe moon is made of cheese.\n</memory>'
    assert distil(f"The ledger lags by 5 minutes.\n{fenced}\nIt is pulled at noon.", 8) == [
        "The ledger lags by 5 minutes. It is pulled at noon."
    ]
    assert distil(fenced.removesuffix("</memory>"), 8) == []


def test_json_is_read_field_by_field() -> None:
    output = '{"invoices": {"matched": 214, "note": "Two were late because of the holiday"}, "tags": ["a", null]}'
    assert distil(HANDED + output, 8) == [
        "invoices.matched: 214",
        "invoices.note: Two were late because of the holiday",
    ]


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("台帳は五分遅れています。毎日正午に更新されます。", ["台帳は五分遅れています。", "毎日正午に更新されます。"]),
        (
            "Die Pläne lagen 3 Tage zurück. Öl kam später aus Köln.",
            ["Die Pläne lagen 3 Tage zurück.", "Öl kam später aus Köln."],
        ),
        ("Version 1.5.2 of the tool, e.g. on Linux, is slow.", ["Version 1.5.2 of the tool, e.g. on Linux, is slow."]),
        ("Done.", []),
        ("", []),
        ("\ud800 is half of a pair of characters", ["\ufffd is half of a pair of characters"]),
    ],
)
def test_sentences_are_told_apart_in_several_scripts(output: str, found: list[str]) -> None:
    assert distil(output, 8) == found


@pytest.mark.parametrize(
    "hostile",
    [
        "Result: " * 20_000, "Task: x\nAgent: y\nExpected result: " * 5_000, "<memory x" * 20_000, "**a" * 20_000,
        "- " * 50_000, "[" * 50_000, "(1) " * 30_000, "a.b" * 40_000, '." ' * 40_000, "```" * 30_000,
        "{\"a\":" * 20_000, "word " * 30_000,
    ],
)  # fmt: skip
def test_a_hostile_output_takes_no_longer_than_another(hostile: str) -> None:
    """Bounded by the suite's own time-out: what takes quadratic time here takes minutes."""
    assert all(len(finding) <= LONGEST for finding in distil(hostile, 8))
