"""Failure records: six fields phrased as a trigger, read from plain text too; what feedback does (specification)."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.acceptance.course import FAILURE

from memanto import Memanto
from memanto.errors import InvalidInputError, NotFoundError
from memanto.loop.failures import FailureRecord, Rule, parse_rule, record_of, rule_of, trigger_text
from memanto.loop.feedback import posterior

RULES = [
    (
        FAILURE,
        Rule(
            when="Postgres integration tests fail with 'relation does not exist'",
            do="run pnpm db:seed before the suite",
            cause="the tests assume a migrated schema and CI starts from an empty DB.",
        ),
    ),
    ("When X fails, do Y - root cause: Z", Rule("X fails", "do Y", "Z")),
    ("When X fails, do Y – root cause: Z", Rule("X fails", "do Y", "Z")),  # noqa: RUF001
    ("When X fails, do Y. Root cause: Z", Rule("X fails", "do Y", "Z")),
    ("When X fails, do Y (root cause: Z)", Rule("X fails", "do Y", "Z")),
    ("When X fails, do Y\nroot cause: Z", Rule("X fails", "do Y", "Z")),
    ("When X fails, do Y", Rule("X fails", "do Y")),
    ("When you see X, do Y instead.", Rule("X", "do Y instead.")),
    ("Whenever X fails then do Y", Rule("X fails", "do Y")),
    ("If X fails, then do Y because Z", Rule("X fails", "do Y", "Z")),
    ("When 'a, b, c' is logged, restart", Rule("'a, b, c' is logged", "restart")),
    ("When `f(a, b)` raises (see 1, 2), pass c", Rule("`f(a, b)` raises (see 1, 2)", "pass c")),
    (
        "Wenn der Export fehlschlägt, neu starten — Ursache: Speicher",
        Rule("der Export fehlschlägt", "neu starten", "Speicher"),
    ),
    ("Falls X, dann Y, weil Z", Rule("X", "Y", "Z")),
    ("Quand l'export échoue, relancer — cause : mémoire", Rule("l'export échoue", "relancer", "mémoire")),
    ("Cuando falla X, hacer Y porque Z", Rule("falla X", "hacer Y", "Z")),
    ("Si X, hacer Y — causa raíz: Z", Rule("X", "hacer Y", "Z")),
    ("When the disk is full", Rule("the disk is full")),
    ("When a pull is late because of lag, wait", Rule("a pull is late because of lag", "wait")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), RULES)
def test_a_trigger_is_taken_apart(text: str, expected: Rule) -> None:
    assert parse_rule(text) == expected


@pytest.mark.parametrize("text", ["The build failed.", "", "whenever", "Always do Y when X", "iffy, then not"])
def test_other_texts_are_no_triggers(text: str) -> None:
    assert parse_rule(text) is None


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    rule = parse_rule(text)
    assert rule is None or rule.when


def test_a_record_keeps_its_six_fields_and_reads_as_a_trigger(memory: Memanto) -> None:
    fields = {
        "task_type": "deploy",
        "attempted": "rolled out before migrating",
        "wrong": "column total is missing",
        "cause": "the new code reads a column that is not there yet",
        "fix": "run the migrations first",
        "trigger": "When rolling out billing, run the migrations first",
    }
    receipt = memory.record_failure(**fields)
    stored = memory.show(receipt.id)
    assert stored.content == (
        "When rolling out billing, run the migrations first — root cause: the new code reads a column that is not "
        "there yet"
    )
    assert record_of(stored) == FailureRecord(**fields)
    assert (stored.type, stored.provenance) == ("error", "observed")
    assert rule_of(stored) == Rule("rolling out billing", "run the migrations first", fields["cause"])


def test_a_plain_text_is_read_and_not_rewritten(memory: Memanto) -> None:
    stored = memory.show(memory.remember(FAILURE, type="error").id)
    assert stored.content == FAILURE
    assert record_of(stored) is None
    assert rule_of(stored).do == "run pnpm db:seed before the suite"


def test_a_failure_that_is_no_trigger_is_its_own_condition(memory: Memanto) -> None:
    stored = memory.show(memory.remember("The importer crashed on an empty file", type="error").id)
    assert rule_of(stored) == Rule("The importer crashed on an empty file")


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (FailureRecord(trigger="the token expires", fix="refresh it"), "When the token expires, refresh it"),
        (
            FailureRecord(attempted="pull at once", wrong="stale rows", fix="wait five minutes", cause="lag"),
            "When pull at once ends in stale rows, wait five minutes — root cause: lag",
        ),
        (
            FailureRecord(attempted="force push", wrong="lost commits"),
            "When force push ends in lost commits, do not repeat it as it was: force push",
        ),
        (FailureRecord(trigger="If X, do Y because Z"), "When X, do Y — root cause: Z"),
        (FailureRecord(task_type="audit", fix="read the log"), "When a task is of type audit, read the log"),
    ],
)
def test_the_trigger_is_made_from_what_is_known(record: FailureRecord, text: str) -> None:
    assert trigger_text(record) == text


@pytest.mark.parametrize(
    ("record", "missing"),
    [
        (FailureRecord(), "needs the situation"),
        (FailureRecord(fix="wait"), "needs the situation"),
        (FailureRecord(wrong="it broke"), "nothing to do differently"),
    ],
)
def test_a_record_without_situation_or_correction_is_refused(record: FailureRecord, missing: str) -> None:
    with pytest.raises(InvalidInputError, match=missing):
        trigger_text(record)


def test_secrets_in_a_record_are_redacted_in_its_fields_too(memory: Memanto) -> None:
    receipt = memory.record_failure(
        "When the upload fails, rotate the key", cause="key AKIAIOSFODNN7EXAMPLE was revoked"
    )
    stored = memory.show(receipt.id)
    assert receipt.redactions
    assert "AKIAIOSFODNN7EXAMPLE" not in f"{stored.content}{dict(stored.metadata)}"


# -- feedback ---------------------------------------------------------------------------------------
def test_feedback_moves_confidence_by_the_stated_rule_and_keeps_the_reason(memory: Memanto) -> None:
    failure = memory.record_failure("When X fails, do Y", confidence=0.8).id
    memory.feedback(failure, "helped", reason="the run went through")
    assert memory.show(failure).confidence == pytest.approx((0.8 * 4 + 1) / 5)
    memory.feedback(failure, "wrong")
    assert memory.show(failure).confidence == pytest.approx((0.8 * 4 + 1) / 6)
    versions = memory.history(failure)
    assert [one.decision and one.decision.reason for one in versions] == [
        None, "feedback: helped; the run went through", "feedback: wrong",
    ]  # fmt: skip


def test_irrelevant_is_counted_and_moves_nothing(memory: Memanto) -> None:
    failure = memory.record_failure("When X fails, do Y", confidence=0.7).id
    memory.feedback(failure, "irrelevant")
    stored = memory.show(failure)
    assert (stored.confidence, stored.metadata["feedback"]["irrelevant"], stored.version) == (0.7, 1, 2)


def test_confidence_set_by_hand_is_where_feedback_begins_anew(memory: Memanto) -> None:
    failure = memory.record_failure("When X fails, do Y", confidence=0.8).id
    memory.feedback(failure, "wrong")
    memory.edit(failure, confidence=0.9)
    memory.feedback(failure, "helped")
    assert memory.show(failure).confidence == pytest.approx(posterior(0.9, 1, 0))


@given(st.floats(0, 1), st.integers(0, 50), st.integers(0, 50))
def test_confidence_stays_between_0_and_1_and_moves_the_right_way(prior: float, helped: int, wrong: int) -> None:
    now = posterior(prior, helped, wrong)
    assert 0 <= now <= 1
    assert posterior(prior, helped, wrong + 1) <= now <= posterior(prior, helped + 1, wrong)


def test_verdicts_given_at_the_same_time_all_count(memory: Memanto) -> None:
    failure = memory.record_failure("When X fails, do Y").id
    threads = [threading.Thread(target=memory.feedback, args=(failure, "helped")) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.show(failure).metadata["feedback"]["helped"] == 6


def test_bad_feedback_is_refused(memory: Memanto) -> None:
    failure = memory.record_failure("When X fails, do Y").id
    with pytest.raises(InvalidInputError, match="unknown verdict 'useful'"):
        memory.feedback(failure, "useful")  # type: ignore[arg-type]
    memory.forget(failure)
    with pytest.raises(InvalidInputError, match="was forgotten"):
        memory.feedback(failure, "helped")
    with pytest.raises(NotFoundError):
        memory.feedback("00000000-0000-7000-8000-000000000000", "helped")
