"""The project's own corpus keeps what its loader promises and asks fair, hard questions.

The log is replayed here by the rules that the loader's documentation states, without a store.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise

import pytest

from memanto.corpus import LogEntry, Operation, Question, QuestionKind, load_log, load_questions
from memanto.models import (
    MAX_CONTENT,
    MAX_KEY,
    MAX_QUERY,
    MAX_SOURCE,
    MAX_TAG,
    MAX_TAGS,
    MAX_TITLE,
    MemoryType,
    Provenance,
)

LOG = load_log()
QUESTIONS = load_questions()
BY_REF = {entry.ref: entry for entry in LOG}
WRITTEN = [entry for entry in LOG if entry.op is not Operation.EXPIRE]
ANSWERABLE = [question for question in QUESTIONS if question.expected]
TODAY = datetime(2026, 9, 1, tzinfo=UTC)
RARE_SHARE = 0.05
DAY = timedelta(days=1)


@dataclass
class Version:
    memory: str
    entry: LogEntry
    retired_at: datetime | None = None
    successor: str | None = None

    def believed_at(self, moment: datetime) -> bool:
        return self.entry.recorded_at <= moment and (self.retired_at is None or self.retired_at > moment)


def replay(log: list[LogEntry]) -> tuple[list[Version], dict[str, str]]:
    """Return every version that the log makes, and the memory that each ref names."""
    versions: list[Version] = []
    current: dict[str, Version] = {}
    memory_of: dict[str, str] = {}
    slots: dict[str, str] = {}
    for entry in log:
        target = memory_of[entry.target] if entry.target else None
        memory = entry.ref
        if entry.op in {Operation.EDIT, Operation.EXPIRE}:
            assert target is not None, entry
            memory = target
        elif entry.key is not None:
            memory = slots.setdefault(entry.key, entry.ref)
        memory_of[entry.ref] = memory
        for retiring in {memory, target or memory}:
            if (old := current.pop(retiring, None)) is not None:
                old.retired_at = entry.recorded_at
                old.successor = entry.ref if entry.op is Operation.SUPERSEDE else None
            else:
                assert retiring == entry.ref, f"{entry.ref} touches {retiring}, which is not current then"
        if entry.op is not Operation.EXPIRE:
            current[memory] = Version(memory, entry)
            versions.append(current[memory])
    return versions, memory_of


VERSIONS, MEMORY_OF = replay(LOG)


def version_at(ref: str, moment: datetime) -> Version | None:
    found = [v for v in VERSIONS if v.memory == MEMORY_OF[ref] and v.believed_at(moment)]
    assert len(found) <= 1
    return found[0] if found else None


def end_of(question: Question) -> datetime:
    return datetime.combine(question.as_of, time.max, UTC) if question.as_of else TODAY


# A plain reading of words, on purpose another one than the engine's: lower case, no stop words, common endings off.
STOP_WORDS = frozenset(
    # A list of ninety strings would be harder to read than a sentence of words.
    """a about an and any are as at be been before being but by can could did do does for from had has have how i if in
    into is it its may me my no not of on once or our out over s shall should so t than that the their them then there
    these they this those to too until up us was we were what when where which while who whom whose why will with
    would you your""".split()  # noqa: SIM905
)
ENDINGS = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", ""))


def stem(word: str) -> str:
    for ending, instead in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending) + instead
    return word


def words_of(text: str) -> set[str]:
    return {stem(word) for word in re.findall(r"[^\W_]+", text.lower()) if word not in STOP_WORDS}


def words_in(entry: LogEntry) -> set[str]:
    return words_of(" ".join((entry.title or "", entry.content, *entry.tags)))


FREQUENCY = Counter(word for entry in WRITTEN for word in words_in(entry))


def rare_words_shared(question: Question) -> set[str]:
    shared = {word for ref in question.expected for word in words_of(question.question) & words_in(BY_REF[ref])}
    return {word for word in shared if FREQUENCY[word] < RARE_SHARE * len(WRITTEN)}


def texts(entry: LogEntry) -> Iterator[str]:
    yield from (entry.content, entry.reason, entry.title or "", *entry.tags)


def test_the_log_holds_about_two_hundred_memories_and_twenty_five_changes() -> None:
    ops = Counter(entry.op for entry in LOG)
    assert 200 <= ops[Operation.REMEMBER] <= 230
    assert 20 <= ops[Operation.EDIT] + ops[Operation.EXPIRE] + ops[Operation.SUPERSEDE] <= 30
    assert all(ops[op] >= 6 for op in Operation)


def test_refs_count_up_and_times_strictly_increase_in_utc() -> None:
    assert [entry.ref for entry in LOG] == [f"m{n:03}" for n in range(1, len(LOG) + 1)]
    assert all(entry.recorded_at.utcoffset() == timedelta(0) for entry in LOG)
    times = [entry.recorded_at for entry in LOG]
    assert all(earlier < later for earlier, later in pairwise(times))


def test_the_log_runs_from_may_to_august_2026_without_an_empty_week() -> None:
    assert {(e.recorded_at.year, e.recorded_at.month) for e in LOG} == {(2026, month) for month in (5, 6, 7, 8)}
    weeks = {entry.recorded_at.isocalendar().week for entry in LOG}
    assert weeks == set(range(min(weeks), max(weeks) + 1))


def test_every_type_has_at_least_six_memories() -> None:
    types = Counter(entry.type for entry in WRITTEN if entry.op is not Operation.EDIT)
    assert set(types) == set(MemoryType)
    assert min(types.values()) >= 6, types


def test_every_value_keeps_the_limits_of_a_memory() -> None:
    for entry in LOG:
        assert re.fullmatch(r"[A-Za-z0-9._-]+", entry.source), entry.ref
        assert len(entry.source) <= MAX_SOURCE, entry.ref
        assert len(entry.content) <= MAX_CONTENT, entry.ref
        assert entry.title is None or 0 < len(entry.title) <= MAX_TITLE, entry.ref
        assert len(set(entry.tags)) == len(entry.tags) <= MAX_TAGS, entry.ref
        assert all(0 < len(tag) <= MAX_TAG for tag in entry.tags), entry.ref
        assert entry.key is None or 0 < len(entry.key) <= MAX_KEY, entry.ref
        assert 0 < entry.confidence <= 1, entry.ref
        assert all(text == text.strip() and text.isprintable() for text in texts(entry)), entry.ref
        if entry.valid_from and entry.valid_to:
            assert entry.valid_from < entry.valid_to, entry.ref


def test_a_line_has_content_a_target_and_a_reason_exactly_when_its_operation_needs_them() -> None:
    for entry in LOG:
        expires = entry.op is Operation.EXPIRE
        assert (entry.type is None) == (entry.content == "") == expires, entry.ref
        remembers = entry.op is Operation.REMEMBER
        assert (entry.target is None) == (entry.reason == "") == remembers, entry.ref


def test_no_two_lines_say_the_same() -> None:
    contents = Counter(" ".join(entry.content.lower().split()) for entry in WRITTEN)
    assert [text for text, count in contents.items() if count > 1] == []


def test_a_target_is_an_earlier_memory_that_is_current_and_of_the_same_type() -> None:
    """`replay` itself fails on a target that is not current; here the order and the types are checked."""
    for entry in LOG:
        if entry.target is not None:
            assert entry.target < entry.ref
            assert entry.type in {None, BY_REF[entry.target].type}, entry.ref


def test_a_key_keeps_its_type_and_several_keys_change_their_value_over_time() -> None:
    values: dict[str, list[LogEntry]] = {}
    for entry in WRITTEN:
        if entry.key is not None:
            values.setdefault(entry.key, []).append(entry)
    assert all(len({entry.type for entry in entries}) == 1 for entries in values.values())
    assert sum(len(entries) >= 2 for entries in values.values()) >= 6


def test_exactly_three_facts_are_inferred_and_no_question_expects_one() -> None:
    inferred = {e.ref for e in WRITTEN if e.type is MemoryType.FACT and e.provenance is Provenance.INFERRED}
    assert len(inferred) == 3
    assert not inferred & {ref for question in QUESTIONS for ref in question.expected}


def test_the_log_is_written_in_more_than_english() -> None:
    """Six memories or more; told by letters and words that English does not have."""
    foreign = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]|\b(möchte|vendedores|contrato|souhaite)\b")
    assert sum(bool(foreign.search(entry.content)) for entry in WRITTEN) >= 6


def test_failures_name_their_trigger_and_their_root_cause() -> None:
    for entry in WRITTEN:
        if entry.type is MemoryType.ERROR:
            assert entry.content.startswith("When "), entry.ref
            assert " — root cause: " in entry.content, entry.ref


def test_a_draft_carries_what_the_line_says() -> None:
    entry = next(entry for entry in LOG if entry.title and entry.key)
    draft = entry.draft()
    assert (draft.content, draft.type, draft.title, draft.tags) == (
        entry.content,
        entry.type,
        entry.title,
        entry.tags,
    )
    assert (draft.key, draft.source, draft.confidence, draft.provenance) == (
        entry.key,
        entry.source,
        entry.confidence,
        entry.provenance,
    )


def test_there_are_forty_questions_of_the_five_kinds() -> None:
    assert [question.id for question in QUESTIONS] == [f"q{n:02}" for n in range(1, 41)]
    assert len({question.question for question in QUESTIONS}) == 40
    assert all(0 < len(question.question) <= MAX_QUERY for question in QUESTIONS)
    kinds = Counter(question.kind for question in QUESTIONS)
    assert kinds == {
        QuestionKind.LEXICAL: 6,
        QuestionKind.PARAPHRASE: 20,
        QuestionKind.AS_OF: 7,
        QuestionKind.VALID_AT: 2,
        QuestionKind.NONE: 5,
    }


def test_a_question_has_the_fields_of_its_kind() -> None:
    for question in QUESTIONS:
        answerable = question.kind is not QuestionKind.NONE
        assert bool(question.expected) == bool(question.expect_text) == answerable, question.id
        as_of = question.kind is QuestionKind.AS_OF
        assert (question.as_of is not None) == bool(question.not_text) == as_of, question.id
        assert (question.valid_at is not None) == (question.kind is QuestionKind.VALID_AT), question.id


@pytest.mark.parametrize("question", ANSWERABLE, ids=lambda question: question.id)
def test_the_expected_version_is_believed_when_asked_and_only_it_holds_the_expected_text(question: Question) -> None:
    moment = end_of(question)
    for ref in question.expected:
        version = version_at(ref, moment)
        assert version is not None
        assert version.entry.ref == ref
        assert question.type in {None, version.entry.type}
    holds = {v.entry.ref for v in VERSIONS if v.believed_at(moment) and question.expect_text in v.entry.content}
    assert question.expected[0] in holds
    memory = MEMORY_OF[question.expected[0]]
    assert len([v for v in VERSIONS if v.memory == memory and question.expect_text in v.entry.content]) == 1


@pytest.mark.parametrize("question", [q for q in QUESTIONS if not q.as_of], ids=lambda question: question.id)
def test_an_answer_of_today_is_still_true_unless_an_earlier_date_is_asked(question: Question) -> None:
    for ref in question.expected:
        entry = BY_REF[ref]
        if question.valid_at is None:
            assert entry.valid_to is None, question.id
            continue
        day = datetime.combine(question.valid_at, time.min, UTC)
        assert entry.valid_from is not None
        assert entry.valid_to is not None
        assert entry.valid_from <= day - DAY
        assert day + 2 * DAY <= entry.valid_to <= TODAY


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q.as_of], ids=lambda question: question.id)
def test_an_answer_as_of_a_date_differs_from_todays_and_does_not_hang_on_the_time_zone(question: Question) -> None:
    assert question.as_of is not None
    asked = datetime.combine(question.as_of, time.min, UTC)
    (ref,) = question.expected
    then = version_at(ref, asked - DAY)
    assert then is not None
    assert then is version_at(ref, asked + 2 * DAY)
    assert question.expect_text in then.entry.content
    now = todays_answer(ref)
    assert question.not_text in now.content
    assert question.expect_text not in now.content
    shown = [v.entry.ref for v in VERSIONS if v.believed_at(end_of(question)) and question.not_text in v.entry.content]
    assert shown == []


def todays_answer(ref: str) -> LogEntry:
    """Return the current version of the memory, or of the one that took its place."""
    version = version_at(ref, TODAY)
    if version is not None:
        return version.entry
    (successor,) = [v.successor for v in VERSIONS if v.memory == MEMORY_OF[ref] and v.successor]
    return todays_answer(successor)


def test_the_database_was_chosen_in_may_changed_in_june_and_edited_later() -> None:
    """The course's point-in-time question must have May's value as its answer."""
    (question,) = [q for q in QUESTIONS if q.question == "what database did we use"]
    assert str(question.as_of) == "2026-06-01"
    history = [v.entry for v in VERSIONS if v.memory == MEMORY_OF[question.expected[0]]]
    assert [entry.recorded_at.month for entry in history] == [5, 6, 7, 8]
    assert [entry.op for entry in history[2:]] == [Operation.EDIT, Operation.EDIT]


def test_half_of_the_questions_share_no_rare_word_with_their_answers() -> None:
    plain = [question for question in ANSWERABLE if not rare_words_shared(question)]
    assert len(plain) >= len(QUESTIONS) / 2
    assert {q.id: rare_words_shared(q) for q in QUESTIONS if q.kind is QuestionKind.PARAPHRASE and q not in plain} == {}


def test_lexical_questions_do_share_a_rare_word_with_their_answers() -> None:
    assert [q.id for q in QUESTIONS if q.kind is QuestionKind.LEXICAL and not rare_words_shared(q)] == []
