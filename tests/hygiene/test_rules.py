"""Which differences between two statements the rules find, and which they leave alone (our decision)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memanto.hygiene.compare import Kind, compare, compare_texts
from memanto.hygiene.words import stem
from memanto.models import Memory, MemoryType, Provenance

CONFLICTS = [
    ("negation", "The deploy step requires approval", "The deploy step does not require approval"),
    ("negation", "Feature flags are stored in LaunchDarkly", "Feature flags are no longer stored in LaunchDarkly"),
    ("negation", "Never deploy on Fridays", "Deploy on Fridays is fine"),
    ("negation", "Never write to the shop database", "The nightly job writes to the shop database"),
    ("negation", "Agents must never write to the shop database", "Agents write their notes to the shop database"),
    ("negation", "I have never written any Flask routes", "I have written five Flask routes so far"),
    ("negation", "Der Server steht in Berlin", "Der Server steht nicht in Berlin"),
    ("opposite", "Retries are enabled", "Retries are disabled"),
    ("opposite", "The cache is stable", "The cache is unstable"),
    ("opposite", "User prefers dark mode", "User prefers light mode"),
    ("order", "The team prefers tabs over spaces", "The team prefers spaces over tabs"),
    ("value", "The primary database is Postgres", "The primary database is MySQL"),
    ("value", "Payments service owner: Alice", "Payments service owner: Bob"),
    ("value", "Main API schema lives at docs/api.yaml", "Main API schema lives at spec/openapi.yaml"),
    ("value", "The user lives in Berlin", "The user moved to Munich"),
    ("value", "Let us visit my brother Tom who recently moved to Lyon", "My brother Tom has just moved back to Nantes"),
    ("number", "I have spent around 5-6 hours on the ocean sculpture", "I put 10-12 hours into the ocean sculpture"),
    ("date", "The first sprint has a deadline of April 1", "The new sprint has a deadline of April 5"),
    ("number", "Ledger pulls lag the source by 5 minutes", "Ledger pulls lag the source by 15 minutes"),
    ("number", "The staging server runs on port 8080", "The staging server runs on port 9090"),
    ("number", "Rooms cost $120 a night at the Harbour", "Rooms cost $150 a night at the Harbour"),
    ("date", "The weekly meeting takes place on Tuesday", "The weekly meeting takes place on Friday"),
    ("time", "The nightly job starts at 02:00", "The nightly job starts at 03:30"),
]

SIDE_BY_SIDE = [
    ("The payments service retries 3 times", "The orders service retries 5 times"),
    ("Billing runs on port 8080", "Search runs on port 9090"),
    ("Session 01: the build passed", "Session 07: the build passed"),
    ("Deploy of run 12 took 14 minutes", "Deploy of run 13 took 18 minutes"),
    ("Customer A pays $300 monthly", "Customer B pays $500 monthly"),
    ("Nightly job 2026-08-31: 47,660 rows, 5 deltas, 29 min", "Nightly job 2026-08-28: 45,268 rows, 4 deltas, 24 min"),
    ("Alice is a doctor", "Alice is tall"),
    ("The team uses Slack", "The team uses Jira"),
    ("The user likes tea", "The user likes coffee"),
    ("Do not deploy without a backup", "Take a backup before each deploy"),
    ("Never write to the shop database", "The shop database is PostgreSQL 16 behind PgBouncer"),
    ("Please never write to the shop database", "The shop database is on port 5432 of the db host"),
    ("Agents must never write to the shop database", "The shop database holds the orders"),
    ("The shop database must never be written to", "Orders are in the shop database"),
    ("Nobody may ever write to the shop database", "The shop database is PostgreSQL 16"),
    ("You should never restart the billing worker", "The billing worker sends the invoices"),
    ("I have never apologised for forgetting the anniversary", "I am sorry about forgetting the anniversary"),
    ("Don't ever touch the release branch", "The release branch is cut every second Monday"),
    ("No brown dog runs", "A dog runs"),
    ("Anna: thanks for the idea", "Anna: good morning to you"),
    (
        "SESSION HANDOFF | Goal: reason codes | Done: the parser",
        "SESSION HANDOFF | Goal: second region | Done: peering",
    ),
    ("The checklist on page 3 is the one to follow", "SESSION HANDOFF | Goal: cut-over | Next: checklist on page 4"),
    ("Use the formula \\( a_n = 4 n \\) for long sequences", "Use the formula \\( a_n = 7 n \\) for long sequences"),
    ("We prove it for r = 2 and any n", "We prove it for r = 6 and any n"),
    ("", "The cache is warm"),
    ("¡¿…", "🙂"),
]


@pytest.mark.parametrize(("rule", "older", "newer"), CONFLICTS)
def test_a_difference_is_found_by_its_rule_whichever_comes_first(rule: str, older: str, newer: str) -> None:
    for one, other in ((older, newer), (newer, older)):
        finding = compare_texts(one, other)
        assert finding is not None
        assert finding.rule == rule
        assert finding.kind is not Kind.DUPLICATE
        assert finding.older
        assert finding.newer


@pytest.mark.parametrize(("older", "newer"), SIDE_BY_SIDE)
def test_statements_about_two_things_go_side_by_side(older: str, newer: str) -> None:
    assert compare_texts(older, newer) is None
    assert compare_texts(newer, older) is None


def test_a_finding_names_the_words_that_differ() -> None:
    finding = compare_texts("The nightly job starts at 02:00", "The nightly job starts at 03:30")
    assert finding is not None
    assert (finding.older[0], finding.newer[0]) == ("02:00", "03:30")


def test_a_cue_of_change_makes_it_an_update_and_is_named() -> None:
    plain = compare_texts("The primary database is Postgres", "The primary database is MySQL")
    changed = compare_texts("The primary database is Postgres", "The primary database is now MySQL")
    assert plain is not None
    assert changed is not None
    assert (plain.kind, plain.cue) == (Kind.CONTRADICTION, "")
    assert (changed.kind, changed.cue) == (Kind.UPDATE, "now")


def test_the_same_said_in_another_order_is_a_duplicate() -> None:
    finding = compare_texts("Ledger pulls lag the source by 5 minutes.", "By 5 minutes the ledger pulls lag the source")
    assert finding is not None
    assert finding.kind is Kind.DUPLICATE


def test_code_between_fences_states_nothing() -> None:
    code = "```\nport = 8080\nretries are enabled\n```"
    assert compare_texts(f"See the sample.\n{code}", f"Look at this.\n{code.replace('8080', '9090')}") is None


def test_the_same_words_around_other_code_or_formulas_are_no_duplicate() -> None:
    prose = "Start the gateway of the billing service like this"
    assert compare_texts(f"{prose}:\n```\nrun --port 8080\n```", f"{prose}:\n```\nrun --port 9090\n```") is None
    same = compare_texts(f"{prose}:\n```\nrun --port 8080\n```", f"{prose}\n```\nrun --port 8080\n```")
    assert same is not None
    assert same.kind is Kind.DUPLICATE


@pytest.mark.parametrize(
    "forms", ["complete completes completed completing", "try tries tried trying", "go goes went gone", "box boxes"]
)
def test_the_usual_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


# -- memories ---------------------------------------------------------------------------------------
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def memory(content: str, *, at: datetime = NOON, kind: MemoryType = MemoryType.FACT, **fields: object) -> Memory:
    return Memory(
        id=f"{content}@{at}", version=1, namespace="a", type=kind, content=content, title="", recorded_at=at, **fields
    )  # type: ignore[arg-type]


OLD, NEW = "The primary database is Postgres", "The primary database is MySQL"


@pytest.mark.parametrize("type_", MemoryType)
def test_conflicts_are_found_in_every_type(type_: MemoryType) -> None:
    finding = compare(memory(OLD, kind=type_), memory(NEW, kind=type_, at=NOON + timedelta(minutes=1)))
    assert finding is not None


def test_a_later_beginning_or_a_correction_makes_it_an_update() -> None:
    later = memory(NEW, valid_from=NOON + timedelta(days=1))
    corrected = memory(NEW, provenance=Provenance.CORRECTED)
    assert [found and found.kind for found in (compare(memory(OLD), m) for m in (later, corrected))] == [
        Kind.UPDATE
    ] * 2


def test_what_its_writers_keep_apart_is_not_compared() -> None:
    event = memory(OLD, kind=MemoryType.EVENT)
    apart = [
        (memory(OLD, key="db"), memory(NEW, key="other-db")),
        (event, memory(NEW, kind=MemoryType.EVENT, at=NOON + timedelta(days=1))),
        (event, memory(NEW, kind=MemoryType.EVENT, run_id="r2")),
        (event, memory(NEW)),
        (memory(OLD, parent_id="x", part=1), memory(NEW, parent_id="x", part=2)),
        (memory(OLD, parts=2), memory(NEW)),
        (memory(OLD, kind=MemoryType.ARTIFACT, parent_id="x", part=1), memory(NEW)),
        (memory(f"SESSION HANDOFF | {OLD}", kind=MemoryType.CONTEXT), memory(NEW, kind=MemoryType.CONTEXT)),
    ]
    assert [compare(*pair) for pair in apart] == [None] * len(apart)
